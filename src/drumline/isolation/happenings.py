"""What an agent does, kept beside its log while it happens: one line of JSON each.

The rule: it is there to be looked at. What cannot be written is left out, and never stops the work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drumline.isolation.transcripts import name_happenings
from drumline.ports.agents import Happening

KEPT = ("text", "tool", "edit", "command", "result", "notice")
ACTS = ("tool", "edit", "command")
"""What names files: programs tell whole paths, of which only the part in the workspace says anything."""
MOST_TEXT = 20_000
"""Characters of one text that are kept; the log has all of it."""
MOST_DETAIL = 4_000


@contextmanager
def keep_happenings(log: Path, workspace: Path, now: Callable[[], float]) -> Iterator[Callable[[Happening], None]]:
    """Give a function that keeps happenings beside the log, each with the time it came."""
    opened: list[int] = []

    def keep(happening: Happening) -> None:
        if happening.kind not in KEPT:
            return
        with suppress(OSError):
            if not opened:
                opened.append(
                    os.open(name_happenings(log), os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
                )
            os.write(opened[0], f"{json.dumps(_spell(happening, workspace, now()))}\n".encode())

    try:
        yield keep
    finally:
        for number in opened:
            os.close(number)


def _spell(happening: Happening, workspace: Path, at: float) -> dict[str, object]:
    """The happening without what it does not say."""
    text = _shorten_paths(happening.text, workspace) if happening.kind in ACTS else happening.text
    told = {
        "text": text[:MOST_TEXT],
        "call": happening.call,
        "failed": happening.failed,
        "detail": happening.detail[-MOST_DETAIL:],
    }
    return {"at": round(at, 3), "kind": happening.kind, **{name: value for name, value in told.items() if value}}


def _shorten_paths(text: str, workspace: Path) -> str:
    """The text with paths as they are from the workspace; the workspace itself is `.`."""
    return text.replace(f"{workspace}/", "").replace(str(workspace), ".")
