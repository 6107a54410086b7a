"""Work that passes because of what it did to its judge: who hears of it, and what it counts for."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE

from drumline.core.events import CheckEnded
from drumline.core.foul import Judged, changes_tests, list_doubted, list_unseen, tell_foul
from drumline.core.judge import CREATED, JudgeKind, Touched
from drumline.core.proof import Against, Colour, Compared
from drumline.core.testids import Cut, Difference, Report, compare
from drumline.record import replace

G, R, U = Colour.GREEN, Colour.RED, Colour.UNKNOWN
TEST, CONFIG, SCRIPT = JudgeKind.TEST, JudgeKind.CONFIG, JudgeKind.SCRIPT
EDITED = Touched(path="tests/test_a.py", kind=TEST, change="modified")
DELETED = Touched(path="tests/test_a.py", kind=TEST, change="deleted")
ADDED = Touched(path="tests/test_b.py", kind=TEST, change="created")
INI = Touched(path="pytest.ini", kind=CONFIG, change="created")
MAKE = Touched(path="Makefile", kind=SCRIPT, change="modified")
PROGRAM = Touched(path="app.py", kind=SCRIPT, change="modified")
TASK = replace(EDITED, work=True)
LOST = Difference(lost=("test_sum",), lost_total=1, fewer=1)
RENAMED = Difference(lost=("test_sum",), lost_total=1)
SAME = Difference()


def judge(
    *touched: Touched,
    old: Colour | None = None,
    before: Colour | None = None,
    gone: Difference | None = SAME,
    absent: bool = False,
) -> Judged:
    """A check that passes; `old` is what it says with the judge of the base, `before` without the work."""
    found = Compared(check=0, command="make test", colour=G, difference=gone)
    compared = {}
    if old is not None:
        compared[Against.BASE_JUDGE] = {0: replace(found, colour=old)}
    if before is not None:
        compared[Against.BASE] = {0: replace(found, colour=before, absent=absent)}
    passed = CheckEnded(check=0, command="make test", tree=TREE, tree_after=TREE, exit_code=0, report=Report(ran=2))
    return Judged(touched=touched, ended={0: passed}, compared=compared)


@pytest.mark.parametrize(
    ("judged", "foul", "changed"),
    [
        (judge(EDITED, old=G), False, False),
        (judge(EDITED, old=R), False, True),
        (judge(EDITED, old=R, gone=LOST), True, True),
        (judge(EDITED, old=G, gone=LOST), True, True),
        (judge(EDITED, old=G, gone=RENAMED), False, False),
        (judge(EDITED, old=R, gone=RENAMED), True, True),
        (judge(EDITED, old=R, gone=None), False, True),
        (judge(DELETED, old=R), True, True),
        (judge(DELETED, ADDED, old=G, gone=RENAMED), False, False),
        (judge(INI, old=R), True, True),
        (judge(INI, old=R, before=R), True, True),
        (judge(INI, old=R, before=R, absent=True), False, False),
        (judge(INI, old=G, gone=LOST), True, True),
        (judge(INI, old=U), False, True),
        (judge(MAKE, old=R, before=R), True, True),
        (judge(PROGRAM, old=R, before=R), False, True),
        (judge(PROGRAM, old=R, before=G), True, True),
        (judge(TASK, before=G), False, False),
        (judge(TASK, before=G, gone=LOST), False, True),
        (judge(TASK, before=G, gone=RENAMED), False, False),
        (judge(TASK, INI, old=R), True, True),
    ],
    ids=[
        "tests edited",
        "tests weakened",
        "test renamed away",
        "test skipped",
        "test renamed",
        "test replaced by another",
        "no ids",
        "test deleted",
        "file renamed",
        "configured",
        "configured what failed before",
        "configured where nothing judged",
        "deselected",
        "not known",
        "target emptied",
        "program that failed before",
        "program that passed before",
        "tests are the task",
        "tests are the task, and one is gone",
        "tests are the task, and one is renamed",
        "tests are the task, and configuration",
    ],
)
def test_what_judges_is_told_from_the_work(judged: Judged, foul: bool, changed: bool) -> None:
    assert (bool(tell_foul(judged)), changes_tests(judged)) == (foul, changed)


PATCHED = Report(ran=2, patched=("unittest.case.TestCase.assertEqual",))


def patch(*, before: Report | None) -> Judged:
    """A check that passes while functions of its runner are replaced; `before` is its report without the work."""
    ended = CheckEnded(check=0, command="make test", tree=TREE, tree_after=TREE, exit_code=0, report=PATCHED)
    known = {0: Compared(check=0, command="make test", colour=R, report=before)} if before is not None else {}
    return Judged(ended={0: ended}, compared={Against.BASE: known})


def test_a_runner_whose_assertions_were_replaced_has_judged_nothing() -> None:
    assert list_unseen(patch(before=None)) == (0,)
    assert "TestCase.assertEqual" in tell_foul(patch(before=Report(ran=2)))
    assert changes_tests(patch(before=Report(ran=2)))


def test_a_runner_that_is_patched_without_the_work_as_well_is_believed() -> None:
    assert tell_foul(patch(before=PATCHED)) == ""
    assert list_unseen(patch(before=PATCHED)) == ()


def test_the_agent_is_told_the_files_the_checks_and_the_tests() -> None:
    told = tell_foul(judge(EDITED, INI, old=R, gone=LOST))

    assert "tests/test_a.py, pytest.ini" in told
    assert "this fails: make test" in told
    assert "test_sum" in told


@pytest.mark.parametrize(
    ("judged", "doubted"),
    [
        (judge(EDITED, old=R), ()),
        (judge(EDITED, old=R, gone=LOST), (0,)),
        (judge(INI, old=R), (0,)),
        (judge(INI, old=R, before=R), ()),
        (judge(PROGRAM, old=R), (0,)),
        (judge(INI, old=G), ()),
    ],
)
def test_what_checks_said_before_is_asked_where_it_decides(judged: Judged, doubted: tuple[int, ...]) -> None:
    assert list_doubted(judged) == doubted


@pytest.mark.parametrize(
    ("judged", "unseen"),
    [(judge(TASK), (0,)), (judge(TASK, before=G), ()), (judge(EDITED), ()), (judge(replace(ADDED, work=True)), ())],
)
def test_which_tests_ran_before_is_asked_where_they_are_the_task(judged: Judged, unseen: tuple[int, ...]) -> None:
    assert list_unseen(judged) == unseen


def test_tests_are_counted_without_their_parameters_and_without_those_that_are_skipped() -> None:
    there = {"t::a[1]": "passed", "t::a[2]": "passed", "t::b": "failed", "(file) t": "failed"}
    here = {"t::a[3]": "passed", "t::b": "skipped"}

    assert compare(there, here) == Difference(lost=("t::b",), lost_total=1, fewer=1)


CUT = Report(cut=(Cut(program="<string>", file="calc.py"), Cut(program="tests/check.py")))


def end(*, before: Report | None, touched: tuple[Touched, ...] = ()) -> Judged:
    """A check without test ids whose programs were ended early; `before` is its report without the work."""
    ended = CheckEnded(check=0, command="sh all", tree=TREE, tree_after=TREE, exit_code=0, report=CUT)
    known = {Against.BASE: {0: Compared(check=0, command="sh all", colour=R, report=before)}}
    return Judged(ended={0: ended}, compared=known, touched=touched)


def test_a_program_that_the_work_ended_has_judged_nothing() -> None:
    told = tell_foul(end(before=None))

    assert "calc.py ended it, its code ended tests/check.py" in told
    assert list_unseen(replace(end(before=None), compared={})) == (0,)


def test_a_program_that_ended_so_before_or_is_new_ends_as_it_pleases() -> None:
    new = Touched(path="tests/check.py", kind=JudgeKind.TEST, change=CREATED)

    assert tell_foul(end(before=CUT)) == ""
    assert "tests/check.py" not in tell_foul(end(before=None, touched=(new,)))
