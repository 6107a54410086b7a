"""The questions: stable ids, options, and what only a person may answer."""

from __future__ import annotations

import pytest
from tests.unit.builders import by_hand, step_of

from drumline.core import gates
from drumline.core.events import GateOpened
from drumline.core.ids import GateId, StepId
from drumline.core.plan import Marks
from drumline.core.vocabulary import GateKind
from drumline.errors import InvalidInput
from drumline.record import replace

STEP = replace(step_of("a", title="Parser", manual=["looks right"]), text_digest="0123456789abcdef")
ALL = [
    gates.proceed(STEP, [StepId("x"), StepId("y")]),
    gates.approval(STEP, 1),
    gates.wave(0, [by_hand(STEP.id, "looks right")]),
    gates.claim(STEP, Marks()),
    gates.edit(STEP),
]


@pytest.mark.parametrize(
    ("gate", "name", "options"),
    [
        (ALL[0], "proceed-a", ("yes", "no")),
        (ALL[1], "approve-a", ("approve", "revise", "reject")),
        (ALL[2], "wave-1", ("continue", "not-good", "stop")),
        (ALL[3], "claim-a", ("take", "leave")),
        (ALL[4], "edit-a.01234567", ("restart", "continue")),
    ],
)
def test_a_gate_has_a_name_to_type_and_its_options(gate: GateOpened, name: str, options: tuple[str, ...]) -> None:
    assert (gate.gate, gate.options) == (name, options)
    assert gate.kind == name.split("-")[0]


@pytest.mark.parametrize("text", ["", "  ", "\t\n"])
def test_an_agent_s_question_takes_no_blank_answer(text: str) -> None:
    asked = gates.question(STEP, 1, "Which?")

    with pytest.raises(InvalidInput, match="an answer must not be empty; gate 'question-a' takes any other text"):
        gates.check_reply(asked, text)
    gates.check_reply(asked, " x ")


def test_nothing_is_refused_in_words_where_a_rule_asks_for_more() -> None:
    asked = GateOpened(
        gate=GateId("g"), kind=GateKind.INPUT, question="q", options=(), free=True, rule="len(input) > 0"
    )

    with pytest.raises(InvalidInput, match="must not be empty"):
        gates.check_reply(asked, "")
    gates.check_reply(asked, " ")


def test_only_proceeding_anyway_is_for_a_person_alone() -> None:
    assert [gate.kind for gate in ALL if gate.person_only] == ["proceed"]


def test_every_gate_but_a_wave_s_is_about_its_step() -> None:
    assert [gate.kind for gate in ALL if gate.step != STEP.id] == ["wave"]


def test_the_questions_name_what_has_to_be_known() -> None:
    proceed, approval, wave, claim, edit = (gate.question for gate in ALL)

    assert "x, y" in proceed
    assert "Parser" in approval
    assert "looks right" in approval
    assert "1. a (012345678): looks right" in wave
    assert "nobody named" in claim
    assert "plan/a.md" in edit


def test_an_approval_without_manual_items_asks_for_nothing_by_hand() -> None:
    assert "by hand" not in gates.approval(step_of("a"), 1).question


def test_the_owner_named_in_a_file_is_named_in_the_question() -> None:
    assert "(mary," in gates.claim(STEP, Marks(assignee="mary")).question


def test_further_attempts_are_further_questions() -> None:
    assert [gates.name_gate(GateKind.APPROVE, STEP.id, n) for n in (0, 1, 2)] == [
        "approve-a",
        "approve-a.2",
        "approve-a.3",
    ]


def test_waves_count_from_one() -> None:
    assert [gates.wave_id(depth) for depth in (0, 1, 41)] == ["wave-1", "wave-2", "wave-42"]


def test_a_wave_takes_the_numbers_of_what_is_not_good() -> None:
    wave = gates.wave(0, [by_hand("a", "one"), by_hand("b", "two")])

    assert gates.read_items(wave, "not-good:2, 1") == (2, 1)
    assert gates.read_reply(wave, "not-good:2", "why") == ("not-good", "why")
    assert gates.read_items(wave, "continue") == ()
    for wrong in ("not-good", "not-good:3", "not-good:x"):
        with pytest.raises(InvalidInput, match="does not say which items"):
            gates.check_reply(wave, wrong)
    with pytest.raises(InvalidInput, match="needs a text that says what is wrong"):
        gates.check_reply(wave, "not-good:1", " ")


def test_where_there_is_one_item_its_number_goes_without_saying() -> None:
    assert gates.read_items(gates.wave(0, [by_hand("a", "one")]), "not-good") == (1,)
