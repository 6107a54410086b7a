"""Small pieces of text in tables and lists."""

from __future__ import annotations

import pytest

from drumline.views.cells import join_reason


@pytest.mark.parametrize(
    ("state", "reason", "told"),
    [
        ("blocked", "no disk", "blocked: no disk"),
        ("waiting", "waiting for an answer", "waiting for an answer"),
        ("waiting", "needs step-1 (waiting)", "waiting: needs step-1 (waiting)"),
    ],
)
def test_a_reason_does_not_repeat_the_word_for_the_state(state: str, reason: str, told: str) -> None:
    assert join_reason(state, reason) == told
