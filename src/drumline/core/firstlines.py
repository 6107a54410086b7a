"""The first lines of a failing check that say what is wrong, for the reason of a step that is blocked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from drumline.core.events import CheckEnded
from drumline.core.heldout import is_named
from drumline.patterns import compile_late

MOST_LINES = 2
MOST_CHARACTERS = 200
_WRONG = compile_late(r"error|fail|exception|assert|denied|refused|not found|no such|cannot|expected", re.IGNORECASE)


def tell_first(failing: Sequence[CheckEnded]) -> str:
    """The first error lines of the first failing check, as the end of a sentence; empty if it put out nothing."""
    shown = [ended for ended in failing if not is_named(ended.command)]
    lines = find_first(shown[0].output) if shown else []
    return f" ({' / '.join(lines)})" if lines else ""


def find_first(output: str) -> list[str]:
    """The first lines that name an error; without any, the last line."""
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if _WRONG.search(line)][:MOST_LINES]
    return [line[:MOST_CHARACTERS] for line in wrong or lines[-1:]]
