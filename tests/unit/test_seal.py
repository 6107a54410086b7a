"""The seal over a journal: whatever is changed below it changes it."""

from __future__ import annotations

import pytest

from drumline.core.ids import StepId
from drumline.core.seal import Seal, SealedRow, extend, read_seal

ROWS: list[SealedRow] = [
    (1, StepId(""), 1, 10.5, "RunStarted", 1, '{"a":1}'),
    (3, StepId("step-1"), 1, 11.0, "CheckEnded", 1, '{"exit_code":1}'),
    (4, StepId(""), 2, 11.5, "StepFinished", 1, '{"level":"kept"}'),
]


def test_a_chain_can_be_continued_and_its_text_read_back() -> None:
    whole = extend(Seal(), ROWS)

    assert extend(extend(Seal(), ROWS[:1]), ROWS[1:]) == whole
    assert whole.seq == 4
    assert read_seal(str(whole)) == whole


@pytest.mark.parametrize(
    "rows",
    [
        ROWS[:2],
        [ROWS[0], ROWS[2]],
        [ROWS[1], ROWS[0], ROWS[2]],
        [*ROWS[:2], (*ROWS[2][:6], '{"level":"proved"}')],
        [ROWS[0], (3, StepId("step-2"), *ROWS[1][2:]), ROWS[2]],
        [*ROWS, (5, StepId(""), 3, 12.0, "RunEnded", 1, "{}")],
    ],
)
def test_rows_that_are_changed_removed_added_or_moved_have_another_seal(rows: list[SealedRow]) -> None:
    assert extend(Seal(), rows).digest != extend(Seal(), ROWS).digest


@pytest.mark.parametrize("text", ["", "4", "4:", f"x:{'a' * 64}", f"4:{'A' * 64}", f"4:{'a' * 63}"])
def test_what_is_not_a_seal_is_not_read_as_one(text: str) -> None:
    assert read_seal(text) is None
