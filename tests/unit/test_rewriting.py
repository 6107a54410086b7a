"""Where a line about edge cases goes in each format that has room for it, and what a replacement may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Revision
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.rewriting import add_case, add_field

LINE = Revision(origin=StepId("step-1"), text="the list may be empty")
STEP = "---\nid: step-2\nname: Two\nstatus: ready\n---\nDo two.\n\n#### Automated Verification:\n\n- [ ] `make`\n"
IMPLEMENT = """# Implementation Plan: Small

## Steps

### Step 1: One
**Status:** pending
**Files:** `a.py`
**What:** One.
**Test:** `make`

### Step 2: Two
**Status:** pending
**Files:** `b.py`
**What:** Two.
**Test:** `make`

## Risks

None.
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Do.\n", "Do.\n\n## Edge cases\n\n- From step-1: x\n"),
        ("Do.\n\n## Edge cases\n\n- None\n", "Do.\n\n## Edge cases\n\n- None\n- From step-1: x\n"),
        ("## Edge cases\n\nNone\n\n## More\n", "## Edge cases\n\nNone\n\n- From step-1: x\n\n## More\n"),
        ("```\n## Edge cases\n```\n", "```\n## Edge cases\n```\n\n## Edge cases\n\n- From step-1: x\n"),
        ("## Edge Cases:\r\n", "## Edge Cases:\r\n\r\n- From step-1: x\r\n"),
        ("## Edge cases\n\n- From step-1: y\n", "## Edge cases\n\n- From step-1: y\n"),
    ],
)
def test_a_line_stands_at_the_end_of_the_section_or_of_a_new_one(text: str, wanted: str) -> None:
    assert add_case(text, "x", by=StepId("step-1")) == wanted


def test_a_field_gets_one_more_sentence_for_each_step() -> None:
    once = add_field("a\n\nb\n", 0, 3, "x", by=StepId("1"), field=None)
    place = once.index("**"), once.index("\n", once.index("**")) + 1

    twice = add_field(once, 0, 3, "y", by=StepId("2"), field=place)

    assert once == "a\n**Edge cases:** From 1: x\n\nb\n"
    assert "**Edge cases:** From 1: x From 2: y\n" in twice
    assert add_field(twice, 0, 3, "z", by=StepId("1"), field=(place[0], place[1] + 10)) == twice


def test_implement_says_it_on_a_line_of_the_step(tmp_path: Path) -> None:
    (tmp_path / "implement.md").write_text(IMPLEMENT)
    files = open_plan(tmp_path / "implement.md", repo=tmp_path)
    step = files.read().plan.by_id[StepId("2")]

    files.revise(step, LINE, write=True)

    said = (tmp_path / "implement.md").read_text()
    assert "**Test:** `make`\n**Edge cases:** From step-1: the list may be empty\n\n## Risks" in said
    assert files.read().plan.by_id[StepId("2")].checks == step.checks
    assert files.revise(step, LINE, write=True) == ""


def test_a_format_without_room_says_it_in_the_notes_beside_the_plan(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    chunks = (
        '{"waves": [[{"id": "c1", "scope": "One", "files": ["a"]}], [{"id": "c2", "scope": "Two", "files": ["b"]}]]}'
    )
    (tmp_path / "p" / "chunks.json").write_text(chunks)
    files = open_plan(tmp_path / "p" / "chunks.json", repo=tmp_path)
    step = files.read().plan.by_id[StepId("c2")]

    files.revise(step, LINE, write=True)
    again = files.revise(step, LINE, write=True)

    assert (tmp_path / "p" / "NOTES.md").read_text() == "- For c2, from step-1: the list may be empty\n"
    assert again == ""
    assert (tmp_path / "p" / "chunks.json").read_text() == chunks


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        ("Do two.", "Do two, and three.", ""),
        ("Do five.", "x", "stands 0 times"),
        ("step-2", "step-9", "more than what it says"),
        ("status: ready", "status: done", "more than what it says"),
    ],
)
def test_a_replacement_changes_words_and_neither_ids_nor_marks(
    tmp_path: Path, old: str, new: str, refused: str
) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "root.md").write_text("# P\n")
    (tmp_path / "p" / "step-2.md").write_text(STEP)
    files = open_plan(tmp_path / "p", repo=tmp_path)
    step, revision = files.read().plan.by_id[StepId("step-2")], Revision(origin=StepId("step-1"), old=old, new=new)

    if refused:
        with pytest.raises(InvalidInput, match=refused):
            files.revise(step, revision, write=True)
        assert (tmp_path / "p" / "step-2.md").read_text() == STEP
    else:
        shown = files.revise(step, revision, write=True)
        assert "-Do two.\n+Do two, and three." in shown
        assert (tmp_path / "p" / "step-2.md").read_text() == STEP.replace(old, new)
