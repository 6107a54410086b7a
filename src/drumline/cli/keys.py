"""Keys as they are pressed, without waiting for a line. The rule: a terminal is left as it was found.

Signals stay what they are: Ctrl-C reaches the process as ever. A process in the background reads nothing.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType

_NAMED = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b[5~": "pgup",
    b"\x1b[6~": "pgdn",
    b"\x1b[H": "home",
    b"\x1b[F": "end",
    b"\x1b[1~": "home",
    b"\x1b[4~": "end",
    b"\r": "enter",
    b"\n": "enter",
    b"\x7f": "backspace",
    b"\x08": "backspace",
    b"\x1b": "esc",
    b"\x04": "esc",
}
_LONGEST = max(map(len, _NAMED))


class Keyboard:
    """What is pressed at this terminal while it is open."""

    def __init__(self) -> None:
        self._file = sys.stdin.fileno()
        self._before: list[object] | None = None

    def __enter__(self) -> Keyboard:
        with suppress(termios.error, OSError):
            if self._is_ours():
                self._before = termios.tcgetattr(self._file)
                tty.setcbreak(self._file, termios.TCSANOW)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(self._file, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]

    @property
    def listens(self) -> bool:
        """Whether keys reach this process."""
        return self._before is not None

    def read(self, wait: float = 0.0) -> list[str]:
        """The keys pressed since the last time, by name or as the letters they are."""
        if not self.listens or not self._is_ours() or not select.select([self._file], [], [], wait)[0]:
            return []
        return list(split_keys(os.read(self._file, 1024)))

    def _is_ours(self) -> bool:
        """Whether this process is in the foreground: one that is not would be stopped if it read."""
        with suppress(OSError):
            return os.tcgetpgrp(self._file) == os.getpgrp()
        return False


def split_keys(pressed: bytes) -> Iterator[str]:
    """The keys in what a terminal sent; sequences that nobody knows are left out."""
    while pressed:
        found = next((size for size in range(_LONGEST, 0, -1) if pressed[:size] in _NAMED), 0)
        if found and not (pressed[:found] == b"\x1b" and pressed[1:2] in (b"[", b"O")):
            yield _NAMED[pressed[:found]]
            pressed = pressed[found:]
        elif pressed[:1] == b"\x1b":
            pressed = pressed[2:].lstrip(b"0123456789;")[1:]
        else:
            text = pressed.split(b"\x1b", 1)[0]
            stop = next((place for place in range(1, len(text)) if text[place : place + 1] in _NAMED), len(text))
            yield from (sign for sign in text[:stop].decode("utf-8", "ignore") if sign.isprintable())
            pressed = pressed[stop:]
