"""The fold of a run's stream: every event does one thing, and the same events give the same state."""

from __future__ import annotations

import pytest
from tests.unit.builders import RUN, Scene, empty, finish, gate_for, run_started, step_of

from drumline.core import events as ev
from drumline.core.codec import KINDS
from drumline.core.ids import DriverId, GateId, StepId
from drumline.core.life import Phase, step_forward
from drumline.core.plan import Marks, Status
from drumline.core.runfold import fold_run, glance_run
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, RunEnd
from drumline.errors import NotAllowed
from drumline.record import replace

A, B = StepId("a"), StepId("b")
STEPS = [step_of("a"), step_of("b", "a")]


def fold(*events: ev.Event) -> RunState:
    """A run of two steps and what happened to it."""
    return Scene(steps=STEPS, events=events).run()


def answer(gate: str, choice: str = "yes") -> ev.GateAnswered:
    """What a person said."""
    return ev.GateAnswered(gate=GateId(gate), choice=choice)


def belongs_to_a_step(kind: type[ev.Event]) -> bool:
    """Whether the table of a step's life knows the event."""
    for phase in Phase:
        try:
            step_forward(phase, kind)
        except NotAllowed:
            continue
        return True
    return False


def test_every_kind_of_event_is_folded_by_exactly_one_of_the_two_folds() -> None:
    for kind in KINDS.values():
        event = empty(kind)
        try:
            glance_run(RunState(id=RUN), [event])
            known = True
        except KeyError:
            known = False
        except (AttributeError, NotAllowed):
            known = True  # it was applied, and missed the fields this empty event has not got

        assert known != belongs_to_a_step(kind), kind


def test_a_run_without_a_beginning_says_so() -> None:
    with pytest.raises(NotAllowed, match="has no beginning"):
        _ = RunState(id=RUN).begun


def test_a_run_of_a_later_protocol_is_refused() -> None:
    with pytest.raises(NotAllowed, match="protocol 2"):
        fold_run(RunState(id=RUN), [replace(run_started(), protocol=ev.PROTOCOL + 1)])


def test_the_plan_is_pinned_with_its_depths() -> None:
    run = fold()

    assert [s.id for s in run.plan.steps] == ["a", "b"]
    assert run.depth == {"a": 0, "b": 1}
    assert (run.plan.name, run.plan.title, run.version) == ("demo", "The demo plan", 2)


@pytest.mark.parametrize(("selection", "expected"), [(None, ["a", "b"]), (["b"], ["b"]), (["b", "a"], ["a", "b"])])
def test_the_selection_is_in_plan_order(selection: list[str] | None, expected: list[str]) -> None:
    run = Scene(steps=STEPS, started=run_started(selection=selection)).run()

    assert [s.id for s in run.selected()] == expected


def test_the_reading_of_the_journal_has_marks_for_every_step() -> None:
    marks = Marks(status=Status.CLAIMED, assignee="x")
    run = fold(ev.PlanMirrored(step=A, marks=marks, path="plan/a.md", digest="d1"))

    reading = run.reading()

    assert reading.marks == {"a": marks, "b": Marks()}
    assert reading.digests == {"plan/a.md": "d1"}


def test_a_change_of_the_plan_replaces_adds_removes_and_orders() -> None:
    changed = ev.PlanChanged(
        changed=(step_of("c"), step_of("b", title="New")),
        removed=(A,),
        order=(StepId("c"), B),
        digests={"plan/c.md": "d"},
        marks={"c": Marks(status=Status.BLOCKED)},
    )

    run = fold(changed)

    assert [(s.id, s.title) for s in run.plan.steps] == [("c", "Title of c"), ("b", "New")]
    assert run.depth == {"c": 0, "b": 0}
    assert run.digests["plan/c.md"] == "d"
    assert run.marks[StepId("c")].status is Status.BLOCKED


