"""Builds runs for tests the way they come about: by folding events, never by setting what a fold would say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from drumline.core import events as ev
from drumline.core.gateevents import ManualItem
from drumline.core.ids import Commit, DriverId, GateId, RunId, StepId, Stream, Tree
from drumline.core.plan import Check, Marks, Problem, Step
from drumline.core.runfold import fold_run
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import GateKind, Mode, StepEnd
from drumline.ports.journal import Recorded
from drumline.views.cells import Row
from drumline.views.snapshot import Snapshot

RUN = RunId("r1")
DRIVER = DriverId("d1")
STARTED = 1_000.0
COMMIT = Commit("0123456789abcdef0123456789abcdef01234567")
BASE = Commit("b" * 40)
TREE = Tree("t" * 40)
TREE_2 = Tree("u" * 40)


def join(rows: Sequence[Row]) -> list[str]:
    """The rows of a board as plain lines."""
    return ["".join(text for text, _ in row).rstrip() for row in rows]


def step_of(name: str, *needs: str, title: str = "", checks: int = 1, manual: Sequence[str] = ()) -> Step:
    """A step with numbered checks."""
    return Step(
        id=StepId(name),
        title=title or f"Title of {name}",
        needs=tuple(StepId(need) for need in needs),
        checks=tuple(Check(command=f"check {number + 1}") for number in range(checks)),
        manual=tuple(manual),
        path=f"plan/{name}.md",
    )


def run_started(
    *, mode: str = "parallel", autonomy: str = "critical", selection: Sequence[str] | None = None, named: bool = False
) -> ev.RunStarted:
    """The first event of a run with two fixes per step."""
    return ev.RunStarted(
        plan="plan",
        plan_name="demo",
        plan_digest="p",
        branch="drumline/demo-r1",
        base=BASE,
        agent="scripted:demo.yaml",
        mode=Mode(mode),
        autonomy=autonomy,
        retries=2,
        selection=None if selection is None else tuple(StepId(step) for step in selection),
        named=named,
    )


def finish(step: str, state: str = "done", *, reason: str = "", **more: object) -> ev.StepFinished:
    """A step's end; done means landed and proved unless `more` says otherwise."""
    done = state == StepEnd.DONE
    values: dict[str, object] = {
        "commit": COMMIT if done else None,
        "proved": done,
        "attempts": 1,
        "checks_passed": 1 if done else 0,
        "checks_total": 1,
        "files": ("src/a.py",),
    }
    return ev.StepFinished(step=StepId(step), state=StepEnd(state), reason=reason, **{**values, **more})  # type: ignore[arg-type]


def by_hand(step: str, text: str) -> ManualItem:
    """Something to verify about a step that has landed."""
    return ManualItem(step=StepId(step), text=text, commit=COMMIT)


def gate_for(
    gate: str, step: str = "", *, options: Sequence[str] = ("yes", "no"), question: str = "Go on?"
) -> ev.GateOpened:
    """An open question."""
    return ev.GateOpened(
        gate=GateId(gate),
        kind=GateKind.WAVE if gate.startswith("wave-") else GateKind.PROCEED,
        question=question,
        options=tuple(options),
        step=StepId(step),
    )


def prepared() -> list[ev.Event]:
    """A step's stream up to a workspace that stands."""
    return [
        ev.StepClaimed(driver=DRIVER, token=1),
        ev.WorkspaceAssigned(path="w", base=BASE),
        ev.WorkspaceReady(tree=TREE),
    ]


def attempt(number: int, *, delay: float = 0.0) -> ev.AttemptStarted:
    """An agent is asked."""
    return ev.AttemptStarted(node="implement", attempt=number, tree=TREE, delay=delay)


def attempted(number: int, *, failure: str = "", message: str = "") -> list[ev.Event]:
    """An agent was asked and concluded."""
    ended = ev.AttemptEnded(node="implement", attempt=number, tree=TREE_2, failure=failure, message=message)
    return [attempt(number), ended]


