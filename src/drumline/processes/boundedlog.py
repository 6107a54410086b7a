"""A log that cannot fill the disk: its beginning, its end, and in between a line that says how much was left out.

Only the standard library, without pathlib: every supervisor imports this at its start.
"""

from __future__ import annotations

import os


class Tail:
    """Remembers the last `size` bytes of what it is given."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._end = bytearray()

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        self._end += data
        # Trimming at twice the size keeps the cost per byte constant.
        if len(self._end) > 2 * self._size:
            del self._end[: len(self._end) - self._size]

    def read(self) -> bytes:
        """The last bytes that were given."""
        return bytes(self._end[max(0, len(self._end) - self._size) :])


class BoundedLog:
    """Keeps the first `head` bytes and the last `tail`. What cannot be written is dropped and named in `trouble`.

    Without a `tail` it is for programs to read: nothing is added that was not given.
    """

    def __init__(self, path: str, *, head: int, tail: int = 0) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._room = head
        self._for_people = tail > 0
        self._end = Tail(tail)
        self._beyond = 0
        self.seen = 0
        self.trouble = ""
        self.cut = False

    def add(self, data: bytes) -> None:
        """Take the next piece of output; the beginning is on disk at once, the end when the log is closed."""
        self.seen += len(data)
        first, rest = data[: self._room], data[self._room :]
        self._room -= len(first)
        self._write(first)
        self._beyond += len(rest)
        self._end.add(rest)
        if rest:
            # Who watches for silence sees by this that the command goes on.
            os.utime(self._fd)

    def close(self) -> None:
        """Write the end and let go of the file."""
        kept = self._end.read()
        left_out = self._beyond - len(kept)
        if left_out and self._for_people:
            self._write(f"\n[{left_out} bytes left out]\n".encode())
        self._write(kept)
        os.close(self._fd)
        self.cut = bool(left_out or self.trouble)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self.trouble:
            try:
                view = view[os.write(self._fd, view) :]
            except OSError as error:
                self.trouble = f"the log could not be written: {error.strerror}"
