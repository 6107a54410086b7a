"""Which lines of a failing check say what is wrong."""

from __future__ import annotations

import pytest

from drumline.core.firstlines import find_first


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("collected 2\n  E   assert 1 == 2\nFAILED a::b\n1 failed", ["E assert 1 == 2", "FAILED a::b"]),
        ("building\nit is red\n\n", ["it is red"]),
        ("", []),
    ],
)
def test_the_first_lines_with_an_error_count_else_the_last_one(output: str, lines: list[str]) -> None:
    assert find_first(output) == lines
