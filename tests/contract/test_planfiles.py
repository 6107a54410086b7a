"""The promises of the plan files port, kept by files and by the fake alike."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Check, Marks, Plan, Reading, Status, Step
from drumline.core.task import plan_task
from drumline.core.vocabulary import DocumentKind
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.task import TaskFiles
from drumline.ports.planfiles import Correction, PlanFiles
from drumline.record import replace
from drumline.testing.planfiles import FakePlanFiles

CLAIMED = Marks(status=Status.CLAIMED, assignee="driver-1", claimed_at="2030-01-02T03:04:05Z")
DONE = Marks(status=Status.DONE)
BLOCKED = Marks(status=Status.BLOCKED, reason='check "make: test" failed #2\nsee the log')


@dataclass(frozen=True, kw_only=True, slots=True)
class Harness:
    """A plan of two steps, and the hand edit of its second step's title; `boxed` if it has boxes to tick."""

    files: PlanFiles
    retitle: Callable[[Step, str], object]
    path: str = "plan"
    ids: tuple[str, str] = ("step-1", "step-2")
    boxed: bool = True

    def read(self, known: Reading | None = None) -> Reading:
        return self.files.read(known)

    def step(self) -> Step:
        return self.files.read().plan.by_id[StepId(self.ids[1])]


def files_on_disk(folder: Path) -> Harness:
    plan = folder / "plan"
    plan.mkdir()
    (plan / "root.md").write_text("---\nplan_type: dag\n---\n# A plan\n")
    for number, needs in ((1, ""), (2, "step-1")):
        (plan / f"step-{number}.md").write_text(
            f"---\nid: step-{number}\nname: Title {number}\ndepends_on: [{needs}]\nstatus: ready\n---\n"
            f"#### Automated Verification:\n\n- [ ] Tests: `make test`\n- [ ] Lint: `make lint`\n"
        )

    def retitle(step: Step, title: str) -> object:
        file = folder / step.path
        return file.write_text(file.read_text().replace(f"name: {step.title}", f"name: {title}"))

    return Harness(files=open_plan(plan, repo=folder, locks=folder / "locks"), retitle=retitle)


def files_in_memory(_folder: Path) -> Harness:
    checks = (Check(command="make test", line=9), Check(command="make lint", line=10))
    steps = [
        Step(id=StepId("step-1"), title="Title 1", checks=checks, path="plan/step-1.md"),
        Step(id=StepId("step-2"), title="Title 2", checks=checks, path="plan/step-2.md", needs=(StepId("step-1"),)),
    ]
    fake = FakePlanFiles(Plan(name="plan", path="plan", title="A plan", steps=tuple(steps)))
    return Harness(files=fake, retitle=lambda step, title: fake.edit(replace(step, title=title)))


def one_file(folder: Path, name: str, text: str, *, ids: tuple[str, str] = ("1", "2"), boxed: bool = False) -> Harness:
    file = folder / name
    file.write_text(text)

    def retitle(step: Step, title: str) -> object:
        return file.write_text(file.read_text().replace(step.title, title))

    files = open_plan(file, repo=folder, locks=folder / "locks")
    return Harness(files=files, retitle=retitle, path=name, ids=ids, boxed=boxed)


def maestro_plan(folder: Path) -> Harness:
    phases = ",\n".join(
        f'  {{"id": {number}, "name": "Title {number}", "agent": "coder", "parallel": true,\n'
        f'   "blocked_by": [{needs}], "checks": ["make test", "make lint"]}}'
        for number, needs in ((1, ""), (2, "1"))
    )
    return one_file(folder, "plan.json", f'{{"title": "A plan", "phases": [\n{phases}\n]}}\n')


def maestro_state(folder: Path) -> Harness:
    phases = "".join(
        f"  - id: {number}\n    name: Title {number}\n    status: pending\n    agents: [coder]\n    parallel: true\n"
        f"    blocked_by: [{needs}]\n    checks: [make test, make lint]\n    errors: []\n"
        for number, needs in ((1, ""), (2, "1"))
    )
    return one_file(folder, "active-session.md", f"---\ntask: A plan\nphases:\n{phases}---\n# Log\n")


def maestro_markdown(folder: Path) -> Harness:
    phases = "".join(
        f"\n## Phase {number}: Title {number}\n### Agent: coder\n### Parallel: Yes\n### Validation\n"
        f"- [ ] Tests: `make test`\n- [ ] Lint: `make lint`\n### Dependencies\n- Blocked by: {needs}\n"
        for number, needs in ((1, "None"), (2, "Phase 1"))
    )
    return one_file(folder, "a-impl-plan.md", f"---\ntitle: A plan\n---\n{phases}", boxed=True)