def check_started(number: int = 0) -> ev.CheckStarted:
    """A check begins."""
    return ev.CheckStarted(check=number, command=f"check {number + 1}", tree=TREE_2)


def checked(number: int = 0, *, exit_code: int | None = 0) -> list[ev.Event]:
    """A check ran and left the tree alone."""
    ended = ev.CheckEnded(
        check=number,
        command=f"check {number + 1}",
        tree=TREE_2,
        tree_after=TREE_2,
        exit_code=exit_code,
        failure="tool" if exit_code is None else "",
    )
    return [check_started(number), ended]


def record(events: Sequence[ev.Event], *, step: str = "", first: int = 1, at: float = STARTED) -> list[Recorded]:
    """Events as the journal returns them, one second apart."""
    stream = Stream(RUN, StepId(step))
    return [
        Recorded(seq=first + number, stream=stream, version=number + 1, at=at + number, event=event)
        for number, event in enumerate(events)
    ]


@dataclass(kw_only=True)
class Scene:
    """A run told by its events; `snapshot` is what a face would collect of it."""

    steps: Sequence[Step]
    started: ev.RunStarted = field(default_factory=run_started)
    events: Sequence[ev.Event] = ()
    streams: Mapping[str, Sequence[ev.Event]] = field(default_factory=dict)
    owners: Mapping[str, str] = field(default_factory=dict)
    live: Sequence[str] = (DRIVER,)
    marks: Mapping[str, Marks] = field(default_factory=dict)
    claim_times: Mapping[str, float] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    problems: Sequence[Problem] = ()
    now: float = STARTED + 100
    title: str = "The demo plan"

    def history(self) -> list[ev.Event]:
        """The run's own stream."""
        pinned = ev.PlanPinned(format="dag", title=self.title, steps=tuple(self.steps), digests={})
        return [self.started, pinned, *self.events]

    def run(self) -> RunState:
        """The run's fold."""
        return fold_run(RunState(id=RUN), self.history())

    def snapshot(self) -> Snapshot:
        """The moment `now`; every step's stream ended ten seconds before."""
        recorded = {StepId(s): record(events, step=s) for s, events in self.streams.items() if events}
        return Snapshot(
            run=self.run(),
            steps={StepId(s): fold_step(StepState(), events) for s, events in self.streams.items()},
            around=self._around(),
            owners={StepId(s): DriverId(d) for s, d in self.owners.items()},
            live=[DriverId(driver) for driver in self.live],
            answers={GateId(gate): choice for gate, choice in self.answers.items()},
            started_at=STARTED,
            last_at=STARTED + 60,
            now=self.now,
            problems=self.problems,
            latest={step: self._moved(entries[-1]) for step, entries in recorded.items()},
        )

    def _moved(self, last: Recorded) -> Recorded:
        return Recorded(seq=last.seq, stream=last.stream, version=last.version, at=self.now - 10, event=last.event)

    def _around(self) -> Surroundings:
        return Surroundings(
            claimed=frozenset(StepId(s) for s in self.owners),
            marks={StepId(s): marks for s, marks in self.marks.items()},
            now=self.now,
            stale_after=3_600.0,
            claim_times={StepId(s): at for s, at in self.claim_times.items()},
        )


def empty(kind: type[ev.Event]) -> ev.Event:
    """An event of this kind without any field: whoever reads one gets an AttributeError."""
    event = kind(**dict.fromkeys(kind.__struct_fields__, None))
    for name in kind.__struct_fields__:
        getattr(kind, name).__delete__(event)
    return event


def begun_attempt(*, node: str, visit: int, **more: object) -> ev.AttemptStarted:
    """An agent is asked in a visit."""
    return ev.AttemptStarted(node=node, visit=visit, **{"attempt": 1, "by_visit": True, **more})  # type: ignore[arg-type]


def waiting_attempt(*, node: str, visit: int, **more: object) -> ev.AttemptEnded:
    """An agent concluded, and its visit is not over."""
    return ev.AttemptEnded(node=node, visit=visit, **{"attempt": 1, "waits": True, **more})  # type: ignore[arg-type]
