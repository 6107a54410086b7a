"""What a plan's files said when a run was last looked at, so that the next look parses only what has changed since.

The rule: a reading counts for the bytes that it was made of. One that is missing or damaged only costs time.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from drumline import __version__
from drumline.core.plan import Reading
from drumline.ports.planfiles import PlanFiles
from drumline.record import Decoder, Record, to_plain

NAME = "reading.json"


class _Kept(Record):
    """A reading with the version that made it: another one may read the same bytes otherwise."""

    version: str
    reading: Reading


@dataclass(kw_only=True, slots=True)
class Readings:
    """The files of one plan, read again and again; `cache` is where the last reading outlives this process."""

    planfiles: PlanFiles
    cache: Path
    _last: Reading | None = None

    def read(self, known: Reading) -> Reading:
        """The plan as its files have it now; `known` is what the journal says of it."""
        last = self._last or self._load()
        found = self._last = self.planfiles.read(last or known)
        if found.digests != (last or known).digests:
            self._save(found)
        return found

    def _load(self) -> Reading | None:
        try:
            kept = Decoder(_Kept).decode(self.cache.read_bytes())
        except (OSError, ValueError):
            return None
        self._last = kept.reading if kept.version == __version__ else None
        return self._last

    def _save(self, reading: Reading) -> None:
        told = to_plain(reading)
        del told["plan"]["by_id"]  # what is made of the steps again
        text = json.dumps({"version": __version__, "reading": told}, separators=(",", ":"))
        aside = self.cache.with_name(f"{NAME}.{os.getpid()}")
        with suppress(OSError):
            aside.write_text(text, encoding="utf-8", errors="surrogateescape")
            aside.replace(self.cache)
