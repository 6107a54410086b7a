"""Reads what a program prints while it prints it: whole lines, and how long it has been silent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from drumline.core.flow.model import Json

PIECE = 1 << 20
LONGEST_LINE = 16 << 20


class Follower:
    """One file that grows; a line is given once it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = 0
        self._rest = b""

    def read_events(self, *, final: bool = False) -> Iterator[Mapping[str, Json]]:
        """The JSON objects of the lines that are new; whatever else a program prints is for people and left out."""
        for line in self._read_lines(final):
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(event, dict):
                yield event

    def _read_lines(self, final: bool) -> Iterator[bytes]:
        while piece := self._read_piece():
            *lines, self._rest = (self._rest + piece).split(b"\n")
            if len(self._rest) > LONGEST_LINE:
                self._rest = b""
            yield from lines
        if final and self._rest:
            yield self._rest
            self._rest = b""

    def _read_piece(self) -> bytes:
        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                piece = file.read(PIECE)
        except OSError:
            return b""
        self._place += len(piece)
        return piece
