"""The seals of journals as a driver knows them: each event is read for them once."""

from __future__ import annotations

from dataclasses import dataclass, field

from drumline.core.ids import RunId
from drumline.core.seal import Seal
from drumline.ports.journal import UNSEALED, Journal


@dataclass(kw_only=True)
class Seals:
    """The latest seal of each run."""

    _known: dict[RunId, Seal] = field(default_factory=dict)

    def find(self, journal: Journal, run: RunId) -> Seal:
        """The seal over everything that is recorded of the run by now."""
        found = self._known[run] = journal.seal(run, self._known.get(run, UNSEALED))
        return found
