"""Tests that a check ran before the work and does not run with it are noticed."""

from __future__ import annotations

import pytest

from drumline.core import events as ev
from drumline.core.ids import Tree
from drumline.core.proof import Colour, Compared
from drumline.core.silence import tell_silence
from drumline.core.testids import Difference, Report, compare, sum_up

TREE = Tree("t" * 40)
TOLD = Report(ran=2, digest="d")


def ended(report: Report | None, exit_code: int = 0) -> ev.CheckEnded:
    return ev.CheckEnded(check=0, command="c", tree=TREE, tree_after=TREE, exit_code=exit_code, report=report)


def before(report: Report | None, *lost: str) -> list[Compared]:
    gone = Difference(lost=lost, lost_total=len(lost))
    return [Compared(check=0, command="c", colour=Colour.RED, report=report, difference=gone)]


@pytest.mark.parametrize(
    ("now", "was", "touched", "told"),
    [
        (ended(None), [], False, ""),
        (ended(None), before(None), False, ""),
        (ended(TOLD), before(TOLD), False, ""),
        (ended(TOLD), before(None), False, ""),
        (ended(None), before(TOLD), False, "c: it ran 2 tests without the work and reports none with it"),
        (ended(Report()), before(TOLD), False, "c: it ran 2 tests without the work and reports none with it"),
        (ended(None, exit_code=1), before(TOLD), False, ""),
        (
            ended(Report(complete=False)),
            [],
            False,
            "c: its test runner did not come to its end, though the exit code is 0",
        ),
        (ended(TOLD), before(TOLD, "t::a"), False, "c: tests that ran before do not run any more: t::a"),
        (ended(TOLD), before(TOLD, "t::a"), True, ""),
    ],
)
def test_silence_is_told(now: ev.CheckEnded, was: list[Compared], touched: bool, told: str) -> None:
    assert tell_silence(now, was, touched=touched) == told


def test_tests_are_lost_by_name_and_broken_by_outcome() -> None:
    there = {"t::a": "passed", "t::b[1]": "passed", "t::c": "failed", "t::d": "skipped", "t::e": "passed"}
    there["unittest.loader._FailedTest.tests.test_a"] = "failed"
    here = {"t::a": "skipped", "t::b[2]": "passed", "t::c": "failed", "t::e": "failed"}

    found = compare(there, here)

    assert (found.lost, found.broken) == (("t::a",), ("t::e",))


def test_a_report_counts_what_ran() -> None:
    found = sum_up({"a": "passed", "b": "failed", "c": "skipped"}, complete=True)

    assert (found.ran, found.failed, found.skipped) == (2, 1, 1)
    assert found.digest == sum_up({"c": "passed", "b": "passed", "a": "passed"}, complete=True).digest