def phased(folder: Path) -> Harness:
    plan = folder / "plan"
    (plan / "steps").mkdir(parents=True)
    (plan / "plan.md").write_text("# A plan\n")
    for number, needs in ((1, ""), (2, "1")):
        (plan / "steps" / f"{number:02}-work.md").write_text(
            f"---\nstep: {number}\ntitle: Title {number}\ndepends_on: [{needs}]\nstatus: pending\n---\n"
            "## Test commands\n\n- [ ] Tests: `make test`\n- [ ] Lint: `make lint`\n"
        )

    def retitle(step: Step, title: str) -> object:
        file = folder / step.path
        return file.write_text(file.read_text().replace(f"title: {step.title}", f"title: {title}"))

    files = open_plan(plan, repo=folder, locks=folder / "locks")
    return Harness(files=files, retitle=retitle, ids=("01", "02"))


def linear(folder: Path) -> Harness:
    file = folder / "plan.md"
    phases = "".join(
        f"\n## Phase {number}: Title {number}\n\n#### Automated Verification:\n"
        "- [ ] Tests: `make test`\n- [ ] Lint: `make lint`\n"
        for number in (1, 2)
    )
    file.write_text(f"---\nstatus: in-progress\n---\n# A plan\n{phases}")

    def retitle(step: Step, title: str) -> object:
        return file.write_text(file.read_text().replace(f": {step.title}\n", f": {title}\n"))

    files = open_plan(file, repo=folder, locks=folder / "locks")
    return Harness(files=files, retitle=retitle, path="plan.md", ids=("phase-1", "phase-2"))


def implement_lines(folder: Path) -> Harness:
    steps = "".join(
        f"### Step {number}: Title {number}\n**Status:** pending\n**Files:** `a{number}.py`\n**Test:**\n"
        f"- [ ] Tests: `make test`\n- [ ] Lint: `make lint`\n\n"
        for number in (1, 2)
    )
    return one_file(folder, "implement.md", f"# Implementation Plan: A plan\n\n## Steps\n{steps}", boxed=True)


def implement_tags(folder: Path) -> Harness:
    steps = "".join(
        f"## Step {number}: Title {number} [pending]\n\n**Files:**\n- Modify: `a{number}.py`\n\n**Verification:**\n"
        f"- [ ] Tests: `make test`\n- [ ] Lint: `make lint`\n\n"
        for number in (1, 2)
    )
    return one_file(folder, "implement.md", f"# Implementation Plan: A plan\n\n{steps}", boxed=True)


def waves(folder: Path) -> Harness:
    chunks = ",\n".join(
        f'  [{{"id": "c{number}", "scope": "Title {number}", "files": ["a.py"], "model": "sonnet",\n'
        f'    "checks": ["make test", "make lint"]}}]'
        for number in (1, 2)
    )
    text = f'{{"description": "A plan", "waves": [\n{chunks}\n]}}\n'
    return one_file(folder, "chunks.json", text, ids=("c1", "c2"))


def checklist(folder: Path) -> Harness:
    tasks = "".join(
        f"- [ ] {number}. Title {number}\n  - [ ] Tests: `make test`\n  - [ ] Lint: `make lint`\n" for number in (1, 2)
    )
    return one_file(folder, "TODO.md", f"# A plan\n\n{tasks}")


def speckit(folder: Path) -> Harness:
    tasks = "".join(
        f"- [ ] T00{number} Title {number}\n  - [ ] Tests: `make test`\n  - [ ] Lint: `make lint`\n"
        for number in (1, 2)
    )
    return one_file(folder, "tasks.md", f"# A plan\n\n## Phase 1: Setup\n\n{tasks}", ids=("T001", "T002"))


def kiro(folder: Path) -> Harness:
    tasks = "".join(
        f"- [ ] {number}. Title {number}\n  - Tests: `make test`\n  - Lint: `make lint`\n  - _Requirements: 1.1_\n"
        for number in (1, 2)
    )
    return one_file(folder, "tasks.md", f"# A plan\n\n## Tasks\n\n{tasks}")


