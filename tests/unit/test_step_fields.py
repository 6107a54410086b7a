"""Fields of a native step: files that its text names are hints that bind nobody, and estimates are hours."""

from __future__ import annotations

import pytest

from drumline.planfiles.hints import read_hints
from drumline.planfiles.stepfile import parse_step

STEP = "---\nid: step-1\nname: One\n{}status: ready\n---\n# One\n\n### 1. A change\n**File**: `src/a.py`\n"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("**File**: `src/a.py:12-20`\n**Files:** `b.py`, `c/*.py`\n", ("src/a.py", "b.py", "c/*.py")),
        ("- **File**: src/a.py, ./src/b.py\n", ("src/a.py", "src/b.py")),
        ("```\n**File**: `src/a.py`\n```\n", ()),
        ("**File**: the usual ones, `../x.py`, `/etc/x`\n", ()),
        ("The **File** of `src/a.py`\n", ()),
    ],
)
def test_lines_that_name_files_are_read(text: str, paths: tuple[str, ...]) -> None:
    assert read_hints(text) == paths


def test_hints_bind_nobody_and_a_list_in_the_frontmatter_counts_instead() -> None:
    hinted, listed = (parse_step(STEP.format(field), "step-1.md").step for field in ("", "files: [src/b.py]\n"))

    assert hinted is not None
    assert listed is not None
    assert (hinted.files, hinted.binding) == (("src/a.py",), False)
    assert (listed.files, listed.binding) == (("src/b.py",), True)


@pytest.mark.parametrize(("written", "hours"), [("3", 3.0), ("30m", 0.5), ("2h", 2.0), ("1d", 8.0), ("90 m", 1.5)])
def test_an_estimate_is_a_number_of_hours_or_a_duration(written: str, hours: float) -> None:
    step = parse_step(STEP.format(f"estimate: {written}\n"), "step-1.md").step

    assert step is not None
    assert step.estimate == hours


def test_an_estimate_that_is_neither_is_refused_by_name() -> None:
    found = parse_step(STEP.format("estimate: soon\n"), "step-1.md")

    assert "the estimate 'soon' is not a number above 0, or a duration such as 30m or 2h" in str(found.problems)
