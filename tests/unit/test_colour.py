"""Red counts only through the work: by tests, or by what the work creates."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from drumline.core.colour import Shown, paint
from drumline.core.proof import Colour
from drumline.record import replace

RED, GREEN, UNKNOWN = Colour.RED, Colour.GREEN, Colour.UNKNOWN
Tests = Mapping[str, str] | None


def colour_of(
    there: Tests = None, here: Tests = None, *, code: int = 1, output: str = "", created: tuple[str, ...] = ()
) -> Colour:
    return paint(Shown(exit_code=code, failure="", output=output, there=there, here=here), created)[0]


@pytest.mark.parametrize(
    ("there", "here", "colour"),
    [
        ({"a": "failed", "b": "passed"}, {"a": "passed", "b": "passed"}, RED),
        ({"b": "passed"}, {"a": "passed", "b": "passed"}, RED),
        (None, {"a": "passed"}, RED),
        ({}, {"a": "passed"}, RED),
        ({"a": "passed", "b": "passed"}, {"a": "passed", "b": "passed"}, UNKNOWN),
        ({"a": "passed", "b": "skipped"}, {"a": "passed", "b": "passed"}, UNKNOWN),
        ({"(file) a": "failed", "b": "passed"}, {"(file) a": "passed", "b": "passed"}, UNKNOWN),
        ({"a": "failed"}, None, RED),
        (None, None, RED),
    ],
)
def test_a_failing_check_is_red_by_its_tests_where_they_are_known(there: Tests, here: Tests, colour: Colour) -> None:
    assert colour_of(there, here) is colour


def test_a_check_that_passes_is_green_whatever_its_tests_say() -> None:
    assert colour_of({"a": "failed"}, {"a": "passed"}, code=0) is GREEN


@pytest.mark.parametrize(
    ("output", "created", "colour"),
    [
        ("ModuleNotFoundError: No module named 'shop.cart'", "src/shop/cart.py", RED),
        ("ModuleNotFoundError: No module named 'shop'", "shop/__init__.py", RED),
        ("ModuleNotFoundError: No module named 'requests'", "src/shop/cart.py", UNKNOWN),
        ("Error: Cannot find module './cart.js'", "src/cart.js", RED),
        ("Error: Cannot find module '/w/src/cart'", "src/cart.ts", RED),
        ("Error: Cannot find package 'left-pad' imported from /w/a.mjs", "src/cart.js", UNKNOWN),
        ('Error: Failed to resolve import "./cart" from "a.test.js"', "cart.js", RED),
        ("cat: GUIDE.md: No such file or directory", "GUIDE.md", RED),
        ("cat: /etc/shop.conf: No such file or directory", "GUIDE.md", UNKNOWN),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'data/x.json'", "data/x.json", RED),
        ("python3: can't open file '/w/cli.py': [Errno 2] No such file or directory", "cli.py", RED),
        ("AssertionError: 1 != 2", "cli.py", RED),
    ],
)
def test_what_is_missing_counts_if_the_work_creates_it(output: str, created: str, colour: Colour) -> None:
    assert colour_of(output=output, created=(created,)) is colour
    assert colour_of({}, {"a": "passed"}, output=output, created=(created,)) is colour


def test_tests_that_fail_without_the_work_count_whatever_is_missing_besides() -> None:
    noise = "cat: /etc/shop.conf: No such file or directory"

    assert colour_of({"a": "failed"}, {"a": "passed"}, output=noise) is RED


def test_what_leaves_the_colour_unknown_is_named() -> None:
    shown = Shown(exit_code=1, failure="", output="x\nE  No module named 'requests'\n", here={"a": "passed"})
    ported = Shown(exit_code=1, failure="", output="Error: listen EADDRINUSE: address already in use\n")

    assert paint(shown) == (UNKNOWN, "No module named 'requests'")
    assert paint(ported) == (UNKNOWN, "Error: listen EADDRINUSE: address already in use")


def test_what_is_not_to_show_the_work_is_red_if_it_fails() -> None:
    same = {"a": "passed"}
    output = "No module named 'requests'"

    assert paint(Shown(exit_code=1, failure="", output=output, there=same, here=same, explains=False)) == (RED, "")


def test_a_test_that_fails_with_the_old_judge_counts_whatever_the_code_prints() -> None:
    shown = Shown(exit_code=1, failure="port", output="address already in use", there={"a": "failed"}, explains=False)

    assert paint(shown) == (RED, "")
    assert paint(replace(shown, there={"a": "passed"}))[0] is UNKNOWN
    assert paint(replace(shown, exit_code=124))[0] is UNKNOWN


@pytest.mark.parametrize(("created", "colour"), [(("calc.py",), RED), (("other.py",), UNKNOWN), ((), UNKNOWN)])
def test_a_missing_package_is_red_only_if_the_work_creates_it(created: tuple[str, ...], colour: Colour) -> None:
    shown = Shown(exit_code=1, failure="package", output="ModuleNotFoundError: No module named 'calc'")

    assert paint(shown, created)[0] is colour