def openspec(folder: Path) -> Harness:
    (folder / "openspec" / "changes" / "a").mkdir(parents=True)
    tasks = "".join(
        f"## {number}. Group\n\n- [ ] {number}.1 Title {number}\n  - Tests: `make test`\n  - Lint: `make lint`\n\n"
        for number in (1, 2)
    )
    return one_file(folder, "openspec/changes/a/tasks.md", f"# A plan\n\n{tasks}", ids=("1.1", "2.1"))


def superpowers(folder: Path) -> Harness:
    tasks = "".join(
        f"### Task {number}: Title {number}\n\n- [ ] Tests\n\nRun: `make test`\nExpected: PASS\n\n"
        "- [ ] Run: `make lint`\n  Expected: clean\n\n"
        for number in (1, 2)
    )
    return one_file(folder, "plan.md", f"# A plan\n\n{tasks}", boxed=True)


def taskmaster(folder: Path) -> Harness:
    tasks = ",\n".join(
        f'    {{"id": {number}, "title": "Title {number}", "status": "pending", "dependencies": [{needs}],\n'
        f'     "details": "", "checks": ["make test", "make lint"]}}'
        for number, needs in ((1, ""), (2, "1"))
    )
    text = f'{{"master": {{"metadata": {{"description": "A plan"}}, "tasks": [\n{tasks}\n]}}}}\n'
    return one_file(folder, "tasks.json", text)


def task(_folder: Path) -> Harness:
    """A plan without files; nobody can edit it."""
    plan = plan_task("Title 2\n\nIt has to hold.\n", checks=[Check(command="make test"), Check(command="make lint")])
    return Harness(files=TaskFiles(plan), retitle=lambda step, title: None, path="", ids=("do", "do"), boxed=False)


WITH_FILES = [
    files_on_disk,
    files_in_memory,
    phased,
    linear,
    maestro_plan,
    maestro_state,
    maestro_markdown,
    implement_lines,
    implement_tags,
    waves,
    checklist,
    kiro,
    openspec,
    speckit,
    superpowers,
    taskmaster,
]


@pytest.fixture(params=WITH_FILES)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    made: Harness = request.param(tmp_path)
    return made


