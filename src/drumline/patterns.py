"""Regular expressions that are compiled when they are first used.

The rule: a command pays for no pattern that it does not need; compiling all of them took a third of its start.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast


class _Late:
    """Stands for a pattern until something is asked of it; what was asked of it once is found at once."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags
        self._compiled: re.Pattern[str] | re.Pattern[bytes] | None = None

    def __getattr__(self, name: str) -> object:
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found


def compile_late(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The pattern, as `re.compile` would give it; `pattern` and all methods are there."""
    return cast(re.Pattern[AnyStr], _Late(text, flags))
