"""What checks say about trees without any work, kept in files for other drivers and later runs of the repository.

The rule: a verdict is known by tree, command, setup and environment, was found in a place in which nobody works, and is
forgotten after a day. What cannot be read, or belongs to anything else, is not there.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from drumline.core.ids import Tree
from drumline.core.testids import Cut
from drumline.isolation.transcripts import OWN
from drumline.record import DecodeError, Decoder, Record, encode_json

FORMAT = 2
MOST = 300
"""How many verdicts are kept; the oldest go."""
MOST_BYTES = 2_000_000
"""How large one may be: the tests of a check are in it."""
OLDEST = 24 * 3600.0
"""Seconds: what a setup command installs may be another version tomorrow."""


class CacheKey(Record):
    """What a verdict is known by."""

    tree: Tree
    command: str
    setup: str
    environment: str

    @property
    def name(self) -> str:
        """The name of its file."""
        told = json.dumps([FORMAT, self.tree, self.command, self.setup, self.environment])
        return f"{hashlib.sha256(told.encode('ascii')).hexdigest()[:40]}.json"


class Kept(Record):
    """A verdict as it is kept: only one that passed, or failed for the code that was judged."""

    exit_code: int
    output: str
    seconds: float
    tests: Mapping[str, str] | None = None
    complete: bool = True
    patched: tuple[str, ...] = ()
    cut: tuple[Cut, ...] = ()


class Entry(Record):
    """The content of a file: a name alone could be that of another key."""

    key: CacheKey
    kept: Kept


_decode = Decoder(Entry).decode


def open_cache(folder: Path) -> BaseCache:
    """The verdicts in a folder, which is made at once: what is not there cannot be hidden from agents."""
    with suppress(OSError):
        folder.mkdir(mode=OWN, parents=True, exist_ok=True)
    return BaseCache(folder=folder)


class BaseCache(Record):
    """The verdicts of a repository, one file each."""

    folder: Path

    def find(self, key: CacheKey) -> Kept | None:
        """The verdict; None if there is none that counts."""
        place = self.folder / key.name
        try:
            if time.time() - place.stat().st_mtime > OLDEST:
                return None
            entry = _decode(place.read_bytes())
        except (OSError, DecodeError):
            return None
        return entry.kept if entry.key == key else None

    def keep(self, key: CacheKey, kept: Kept) -> None:
        """Keep a verdict: it is there as a whole or not at all. A disk that refuses is not a reason to stop."""
        body = encode_json(Entry(key=key, kept=kept))
        if len(body) > MOST_BYTES:
            return
        draft = self.folder / f".{token_hex(8)}.tmp"
        with suppress(OSError):
            self.folder.mkdir(mode=OWN, parents=True, exist_ok=True)
            try:
                draft.write_bytes(body)
                draft.replace(self.folder / key.name)
            finally:
                draft.unlink(missing_ok=True)
            self._forget()

    def _forget(self) -> None:
        """Remove what is too old or too much, with what a writer left that died."""
        found = sorted(((entry.stat().st_mtime, entry.path) for entry in os.scandir(self.folder)), reverse=True)
        now = time.time()
        for number, (written, path) in enumerate(found):
            if number >= MOST or now - written > OLDEST:
                Path(path).unlink(missing_ok=True)
