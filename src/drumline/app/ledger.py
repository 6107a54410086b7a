"""The ledger of checks: how often each ran in the repository's runs, and how often it changed its verdict on one tree.

The rule: it is a fold of what finished steps recorded; only the newest runs count, so that a check that was fixed
counts as steady again.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.app.catalog import read_known
from drumline.core.events import RunStarted, StepFinished, StepStarted
from drumline.core.ids import StepId
from drumline.core.tally import Tally, add_tallies
from drumline.core.vocabulary import StepEnd
from drumline.ports.journal import Journal

MOST_RUNS = 50
"""How many runs are looked at."""
MOST_TIMED = 5
"""How many of them are looked at for how long steps take."""


def read_ledger(store: Journal) -> Mapping[str, Tally]:
    """The figures of each check, by the digest of its command."""
    runs = store.runs()[-MOST_RUNS:]
    recorded = (entry.event for run in runs for entry in read_known(store, run, (StepFinished.__name__,)))
    return add_tallies(tally for event in recorded if isinstance(event, StepFinished) for tally in event.tallies)


def list_durations(store: Journal, plan: str) -> Mapping[str, float]:
    """The seconds that steps of a plan took in its newest runs, from their beginning to their landing; the last counts.

    Time in which a step waited for a person is in it: nobody knows better before the step has been done.
    """
    kinds = (RunStarted.__name__, StepStarted.__name__, StepFinished.__name__)
    found: dict[str, float] = {}
    for run in store.runs()[-MOST_TIMED:]:
        began: dict[StepId, float] = {}
        for entry in read_known(store, run, kinds):
            match entry.event:
                case RunStarted(plan=path) if path != plan:
                    break
                case StepStarted(step=step):
                    began[step] = entry.at
                case StepFinished(step=step, state=StepEnd.DONE, commit=commit) if commit and step in began:
                    found[step] = max(1.0, round(entry.at - began[step], 1))
                case _:
                    pass
    return found


def list_flaky(store: Journal) -> tuple[str, ...]:
    """The digests of the checks that have changed their verdict."""
    return tuple(sorted(check for check, tally in read_ledger(store).items() if tally.changed))