def test_a_step_is_in_work_from_its_start_to_its_end() -> None:
    run = fold(ev.StepStarted(step=A, round=0))
    before = dict(run.working)

    fold_run(run, [finish("a")])

    assert (before, run.working, list(run.finished)) == ({"a": 0}, {}, ["a"])


def test_a_declared_step_that_this_run_finishes_is_not_only_declared_any_more() -> None:
    run = fold(ev.StepsDeclared(steps=(A,)), finish("a"))

    assert (run.declared, list(run.finished)) == (set(), ["a"])


def test_a_reopened_step_is_neither_finished_nor_declared_and_opens_the_run_again() -> None:
    run = fold(ev.StepsDeclared(steps=(B,)), finish("a", "blocked"), ev.RunEnded(state=RunEnd.BLOCKED))

    fold_run(run, [ev.StepReopened(step=A), ev.StepReopened(step=B), ev.StepReopened(step=A)])

    assert (run.finished, run.declared, run.rounds, run.ended) == ({}, set(), {"a": 2, "b": 1}, None)


def test_a_gate_is_open_until_its_answer_which_also_unparks_the_run() -> None:
    run = fold(gate_for("g", "a"), ev.RunParked(gates=(GateId("g"),)))
    before = (run.parked, run.answer(GateId("g")), len(run.open_gates))

    fold_run(run, [answer("g")])

    assert before == (True, None, 1)
    assert (run.parked, run.answer(GateId("g")), run.open_gates) == (False, "yes", [])


def test_an_unknown_gate_has_no_answer() -> None:
    assert fold().answer(GateId("nowhere")) is None


def test_a_gate_opened_by_two_drivers_is_one_gate() -> None:
    run = fold(gate_for("g", "a"), answer("g"), gate_for("g", "a"))

    assert (run.answer(GateId("g")), run.open_gates) == ("yes", [])


@pytest.mark.parametrize(
    "end",
    [finish("a", "skipped"), finish("a"), ev.StepReopened(step=A), ev.StepsDeclared(steps=(A,))],
    ids=["skipped", "done", "reopened", "declared"],
)
def test_a_question_about_a_step_falls_away_with_what_it_was_about(end: ev.Event) -> None:
    run = fold(gate_for("g", "a"), gate_for("h", "b"), gate_for("wave-1"), end)

    assert [g.opened.gate for g in run.open_gates] == ["h", "wave-1"]


def test_a_question_that_fell_away_may_be_asked_again() -> None:
    run = fold(gate_for("g", "a"), ev.StepReopened(step=A), gate_for("g", "a"))

    assert [g.opened.gate for g in run.open_gates] == ["g"]


def test_an_answer_outlives_the_end_of_its_step() -> None:
    run = fold(gate_for("g", "a"), answer("g"), finish("a"), ev.StepReopened(step=A))

    assert run.answer(GateId("g")) == "yes"


def test_parking_ending_and_resuming() -> None:
    parked = ev.RunParked(gates=())
    ended = ev.RunEnded(state=RunEnd.BLOCKED, reason="x")
    resumed = ev.RunResumed(driver=DriverId("d"))

    told: list[ev.Event] = [parked, resumed, ended, resumed]
    runs = [fold(*told[:length]) for length in range(1, 5)]
    states = [(run.parked, run.ended) for run in runs]

    assert states == [(True, None), (False, None), (False, ended), (False, None)]


def test_mode_and_cancel_are_kept() -> None:
    cancel = ev.CancelRequested(by="me")

    run = fold(ev.ModeChanged(mode=Mode.SEQUENTIAL), cancel)

    assert (run.mode, run.cancel) == ("sequential", cancel)


def test_the_same_events_give_the_same_state() -> None:
    events = [ev.StepStarted(step=A), finish("a"), gate_for("g", "b"), answer("g"), ev.RunEnded(state=RunEnd.DONE)]

    assert fold(*events) == fold_run(fold(*events[:2]), events[2:])
