"""The ledger of checks: how often each ran in the repository's runs, and how often it changed its verdict on one tree.

The rule: it is a fold of what finished steps recorded; only the newest runs count, so that a check that was fixed
counts as steady again.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.events import StepFinished
from drumline.core.ids import Stream
from drumline.core.tally import Tally, add_tallies
from drumline.ports.journal import Journal

MOST_RUNS = 50
"""How many runs are looked at."""


def read_ledger(store: Journal) -> Mapping[str, Tally]:
    """The figures of each check, by the digest of its command."""
    runs = store.runs()[-MOST_RUNS:]
    recorded = (entry.event for run in runs for entry in store.read(Stream(run), kinds=(StepFinished.__name__,)))
    return add_tallies(tally for event in recorded if isinstance(event, StepFinished) for tally in event.tallies)


def list_flaky(store: Journal) -> tuple[str, ...]:
    """The digests of the checks that have changed their verdict."""
    return tuple(sorted(check for check, tally in read_ledger(store).items() if tally.changed))
