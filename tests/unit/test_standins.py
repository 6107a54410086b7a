"""Files that decide what a check does, though nothing of a judge is in their names, are told from the work."""

from __future__ import annotations

import pytest

from drumline.core.judge import CREATED, MODIFIED
from drumline.core.standins import list_looped, list_macros, list_shadows, stands_for_header, takes_over

DECIMAL = "try:\n    from _decimal import *\nexcept ImportError:\n    pass\n"
CALENDAR = '"""Counts days."""\n__all__ = ["month"]\n\n\ndef monthrange():\n    days = 1\n'


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("decimal.py", "decimal"),
        ("json/__init__.py", "json"),
        ("src/math.py", "math"),
        ("checks/types.py", "types"),
        ("app/types.py", ""),
        ("numbers_of.py", ""),
        ("decimal.js", ""),
    ],
)
def test_a_new_module_with_the_name_of_one_of_pythons_is_found(path: str, module: str) -> None:
    found = list_shadows({path: CREATED}, ["checks/test_sums.py"])

    assert found == ({path: module} if module else {})


def test_a_module_that_was_there_or_that_the_plan_names_is_work() -> None:
    assert list_shadows({"decimal.py": MODIFIED}, []) == {}
    assert list_shadows({"decimal.py": CREATED}, [], ["decimal.py"]) == {}


@pytest.mark.parametrize(
    ("text", "module", "original", "taken"),
    [
        ("from decimal import Decimal\n", "decimal", DECIMAL, True),
        ("import os, decimal\n", "decimal", "", True),
        ("python3 -c 'import calendar; assert calendar.monthrange()'", "calendar", CALENDAR, True),
        ("from calendar import (month)\n", "calendar", CALENDAR, True),
        ("python3 -c 'import calendar; assert calendar.days() == 7'", "calendar", CALENDAR, False),
        ("from calendar import Week\n", "calendar", CALENDAR, False),
        ("from calc import calendar_of\n", "calendar", CALENDAR, False),
        ("from app.calendar import month\n", "calendar", CALENDAR, False),
    ],
)
def test_only_a_text_that_uses_what_python_has_means_pythons_module(
    text: str, module: str, original: str, taken: bool
) -> None:
    assert takes_over(text, module, original) == taken


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("ls ci/*.sh | xargs -n1 sh", True),
        ("find ci -name '*.sh' | xargs bash -e", True),
        ("find ci -name '*.sh' -exec sh {} +", True),
        ("for f in ci/*.sh; do sh $f || exit 1; done", True),
        ('for f in ci/*; do "$f"; done', True),
        ("run-parts ci", True),
        ("find ci -name '*.sh' | xargs shellcheck", False),
        ("for f in ci/*.sh; do bash -n $f; done", False),
        ("ls other/*.sh | xargs -n1 sh", False),
        ("ls ci/*.sh", False),
    ],
)
def test_scripts_that_a_command_finds_by_a_pattern_are_found(command: str, found: bool) -> None:
    changed = {"ci/sums.sh": MODIFIED, "ci/new.sh": CREATED, "calc.py": MODIFIED}

    assert list_looped(changed, [command]) == (["ci/sums.sh"] if found else [])


def test_what_tests_of_c_assert_with_is_found() -> None:
    text = "#include <assert.h>\n# undef assert\n#define assert(x) ((void)(x))\n#define ASSERTED 1\n#define SIZE 3\n"

    assert list_macros(text) == ["# undef assert", "#define assert(x) ((void)(x))"]
    assert stands_for_header("include/assert.h", CREATED)
    assert not stands_for_header("include/assert.h", MODIFIED)
    assert not stands_for_header("include/calc.h", CREATED)
