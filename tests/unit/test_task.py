"""A task of one line as a plan of one step."""

from __future__ import annotations

import pytest

from drumline.core.plan import Check
from drumline.core.task import STEP, plan_task
from drumline.core.validation import validate


@pytest.mark.parametrize(
    ("text", "title", "name"),
    [
        ("Fix the login", "Fix the login", "do-fix-the-login"),
        ("\n\n# Fix it!\n\nBecause it is broken.\n", "Fix it!", "do-fix-it"),
        ("Füge Größen hinzu", "Füge Größen hinzu", "do-fuge-grossen-hinzu"),
        ("修正", "修正", "do-task"),
        ("../../etc; rm -rf /", "../../etc; rm -rf /", "do-etc-rm-rf"),
        ("a" * 100, "a" * 71 + "…", "do-" + "a" * 32),
        (
            "one two three four five six seven eight",
            "one two three four five six seven eight",
            "do-one-two-three-four-five-six",
        ),
    ],
)
def test_title_and_name_come_from_the_first_line(text: str, title: str, name: str) -> None:
    plan = plan_task(text)

    assert (plan.title, plan.name) == (title, name)
    assert plan.steps[0].title == title


def test_the_whole_text_is_in_the_step() -> None:
    plan = plan_task("Fix it\n\nall of it\n", checks=(Check(command="make test"),))

    assert [step.id for step in plan.steps] == [STEP]
    assert plan.by_id[STEP].text == "Fix it\n\nall of it\n"
    assert plan.by_id[STEP].checks == (Check(command="make test"),)
    assert [problem for problem in validate(plan) if problem.severity.value == "error"] == []


def test_another_text_is_another_step() -> None:
    one, other = (plan_task(text).steps[0].text_digest for text in ("Fix it", "Fix it\nnow"))

    assert one != other
