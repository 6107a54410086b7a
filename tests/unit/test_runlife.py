"""A run's life is a table: every pair of phase and event is either in it or refused, and so is every unknown name."""

from __future__ import annotations

import pytest
from tests.unit.builders import BASE, COMMIT, DRIVER, RUN, TREE, finish, gate_for, run_started, step_of

from drumline.core import events as ev
from drumline.core.codec import KINDS, decode
from drumline.core.ids import FINAL, GateId, StepId
from drumline.core.mutants import Mutation
from drumline.core.plan import Correction, Marks, Revision
from drumline.core.runfold import fold_run
from drumline.core.runlife import TRANSITIONS, RunPhase, run_forward
from drumline.core.state import RunState
from drumline.core.vocabulary import DocumentKind, DropCause, Mode, PlanCause, Resettled, RunEnd, StepEnd
from drumline.errors import NotAllowed, StoreError
from drumline.record import replace

A, GONE = StepId("a"), StepId("gone")
G = GateId("g")
P = RunPhase
PINNED = ev.PlanPinned(format="dag", title="", steps=(step_of("a"), step_of("b")), digests={})
FLOW = ev.FlowPinned(flow="f", path="f.yaml", digest="d", folder=".")
PARKED, ENDED = ev.RunParked(gates=(G,)), ev.RunEnded(state=RunEnd.BLOCKED)
PLANNED = ev.CorrectionPlanned(
    correction=Correction(id=StepId("ah"), title="t", what="w", why="y"),
    helps=A,
    cause=PlanCause.HEAL,
    origin=A,
    node="heal",
    visit=1,
)
HISTORIES: dict[RunPhase, list[ev.Event]] = {
    P.NEW: [],
    P.BEGUN: [run_started()],
    P.OPEN: [run_started(), PINNED, gate_for("g", "a")],
    P.PARKED: [run_started(), PINNED, gate_for("g", "a"), PARKED],
    P.ENDED: [run_started(), PINNED, gate_for("g", "a"), ENDED],
}
QUEUED: list[ev.Event] = [
    ev.TicketTaken(step=A),
    ev.CandidateFormed(step=A, commit=COMMIT, tree=TREE, on=BASE),
    ev.CandidateProved(step=A, commit=COMMIT),
    ev.CandidateDropped(step=A, cause=DropCause.RED),
    ev.BranchMoved(step=A, old=BASE, new=COMMIT, tree=TREE),
]
EVENTS: list[ev.Event] = [
    run_started(),
    PINNED,
    FLOW,
    ev.ConfigRepinned(
        changed=(),
        agent="x",
        fallback=(),
        profiles={},
        checks=(),
        setup="",
        subject="",
        retries=1,
        budget=None,
        timeouts={},
        commands={},
    ),
    ev.PlanChanged(changed=(step_of("c"),)),
    ev.StepsDeclared(steps=(A,)),
    gate_for("h", "a"),
    ev.GateAnswered(gate=G, choice="yes"),
    ev.StepStarted(step=A),
    finish("a", "blocked"),
    ev.StepDeferred(step=A, until=1.0),
    ev.UsageCounted(step=A, agent="", usage={}),
    ev.MutantsTried(step=A, commit=COMMIT, found=Mutation()),
    ev.StepReopened(step=A),
    ev.PlanMirrored(step=A, marks=Marks(), path="p", digest="d"),
    PLANNED,
    ev.CorrectionRefused(step=StepId("ah"), reason="no"),
    ev.RevisionPlanned(
        id="x>a", about="a", step=A, cause=PlanCause.ANNOTATION, revision=Revision(origin=StepId("x"), text="x")
    ),
    ev.RevisionRefused(id="x>a", step=A, reason="no"),
    ev.DocumentWritten(step=A, kind=DocumentKind.HANDOFF, text="t", digest="d"),
    ev.FileWritten(step=A, path="p", digest="d"),
    ev.LessonsChanged(promoted=("a",)),
    *QUEUED,
    ev.BranchMisplaced(step=A, tip=COMMIT),
    ev.BranchSettled(how=Resettled.KEPT, new=COMMIT),
    ev.ModeChanged(mode=Mode.PARALLEL),
    ev.CancelRequested(),
    ev.PauseRequested(),
    PARKED,
    ev.RunResumed(driver=DRIVER),
    ENDED,
]
OPENS: dict[RunPhase, set[type[ev.Event]]] = {
    P.NEW: {ev.RunStarted},
    P.BEGUN: {ev.PlanPinned, ev.FlowPinned},
    P.OPEN: {type(event) for event in EVENTS} - {ev.RunStarted, ev.PlanPinned, ev.FlowPinned},
    P.PARKED: {
        type(event)
        for event in EVENTS
        if not isinstance(event, ev.RunStarted | ev.PlanPinned | ev.FlowPinned | ev.StepsDeclared | ev.BranchSettled)
        and not isinstance(event, ev.RunParked | ev.RunEnded | ev.PauseRequested)
    },
}
OPENS[P.ENDED] = OPENS[P.PARKED]
LEADS = {
    (P.NEW, ev.RunStarted): P.BEGUN,
    (P.BEGUN, ev.PlanPinned): P.OPEN,
    (P.BEGUN, ev.FlowPinned): P.OPEN,
    (P.OPEN, ev.RunParked): P.PARKED,
    (P.OPEN, ev.RunEnded): P.ENDED,
    (P.PARKED, ev.GateAnswered): P.OPEN,
    (P.PARKED, ev.StepReopened): P.OPEN,
    (P.PARKED, ev.RunResumed): P.OPEN,
    (P.ENDED, ev.CancelRequested): P.OPEN,
    (P.ENDED, ev.StepReopened): P.OPEN,
    (P.ENDED, ev.RunResumed): P.OPEN,
}
PAIRS = [(phase, event) for phase in RunPhase for event in EVENTS]


