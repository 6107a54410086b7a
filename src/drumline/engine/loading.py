"""Takes up a run where its last checkpoint left it, and keeps new checkpoints as the run grows."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core import checkpoint
from drumline.core.ids import RunId, Stream
from drumline.core.recorded import Recorded
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.garbage import uncollected
from drumline.ports.journal import Checkpoint, Journal
from drumline.record import Record

EVERY = 800
"""Events of a run's stream after which a new checkpoint is worth its writing."""


class Loaded(Record):
    """A run as it is now: its fold, the events read for it, and the place of the last one."""

    state: RunState
    recorded: Sequence[Recorded]
    seq: int
    checked: int


def load_run(store: Journal, run: RunId, *, whole: bool = False) -> Loaded:
    """Fold the run; from its checkpoint on, or from the beginning if there is none or the `whole` history is wanted."""
    kept = None if whole else store.checkpoint(run)
    with uncollected(freeze=True):
        state = checkpoint.load(run, kept.body) if kept is not None else None
    if kept is None or state is None or state.version != kept.version:
        kept, state = None, RunState(id=run)
    recorded = store.read(Stream(run), after=state.version)
    fold_run(state, [entry.event for entry in recorded])
    seq = recorded[-1].seq if recorded else kept.seq if kept else 0
    return Loaded(state=state, recorded=recorded, seq=seq, checked=kept.version if kept else 0)


def keep_checkpoint(store: Journal, state: RunState, *, seq: int, checked: int) -> int:
    """Keep a checkpoint if enough has happened since the last one; returns the version of the newest."""
    if state.version - checked < EVERY:
        return checked
    store.keep_checkpoint(state.id, Checkpoint(version=state.version, seq=seq, body=checkpoint.dump(state)))
    return state.version
