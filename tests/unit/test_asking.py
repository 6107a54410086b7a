"""The one way in which a rule of a step asks a person."""

from __future__ import annotations

import pytest
from tests.unit.builders import Scene, run_started, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.asking import ask, is_asked
from drumline.core.commands import Finish, Park
from drumline.core.ids import GateId
from drumline.core.orders import orders_for
from drumline.core.vocabulary import StepEnd
from drumline.record import replace

STEP = step_of("a")
FIRST = gates.denied(STEP, 1, denial="half of it")
SECOND = gates.denied(STEP, 2, denial="a quarter of it")
ANSWER = ev.GateAnswered(gate=FIRST.gate, choice="retry", comment="once more")


def found_by(
    opens: ev.GateOpened, *events: ev.Event, autonomy: str = "critical", blocks: str = "not done"
) -> Park | Finish | ev.GateAnswered:
    run = Scene(steps=[STEP], started=run_started(autonomy=autonomy), events=events).run()
    return ask(orders_for(run, STEP), run, opens, blocks=blocks)


def test_a_question_is_asked_once_and_its_answer_is_what_follows() -> None:
    asked, waiting, answered = found_by(FIRST), found_by(FIRST, FIRST), found_by(FIRST, FIRST, ANSWER)

    assert asked == Park(gate=GateId("denied-a"), opens=FIRST)
    assert waiting == Park(gate=GateId("denied-a"))
    assert answered == ANSWER


def test_a_question_about_another_attempt_is_another_one_and_has_a_number() -> None:
    asked = found_by(SECOND, FIRST, ANSWER)

    named = GateId("denied-a.2")
    assert asked == Park(gate=named, opens=replace(SECOND, gate=named))


def test_in_autopilot_a_rule_with_a_reason_blocks_the_step_and_leaves_the_question() -> None:
    blocked = found_by(FIRST, autonomy="autopilot")

    assert blocked == Finish(state=StepEnd.BLOCKED, reason="not done", opens=FIRST)
    assert found_by(FIRST, FIRST, ANSWER, autonomy="autopilot") == ANSWER


@pytest.mark.parametrize("autonomy", ["autopilot", "critical", "verbose"])
def test_a_rule_without_a_reason_parks_the_step_whatever_the_autonomy(autonomy: str) -> None:
    assert found_by(FIRST, autonomy=autonomy, blocks="") == Park(gate=GateId("denied-a"), opens=FIRST)


def test_whether_a_question_was_asked_depends_on_what_it_is_about() -> None:
    run = Scene(steps=[STEP], started=run_started(), events=(FIRST,)).run()

    assert is_asked(run, FIRST)
    assert not is_asked(run, SECOND)
