"""Small amounts of money are neither rounded to nothing nor to each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.core import gates
from drumline.core.money import compare_dollars, dollars


@pytest.mark.parametrize(
    ("amount", "told"),
    [
        (0.0, "$0.00"),
        (12.345, "$12.35"),
        (0.01, "$0.01"),
        (0.0042, "$0.0042"),
        (0.00042, "$0.00042"),
        (0.000012, "$0.000012"),
        (0.0000001, "<$0.000001"),
    ],
)
def test_money_is_told_with_as_many_digits_as_it_takes(amount: float, told: str) -> None:
    assert dollars(amount) == told


@given(amount=st.floats(min_value=1e-12, max_value=1e6))
def test_no_amount_looks_like_nothing(amount: float) -> None:
    assert dollars(amount).strip("<$0.") != ""


def test_amounts_that_differ_by_less_than_a_cent_look_different() -> None:
    assert compare_dollars(5.5, 5.0) == ("$5.50", "$5.00")
    assert compare_dollars(0.0123, 0.012) == ("$0.0123", "$0.0120")
    assert compare_dollars(0.0004, 0.0002) == ("$0.0004", "$0.0002")
    assert compare_dollars(1.0, 1.0) == ("$1.00", "$1.00")


def test_a_budget_below_a_cent_is_asked_about_with_its_figures() -> None:
    assert gates.budget(1, spent=0.0031, allowed=0.002).question == (
        "The run has spent $0.003 of the $0.002 it may. Proceed anyway?"
    )
