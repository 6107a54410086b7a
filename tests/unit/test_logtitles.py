"""The titles of logs for people."""

from __future__ import annotations

import pytest

from drumline.views.logtitles import Titles


@pytest.mark.parametrize(
    ("log", "title"),
    [
        ("check-2-1.lost-1.log", "earlier run of check 1 on the work of attempt 2 (check-2-1.lost-1.log)"),
        ("attempt-2.lost-1.log", "attempt 2, cut short (attempt-2.lost-1.log)"),
        ("other.lost-1.log", "other.lost-1.log"),
    ],
)
def test_a_log_that_was_set_aside_says_of_what_it_is(log: str, title: str) -> None:
    assert Titles().name(log) == title
