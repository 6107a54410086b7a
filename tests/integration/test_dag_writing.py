"""Writing marks and boxes into step files: only their bytes change, whatever the file looks like."""

from __future__ import annotations

import difflib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some

from drumline.core.plan import Marks, Status, Step
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.dag import DagFiles
from drumline.planfiles.frontmatter import Frontmatter, read_frontmatter
from drumline.planfiles.stepfile import ENGINE_KEYS, StepFile, parse_step
from drumline.planfiles.writing import set_marks

CLAIMED = Marks(status=Status.CLAIMED, assignee="me", claimed_at="2030-01-02T03:04:05Z")
DONE = Marks(status=Status.DONE)

words = st.text(max_size=30)
marks_made = st.builds(Marks, status=st.sampled_from(Status), assignee=words, claimed_at=words, reason=words)

STATUS_LINES = ["status: ready", "status:   'done'  # note", 'status: "claimed"', "status:", "status: >\n  blocked", ""]
OTHER_LINES = [
    "name: A name  # with a comment",
    "# a comment line",
    "depends_on:\n- a\n- b",
    "notes: |\n  block\n\n  text",
    "notes2: |+\n  kept\n\n",
    "",
    "files: [a,\n  b]",
    '"quoted key": x',
    "unicode: é😀",
]
MARK_LINES = [
    "assignee: bob # c",
    "assignee:",
    "claimed_at: 2030-01-01",
    "reason: |\n  two\n  lines",
    'reason: "a\\nb"',
]
BODY_LINES = [
    "# Title",
    "#### Automated Verification:",
    "- [ ] a `make a`",
    "- [x] b `make b`",
    "* [X] c `make a`",
    "1. [ ] d `make d`",
    "> - [ ] quoted",
    "  - [ ] nested `make n`",
    "- - [ ] double",
    "\t- [ ] tabbed `make t`",
    "```",
    "---",
    "status: done",
    "text [x] here   ",
    "",
    "- [ ]",
    "- [x]: reference",
    "## Other",
    "<!--",
    "-->",
    "\u2028 \x0b \x00",
]


@st.composite
def contents(draw: st.DrawFn) -> str:
    """Step files with any order of keys, comments, quoting, line endings and byte-order mark."""
    lines = [
        "id: step-1",
        draw(st.sampled_from(STATUS_LINES)),
        *draw(st.lists(st.sampled_from(OTHER_LINES), unique=True)),
    ]
    marks = draw(st.lists(st.sampled_from(MARK_LINES), unique_by=lambda line: line.split(":")[0]))
    ordered = draw(st.permutations([*lines, *marks]))
    indent = draw(st.sampled_from(["", "", "  "]))
    front = "\n".join(indent + part for line in ordered for part in line.split("\n"))
    body = draw(st.lists(st.sampled_from(BODY_LINES) | st.text(max_size=20)))
    text = "\n".join(["---", front, "---", *body]) + draw(st.sampled_from(["", "\n"]))
    newline = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    return draw(st.sampled_from(["", "\ufeff"])) + text.replace("\n", newline)


def parsed(text: str) -> tuple[Step, StepFile]:
    found = parse_step(text, "plan/step-1.md")
    assert found.step is not None, found.problems
    return found.step, found


@given(contents())
@settings(max_examples=some(150), deadline=None)
def test_writing_the_marks_that_are_there_changes_nothing(text: str) -> None:
    step, found = parsed(text)

    assert set_marks(text, step, found.marks) == text


@given(contents(), marks_made, st.data())
@settings(max_examples=some(300), deadline=None)
def test_set_marks_read_back_and_nothing_else_changes(text: str, marks: Marks, data: st.DataObject) -> None:
    step, before = parsed(text)
    lines = [check.line for check in step.checks if check.line]
    ticked = data.draw(st.lists(st.sampled_from(lines))) if lines else []

    changed = set_marks(text, step, marks, ticked)

    after_step, after = parsed(changed)
    assert after.marks == marks
    assert after_step.text_digest == step.text_digest
    assert [c.command for c in after_step.checks] == [c.command for c in step.checks]
    assert untouched(text, changed)
    restored = set_marks(changed, after_step, before.marks)
    assert parsed(restored)[1].marks == before.marks
    assert parsed(restored)[0].text_digest == step.text_digest


