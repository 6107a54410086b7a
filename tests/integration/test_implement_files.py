"""implement.md on disk: written back in its own words and places, every other byte as it was; hostile input is told."""

from __future__ import annotations

import contextlib
import difflib
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.examples import MANY, some

from drumline.core.ids import StepId
from drumline.core.plan import SIDECAR, Marks, Status, Step
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan, sidecar
from drumline.planfiles.document import Parsed
from drumline.planfiles.implement import ImplementDialect, ImplementFiles
from drumline.planfiles.stepfile import replace_spans
from drumline.ports.planfiles import Correction

LINES = """\
---
provenance:
  agent: dx-plan
  confidence: high
  verified: false   # kept
---
# Implementation Plan: Layout switcher
**Repo:** Web
**Status:** In Progress

## Steps
### Step 1: Add the model
**Status:** pending
**Files:** `src/a.py`, `src/b.py`\x20\x20
**What:** Write it.
**Why:** It is needed.
**Test:** `make test`

```markdown
### Step 9: an example
**Status:** pending
```

### Step 2: No status yet

- a list
### Step 3: Drift
- **Status:** Pending — later
**Verification:**
- [ ] `make a`
- [ ] `make b`
---
## Testing Plan
### Manual Verification
"""

TAGS = """\
# Implementation Plan: Tags

**Work Item:** #12

## Step 1: First  [ pending ]

**Files:**
- Modify: `a.py`

## Step 2: Second ##
**Verification:** `make b`
## Step 3: Third [In Progress]
"""

CLAIMED = Marks(status=Status.CLAIMED, assignee="driver-1", claimed_at="2030-01-02T03:04:05Z")
BLOCKED = Marks(status=Status.BLOCKED, reason="`make` said: **Status:** done # [x]")
ALL_MARKS = (
    Marks(),
    CLAIMED,
    Marks(status=Status.CLAIMED),
    Marks(status=Status.DONE),
    BLOCKED,
    Marks(status=Status.BLOCKED, reason="two\nlines "),
    Marks(status=Status.FAILED, reason="broke"),
    Marks(status=Status.SKIPPED, reason="not wanted"),
)
FIX = Correction(
    id=StepId("2h"),
    title="Heal — another way [done]",
    what="First this.\n\n### Step 7: not a step\n**Status:** done\n```",
    why="The first way failed.",
    files=("src/c.py",),
    test="make `x`",
)


def disk(folder: Path, text: str) -> tuple[Path, ImplementFiles]:
    file = folder / "implement.md"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    return file, ImplementFiles(file, repo=folder, locks=folder / "locks")


def changed_lines(before: str, after: str) -> list[str]:
    found = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line.rstrip("\r\n") for line in found if line[:1] in "+-"]


