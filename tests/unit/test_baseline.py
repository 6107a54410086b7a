"""What checks say about the tree before the work, and whose failure it is."""

from __future__ import annotations

import pytest

from drumline.core import events as ev
from drumline.core.baseline import finds_nothing, list_inherited, list_unknown
from drumline.core.foul import list_overruled
from drumline.core.ids import Tree
from drumline.core.plan import Check
from drumline.core.proof import Against, Colour, Compared
from drumline.core.stepstate import CheckResult, StepState

TREE = Tree("t" * 40)
OWN, CONFIGURED = Check(command="own"), Check(command="all", source="config")


def failed(*checks: Check) -> StepState:
    """A step whose checks fail."""
    ended = [
        ev.CheckEnded(check=number, command=check.command, tree=TREE, tree_after=TREE, exit_code=1)
        for number, check in enumerate(checks)
    ]
    return StepState(tree=TREE, verdicts={number: CheckResult(ended=event) for number, event in enumerate(ended)})


@pytest.mark.parametrize("checks", [(CONFIGURED,), (CONFIGURED, CONFIGURED)])
def test_a_configured_check_that_failed_before_is_not_the_failure_of_a_step_without_checks(
    checks: tuple[Check, ...],
) -> None:
    state = failed(*checks)
    assert list_unknown(checks, state) == tuple(range(len(checks)))

    red = {number: Compared(check=number, command="all", colour=Colour.RED) for number in range(len(checks))}
    state.compared[Against.BASE] = red

    assert list_inherited(checks, state) == list(range(len(checks)))


def test_a_check_of_its_own_is_always_the_failure_of_the_step() -> None:
    state = failed(OWN, CONFIGURED)

    assert list_unknown((OWN, CONFIGURED), state) == ()
    assert list_inherited((OWN, CONFIGURED), state) == []


@pytest.mark.parametrize(
    ("output", "nothing"),
    [
        ("collected 0 items\n\n===== no tests ran in 0.01s =====", True),
        ("no tests ran in 0.00s", True),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", True),
        ("ERROR: file or directory not found: tests/new", True),
        ("make: *** No rule to make target 'hello'.  Stop.", True),
        ("make: *** No rule to make target 'a.c', needed by 'a.o'.  Stop.", False),
        ('npm error Missing script: "test"', True),
        ("No tests found, exiting with code 1", True),
        ("1 failed in 0.02s", False),
        ("E   ModuleNotFoundError: No module named 'calc'", False),
        ("I said that no tests ran in 5 s", False),
    ],
)
def test_a_check_that_has_nothing_to_judge_by_says_so(output: str, nothing: bool) -> None:
    assert finds_nothing(output) is nothing


@pytest.mark.parametrize(("absent", "overruled"), [(True, 0), (False, 1)])
def test_a_base_that_had_nothing_to_judge_by_overrules_nobody(absent: bool, overruled: int) -> None:
    state = failed(OWN)
    state.compared[Against.BASE_JUDGE] = {0: Compared(check=0, command="own", colour=Colour.RED)}
    state.compared[Against.BASE] = {0: Compared(check=0, command="own", colour=Colour.RED, absent=absent)}

    assert len(list_overruled(state.judged)) == overruled
