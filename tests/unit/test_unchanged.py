"""Work that changed nothing: a person says whether that is right."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE, Scene, attempt, prepared, run_started, step_of
from tests.unit.stepping import advance

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.commands import Attempt, Command, Finish, Land, Park, Recheck
from drumline.core.ids import GateId, StepId
from drumline.core.orders import orders_for
from drumline.core.proof import Facts, Level, Proof, Reason, settle
from drumline.core.state import RunState
from drumline.core.stepfold import UNCHANGED, fold_step
from drumline.core.stepstate import StepState
from drumline.core.verdicts import NOTHING_DONE
from drumline.core.vocabulary import StepEnd
from drumline.engine.messages import outcome_of
from drumline.ports.journal import Message
from drumline.record import replace

STEP = step_of("a")
GATE = gates.unchanged(STEP, 1, told=f"{gates.PASSED}; {NOTHING_DONE}")
IDLE = [
    *prepared(),
    attempt(1),
    ev.AttemptEnded(node="implement", attempt=1, tree=TREE, unchanged=True),
    ev.CheckStarted(check=0, command="check 1", tree=TREE),
    ev.CheckEnded(check=0, command="check 1", tree=TREE, tree_after=TREE, exit_code=0),
]


def run_of(*events: ev.Event, autonomy: str = "critical", role: str = "") -> RunState:
    step = replace(STEP, role=role)
    return Scene(steps=[step], started=run_started(autonomy=autonomy), events=events).run()


def next_of(run: RunState, events: list[ev.Event] = IDLE) -> Command:
    step = run.plan.by_id[StepId("a")]
    return advance(orders_for(run, step), fold_step(StepState(), events), run)


def answered(choice: str, comment: str = "") -> list[ev.Event]:
    return [GATE, ev.GateAnswered(gate=GATE.gate, choice=choice, comment=comment)]


def test_a_person_is_asked_what_it_means_that_nothing_changed() -> None:
    asked = next_of(run_of())

    assert asked == Park(gate=GateId("unchanged-a"), opens=GATE)
    assert GATE.options == ("already-done", "retry", "skip")
    assert next_of(run_of(GATE)) == Park(gate=GateId("unchanged-a"))


def test_with_autopilot_the_step_is_blocked_and_an_answer_lets_it_go_on_with_what_was_checked() -> None:
    blocked = next_of(run_of(autonomy="autopilot"))

    assert isinstance(blocked, Finish)
    assert (blocked.state, blocked.opens) == ("blocked", GATE)
    run = run_of(ev.StepFinished(step=StepId("a"), state=StepEnd.BLOCKED), GATE, autonomy="autopilot")
    said = outcome_of(run, Message(kind="answer", subject="unchanged-a", value="already-done"), ())
    assert said is not None
    assert next_of(run_of(ev.StepFinished(step=StepId("a"), state=StepEnd.BLOCKED), GATE, *said)) == Recheck(round=1)


def test_what_was_already_done_lands_as_declared() -> None:
    assert next_of(run_of(*answered("already-done"))) == Land()
    facts = Facts(total=1, passed=1, same_tree=True, unchanged=True, declared=True)
    assert settle(facts) == Proof(level=Level.DECLARED, why=(Reason.UNCHANGED,))


def test_a_yes_to_nothing_says_nothing_about_work_that_changed_something() -> None:
    facts = Facts(total=0, passed=0, same_tree=True, declared=True)

    assert settle(facts) == Proof(level=Level.UNPROVED, why=(Reason.NO_CHECKS,))


@pytest.mark.parametrize("retries", [0, 2])
def test_a_retry_tells_the_agent_and_uses_up_no_fix(retries: int) -> None:
    run = run_of(*answered("retry", "look in src/"))
    run.started = replace(run.begun, retries=retries)

    command = next_of(run)

    assert isinstance(command, Attempt)
    assert (command.attempt, command.comment) == (2, "look in src/")
    state = fold_step(StepState(), [*IDLE, attempt(2)])
    assert (state.complaint, state.fixes) == (UNCHANGED, 0)


def test_a_skip_finishes_the_step_with_the_persons_words() -> None:
    assert next_of(run_of(*answered("skip", "not needed"))) == Finish(state=StepEnd.SKIPPED, reason="not needed")


def test_who_may_only_read_is_not_asked() -> None:
    assert next_of(run_of(role="architect")) == Land()


def test_checks_that_fail_go_back_to_the_agent_as_ever() -> None:
    failing = replace(IDLE[-1], exit_code=1)

    assert isinstance(next_of(run_of(), [*IDLE[:-1], failing]), Attempt)
