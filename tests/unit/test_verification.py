"""What a check said then beside what it says now, and commits beside the journal."""

from __future__ import annotations

import pytest

from drumline.core.checkfailure import Cause, CheckFailure
from drumline.core.events import CheckEnded
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.verification import Landed, SeenCommit, compare_commit
from drumline.engine.nodes.check import Checked
from drumline.engine.verifying import judge
from drumline.record import replace

LANDED = Landed(step=StepId("a"), commit=Commit("c" * 40), tree=Tree("t" * 40), base=Commit("b" * 40))
SEEN = SeenCommit(tree="t" * 40, parents=("b" * 40,), trailers={"Drumline-Run": "r1", "Drumline-Step": "a"})
PASSED = CheckEnded(check=0, command="make test", tree=LANDED.tree, tree_after=LANDED.tree, exit_code=0)


def now(exit_code: int, failure: CheckFailure | None = None) -> Checked:
    cause = None if exit_code == 0 else Cause(failure=failure or CheckFailure.WORK)
    return Checked(exit_code=exit_code, output="", seconds=0.1, cause=cause)


def test_the_same_verdict_is_no_difference_whatever_the_exit_code() -> None:
    failed = replace(PASSED, exit_code=1)

    assert judge(LANDED, PASSED, now(0)).difference is None
    assert judge(LANDED, failed, now(2)).difference is None


@pytest.mark.parametrize(("then", "later"), [(0, 1), (1, 0)])
def test_another_verdict_is_named(then: int, later: int) -> None:
    found = judge(LANDED, replace(PASSED, exit_code=then), now(later)).difference

    assert str(found) == f"a: check 'make test': the journal says exit code {then}, found exit code {later}"


def test_what_this_machine_lacks_is_not_compared() -> None:
    found = judge(LANDED, PASSED, now(127, CheckFailure.TOOL))

    assert found.difference is None
    assert "cannot be run here" in found.left


@pytest.mark.parametrize(
    ("seen", "named"),
    [
        (None, "no such commit"),
        (replace(SEEN, tree="x" * 40), "tree of the commit"),
        (replace(SEEN, parents=("b" * 40, "d" * 40)), "parent of the commit"),
        (replace(SEEN, trailers={"Drumline-Run": "r2", "Drumline-Step": "a"}), "trailer Drumline-Run"),
        (replace(SEEN, trailers={"Drumline-Run": "r1"}), "trailer Drumline-Step"),
    ],
)
def test_a_commit_that_is_not_as_the_journal_says_is_named(seen: SeenCommit | None, named: str) -> None:
    assert named in str(compare_commit(LANDED, seen, run="r1"))


def test_a_commit_that_is_as_the_journal_says_is_no_difference() -> None:
    assert compare_commit(LANDED, SEEN, run="r1") is None
