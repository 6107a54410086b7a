"""Files that the text of a native step names are hints: they keep steps apart and bind nobody."""

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
