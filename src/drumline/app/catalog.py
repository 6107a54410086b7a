"""The runs of a repository: finding one by name, and knowing which are unfinished."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote

from drumline.core import events as ev
from drumline.core.ids import GateId, RunId, Stream
from drumline.core.nearest import did_you_mean
from drumline.core.recorded import Recorded
from drumline.core.runfold import glance_run
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.core.waves import find_stop
from drumline.engine.loading import load_run
from drumline.errors import InvalidInput, UnknownEvent
from drumline.ports.journal import Journal
from drumline.record import Record

_TELLING = (
    ev.RunStarted,
    ev.FlowPinned,
    ev.StepsDeclared,
    ev.StepFinished,
    ev.StepReopened,
    ev.GateOpened,
    ev.GateAnswered,
    ev.RunParked,
    ev.RunResumed,
    ev.RunEnded,
)
_KINDS = tuple(kind.__name__ for kind in _TELLING)
MOST_SHOWN = 5


class RunBrief(Record):
    """A run at a glance, read without its plan."""

    run: RunId
    state: RunState
    started_at: float
    last_at: float

    @property
    def unfinished(self) -> bool:
        """Whether there is something left that a resume could do."""
        ended = self.state.ended
        return ended is None or ended.state == RunEnd.BLOCKED or find_stop(self.state) is not None


def read_run(store: Journal, run: RunId) -> RunState:
    """The run folded from its own stream."""
    return load_run(store, run).state


def list_runs(store: Journal, *, plan: str | None = None) -> list[RunBrief]:
    """All runs, or those of one plan, oldest first; without those that another version has written."""
    found: list[RunBrief] = []
    for run in store.runs():
        recorded = read_known(store, run, _KINDS)
        state = glance_run(RunState(id=run), [r.event for r in recorded])
        if recorded and (plan is None or state.begun.plan == plan):
            times = [r.at for r in recorded]
            found.append(RunBrief(run=run, state=state, started_at=times[0], last_at=max(times)))
    return found


def read_known(store: Journal, run: RunId, kinds: Sequence[str]) -> Sequence[Recorded]:
    """Events of these kinds from the stream of a run; none if another version has written it."""
    try:
        return store.read(Stream(run), kinds=kinds)
    except UnknownEvent:
        return ()


def list_strange(store: Journal) -> list[RunBrief]:
    """The runs that another version has written and this one cannot read, with how they began if that is known."""
    known = {brief.run for brief in list_runs(store)}
    found: list[RunBrief] = []
    for run in store.runs():
        if run not in known:
            began = read_known(store, run, (ev.RunStarted.__name__,))
            state = glance_run(RunState(id=run), [entry.event for entry in began])
            at = began[0].at if began else 0.0
            found.append(RunBrief(run=run, state=state, started_at=at, last_at=at))
    return found


def find_run(store: Journal, name: str = "") -> RunId:
    """The run with this id, or whose id begins or ends with it; the newest without a name."""
    runs = list(store.runs())
    if not runs:
        raise InvalidInput("there is no run here yet", hint="drumline run PLAN")
    if not name:
        return runs[-1]
    exact = [run for run in runs if run == name]
    found = exact or [run for run in runs if run.startswith(name) or run.endswith(name)]
    if len(found) != 1:
        if found:
            told = f"{len(found)} runs have an id that begins or ends with {name!r}: {_some(found)}"
        else:
            meant = did_you_mean(name, runs)
            told = f"no run has an id that begins or ends with {name!r} (there: {_some(runs)}){meant}"
        raise InvalidInput(told, hint="drumline runs")
    return found[0]


def find_asking_run(store: Journal, gate: str) -> RunId:
    """The unfinished run that asks at this gate; the newest run if none does. InvalidInput if several do."""
    asking = [brief.run for brief in list_runs(store) if brief.state.is_asking(GateId(gate))]
    if len(asking) > 1:
        raise InvalidInput(
            f"{len(asking)} runs ask at gate {gate!r} ({_some(asking)}); say which one is answered",
            hint=f"drumline answer {quote(gate)} CHOICE --run {asking[-1]}",
        )
    return asking[0] if asking else find_run(store)


def _some(runs: Sequence[RunId]) -> str:
    newest = list(runs)[-MOST_SHOWN:]
    return ", ".join(newest) + (" …" if len(runs) > MOST_SHOWN else "")
