"""The titles of logs for people."""

from __future__ import annotations

import pytest

from drumline.core.events import AttemptStarted, WorkLost
from drumline.core.ids import FINAL, PREFLIGHT, StepId, Tree
from drumline.core.proof import Against
from drumline.views.evidence import TREES
from drumline.views.logtitles import EITHER, UNFIT, Titles, read_titles


@pytest.mark.parametrize(
    ("log", "title"),
    [
        ("check-2-1.lost-1.log", "earlier run of check 1 on the work of attempt 2 (check-2-1.lost-1.log)"),
        ("check-2-1.log", "check 1 on the work of attempt 2 (check-2-1.log)"),
        ("base_judge-2-3.log", f"check 3 {TREES[Against.BASE_JUDGE]} (base_judge-2-3.log)"),
        ("attempt-2.lost-1.log", "attempt 2, cut short (attempt-2.lost-1.log)"),
        ("other.lost-1.log", "other.lost-1.log"),
    ],
)
def test_a_log_says_of_what_it_is_also_one_that_was_set_aside(log: str, title: str) -> None:
    assert Titles().name(log) == title


@pytest.mark.parametrize(
    ("step", "where"), [(FINAL, "on the head of the run branch"), (PREFLIGHT, "before the first step")]
)
def test_a_check_of_the_runs_own_walks_is_about_no_attempt(step: StepId, where: str) -> None:
    assert Titles(step=step).name("check-0-1.log") == f"check 1 {where} (check-0-1.log)"


def test_a_log_of_an_answer_that_did_not_fit_is_not_called_cut_short() -> None:
    asked = AttemptStarted(node="diagnose", visit=1, attempt=4, tree=Tree("t"), reads=True, by_visit=True)
    begun = AttemptStarted(node="implement", visit=1, attempt=5, tree=Tree("t"))

    titles = read_titles([asked, begun, WorkLost(what="attempt"), begun], StepId("s"))
    unsure = read_titles([asked, WorkLost(what="attempt"), asked], StepId("s"))

    assert titles.name("attempt-4.lost-1.log") == f"attempt 4 at diagnose#1, {UNFIT} (attempt-4.lost-1.log)"
    assert titles.name("attempt-5.lost-1.log") == "attempt 5 at implement#1, cut short (attempt-5.lost-1.log)"
    assert unsure.name("attempt-4.lost-1.log") == f"attempt 4 at diagnose#1, {EITHER} (attempt-4.lost-1.log)"
