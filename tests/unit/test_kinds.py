"""Which commands judge a step, and in which order: pure."""

from __future__ import annotations

import pytest

from drumline.core.checklist import COMPILE_CHECK, arrange_step, list_unbuilt
from drumline.core.claims import count_claimed, tell_claims
from drumline.core.ids import StepId
from drumline.core.kinds import CONFIGURED, DETECTED, ENVIRONMENT, PLAN, VARIABLES, arrange, name_kinds
from drumline.core.plan import Check, Step
from drumline.core.vocabulary import CheckKind
from drumline.planfiles.implement import ImplementDialect
from drumline.planfiles.rootfile import read_root

OWN = Check(command="own", line=7)
EVERY = Check(command="every", source=CONFIGURED)


def of(kind: CheckKind, source: str = CONFIGURED) -> Check:
    """A command for a kind, named after it and its source."""
    return Check(command=f"{kind} by {source}", source=source, kind=kind)


def test_checks_run_by_kind_then_the_steps_own_then_what_is_configured() -> None:
    kinds = [of(kind) for kind in (CheckKind.TEST, CheckKind.BUILD, CheckKind.FORMAT, CheckKind.LINT)]

    found = arrange([OWN], [*kinds, EVERY])

    commands = ["format by config", "lint by config", "build by config", "test by config", "own", "every"]
    assert [check.command for check in found.checks] == commands
    assert found.lost == ()


@pytest.mark.parametrize(
    "sources", [(ENVIRONMENT, "step", PLAN, CONFIGURED, DETECTED), ("step", PLAN), (PLAN, CONFIGURED)]
)
def test_the_first_source_wins_for_its_kind_and_the_others_are_told(sources: tuple[str, ...]) -> None:
    named = [of(CheckKind.TEST, source) for source in reversed(sources)]
    other = of(CheckKind.LINT)

    found = arrange(
        [OWN, *(check for check in named if check.source == "step")], [c for c in named if c.source != "step"] + [other]
    )

    assert found.checks == (other, of(CheckKind.TEST, sources[0]), OWN)
    assert {check.source for check in found.lost} == {*sources[1:]}


def test_a_command_that_the_step_and_another_source_name_runs_once_as_the_steps() -> None:
    shared = Check(command="own", source=CONFIGURED, kind=CheckKind.TEST)

    found = arrange([OWN], [shared, Check(command="own", source=CONFIGURED)])

    assert found.checks == (Check(command="own", line=7, kind=CheckKind.TEST),)


def test_several_commands_of_one_kind_and_source_all_run() -> None:
    two = [Check(command=command, kind=CheckKind.LINT) for command in ("ruff", "mypy")]

    assert arrange(two, [of(CheckKind.LINT)]).checks == tuple(two)


def test_variables_name_commands_and_blank_ones_do_not() -> None:
    environ = {"FORMAT_CMD": " ruff format . ", "TEST_CMD": "  ", "BUILD_CMD": "make", "LINT": "x"}

    found = name_kinds(environ, ENVIRONMENT, VARIABLES)

    assert [(check.kind.value, check.command) for check in found] == [("format", "ruff format ."), ("build", "make")]


def test_a_step_that_only_has_to_compile_is_judged_by_the_build_and_by_no_tests_of_all_steps() -> None:
    step = Step(id=StepId("1"), title="A", compiles=True)
    build, test = of(CheckKind.BUILD), of(CheckKind.TEST)

    found = arrange_step(step, [test, build])

    assert (found.checks, found.lost) == ((build,), (test,))
    assert list_unbuilt(step, found.checks) == ()
    assert list_unbuilt(step, ()) == (COMPILE_CHECK,)


def test_what_a_plan_lists_for_its_end_is_read_and_what_is_not_a_command_is_named() -> None:
    listed = "- [ ] `make all`\n- [ ] the page looks right\n"
    root = read_root(f"---\nstatus: in-progress\n---\n# P\n\n## Global Verification\n\n{listed}", "root.md")
    testing = f"## Testing Plan\n\n### Unit Tests\n\n{listed}\n### Manual Verification\n\n- log in\n"
    parsed = ImplementDialect().parse(f"# P\n\n### Step 1: A\n**Status:** pending\n\n{testing}", "implement.md")

    assert [check.command for check in root.final] == [check.command for check in parsed.final] == ["make all"]
    assert root.not_run == ("the page looks right",)
    assert parsed.not_run == ("the page looks right",)
    assert parsed.steps[-1].manual == ("log in",)
    assert [problem.code for problem in root.problems] == ["check_not_command"]


@pytest.mark.parametrize(
    ("message", "claimed"),
    [
        ("Done.\nAutomated QA: 2/3 passed", 2),
        ("**Automated QA:** 3 of 3 passed", 3),
        ("Automated QA: 9/3", 3),
        ("Automated QA: 1/1 passed", 0),
        ("I tried Automated QA: 3/3", 0),
        ("", 0),
    ],
)
def test_what_an_agent_says_of_its_scenarios_is_a_claim_about_all_of_them(message: str, claimed: int) -> None:
    assert count_claimed(message, 3) == claimed
    assert tell_claims(claimed, 3) == f"Automated QA {claimed}/3 by the word of its agent, not proved"
    assert tell_claims(0, 0) == ""
