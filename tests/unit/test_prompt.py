"""The prompt says the task, the bounds, the judgement and what went wrong before, and nothing that is not so."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE

from drumline.core.blocked import OFFER, find_question
from drumline.core.events import CheckEnded
from drumline.core.ids import StepId
from drumline.core.plan import Check, Step
from drumline.core.prompt import MOST_OUTPUT, Brief, write_prompt
from drumline.record import replace

STEP = Step(id=StepId("step-1"), title="Add the parser")
BRIEF = Brief(step=STEP, text="\nWrite it.\n\n", plan_title="Demo", checks=(), attempt=1)


def failed(output: str, *, command: str = "make test", exit_code: int | None = 1) -> CheckEnded:
    """A check that did not pass."""
    return CheckEnded(check=0, command=command, tree=TREE, tree_after=TREE, exit_code=exit_code, output=output)


def test_the_task_and_the_text_of_the_step_are_told() -> None:
    prompt = write_prompt(BRIEF)

    assert prompt.startswith("# Task: Add the parser (step-1)\n")
    assert "“Demo”" in prompt
    assert "## The step\n\nWrite it.\n" in prompt


@pytest.mark.parametrize(
    "title", ["Files that belong", "How it will be judged", "Context", "failed", "asks for this change", "Your role"]
)
def test_what_there_is_nothing_to_say_about_has_no_section(title: str) -> None:
    assert title not in write_prompt(BRIEF)


def test_owned_files_checks_and_context_are_told() -> None:
    step = replace(STEP, files=("src/a.py", "docs/"))
    checks = (Check(command="make test"), Check(command="ruff check"))

    prompt = write_prompt(replace(BRIEF, step=step, checks=checks, context=" Mind the gap. "))

    assert "- `src/a.py`\n- `docs/`" in prompt
    assert "- `make test`\n- `ruff check`" in prompt
    assert "\n\nMind the gap.\n" in prompt


def test_a_failed_check_is_told_with_its_command_exit_code_and_output() -> None:
    prompt = write_prompt(replace(BRIEF, attempt=2, feedback=[failed("boom")]))

    assert "An earlier attempt failed this check: `make test` (exit code 1)" in prompt
    assert "```\nboom\n```" in prompt


@pytest.mark.parametrize(("fresh", "expected"), [(True, "fresh work tree"), (False, "still in the work tree")])
def test_the_agent_is_told_whether_its_earlier_changes_are_there(fresh: bool, expected: str) -> None:
    assert expected in write_prompt(replace(BRIEF, attempt=2, feedback=[failed("boom")], fresh=fresh))


def test_every_failed_check_is_told() -> None:
    prompt = write_prompt(replace(BRIEF, attempt=2, feedback=[failed("one"), failed("two", command="lint")]))

    assert "one" in prompt
    assert "`lint`" in prompt


def test_a_check_without_output_says_so() -> None:
    assert "(no output)" in write_prompt(replace(BRIEF, attempt=2, feedback=[failed(" \n")]))


def test_only_the_end_of_a_long_output_is_told() -> None:
    prompt = write_prompt(replace(BRIEF, attempt=2, feedback=[failed("FIRST" + "x" * MOST_OUTPUT + "LAST")]))

    assert "FIRST" not in prompt
    assert "LAST" in prompt


def test_an_output_with_fences_cannot_end_its_own_fence() -> None:
    prompt = write_prompt(replace(BRIEF, attempt=2, feedback=[failed("```\n# not a heading of ours\n````")]))

    assert "`````\n```\n# not a heading of ours\n````\n`````" in prompt


def test_the_agent_s_own_words_and_a_person_s_wish_are_told() -> None:
    prompt = write_prompt(replace(BRIEF, attempt=2, complaint="no compiler", comment="shorter, please"))

    assert prompt.index("asks for this change\n\nshorter, please") < prompt.index("attempt failed\n\nno compiler")


def test_the_same_brief_gives_the_same_prompt() -> None:
    brief = replace(BRIEF, feedback=[failed("x")], attempt=3)

    assert write_prompt(brief) == write_prompt(brief)


def test_the_agent_is_told_how_to_ask_a_person() -> None:
    prompt = write_prompt(BRIEF)

    assert OFFER in prompt
    assert find_question(prompt) == ""
