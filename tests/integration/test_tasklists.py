"""Lists of tasks on disk: groups, items, acceptance from files beside them, and what is shown in a prompt."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest
from tests.samples import checklist, kiro, openspec, speckit
from tests.samples.shape import Sample

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Status
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.ports.planfiles import PlanFiles

DONE = Marks(status=Status.DONE)


def put(folder: Path, name: str, text: str) -> tuple[Path, PlanFiles]:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file, open_plan(file, repo=folder, locks=folder / "locks")


def put_sample(folder: Path, sample: Sample) -> tuple[Path, PlanFiles]:
    for name, text in sample.beside.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return put(folder, sample.name, sample.text)


def tick(files: PlanFiles, *steps: str, marks: Marks = DONE) -> None:
    by_id = files.read().plan.by_id
    for step in steps:
        files.write(by_id[StepId(step)], marks)


def test_a_group_is_ticked_with_its_last_step_and_opened_with_the_first(tmp_path: Path) -> None:
    text = "# P\n\n- [ ] 1. Build\n  - [ ] 1.1 Floor\n  - [ ]* 1.2 Test\n  - [ ] 1.3 Roof\n- [ ] 2. Paint\n"
    text += "  - _Requirements: 1_\n"
    file, files = put(tmp_path, "tasks.md", text)

    tick(files, "1.1")
    half = file.read_text()
    tick(files, "1.3")
    whole = file.read_text()
    tick(files, "1.1", marks=Marks())

    assert half == text.replace("[ ] 1.1", "[x] 1.1")
    assert whole == half.replace("[ ] 1.3", "[x] 1.3").replace("[ ] 1. ", "[x] 1. ")
    assert file.read_text() == text.replace("[ ] 1.3", "[x] 1.3")


def test_a_task_whose_parts_are_all_optional_is_ticked_without_them(tmp_path: Path) -> None:
    text = "# P\n\n- [ ] 1. Build\n  - [ ] both floors\n  - [ ]* 1.1 Test\n    - [ ] twice\n- [ ] 2. Paint\n"
    text += "  - _Requirements: 1_\n"
    file, files = put(tmp_path, "tasks.md", text)

    tick(files, "1")
    built = file.read_text()
    tick(files, "1.1")

    assert built == text.replace("[ ] 1. ", "[x] 1. ").replace("[ ] both", "[x] both")
    assert file.read_text() == built.replace("[ ]* 1.1", "[x]* 1.1").replace("[ ] twice", "[x] twice")
    assert [problem.code for problem in files.read().problems] == ["no_checks"]


def test_a_task_of_spec_kit_in_which_others_stand_is_done_and_ticked_by_itself(tmp_path: Path) -> None:
    text = "# T\n\n## Phase 1: Setup\n\n- [ ] T001 [P] Build the page\n  - [ ] with a title\n\n  Tests first:\n\n"
    text += "  - [ ] T001a Test the page\n  - [ ] T002 Test the form\n    - [ ] empty\n- [ ] T003 Ship\n"
    text += "  - [ ] T003.1 Pack\n- [ ] T004 Tell\n- [ ] T004.1 Tell it twice\n"
    file, files = put(tmp_path, "tasks.md", text)

    after = [("T004", "T003.1"), ("T004.1", "T004")]
    steps = [(step.id, *step.needs) for step in files.read().plan.steps]
    tick(files, "T001")

    assert steps == [("T001",), ("T001a", "T001"), ("T002", "T001a"), ("T003.1", "T002"), *after]
    assert file.read_text() == text.replace("[ ] T001 ", "[x] T001 ").replace("[ ] with", "[x] with")


def test_a_small_letter_in_brackets_is_named_and_is_no_box(tmp_path: Path) -> None:
    text = "# T\n\n- [ ] Paint\n- [v] Build\n- [P] means side by side\n- [a](b) Read\n- [1] Cite\n- [a]: b\n"
    _, files = put(tmp_path, "TODO.md", text)

    found = files.read()

    assert [step.id for step in found.plan.steps] == ["paint"]
    named = [problem.message for problem in found.problems if problem.code == "box_unread"]
    assert named == ["'[v] Build' has no box that can be ticked; write [ ] for an open task"]


def test_a_box_without_an_id_beside_the_steps_of_a_group_is_a_step(tmp_path: Path) -> None:
    text = "# P\n\n- [ ] 1. Build\n  - [ ] 1.1 Floor\n  - [ ] Write the migration\n    - [ ] and try it\n"
    text += "  - [ ] 1.2 Roof\n"
    file, files = put(tmp_path, "tasks.md", text)

    tick(files, "1.1", "1.2")
    half = file.read_text()
    tick(files, "write-the-migration")

    assert [step.id for step in files.read().plan.steps] == ["1.1", "write-the-migration", "1.2"]
    assert "[ ] 1. Build" in half
    assert file.read_text() == text.replace("[ ]", "[x]")


@pytest.mark.parametrize(
    ("expected", "checks"),
    [
        ("PASS", 1),
        ("builds without errors", 1),
        ("3 passed, 0 failed", 1),
        ("build fails with an error", 0),
        ("Compile error: no such module", 0),
        ("Build should fail", 0),
        ("0 passed, 1 failed", 0),
        ("3 passed, 1 failed", 0),
        ("the test does not pass yet", 0),
        ('{"ok": true}', 0),
    ],
)
def test_what_a_plan_expects_to_fail_is_no_check(tmp_path: Path, expected: str, checks: int) -> None:
    text = "# Plan\n\n> **For agentic workers:** Use superpowers:executing-plans.\n\n### Task 1: Build\n\n"
    text += f"- [ ] **Step 1: Run it**\n\nRun: `sh t.sh`\nExpected: {expected}\n"
    _, files = put(tmp_path, "docs/superpowers/plans/2026-01-01-build.md", text)

    assert len(files.read().plan.steps[0].checks) == checks


def test_the_items_of_a_step_are_ticked_with_it_and_marks_of_others_stay(tmp_path: Path) -> None:
    text = "# P\n\n- [ ] Build\n\t- [ ] floor\n\t- [~] roof\n\n\t\t- [ ] tiles\n\n- [ ] Paint\n"
    file, files = put(tmp_path, "TODO.md", text)

    tick(files, "build")

    assert file.read_text() == text.replace("[ ] Build", "[x] Build").replace("[ ] floor", "[x] floor").replace(
        "[ ] tiles", "[x] tiles"
    )


def test_only_the_box_of_the_check_that_passed_is_ticked(tmp_path: Path) -> None:
    text = "# P\n\n- [ ] Build\n  - [ ] Tests: `make test`\n  - [ ] Lint: `make lint`\n"
    file, files = put(tmp_path, "TODO.md", text)
    step = files.read().plan.steps[0]

    files.write(step, Marks(status=Status.CLAIMED, assignee="me"), ticked=[step.checks[1].line])

    assert file.read_text() == text.replace("[ ] Lint", "[x] Lint")


def test_work_begun_by_others_is_asked_about_and_kept_until_we_take_it(tmp_path: Path) -> None:
    text = "# P\n\n- [~] Build\n"
    file, files = put(tmp_path, "TODO.md", text)
    step = files.read().plan.steps[0]

    begun = files.marks(step)
    files.write(step, Marks(status=Status.CLAIMED, assignee="drumline/1"), unless=begun)

    assert begun == Marks(status=Status.CLAIMED)
    assert file.read_text() == "# P\n\n- [ ] Build\n"
    assert files.marks(step).assignee == "drumline/1"


def test_a_prompt_shows_the_headings_with_their_prose_the_group_and_the_task(tmp_path: Path) -> None:
    _, files = put_sample(tmp_path, speckit.SAMPLES["the template"])

    text = files.text(files.read().plan.by_id[StepId("T005")])

    assert "**Independent Test**: Sign in with a good password" in text
    assert "### Tests for User Story 1" in text
    assert "T005 [P] [US1] Contract test" in text
    assert "T006" not in text


def test_checkpoints_are_verified_by_a_person_after_the_last_task_of_a_phase(tmp_path: Path) -> None:
    _, files = put_sample(tmp_path, speckit.SAMPLES["the template"])

    manual = {step.id: step.manual for step in files.read().plan.steps if step.manual}

    assert manual == {
        "T004": ("Checkpoint: Foundation ready",),
        "T008": ("Independent Test: Sign in with a good password", "Checkpoint: User Story 1 works"),
    }


def test_a_test_of_a_story_may_be_called_its_criteria(tmp_path: Path) -> None:
    text = "# T\n\n## Phase 1: User Story 1\n\n**Independent Test Criteria**: pages load\n\n- [ ] T001 [P] A\n"
    _, files = put(tmp_path, "tasks.md", text)

    assert files.read().plan.steps[0].manual == ("Independent Test: pages load",)


def test_a_prompt_shows_the_criteria_of_the_requirements_that_a_task_names(tmp_path: Path) -> None:
    _, files = put_sample(tmp_path, kiro.SAMPLES["groups"])

    first, second = (files.text(files.read().plan.by_id[StepId(step)]) for step in ("1", "2.1"))

    assert "- 1.2: IF the password is wrong THEN the system SHALL say so" in first
    assert "- 2.1: WHEN the session is old THEN the system SHALL close it" in second
    assert "1.1" not in second.partition("Acceptance")[2]
    assert "- [ ] 2. Build" in second


def test_scenarios_are_shown_in_every_prompt_and_verified_after_the_last_task(tmp_path: Path) -> None:
    _, files = put_sample(tmp_path, openspec.SAMPLES["groups"])
    steps = files.read().plan.steps

    assert [len(step.manual) for step in steps] == [0, 0, 2]
    assert steps[-1].manual[0] == ("Scenario auth: Good password: WHEN the password is right THEN a session is opened")
    assert "#### Scenario: Bad password" in files.text(steps[0])
    assert "Guest" not in files.text(steps[0])


def test_an_edited_scenario_is_an_edited_plan(tmp_path: Path) -> None:
    sample = openspec.SAMPLES["groups"]
    _, files = put_sample(tmp_path, sample)
    before = files.read()
    spec = tmp_path / next(iter(sample.beside))

    spec.write_text(spec.read_text().replace("a session is opened", "a session begins"))

    after = files.read(before)
    assert "a session begins" in after.plan.steps[-1].manual[0]
    assert after.digests != before.digests


def test_a_link_to_a_spec_elsewhere_is_not_followed(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "spec.md").write_text(openspec.SPEC)
    _, files = put(repo, openspec.NAME, "## 1. A\n\n- [ ] 1.1 One\n")
    (repo / openspec.NAME).parent.joinpath("specs").mkdir()
    (repo / openspec.NAME).parent.joinpath("specs", "auth").symlink_to(tmp_path / "secret")

    assert files.read().plan.steps[0].manual == ()


@pytest.mark.parametrize(
    "folder",
    ["specs/001-login", ".kiro/specs/login", "openspec/changes/add-login"],
    ids=["speckit", "kiro", "openspec"],
)
def test_the_folder_of_a_plan_will_do(tmp_path: Path, folder: str) -> None:
    put(tmp_path, f"{folder}/tasks.md", "# P\n\n## Phase 1: A\n\n- [ ] T001 [P] 1.1 One\n- [ ] 1.2 Two\n")

    plan = open_plan(tmp_path / folder, repo=tmp_path).read().plan

    assert plan.path == f"{folder}/tasks.md"
    assert plan.name == folder.rpartition("/")[2]


@pytest.mark.parametrize(
    ("folder", "beside"),
    [
        ("specs/001-login", "plan.md"),
        ("specs/001-login", "spec.md"),
        (".kiro/specs/login", "requirements.md"),
        ("openspec/changes/add-login", "proposal.md"),
    ],
)
def test_a_document_beside_the_tasks_stands_for_them(tmp_path: Path, folder: str, beside: str) -> None:
    put(tmp_path, f"{folder}/tasks.md", "# P\n\n## Phase 1: A\n\n- [ ] T001 [P] 1.1 One\n- [ ] 1.2 Two\n")
    (tmp_path / folder / beside).write_text("# Plan\n\n## Constitution check\n\n- [ ] Simple\n", encoding="utf-8")

    found = open_plan(tmp_path / folder / beside, repo=tmp_path).read().plan
    itself = open_plan(tmp_path / folder / beside, repo=tmp_path, format="checklist").read().plan

    assert found.path == f"{folder}/tasks.md"
    assert [step.id for step in itself.steps] == ["simple"]


def test_a_plan_whose_tasks_are_not_written_yet_is_read_as_itself(tmp_path: Path) -> None:
    _, files = put(tmp_path, "specs/001-login/plan.md", "# Plan\n\n- [ ] Add a form\n")

    assert files.read().plan.format == "checklist"


def test_a_document_without_boxes_is_refused_with_what_would_be_legal(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"steps that can be ticked, such as '- \[ \] Add a login form'") as told:
        put(tmp_path, "my plans/TODO.md", "# TODO\n\n- buy milk\n")

    assert told.value.hint == "drumline do '@my plans/TODO.md'"


def test_criteria_are_verified_by_a_person_after_the_last_task_of_their_section(tmp_path: Path) -> None:
    file, files = put_sample(tmp_path, checklist.SAMPLES["criteria are not steps"])
    before = file.read_text()

    reading = files.read()
    for step in reading.plan.steps:
        files.write(step, DONE)

    assert [step.manual for step in reading.plan.steps] == [
        (),
        ("AC-1: The page is shown",),
        ("Pages load fast", "Run `make test`", "Forms work"),
    ]
    tasks = ("Add a page", "Add a style", "Add a form")
    assert file.read_text() == reduce(lambda text, task: text.replace(f"[ ] {task}", f"[x] {task}"), tasks, before)


def test_what_is_deferred_is_skipped_with_what_says_so_and_no_box_of_it_changes(tmp_path: Path) -> None:
    file, files = put_sample(tmp_path, checklist.SAMPLES["what is deferred"])
    before = file.read_text()

    reading = files.read()
    skipped = [step for step in reading.plan.steps if reading.marks[step.id].status is Status.SKIPPED]
    for step in skipped:
        files.write(step, reading.marks[step.id])
    tick(files, "add-a-form")

    assert list(dict.fromkeys(reading.marks[step.id].reason for step in skipped)) == [
        "struck through",
        "its text says 'deferred to the next release'",
        "below 'Out of scope'",
        "below '4. Known limits & future work'",
    ]
    assert file.read_text() == before.replace("[ ] Add a form", "[x] Add a form")
    assert not file.with_name(file.name + ".drumline.json").exists()
    messages = [problem.message for problem in reading.problems if problem.code == "deferred"]
    assert messages[2] == "3 tasks are not run: below 'Out of scope' (P-7, add-a-forum, the-shop-is-open)"


def test_a_person_who_skips_a_deferred_task_is_remembered(tmp_path: Path) -> None:
    _, files = put_sample(tmp_path, checklist.SAMPLES["what is deferred"])
    mine = Marks(status=Status.SKIPPED, reason="we sold it")

    tick(files, "P-7", marks=mine)

    assert files.read().marks[StepId("P-7")] == mine


def test_what_people_verify_belongs_to_the_last_task_that_is_done(tmp_path: Path) -> None:
    change, phase = openspec.SAMPLES["a group that is deferred"], speckit.SAMPLES["a phase that is deferred"]

    steps = put_sample(tmp_path / "a", change)[1].read().plan.steps
    phases = put_sample(tmp_path / "b", phase)[1].read().plan.steps

    assert [len(step.manual) for step in steps] == [2, 0]
    assert [step.manual for step in phases] == [()] * 5
