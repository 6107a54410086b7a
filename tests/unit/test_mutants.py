"""Mutants of changed lines: which there are, and that they are programs."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some

from drumline.core.mutants import (
    MOST,
    MutantKind,
    choose_mutants,
    list_changed_lines,
    list_expectations,
    list_mutants,
)


def changes(source: str, line: int = 1) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in list_mutants(source, {line}, most=99)}


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("x = a == b\n", "==", "!="),
        ("x = a == 3\n", "==", ">="),
        ("x = (a, b) == (2, 3)\n", "==", ">="),
        ("x = a < b\n", "<", "<="),
        ("x = a >= b\n", ">=", ">"),
        ("x = a not  in b\n", "not  in", "in"),
        ("x = a is b\n", "is", "is not"),
        ("x = a + b\n", "+", "-"),
        ("x = (a) * (b)\n", "*", "+"),
        ("x = a // b\n", "//", "*"),
        ("x = a and b\n", "and", "or"),
        ("x = 'é' if a else 3\n", "a", "not (a)"),
        ("x = 'é' if not a else 3\n", "not a", "a"),
        ("x = 'é', 41\n", "41", "42"),
        ("def f(): return a.b\n", "a.b", "None"),
        ("def f(): return None\n", "None", "1"),
        ("def f(): return True\n", "True", "False"),
        ("if a: pass\n", "a", "not (a)"),
    ],
)
def test_a_place_is_changed(source: str, before: str, after: str) -> None:
    assert (before, after) in changes(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = a\n",
        "x = 'a' + b\n",
        "x = f'{a}' % b\n",
        "x = True\n",
        "def f(): return\n",
        "x = (\n",
        "\x00",
        "x = a < b < c\n",
    ],
)
def test_what_shows_nothing_is_left_alone(source: str) -> None:
    assert changes(source) == set()


@pytest.mark.parametrize("source", ["x = a == b\n", "x = a == 'b'\n", "x = a == (b, 3)\n", "x = a == True\n"])
def test_what_is_not_compared_with_numbers_has_no_limit(source: str) -> None:
    assert ("==", ">=") not in changes(source)


@pytest.mark.parametrize(
    ("source", "before", "after"),
    [
        ("assert add(2, 3) == 5\n", "5", "6"),
        ("assert 'a' == name\n", "'a'", "'a?'"),
        ("self.assertEqual(add(2, 3), 5)\n", "5", "6"),
        ("self.assertEqual(is_open(), True, 'why')\n", "True", "False"),
        ("assert share() == 0.5\n", "0.5", "1.5"),
    ],
)
def test_what_a_test_expects_is_changed(source: str, before: str, after: str) -> None:
    assert [(mutant.before, mutant.after) for mutant in list_expectations(source, {1})] == [(before, after)]


@pytest.mark.parametrize(
    "source",
    [
        "assert add(2, 3)\n",
        "assert add(2, 3) != 5\n",
        "assert 5 == 5\n",
        "assert a() == b()\n",
        "assert a() == None\n",
        "assert a() == 1e300\n",
        "self.assertAlmostEqual(add(), 5)\n",
        "assert (\n",
    ],
)
def test_what_need_not_be_equal_to_one_value_is_left_alone(source: str) -> None:
    assert list_expectations(source, {1}) == []


def test_only_what_was_executed_is_expected() -> None:
    source = "assert a() == 1\nassert b() == 2\n"

    assert [mutant.line for mutant in list_expectations(source, {2})] == [2]


def test_what_tests_expect_comes_first_and_leaves_room_for_the_rest() -> None:
    own = list_mutants("".join(f"x{number} = a + {number}\n" for number in range(10)), range(1, 11))
    theirs = list_expectations("assert a() == 1\nassert a() == 2\nassert a() == 3\n", {1, 2, 3})

    found = choose_mutants({"a.py": own}, {"test_a.py": theirs})

    assert [path for path, _ in found] == ["test_a.py", "test_a.py", *["a.py"] * (MOST - 2)]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (None, "a\nb\n", {1, 2}),
        ("a\nb\n", "a\nb\n", set()),
        ("a\nb\nc\n", "a\nx\nc\nd\n", {2, 4}),
        ("a\nb\n", "b\n", set()),
    ],
)
def test_lines_that_a_text_did_not_have_before_are_counted(before: str | None, after: str, lines: set[int]) -> None:
    assert list_changed_lines(before, after) == lines


def test_only_changed_lines_have_mutants() -> None:
    source = "def f(a):\n    if a > 1:\n        return a\n    return 0\n"

    found = list_mutants(source, {3, 4})

    assert {mutant.line for mutant in found} == {3, 4}
    assert [(mutant.line, mutant.kind) for mutant in found][:2] == [(3, MutantKind.RETURN), (4, MutantKind.RETURN)]


def test_each_line_has_its_turn_before_one_has_a_second() -> None:
    source = "".join(f"x{number} = a + {number}\n" for number in range(10))

    found = list_mutants(source, range(1, 11))

    assert len(found) == MOST
    assert len({mutant.line for mutant in found}) == MOST


def test_an_operator_is_named_with_the_line_it_stands_on() -> None:
    found = list_mutants("x = (\n    a\n    + b\n)\n", {3})

    assert [(mutant.line, mutant.before) for mutant in found] == [(3, "+")]


def test_a_comment_between_two_sides_is_not_taken_for_an_operator() -> None:
    assert changes("x = (a  # + and\n     + b)\n") == set()


Part = tuple[str, str, str]
NAMES = st.sampled_from(["a", "1", "f(2)", "-3", "'é'", "(a)", "not a", "a.b[0]"])
SIGNS = st.sampled_from(["+", "-", "*", "==", "<", "is not", "and", "or", "in", "//", "%", "if a else"])


@settings(max_examples=some(200), deadline=None)
@given(st.lists(st.tuples(NAMES, SIGNS, NAMES), min_size=1, max_size=4), st.booleans())
def test_a_mutant_is_another_program_that_differs_on_its_line(
    parts: list[tuple[str, str, str]], returned: bool
) -> None:
    body = "".join(f"    {'return' if returned else 'x ='} ({left}) {sign} ({right})\n" for left, sign, right in parts)
    source = f"def f(a):\n{body}"

    for mutant in list_mutants(source, range(1, 99), most=99):
        before, after = source.splitlines(), mutant.source.splitlines()
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source))
        assert [n for n, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]] == [mutant.line]