def untouched(before: str, after: str) -> bool:
    """Whether each changed line holds a mark, continues one, or differs by its box only."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        removed, added = "".join(old[a:b]), "".join(new[c:d])
        boxes_only = removed.replace("[ ]", "[x]") == added.replace("[ ]", "[x]")
        if kind != "equal" and not boxes_only and not any(key in removed + added for key in ENGINE_KEYS):
            return False
    return True


@given(contents(), st.integers(0, 400), st.sampled_from("aZ #-x\n`"))
@settings(max_examples=some(150), deadline=None)
def test_any_edit_of_the_body_changes_the_text_digest(text: str, place: int, character: str) -> None:
    step, _ = parsed(text)
    front = read_frontmatter(text, "")
    assert isinstance(front, Frontmatter)
    at = min(front.body + place, len(text))

    after = parse_step(text[:at] + character + text[at:], "plan/step-1.md")

    assert after.step is None or after.step.text_digest != step.text_digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("id: step-1", "id: step-2"),
        ("name: x", "name: y"),
        ("name: x\n", ""),
        ("name: x", "name: x # c"),
        ("\n", "\r\n"),
    ],
)
def test_an_edit_of_the_frontmatter_that_is_not_a_mark_changes_the_text_digest(old: str, new: str) -> None:
    text = "---\nid: step-1\nstatus: ready\nname: x\n---\nbody\n"

    assert parsed(text.replace(old, new))[0].text_digest != parsed(text)[0].text_digest


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("status: ready # keep\n", "status: claimed # keep\nassignee: me\nclaimed_at: 2030-01-02T03:04:05Z\n"),
        ("status:\n", "status: claimed\nassignee: me\nclaimed_at: 2030-01-02T03:04:05Z\n"),
        ("claimed_at: x\nstatus: 'ready'\n", "claimed_at: 2030-01-02T03:04:05Z\nstatus: claimed\nassignee: me\n"),
        ("assignee: you\nreason: old\n", "assignee: me\nstatus: claimed\nclaimed_at: 2030-01-02T03:04:05Z\n"),
    ],
)
def test_lines_are_replaced_inserted_after_status_and_removed(before: str, after: str) -> None:
    text = f"---\nid: step-1\n{before}---\nbody\n"

    assert set_marks(text, parsed(text)[0], CLAIMED) == f"---\nid: step-1\n{after}---\nbody\n"


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        ("plain words, and more", "plain words, and more"),
        ("a: b", '"a: b"'),
        ("yes", '"yes"'),
        ("12", '"12"'),
        ("a #b", '"a #b"'),
    ],
)
def test_values_are_quoted_only_when_yaml_needs_it(reason: str, written: str) -> None:
    text = "---\nid: step-1\nstatus: failed\n---\n"

    changed = set_marks(text, parsed(text)[0], Marks(status=Status.FAILED, reason=reason))

    assert f"\nreason: {written}\n" in changed


def test_what_utf8_cannot_hold_is_replaced() -> None:
    text = "---\nid: step-1\n---\n"

    changed = set_marks(text, parsed(text)[0], Marks(status=Status.FAILED, reason="bad \udcff byte"))

    assert "reason: bad ? byte\n" in changed


STEP = (
    "---\r\nid: step-1\r\nstatus: ready\r\n---\r\n#### Automated Verification:\r\n- [ ] `make a`\r\n- [ ] `make b`\r\n"
)


@pytest.fixture
def files(tmp_path: Path) -> DagFiles:
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "root.md").write_text("---\n---\n# P\n")
    (tmp_path / "plan" / "step-1.md").write_bytes(STEP.encode())
    opened = open_plan(tmp_path / "plan", repo=tmp_path, locks=tmp_path / "locks")
    assert isinstance(opened, DagFiles)
    return opened


def the_step(files: DagFiles) -> Step:
    return files.read().plan.steps[0]


def test_a_claim_and_its_completion_leave_only_the_ticked_box(files: DagFiles, tmp_path: Path) -> None:
    step = the_step(files)

    files.write(step, CLAIMED)
    files.write(step, DONE, ticked=[step.checks[1].line])

    data = (tmp_path / "plan" / "step-1.md").read_bytes()
    assert data == STEP.replace("ready", "done").replace("[ ] `make b`", "[x] `make b`").encode()


def test_added_lines_end_like_the_others(files: DagFiles, tmp_path: Path) -> None:
    files.write(the_step(files), CLAIMED)

    data = (tmp_path / "plan" / "step-1.md").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") == STEP.count("\n") + 2


def test_of_several_claimants_exactly_one_wins(files: DagFiles) -> None:
    step = the_step(files)
    for _ in range(20):
        files.write(step, Marks())
        claims = [Marks(status=Status.CLAIMED, assignee=f"driver-{n}") for n in range(4)]

        with ThreadPoolExecutor(4) as pool:
            won = list(pool.map(lambda claim: bool(files.write(step, claim, unless=Marks())), claims))

        assert sum(won) == 1
        assert files.marks(step) == claims[won.index(True)]


def test_a_box_is_found_by_its_command_after_a_hand_edit(files: DagFiles, tmp_path: Path) -> None:
    step = the_step(files)
    file = tmp_path / "plan" / "step-1.md"
    file.write_bytes(STEP.replace("- [ ] `make a`\r\n", "- [ ] `make new`\r\n- [ ] `make a`\r\n").encode())

    files.write(step, DONE, ticked=[step.checks[1].line])

    assert [line[:6] for line in file.read_text().splitlines() if line.startswith("- [")] == [
        "- [ ] ",
        "- [ ] ",
        "- [x] ",
    ]


def test_nothing_is_written_when_nothing_would_change(files: DagFiles, tmp_path: Path) -> None:
    step = the_step(files)
    files.write(step, CLAIMED)
    before = (tmp_path / "plan" / "step-1.md").stat()

    files.write(step, CLAIMED)

    after = (tmp_path / "plan" / "step-1.md").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_the_mode_stays_and_the_plan_directory_holds_no_other_files(files: DagFiles, tmp_path: Path) -> None:
    file = tmp_path / "plan" / "step-1.md"
    file.chmod(0o640)

    files.write(the_step(files), CLAIMED)

    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in (tmp_path / "plan").iterdir()) == ["root.md", "step-1.md"]


def test_marks_that_a_person_saves_while_ours_are_flushed_stay(
    files: DagFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, flush = the_step(files), os.fsync
    file = tmp_path / "plan" / "step-1.md"

    def save_meanwhile(handle: int) -> None:
        flush(handle)
        file.write_bytes(STEP.replace("ready", "skipped").encode())

    monkeypatch.setattr(os, "fsync", save_meanwhile)

    assert files.write(step, CLAIMED, unless=Marks()) == ""

    assert file.read_bytes() == STEP.replace("ready", "skipped").encode()
    assert sorted(p.name for p in file.parent.iterdir()) == ["root.md", "step-1.md"]


def test_a_file_that_changes_in_every_try_is_left_alone_with_the_reason(
    files: DagFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, flush = the_step(files), os.fsync
    file = tmp_path / "plan" / "step-1.md"

    def save_meanwhile(handle: int) -> None:
        flush(handle)
        file.write_bytes(file.read_bytes() + b"more\r\n")

    monkeypatch.setattr(os, "fsync", save_meanwhile)

    with pytest.raises(InvalidInput, match=r"step-1\.md' was changed by somebody else in each of"):
        files.write(step, CLAIMED)

    assert b"status: ready" in file.read_bytes()


def test_the_draft_of_a_killed_writer_is_removed_by_the_next_one(files: DagFiles, tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from drumline.planfiles.drafts import put_file\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "put_file(Path(sys.argv[1]), b'half', before=Path(sys.argv[1]).read_bytes())\n"
    )
    plan = tmp_path / "plan"
    subprocess.run([sys.executable, "-c", code, plan / "step-1.md"], check=False)
    (plan / ".step-1.md.tmp").write_text("a person's")
    assert len(list(plan.glob(".step-1.md.drumline-*.tmp"))) == 1

    files.write(the_step(files), CLAIMED)

    assert sorted(p.name for p in plan.iterdir()) == [".step-1.md.tmp", "root.md", "step-1.md"]


def test_a_file_replaced_by_a_symlink_is_not_followed(files: DagFiles, tmp_path: Path) -> None:
    step = the_step(files)
    target = tmp_path / "target.md"
    (tmp_path / "plan" / "step-1.md").rename(target)
    (tmp_path / "plan" / "step-1.md").symlink_to(target)

    with pytest.raises(InvalidInput, match="symbolic link"):
        files.write(step, CLAIMED)

    assert target.read_bytes() == STEP.encode()


@pytest.mark.parametrize("content", ["---\nid: [\n---\n", "gone", "---\nid: step-1\nstatus: odd\n---\n"])
def test_a_file_that_cannot_be_read_is_left_alone(files: DagFiles, tmp_path: Path, content: str) -> None:
    step = the_step(files)
    file = tmp_path / "plan" / "step-1.md"
    file.write_text(content)

    with pytest.raises(InvalidInput) as refused:
        files.write(step, CLAIMED)

    assert "plan/step-1.md:" in str(refused.value)
    assert refused.value.hint == "drumline validate plan"
    assert file.read_text() == content


@pytest.mark.parametrize(
    "path", ["plan/../step-1.md", "plan/root.md", "step-1.md", "/etc/step-1.md", "plan/a/step-1.md"]
)
def test_a_path_outside_the_plan_is_refused(files: DagFiles, path: str) -> None:
    stranger = Step(id=the_step(files).id, title="", path=path)

    with pytest.raises(InvalidInput, match="is not a step's file"):
        files.write(stranger, CLAIMED)
