"""Manual items at the terminal: each is judged by itself, and what comes of it is one answer."""

from __future__ import annotations

import pytest

from drumline.cli.gateprompt import Ticks
from drumline.core import gates
from drumline.core.events import GateOpened
from drumline.core.gateevents import ManualItem
from drumline.core.ids import StepId

ITEMS = [ManualItem(step=StepId("step-1"), text=text) for text in ("It reads well.", "It is short.", "It is right.")]


def wave(count: int = 3) -> GateOpened:
    return gates.wave(0, ITEMS[:count])


@pytest.mark.parametrize(
    ("said", "answer"),
    [("yyy", "continue"), ("yny", "not-good:2"), ("nnn", "not-good:1,2,3")],
)
def test_items_are_judged_one_by_one(said: str, answer: str) -> None:
    ticks, asked = Ticks(wave()), []

    for letter in said:
        asked.append(ticks.prompt)
        assert ticks.take(letter)

    assert asked == [
        "1 of 3, step-1: It reads well. Good? (y/n): ",
        "2 of 3, step-1: It is short. Good? (y/n): ",
        "3 of 3, step-1: It is right. Good? (y/n): ",
    ]
    assert (ticks.answer, ticks.left) == (answer, 0)
    gates.check_reply(wave(), ticks.answer)


@pytest.mark.parametrize("text", ["stop", "continue", "not-good:1", "what?"])
def test_other_words_are_about_all_items(text: str) -> None:
    ticks = Ticks(wave())

    assert not ticks.take(text)
    assert (ticks.answer, ticks.left) == ("", 3)


def test_a_gate_without_items_is_asked_as_before() -> None:
    ticks = Ticks(gates.accept([]))

    assert ticks.prompt == "Answer: "
    assert not ticks.take("y")
    assert ticks.answer == ""
