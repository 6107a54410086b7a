"""What people may call a step."""

from __future__ import annotations

import pytest
from tests.unit.builders import step_of

from drumline.app.naming import find_step
from drumline.core.plan import Plan


@pytest.mark.parametrize(
    ("ids", "name", "expected"),
    [
        (["01", "02"], "02", "02"),
        (["01", "02"], "2", "02"),
        (["01", "02"], "0002", "02"),
        (["1", "2"], "02", "2"),
        (["00", "01"], "0", "00"),
        (["2", "02"], "2", "2"),
        (["2", "02"], "02", "02"),
        (["2", "02"], "002", None),
        (["02h", "02"], "2", "02"),
        (["02h"], "2h", "02h"),
        (["step-2", "step-2h"], "2", "step-2"),
        (["step-2", "step-2h"], "2h", "step-2h"),
        (["phase-2"], "2", "phase-2"),
        (["2"], "phase-2", "2"),
        (["2"], "Step 2", "2"),
        (["step-2", "phase-2"], "2", None),
        (["parser-2"], "2", None),
        (["01"], "", None),
        (["01"], "²", None),
        (["01"], "9" * 5_000, None),
    ],
)
def test_a_number_names_the_one_step_whose_id_it_is(ids: list[str], name: str, expected: str | None) -> None:
    plan = Plan(name="p", path="p", steps=tuple(step_of(step_id) for step_id in ids))

    assert find_step(plan, name) == expected