def run_in(phase: RunPhase) -> RunState:
    return fold_run(RunState(id=RUN), HISTORIES[phase])


def test_the_list_has_every_event_of_a_run() -> None:
    of_runs = {kind for kind in KINDS.values() if any(kind in allowed for allowed in TRANSITIONS.values())}

    assert {type(event) for event in EVENTS} == of_runs
    assert set(TRANSITIONS) == set(RunPhase)


@pytest.mark.parametrize(("phase", "event"), PAIRS, ids=lambda value: type(value).__name__ + str(value)[:12])
def test_every_pair_of_phase_and_event_is_in_the_table_or_refused(phase: RunPhase, event: ev.Event) -> None:
    run, kind = run_in(phase), type(event)
    assert run.phase is phase

    if kind not in OPENS[phase]:
        with pytest.raises(NotAllowed, match=f"'{kind.__name__}' cannot follow in a run that is '{phase.value}'"):
            fold_run(run, [event])
        assert run == run_in(phase)
        return

    fold_run(run, [event])

    assert run.phase is run_forward(phase, kind) is LEADS.get((phase, kind), phase)


OF_STEPS = [
    event for event in EVENTS if "step" in event.__struct_fields__ and not isinstance(event, ev.CorrectionRefused)
]
UNKNOWN: list[ev.Event] = [
    *(replace(event, step=GONE) for event in OF_STEPS),
    ev.StepsDeclared(steps=(A, GONE)),
    ev.PlanChanged(removed=(GONE,)),
    ev.BranchSettled(how=Resettled.KEPT, new=COMMIT, steps=(A, GONE)),
    replace(PLANNED, helps=GONE),
]


@pytest.mark.parametrize("event", UNKNOWN, ids=lambda event: type(event).__name__)
def test_a_step_that_the_run_does_not_have_is_refused_by_name(event: ev.Event) -> None:
    run = run_in(P.OPEN)

    with pytest.raises(NotAllowed, match=r"is about 'gone', and the run has no such step \(it has a, b\)"):
        fold_run(run, [event])

    assert run == run_in(P.OPEN)


@pytest.mark.parametrize("event", [ev.GateAnswered(gate=GateId("x"), choice="yes"), ev.RunParked(gates=(GateId("x"),))])
def test_a_gate_that_is_not_open_is_refused_by_name(event: ev.Event) -> None:
    with pytest.raises(NotAllowed, match=r"is about 'x', and the run has no such open gate \(it has g\)"):
        fold_run(run_in(P.OPEN), [event])


def test_a_second_answer_is_refused() -> None:
    yes = ev.GateAnswered(gate=G, choice="yes")

    with pytest.raises(NotAllowed, match="no such open gate"):
        fold_run(run_in(P.OPEN), [yes, yes])


def test_who_works_on_a_step_that_an_edit_removed_records_its_end() -> None:
    run = fold_run(run_in(P.OPEN), [ev.StepStarted(step=A), ev.PlanChanged(removed=(A,)), finish("a", "blocked")])

    assert run.finished[A].state is StepEnd.BLOCKED


def test_the_walks_of_the_run_itself_are_known() -> None:
    run = fold_run(run_in(P.OPEN), [ev.StepStarted(step=FINAL), finish(FINAL, "blocked")])

    assert run.finished[FINAL].state is StepEnd.BLOCKED


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("StepFinished", '{"step":"a","state":"finished"}'),
        ("RunEnded", '{"state":"interrupted"}'),
        ("ModeChanged", '{"mode":"ask"}'),
        ("BranchSettled", '{"how":"moved","new":"c"}'),
        ("GateOpened", '{"gate":"g","kind":"riddle","question":"?","options":[]}'),
        ("FlowEnded", '{"status":"over"}'),
    ],
)
def test_a_word_that_is_not_in_its_set_is_refused_by_name(kind: str, body: str) -> None:
    with pytest.raises(StoreError, match=f"'{kind}' event with fields or values this version does not know"):
        decode(kind, 1, body)