@pytest.fixture(params=[*WITH_FILES, task])
def any_harness(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    """As `harness`, and a plan that has no files: for the promises that all of them keep."""
    made: Harness = request.param(tmp_path)
    return made


def test_reading_finds_the_steps_in_order_with_needs_checks_and_marks(harness: Harness) -> None:
    found = harness.read()

    assert [(s.id, s.title, s.needs) for s in found.plan.steps] == [
        (harness.ids[0], "Title 1", ()),
        (harness.ids[1], "Title 2", (harness.ids[0],)),
    ]
    assert [check.command for check in found.plan.steps[1].checks] == ["make test", "make lint"]
    assert found.marks == dict.fromkeys(harness.ids, Marks())
    assert found.problems == ()
    assert found.plan.title == "A plan"


def test_reading_twice_gives_the_same(any_harness: Harness) -> None:
    first = any_harness.read()

    assert any_harness.read() == first
    assert any_harness.read(first) == first


@pytest.mark.parametrize("marks", [CLAIMED, DONE, BLOCKED, Marks()])
def test_written_marks_are_read_back(harness: Harness, marks: Marks) -> None:
    before = harness.read()
    step = harness.step()

    harness.files.write(step, CLAIMED)
    harness.files.write(step, marks)

    assert harness.files.marks(step) == marks
    assert harness.read(before).marks == dict(zip(harness.ids, (Marks(), marks), strict=True))


def test_writing_returns_the_digest_that_reading_finds(harness: Harness) -> None:
    step = harness.step()

    digest = harness.files.write(step, CLAIMED)

    assert harness.read().digests[step.path] == digest


def test_writing_what_is_there_changes_no_digest(any_harness: Harness) -> None:
    step = any_harness.step()
    first = any_harness.files.write(step, CLAIMED, ticked=[step.checks[0].line])

    second = any_harness.files.write(step, CLAIMED, ticked=[step.checks[0].line])

    assert second == first


def test_marks_and_boxes_do_not_change_the_text_digest(any_harness: Harness) -> None:
    step = any_harness.step()

    any_harness.files.write(step, BLOCKED, ticked=[check.line for check in step.checks])

    assert any_harness.step().text_digest == step.text_digest


def test_a_hand_edit_changes_the_text_digest_and_keeps_the_marks(harness: Harness) -> None:
    step = harness.step()
    harness.files.write(step, CLAIMED)
    before = harness.read()

    harness.retitle(step, "Another title")

    after = harness.read(before)
    assert after.plan.by_id[step.id].title == "Another title"
    assert after.plan.by_id[step.id].text_digest != step.text_digest
    assert after.plan.steps[0] == before.plan.steps[0]
    assert after.marks == before.marks


def test_a_box_is_ticked_in_the_text_even_after_marks_moved_its_line(harness: Harness) -> None:
    if not harness.boxed:
        pytest.skip("this format has no boxes")
    step = harness.step()

    harness.files.write(step, CLAIMED)
    harness.files.write(step, CLAIMED, ticked=[step.checks[1].line])

    boxes = [line for line in harness.files.text(step).splitlines() if line.startswith("- [")]
    assert boxes[0].startswith("- [ ] ")
    assert boxes[1].startswith("- [x] ")
    assert "make lint" in boxes[1]


def test_a_write_is_left_out_when_somebody_else_wrote(harness: Harness) -> None:
    step = harness.step()
    harness.files.write(step, CLAIMED)

    refused = harness.files.write(step, DONE, unless=Marks())

    assert refused == ""
    assert harness.files.marks(step) == CLAIMED


@pytest.mark.parametrize("last", [Marks(), CLAIMED])
def test_a_write_goes_through_when_the_marks_are_ours_or_already_as_wanted(harness: Harness, last: Marks) -> None:
    step = harness.step()
    harness.files.write(step, last)

    digest = harness.files.write(step, CLAIMED, unless=Marks())

    assert digest
    assert harness.files.marks(step) == CLAIMED


def save_during_the_flush(monkeypatch: pytest.MonkeyPatch, edit: Callable[[], object], *, times: int = 1) -> None:
    """A person saves their edit while the disk is slow."""
    flush, left = os.fsync, list(range(times))

    def slow(handle: int) -> None:
        flush(handle)
        if left:
            left.pop()
            edit()

    monkeypatch.setattr(os, "fsync", slow)


def test_an_edit_saved_while_marks_are_flushed_stays(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    step = harness.step()
    save_during_the_flush(monkeypatch, lambda: harness.retitle(step, "Edited title"))

    harness.files.write(step, DONE)

    if not isinstance(harness.files, FakePlanFiles):  # which flushes nothing
        assert harness.step().title == "Edited title"
    assert harness.files.marks(step) == DONE


def test_an_edit_saved_while_a_correction_is_flushed_stays(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    step = harness.step()
    save_during_the_flush(monkeypatch, lambda: harness.retitle(step, "Edited title"))

    harness.files.insert(correction_for(step.id), helps=step)

    found = harness.read().plan.by_id
    if not isinstance(harness.files, FakePlanFiles):
        assert found[step.id].title == "Edited title"
    assert correction_for(step.id).id in found


def test_the_text_holds_the_title_and_the_checks(harness: Harness) -> None:
    text = harness.files.text(harness.step())

    assert "Title 2" in text
    assert "make test" in text


def test_a_step_of_another_plan_is_refused(any_harness: Harness) -> None:
    stranger = Step(id=StepId("x"), title="x", path="other/step-1.md")

    with pytest.raises(InvalidInput) as refused:
        any_harness.files.write(stranger, DONE)

    hint = f"drumline validate {any_harness.path}" if any_harness.path else "drumline do --help"
    assert refused.value.hint == hint


def test_a_plan_without_files_is_read_from_the_journal_and_keeps_nothing(tmp_path: Path) -> None:
    harness = task(tmp_path)
    step = harness.step()

    harness.files.write(step, DONE)

    assert harness.files.patterns == ()
    assert harness.read().digests == {}
    assert harness.files.marks(step) == Marks()
    assert [check.command for check in step.checks] == ["make test", "make lint"]
    assert "It has to hold." in harness.files.text(step)
    with pytest.raises(InvalidInput, match="a task has one step") as added:
        harness.files.insert(correction_for(step.id), helps=step)
    with pytest.raises(InvalidInput, match="a task has no files") as kept:
        harness.files.keep_checks({step.id: ["make test"]})
    assert (added.value.hint, kept.value.hint) == ("drumline do TEXT", "drumline do --help")


@pytest.mark.parametrize("tail", ["h", "m"])
def test_a_corrective_step_inherits_needs_and_is_waited_for(harness: Harness, tail: str) -> None:
    before = harness.read()
    first, second = harness.ids
    correction = correction_for(first, tail)

    harness.files.insert(correction, helps=before.plan.steps[0])

    after = harness.read(before)
    assert [step.id for step in after.plan.steps] == [first, correction.id, second]
    assert [step.needs for step in after.plan.steps] == [(correction.id,), (), (first,)]
    assert after.marks == dict.fromkeys([first, correction.id, second], Marks())
    assert after.errors == ()
    added = after.plan.by_id[correction.id]
    assert (added.title, [check.command for check in added.checks]) == ("Another way", ["make again"])
    assert "Do it differently" in harness.files.text(added)


def test_a_corrective_step_carries_the_checks_of_the_step_that_it_helps(harness: Harness) -> None:
    step = harness.step()
    correction = replace(correction_for(step.id), checks=(*step.checks, Check(command="make again")))

    harness.files.insert(correction, helps=step)

    added = harness.read().plan.by_id[correction.id]
    assert [check.command for check in added.checks] == ["make again", "make test", "make lint"]
    assert all(command in harness.files.text(added) for command in ("make test", "make lint"))
    assert [check.command for check in harness.step().checks] == ["make test", "make lint"]


def test_a_second_corrective_step_does_not_wait_for_the_first(harness: Harness) -> None:
    first, second = harness.ids
    harness.files.insert(correction_for(second), helps=harness.step())

    harness.files.insert(correction_for(second, "h2"), helps=harness.step())

    found = harness.read().plan
    assert set(harness.step().needs) == {first, f"{second}h", f"{second}h2"}
    assert [found.by_id[StepId(f"{second}{tail}")].needs for tail in ("h", "h2")] == [(first,), (first,)]


def test_inserting_the_same_correction_again_changes_nothing(harness: Harness) -> None:
    correction = correction_for(harness.ids[1])
    harness.files.insert(correction, helps=harness.step())
    harness.files.write(harness.read().plan.by_id[correction.id], BLOCKED)
    before = harness.read()

    harness.files.insert(correction, helps=harness.step())

    assert harness.read() == before


@pytest.mark.parametrize("marks", [CLAIMED, DONE])
def test_a_corrective_step_has_marks_like_any_other(harness: Harness, marks: Marks) -> None:
    correction = correction_for(harness.ids[1])
    harness.files.insert(correction, helps=harness.step())
    added = harness.read().plan.by_id[correction.id]

    harness.files.write(added, marks)

    assert harness.files.marks(added) == marks
    assert harness.files.marks(harness.step()) == Marks()


@pytest.mark.parametrize("kind", [kind for kind in DocumentKind if kind is not DocumentKind.NOTES])
def test_a_document_is_put_in_its_place_once_and_replaces_only_our_own(
    any_harness: Harness, kind: DocumentKind
) -> None:
    files, step = any_harness.files, any_harness.step()
    path = files.place(kind, step)
    if not path:
        with pytest.raises(InvalidInput, match="no place"):
            files.put("plan/a-document.md", "text\n")
        assert files.read_document(kind, step) == ""
        return

    nothing = files.read_document(kind, step)
    first = files.put(path, "one\n")
    again = files.put(path, "one\n")
    taken = files.put(path, "two\n", before="somebody else's")
    second = files.put(path, "two\n", before=first)

    assert first == again != ""
    assert taken == ""
    assert second not in ("", first)
    assert (nothing, files.read_document(kind, step)) == ("", "two\n")
    assert any(fnmatch(path, pattern) for pattern in files.patterns)


def test_what_a_step_notes_is_added_to_the_notes_of_its_plan_once(any_harness: Harness, tmp_path: Path) -> None:
    files = any_harness.files
    path = files.place(DocumentKind.NOTES, any_harness.step())
    if not path:
        with pytest.raises(InvalidInput, match="no place"):
            files.put("plan/NOTES.md#step", "- one\n")
        return
    notes = tmp_path / path.partition("#")[0]
    notes.write_text("# Somebody else's\n", encoding="utf-8")

    first = files.put(path, "- one\n")
    again = files.put(path, "- one\n", before=first)
    second = files.put(path, "- two\n")

    assert first == again != ""
    assert second not in ("", first)
    assert notes.read_text(encoding="utf-8") == "# Somebody else's\n- one\n- two\n"


def correction_for(step_id: str, tail: str = "h") -> Correction:
    return Correction(
        id=StepId(f"{step_id}{tail}"),
        title="Another way",
        what="Do it differently.\n\n- [ ] `not a check`",
        why="The first way failed.",
        test="make again",
    )