@pytest.mark.parametrize("text", [LINES, TAGS], ids=["lines", "tags"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_every_mark_is_read_back_and_only_mark_lines_change(tmp_path: Path, text: str, newline: str, bom: str) -> None:
    text = bom + text.replace("\n", newline)
    file, files = disk(tmp_path, text)
    before = files.read()

    for step in before.plan.steps:
        for marks in ALL_MARKS:
            files.write(step, marks)

            assert files.marks(step) == marks
            assert files.read().marks == {**before.marks, step.id: marks}
        files.write(step, before.marks[step.id])

    after = files.read()
    assert [(s.id, s.title, s.text_digest) for s in after.plan.steps] == [
        (s.id, s.title, s.text_digest) for s in before.plan.steps
    ]
    left = [
        line
        for line in changed_lines(text, file.read_bytes().decode())
        if "tatus" not in line and "## Step" not in line
    ]
    assert left == []


@pytest.mark.parametrize(
    ("text", "step", "marks", "expected"),
    [
        (LINES, "1", CLAIMED, ["- **Status:** pending", "+ **Status:** in-progress"]),
        (LINES, "1", BLOCKED, ["- **Status:** pending", "+ **Status:** blocked", f"+ **Blocked:** {BLOCKED.reason}"]),
        (LINES, "2", Marks(status=Status.DONE), ["+ **Status:** done"]),
        (LINES, "3", Marks(status=Status.DONE), ["- - **Status:** Pending — later", "+ - **Status:** done — later"]),
        (TAGS, "1", Marks(status=Status.SKIPPED), ["- ## Step 1: First  [ pending ]", "+ ## Step 1: First  [skipped]"]),
        (TAGS, "2", Marks(status=Status.DONE), ["- ## Step 2: Second ##", "+ ## Step 2: Second [done] ##"]),
        (TAGS, "3", Marks(status=Status.FAILED), ["- ## Step 3: Third [In Progress]", "+ ## Step 3: Third [blocked]"]),
    ],
)
def test_a_mark_goes_to_its_own_place(tmp_path: Path, text: str, step: str, marks: Marks, expected: list[str]) -> None:
    file, files = disk(tmp_path, text)

    files.write(files.read().plan.by_id[StepId(step)], marks)

    assert [line for line in changed_lines(text, file.read_text()) if line[:1] != "?"] == expected


def test_writing_what_is_there_touches_no_file(tmp_path: Path) -> None:
    file, files = disk(tmp_path, LINES)
    before = file.stat()

    for step in files.read().plan.steps:
        files.write(step, Marks())

    assert (file.stat().st_ino, file.read_text()) == (before.st_ino, LINES)
    assert not sidecar.sidecar_of(file).exists()


def test_a_foreign_in_progress_is_a_claim_without_owner(tmp_path: Path) -> None:
    _, files = disk(tmp_path, TAGS)

    assert files.read().marks[StepId("3")] == Marks(status=Status.CLAIMED)


def test_an_edit_of_the_document_makes_the_sidecar_stale(tmp_path: Path) -> None:
    file, files = disk(tmp_path, LINES)
    step = files.read().plan.steps[0]
    files.write(step, CLAIMED)

    file.write_text(file.read_text().replace("**Status:** in-progress", "**Status:** done"))

    assert files.marks(step) == Marks(status=Status.DONE)


def test_the_sidecar_is_gone_when_it_has_nothing_to_say(tmp_path: Path) -> None:
    file, files = disk(tmp_path, LINES)
    step = files.read().plan.steps[0]

    files.write(step, CLAIMED)
    was_there = sidecar.sidecar_of(file).exists()
    files.write(step, Marks(status=Status.DONE))

    assert (was_there, sidecar.sidecar_of(file).exists()) == (True, False)


@pytest.mark.parametrize("new", ALL_MARKS)
@pytest.mark.parametrize("old", ALL_MARKS)
def test_a_write_that_dies_at_any_file_leaves_the_old_marks_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: Marks, new: Marks
) -> None:
    for nth in range(4):
        (tmp_path / str(nth)).mkdir()
        file, files = disk(tmp_path / str(nth), LINES)
        step = files.read().plan.steps[0]
        files.write(step, old)

        with monkeypatch.context() as patched, contextlib.suppress(OSError):
            refuse_nth_change(patched, nth)
            files.write(step, new)

        assert ImplementFiles(file, repo=file.parent).marks(step) in (old, new)


def refuse_nth_change(patched: pytest.MonkeyPatch, nth: int) -> None:
    """Let the disk fail from the n-th change of a name on."""
    replace, unlink, calls = Path.replace, Path.unlink, iter(range(100))

    def failing_replace(self: Path, target: Path) -> Path:
        if next(calls) >= nth:
            raise OSError("no disk")
        return replace(self, target)

    def failing_unlink(self: Path, missing_ok: bool = False) -> None:
        if self.name.endswith(SIDECAR) and next(calls) >= nth:
            raise OSError("no disk")
        unlink(self, missing_ok=missing_ok)

    patched.setattr(Path, "replace", failing_replace)
    patched.setattr(Path, "unlink", failing_unlink)


def test_a_broken_sidecar_is_a_problem_with_its_line(tmp_path: Path) -> None:
    file, files = disk(tmp_path, LINES)
    step = files.read().plan.steps[0]
    sidecar.sidecar_of(file).write_text('{"schema_version": 1,\n"steps": 3}')

    found = files.read()

    assert [(p.code, p.where) for p in found.errors] == [("bad_sidecar", "implement.md.drumline.json:2")]
    with pytest.raises(InvalidInput):
        files.write(step, CLAIMED)


@pytest.mark.parametrize("text", [LINES, TAGS, LINES[:-1], TAGS.rstrip("\n")], ids=["lines", "tags", "cut", "cut tags"])
def test_a_corrective_step_is_added_and_nothing_else_changes(tmp_path: Path, text: str) -> None:
    file, files = disk(tmp_path, text)
    before = files.read()

    files.insert(FIX, helps=before.plan.by_id[StepId("2")])

    after = files.read()
    assert [line for line in changed_lines(text, file.read_text()) if line.startswith("-")] == []
    assert [step.id for step in after.plan.steps] == ["1", "2", "2h", "3"]
    assert {step.id: step.needs for step in after.plan.steps} == {"1": (), "2": ("1", "2h"), "2h": ("1",), "3": ("2",)}
    added = after.plan.by_id[FIX.id]
    assert ([check.command for check in added.checks], added.files) == (["make `x`"], ("src/c.py",))
    assert after.marks == {**before.marks, FIX.id: Marks()}
    assert after.errors == ()


def test_a_review_fix_follows_the_last_correction_of_its_step(tmp_path: Path) -> None:
    _, files = disk(tmp_path, LINES)
    helped = files.read().plan.by_id[StepId("3")]

    for name in ("R1", "R2", "R1b"):
        files.insert(Correction(id=StepId(name), title="Review fix", what="w", why="y"), helps=helped)

    steps = files.read().plan.steps
    assert [step.id for step in steps] == ["1", "2", "3", "R1", "R2", "R1b"]
    assert steps[2].needs == ("2", "R1", "R2", "R1b")


def test_a_correction_whose_name_helps_nobody_is_refused(tmp_path: Path) -> None:
    file, files = disk(tmp_path, LINES)
    helped = files.read().plan.by_id[StepId("3")]

    with pytest.raises(InvalidInput):
        files.insert(Correction(id=StepId("4"), title="t", what="w", why="y"), helps=helped)

    assert file.read_text() == LINES


def test_a_test_of_several_lines_is_refused(tmp_path: Path) -> None:
    file, files = disk(tmp_path, LINES)
    helped = files.read().plan.by_id[StepId("3")]

    with pytest.raises(InvalidInput):
        files.insert(Correction(id=StepId("3h"), title="t", what="w", why="y", test="a\nb"), helps=helped)

    assert file.read_text() == LINES


def test_a_folder_and_a_file_are_recognised(tmp_path: Path) -> None:
    disk(tmp_path, LINES)
    (tmp_path / "other.md").write_text(TAGS)
    (tmp_path / "notes.md").write_text("# Notes\n")

    found = [ImplementFiles.recognise(tmp_path / name) for name in ("", "implement.md", "other.md", "notes.md")]

    assert found == [True, True, True, False]
    assert open_plan(tmp_path, repo=tmp_path).read().plan.format == "implement"


def test_duplicate_numbers_are_a_problem(tmp_path: Path) -> None:
    _, files = disk(tmp_path, "### Step 1: a\n**Status:** done\n### Step 1: b\n**Status:** pending\n")

    found = files.read()

    assert [(p.code, p.where) for p in found.errors if p.code == "duplicate_id"] == [("duplicate_id", "implement.md:3")]
    assert found.marks == {"1": Marks(status=Status.DONE)}


def per_step(steps: int, rounds: int) -> float:
    text = "# Implementation Plan: x\n## Steps\n" + "".join(
        f"### Step {n}: Title {n}\n**Status:** pending\n**Files:** `src/a{n}.py`\n**Test:** `make t{n}`\n\n"
        for n in range(1, steps + 1)
    )
    best = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        assert len(ImplementDialect().parse(text, "implement.md").steps) == steps
        best = min(best, time.process_time() - begun)
    return best / steps


@pytest.mark.long
def test_five_thousand_steps_are_read_in_linear_time() -> None:
    ratios = (per_step(5000, 2) / per_step(500, 20) for _ in range(4))

    assert any(ratio < 1.5 for ratio in ratios)


@pytest.mark.long
@pytest.mark.parametrize(
    "text",
    [
        "## Step 1: " + "[a]" * 60_000,
        "## Step 1: " + " " * 100_000 + "x",
        "### Step " + "1h" * 50_000 + ": x\n",
        "### Step 1: x\n" + "**Status:** " * 20_000,
        "### Step 1: x\n**Files:** " + "`" * 50_000,
        "### Step 1: x\n**Files:** " + "a, " * 50_000,
        "> " * 20_000 + "### Step 1: x",
        "- " * 20_000 + "### Step 1: x",
    ],
    ids=["tags", "blanks", "id", "statuses", "ticks", "files", "quotes", "lists"],
)
def test_hostile_text_costs_no_more_than_its_length(text: str) -> None:
    begun = time.process_time()

    ImplementDialect().parse(text, "implement.md")

    assert time.process_time() - begun < 10 * per_step(500, 1) * 500


WORDS = st.sampled_from(
    [
        *("### Step 1: A\n", "## Step 2: B [pending]\n", "### Step 2h: C\n", "### Step R1: D\n", "### Step 3 - E\n"),
        *(
            "**Status:** pending\n",
            "**Status:** done",
            "- **Status:** Blocked x\n",
            "**Blocked:** why\n",
            "**Status:**\n",
        ),
        *("**Files:** `a`\n", "**Test:** `t`\n", "**Verification:**\n- [ ] `v`\n", "```\n", "~~~\n", "<!--\n", "-->\n"),
        *(
            "---\n",
            "===\n",
            "> ",
            "- ",
            "    ",
            "\t",
            "\n",
            "\r\n",
            "\r",
            "\ufeff",
            "\0",
            "\u2028",
            "[done]",
            "# T\n",
            "\\",
        ),
        *(
            "[x]: y\n",
            "|a|\n",
            "1. ",
            "<div>\n",
            "Step 4: x\n",
            "**Other repos required:** Z\n",
            "[Z]",
            "[This repo]\n",
        ),
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """A document of the format with pieces cut, doubled and put in at random, or one made of such pieces alone."""
    if draw(st.booleans()):
        return "".join(draw(st.lists(WORDS | st.text(max_size=6), max_size=25)))
    text = draw(st.sampled_from([LINES, TAGS]))
    for _ in range(draw(st.integers(1, 6))):
        at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 40))
        piece = draw(WORDS | st.text(max_size=8) | st.just(text[at : at + 2 * length]))
        text = text[:at] + piece + text[at + length :]
    return text


def neutral(found: Parsed) -> dict[StepId, str]:
    return {step.id: step.text_digest for step in found.steps}


@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents(), marks=st.sampled_from(ALL_MARKS), pick=st.integers(0, 9))
@example(text="### Step 1: A\n---\n", marks=BLOCKED, pick=0)
@example(text="## Step 2Second ##\n**Verification:** `make b`\n## Step 3: Third [In Progress]\n", marks=CLAIMED, pick=0)
@example(text="### Step 1: A\n===\n", marks=CLAIMED, pick=0)
@example(text="### Step 1: A\n**Blocked:** why\n**Blocked:** why\n", marks=CLAIMED, pick=0)
@example(text="### Step 1: A\n    **Status:** done\n", marks=CLAIMED, pick=0)
def test_any_document_is_read_or_told_and_an_edit_reads_back_or_is_found_out(
    text: str, marks: Marks, pick: int
) -> None:
    """The edit itself is judged as the writer judges it: whatever does not read back as asked is never written."""
    dialect = ImplementDialect()
    found = dialect.parse(text, "implement.md")
    if not found.steps:
        return
    step = found.steps[pick % len(found.steps)]
    face = dialect.shown(marks)

    after = dialect.parse(replace_spans(text, dialect.edit(text, step, face, [])), "implement.md")

    clean = "```" not in text and "~~~" not in text and "<" not in text
    if clean and len({s.id for s in found.steps}) == len(found.steps):
        assert after.marks == {**found.marks, step.id: face}
        assert neutral(after) == neutral(found)


@settings(max_examples=some(100), deadline=None, suppress_health_check=list(HealthCheck))
@given(text=documents(), pick=st.integers(0, 9))
def test_any_document_on_disk_takes_marks_and_corrections_or_refuses_them(
    tmp_path_factory: pytest.TempPathFactory, text: str, pick: int
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    file, files = disk(folder, text)
    reading = files.read()
    assert file.read_bytes().decode("utf-8", "surrogatepass") == text
    if not reading.plan.steps:
        return
    step: Step = reading.plan.steps[pick % len(reading.plan.steps)]

    try:
        files.write(step, CLAIMED)
        files.insert(Correction(id=StepId(f"{step.id}h7"), title="t", what="w", why="y", test="x"), helps=step)
    except InvalidInput:
        return

    after = files.read()
    assert after.marks[step.id] == CLAIMED
    assert f"{step.id}h7" in after.plan.by_id[step.id].needs
