"""The prompt says the task, the bounds, the judgement and what went wrong before, and nothing that is not so."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE

from drumline.core.blocked import OFFER, WRONG, find_question
from drumline.core.events import CheckEnded
from drumline.core.handoffs import MOST_HANDOFFS, MOST_WORDS, Handoff
from drumline.core.ids import StepId
from drumline.core.plan import Check, Step
from drumline.core.prompt import MOST_OTHERS, MOST_OUTPUT, Brief, Header, write_prompt
from drumline.record import replace

STEP = Step(id=StepId("step-1"), title="Add the parser")
BRIEF = Brief(step=STEP, text="\nWrite it.\n\n", plan_title="Demo", checks=())


def failed(output: str, *, command: str = "make test", exit_code: int | None = 1) -> CheckEnded:
    """A check that did not pass."""
    return CheckEnded(check=0, command=command, tree=TREE, tree_after=TREE, exit_code=exit_code, output=output)


def test_the_task_and_the_text_of_the_step_are_told() -> None:
    prompt = write_prompt(BRIEF)

    assert prompt.startswith("# Task: Add the parser (step-1)\n")
    assert "“Demo”" in prompt
    assert "## The step\n\nWrite it.\n" in prompt
    assert "## Expected outcome\n\nAdd the parser: it is done as the step says.\n" in prompt


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
    prompt = write_prompt(replace(BRIEF, feedback=[failed("boom")]))

    assert "An earlier attempt failed this check: `make test` (exit code 1)" in prompt
    assert "```\nboom\n```" in prompt


@pytest.mark.parametrize(("fresh", "expected"), [(True, "fresh work tree"), (False, "still in the work tree")])
def test_the_agent_is_told_whether_its_earlier_changes_are_there(fresh: bool, expected: str) -> None:
    assert expected in write_prompt(replace(BRIEF, feedback=[failed("boom")], fresh=fresh))


def test_every_failed_check_is_told() -> None:
    prompt = write_prompt(replace(BRIEF, feedback=[failed("one"), failed("two", command="lint")]))

    assert "one" in prompt
    assert "`lint`" in prompt


def test_a_check_without_output_says_so() -> None:
    assert "(no output)" in write_prompt(replace(BRIEF, feedback=[failed(" \n")]))


def test_only_the_end_of_a_long_output_is_told() -> None:
    prompt = write_prompt(replace(BRIEF, feedback=[failed("FIRST" + "x" * MOST_OUTPUT + "LAST")]))

    assert "FIRST" not in prompt
    assert "LAST" in prompt


def test_an_output_with_fences_cannot_end_its_own_fence() -> None:
    prompt = write_prompt(replace(BRIEF, feedback=[failed("```\n# not a heading of ours\n````")]))

    assert "`````\n```\n# not a heading of ours\n````\n`````" in prompt


def test_the_agent_s_own_words_and_a_person_s_wish_are_told() -> None:
    prompt = write_prompt(replace(BRIEF, complaint="no compiler", comment="shorter, please"))

    assert prompt.index("asks for this change\n\nshorter, please") < prompt.index("attempt failed\n\nno compiler")


def test_the_same_brief_gives_the_same_prompt() -> None:
    brief = replace(BRIEF, feedback=[failed("x")])

    assert write_prompt(brief) == write_prompt(brief)


def test_the_agent_is_told_how_to_ask_a_person() -> None:
    prompt = write_prompt(BRIEF)

    assert OFFER in prompt
    assert find_question(prompt) == ""


WHOLE = """# Task: Add the parser (step-2)

Agent: coder
Phase: step-2/3
Batch: 2
Session: 261118-070940-qg8

Progress: Phase 2 of 3: Add the parser

You are working on one step of the plan “Demo”. The current directory is a git worktree made for this step alone. \
Do this step and nothing else. Leave your changes in the work tree; they are committed for you. Files of the plan and \
`.drumline/` are managed for you: changes to them are dropped.

## The plan in its own words

One language, one parser.

#### What we're not doing

No compiler.

## The step

Write it.

## Context

As the lexer does.

## Acceptance criteria

- It parses.

## Expected outcome

Add the parser: everything that the step lists under Acceptance criteria holds. A person verifies by hand: it reads.

## What the steps left that this one needs

### step-1: Add the lexer

Landed as 0123456789ab. It changed `lexer.py`.

Its agent reported, which nobody has proved:

Tokens are tuples.

### step-0: Decide

Its handoff is missing.

## What was done before that

- step-00 (Begin), landed as 0123456789ab

## You must

- Follow the patterns that the step names under Context.
- Derive tests from the acceptance criteria, where tests can show them.

## You must not

- Do what the plan or the step calls out of scope.
- Do the work of other steps: step-3 (Print it).

## How it will be judged

These commands are run after you finish; each must exit with 0.

- `make test`

## If a person has to decide

{offer}
"""


def test_the_whole_prompt_of_a_step_in_the_middle_of_a_plan() -> None:
    brief = replace(
        BRIEF,
        step=replace(STEP, id=StepId("step-2"), manual=("it reads",)),
        text="Write it.\n\n## Context\n\nAs the lexer does.\n\n## Acceptance criteria\n\n- It parses.\n",
        checks=(Check(command="make test"),),
        header=Header(agent="coder", session="261118-070940-qg8", number=2, total=3, batch="2"),
        preamble="One language, one parser.\n\n## What we're not doing\n\nNo compiler.",
        handoffs=(
            Handoff(
                step=StepId("step-1"),
                title="Add the lexer",
                words="Tokens are tuples.",
                claimed=True,
                commit="0123456789abcdef",
                files=("lexer.py",),
            ),
            Handoff(step=StepId("step-0"), title="Decide"),
        ),
        earlier=("step-00 (Begin), landed as 0123456789ab",),
        others=("step-3 (Print it)",),
    )

    assert write_prompt(brief) == WHOLE.format(offer=f"{OFFER} {WRONG}")


def test_what_was_left_is_cut_and_what_is_too_much_is_counted() -> None:
    many = [Handoff(step=StepId(f"s{n}"), title="T", words="w" * 5_000) for n in range(MOST_HANDOFFS + 2)]

    others, earlier = ([f"{letter}{n}" for n in range(MOST_OTHERS + 3)] for letter in "oe")
    prompt = write_prompt(replace(BRIEF, handoffs=many, others=others, earlier=earlier))

    assert prompt.count("w" * MOST_WORDS + " … (cut)") == MOST_HANDOFFS
    assert "w" * (MOST_WORDS + 1) not in prompt
    assert f"of which nothing is told here: s{MOST_HANDOFFS} (T), s{MOST_HANDOFFS + 1} (T)." in prompt
    assert f"o{MOST_OTHERS - 1}; and 3 more." in prompt
    assert f"- e{MOST_OTHERS - 1}\n- and 3 more\n" in prompt
