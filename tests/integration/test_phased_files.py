"""Phased plans as people and other tools keep them: steps, handoffs and notes in one directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import MANY, some
from tests.integration.mutated import mutate

from drumline.core.documents import digest_document
from drumline.core.ids import StepId
from drumline.core.plan import Marks, Reading, Status, Step
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.folder import Contents
from drumline.planfiles.notes import MAX_NOTES, NOTES, append_notes
from drumline.planfiles.phased import PhasedLayout, form_for
from drumline.planfiles.writing import set_marks
from drumline.ports.planfiles import Correction

BODY = """
# Work

## Objective

Do it.

## Context

```
## Test commands
- `in a fence`
```

## Tasks

1. [ ] first `code`

## Acceptance criteria

- it works

## Test commands

- Unit tests: `make test`
- [ ] `make lint`

```sh
# comments and blank lines are not commands

$ make build
cargo test \\
  --all
```

## Edge cases

- `not a check`

## Out of scope
"""


def step_text(number: int, needs: str = "[]", *, status: str = "status: pending\n", body: str = BODY) -> str:
    return f"---\nstep: {number}\ntitle: Step {number}\ndepends_on: {needs}\n{status}---\n{body}"


def handoff(result: str) -> str:
    return f"---\nstep: 1\ntitle: x\nresult: {result}\n---\n## Summary\n\nresult: complete\n"


def write_plan(folder: Path, files: dict[str, str]) -> Path:
    plans = folder / "plans"
    for name, text in files.items():
        (plans / name).parent.mkdir(parents=True, exist_ok=True)
        (plans / name).write_bytes(text.encode())
    return plans


TWO = {"steps/01-first.md": step_text(1), "steps/02-second.md": step_text(2, "[1]")}


def read(folder: Path, files: dict[str, str]) -> Reading:
    return open_plan(write_plan(folder, files), repo=folder).read()


def findings(found: Reading) -> list[tuple[str, str]]:
    return [(problem.code, problem.where) for problem in found.problems]


def status(found: Reading, step_id: str) -> Status:
    return found.marks[StepId(step_id)].status


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_steps_are_found_with_needs_and_exact_commands(tmp_path: Path) -> None:
    found = read(tmp_path, TWO | {"plan.md": "# The whole\n\n[one](steps/01-first.md)\n", "NOTES.md": "a fact\n"})

    assert findings(found) == []
    assert (found.plan.format, found.plan.title, found.plan.path) == ("phased", "The whole", "plans")
    assert [(step.id, step.title, step.needs) for step in found.plan.steps] == [
        ("01", "Step 1", ()),
        ("02", "Step 2", ("01",)),
    ]
    checks = found.plan.steps[0].checks
    assert [check.command for check in checks] == ["make test", "make lint", "make build", "cargo test \\\n  --all"]
    lines = TWO["steps/01-first.md"].split("\n")
    assert all(check.command.split("\n")[0] in lines[check.line - 1] for check in checks)
    assert set(found.digests) == {f"plans/{name}" for name in (*TWO, "plan.md", "NOTES.md")}


@pytest.mark.parametrize("name", ["plans", "plans/plan.md", "plans/steps"])
def test_the_plan_may_be_named_in_three_ways(tmp_path: Path, name: str) -> None:
    write_plan(tmp_path, TWO | {"plan.md": "# P\n"})

    assert open_plan(tmp_path / name, repo=tmp_path).read().plan.path == "plans"


NEEDS = [
    ("[1]", ["01"]),
    ("[01]", ["01"]),
    ("['1']", ["01"]),
    ("1", ["01"]),
    ("\n- 1", ["01"]),
    ("none", []),
    ("None", []),
    ("[ ]", []),
    ("", []),
    ("[none]", []),
    ("1, 3", ["01", "3"]),
]


@pytest.mark.parametrize(("written", "needs"), NEEDS)
def test_needs_in_any_spelling_name_the_steps_files(tmp_path: Path, written: str, needs: list[str]) -> None:
    found = read(tmp_path, TWO | {"steps/02-second.md": step_text(2, written), "steps/3-third.md": step_text(3)})

    assert findings(found) == []
    assert list(found.plan.by_id[StepId("02")].needs) == needs


def test_an_unknown_need_and_a_number_that_is_not_the_files_are_found(tmp_path: Path) -> None:
    found = read(tmp_path, {"steps/01-first.md": step_text(1), "steps/02-second.md": step_text(7, "[9]")})

    assert findings(found) == [
        ("step_number", "plans/steps/02-second.md:2"),
        ("unknown_need", "plans/steps/02-second.md:4"),
    ]
    assert [step.id for step in found.plan.steps] == ["01", "02"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", Status.READY),
        ("status: pending\n", Status.READY),
        ("status: in-progress\n", Status.CLAIMED),
        ("status: In Progress\n", Status.CLAIMED),
        ("status: complete\n", Status.DONE),
        ("status: completed\n", Status.DONE),
        ("status: blocked\n", Status.BLOCKED),
    ],
)
def test_every_status_word_is_read(tmp_path: Path, line: str, expected: Status) -> None:
    found = read(tmp_path, TWO | {"steps/02-second.md": step_text(2, "[1]", status=line)})

    assert findings(found) == []
    assert status(found, "02") is expected


# result of the handoff, the step's own word, what it means, and the codes of the findings
HANDOFFS = [
    ("complete", "complete", Status.DONE, []),
    ("complete", "pending", Status.DONE, ["handoff_differs"]),
    ("complete", "in-progress", Status.DONE, ["handoff_differs"]),
    ("partial", "complete", Status.READY, ["handoff_differs", "handoff_partial"]),
    ("partial", "pending", Status.READY, ["handoff_partial"]),
    ("partial", "done", Status.DONE, []),
    ("blocked", "complete", Status.BLOCKED, ["handoff_differs", "handoff_blocked"]),
    ("blocked", "pending", Status.BLOCKED, ["handoff_differs", "handoff_blocked"]),
    ("blocked", "ready", Status.READY, ["handoff_blocked"]),
    ("", "complete", Status.DONE, ["handoff_no_result"]),
    ("excellent", "pending", Status.READY, ["handoff_no_result"]),
]


@pytest.mark.parametrize(("result", "word", "expected", "codes"), HANDOFFS)
def test_a_handoffs_result_outweighs_the_status(
    tmp_path: Path, result: str, word: str, expected: Status, codes: list[str]
) -> None:
    files = TWO | {
        "steps/01-first.md": step_text(1, status=f"status: {word}\n"),
        "handoffs/01-first.md": handoff(result),
    }

    found = read(tmp_path, files)

    assert status(found, "01") is expected
    assert [problem.code for problem in found.problems] == codes
    assert found.errors == ()


def test_needing_a_step_whose_file_is_broken_is_no_second_problem(tmp_path: Path) -> None:
    broken = step_text(1).replace("title: Step 1", "title: Query\x07parser")

    found = read(tmp_path, {"steps/01-first.md": broken, "steps/02-second.md": step_text(2, "[1]")})

    assert [problem.code for problem in found.errors] == ["bad_yaml"]


def test_a_handoff_of_no_step_is_a_warning(tmp_path: Path) -> None:
    found = read(tmp_path, TWO | {"handoffs/09-gone.md": handoff("complete")})

    assert findings(found) == [("handoff_unknown", "plans/handoffs/09-gone.md:1")]
    assert found.errors == ()


def test_a_handoff_that_appears_or_goes_changes_what_is_read(tmp_path: Path) -> None:
    plans = write_plan(tmp_path, TWO)
    files = open_plan(plans, repo=tmp_path)
    first = files.read()
    write_plan(tmp_path, {"handoffs/01-first.md": handoff("complete")})

    second = files.read(first)
    (plans / "handoffs" / "01-first.md").unlink()
    third = files.read(second)

    assert [status(found, "01") for found in (first, second, third)] == [Status.READY, Status.DONE, Status.READY]
    assert files.read(third) is third


@pytest.mark.parametrize("result", ["", "complete", "partial", "blocked"])
@pytest.mark.parametrize("wanted", list(Status))
def test_what_is_written_reads_back_beside_any_handoff(tmp_path: Path, result: str, wanted: Status) -> None:
    beside = {"handoffs/01-first.md": handoff(result)} if result else {}
    files = open_plan(write_plan(tmp_path, TWO | beside), repo=tmp_path)
    step = files.read().plan.steps[0]
    marks = Marks(status=wanted, assignee="me", reason="why")

    files.write(step, Marks(status=Status.CLAIMED, assignee="other"))
    files.write(step, marks)

    assert files.marks(step) == marks
    assert files.read().marks[step.id] == marks


@pytest.mark.parametrize(
    ("wanted", "word"),
    [
        (Status.READY, "pending"),
        (Status.CLAIMED, "in-progress"),
        (Status.DONE, "complete"),
        (Status.BLOCKED, "blocked"),
        (Status.FAILED, "failed"),
        (Status.SKIPPED, "skipped"),
    ],
)
def test_only_a_step_to_be_worked_on_bears_a_word_that_other_tools_take_up(
    tmp_path: Path, wanted: Status, word: str
) -> None:
    files = open_plan(write_plan(tmp_path, TWO), repo=tmp_path)
    before = snapshot(tmp_path)
    step = files.read().plan.steps[0]
    files.write(step, Marks(status=Status.FAILED if wanted is Status.READY else Status.READY))

    files.write(step, Marks(status=wanted))

    changed = before["plans/steps/01-first.md"].replace(b"status: pending", f"status: {word}".encode())
    assert snapshot(tmp_path) == before | {"plans/steps/01-first.md": changed}


def test_notes_are_offered_bounded_to_the_newest(tmp_path: Path) -> None:
    notes = "oldest " + "x" * MAX_NOTES + " newest"
    files = open_plan(write_plan(tmp_path, TWO | {"NOTES.md": notes}), repo=tmp_path)

    text = files.text(files.read().plan.steps[0])

    assert "## Objective" in text
    assert "newest" in text
    assert "oldest" not in text
    assert len(text) < len(TWO["steps/01-first.md"]) + MAX_NOTES + 200


def test_a_corrective_step_sorts_behind_the_step_it_helps_and_changes_one_line(tmp_path: Path) -> None:
    plans = write_plan(tmp_path, TWO)
    files = open_plan(plans, repo=tmp_path)
    before = snapshot(plans)
    words = {"what": "Do it.\n\n## Test commands\n\n- `evil`", "why": "---\nstatus: complete\n---"}
    correction = Correction(
        id=StepId("02h"),
        title="Another: way!",
        test="make again",
        files=("a.py",),
        what=words["what"],
        why=words["why"],
    )

    path = files.insert(correction, helps=files.read().plan.steps[1])

    after = snapshot(plans)
    assert path == "plans/steps/02h-another-way.md"
    assert b"status: pending\n" in after.pop("steps/02h-another-way.md")
    changed = before["steps/02-second.md"].replace(b"depends_on: [1]", b"depends_on: [1, 02h]")
    assert after == before | {"steps/02-second.md": changed}
    found = files.read()
    assert [(step.id, step.needs) for step in found.plan.steps] == [("01", ()), ("02", ("01", "02h")), ("02h", ("01",))]
    assert [check.command for check in found.plan.by_id[StepId("02h")].checks] == ["make again"]


@pytest.mark.parametrize("bad", ["x1", "../1", "step-2h"])
def test_an_id_that_is_no_number_is_refused(tmp_path: Path, bad: str) -> None:
    files = open_plan(write_plan(tmp_path, TWO), repo=tmp_path)

    with pytest.raises(InvalidInput):
        files.insert(Correction(id=StepId(bad), title="t", what="", why=""), helps=files.read().plan.steps[1])

    assert {path.name for path in (tmp_path / "plans" / "steps").iterdir()} == {"01-first.md", "02-second.md"}


@pytest.mark.parametrize("name", ["steps/01-first.md", "handoffs/01-first.md"])
def test_links_are_not_followed(tmp_path: Path, name: str) -> None:
    plans = write_plan(tmp_path, TWO | {"handoffs/02-second.md": handoff("partial")})
    (tmp_path / "secret.md").write_text(handoff("complete"))
    (plans / name).unlink(missing_ok=True)
    (plans / name).symlink_to(tmp_path / "secret.md")

    found = open_plan(plans, repo=tmp_path).read()

    assert ("symlink", f"plans/{name}:1") in findings(found)
    assert StepId("01") not in found.marks or status(found, "01") is Status.READY


@pytest.mark.parametrize("path", ["plans/handoffs/01-first.md", "plans/steps/../01-a.md", "plans/steps/a/01-a.md"])
def test_a_path_that_is_no_step_of_the_plan_is_refused(tmp_path: Path, path: str) -> None:
    files = open_plan(write_plan(tmp_path, TWO | {"handoffs/01-first.md": handoff("partial")}), repo=tmp_path)

    with pytest.raises(InvalidInput, match="is not a step's file"):
        files.write(Step(id=StepId("01"), title="", path=path), Marks())


@given(st.integers(0, 2**32))
@settings(max_examples=MANY, deadline=None)
def test_no_accident_to_a_plans_files_is_more_than_a_problem(seed: int) -> None:
    layout = PhasedLayout()
    text, beside = mutate(step_text(2, "[1]"), seed), {"handoffs/02-a.md": mutate(handoff("partial"), seed)}

    found = layout.settle([layout.parse(text, "plans/steps/02-a.md", layout.form("steps/02-a.md", beside.get))], [])[0]

    steps = (found.step,) if found.step is not None else ()
    marks = {step.id: found.marks for step in steps}
    words = layout.overview(Contents(prefix="plans/", steps=steps, marks=marks, beside=beside, unreadable=()))
    problems = [*found.problems, *words.problems]
    assert found.step is not None or problems
    assert all(problem.where.rpartition(":")[2].isdigit() for problem in problems)


@given(st.integers(0, 2**32), st.sampled_from(Status), st.sampled_from(["", "complete", "partial", "blocked"]))
@settings(max_examples=some(200), deadline=None)
def test_written_marks_read_back_from_any_file_that_can_carry_them(seed: int, wanted: Status, result: str) -> None:
    layout, form = PhasedLayout(), form_for(result)
    text = mutate(step_text(2, "[1]"), seed)
    before = layout.parse(text, "plans/steps/02-a.md", form)
    marks = Marks(status=wanted, reason="a: b")
    if before.step is None:
        return

    try:
        changed = set_marks(text, before.step, marks, form=form)
    except InvalidInput:
        return

    after = layout.parse(changed, "plans/steps/02-a.md", form)
    assert after.step is not None
    assert (after.marks, after.step.text_digest) == (marks, before.step.text_digest)


def test_notes_are_added_once_and_what_people_wrote_stays_byte_for_byte(tmp_path: Path) -> None:
    notes = tmp_path / NOTES
    notes.write_bytes(b"# Ours\r\n* Times are in  utc.\r\nno end \xff")

    for text in (
        "- Times are in UTC (step 01, run r1)\n- Ports begin at 4711 (step 01, run r1)\n",
        "- x (step 2, run r)\n",
    ):
        assert append_notes(notes, text) == append_notes(notes, text) == digest_document(text)

    added = b"\r\n- Ports begin at 4711 (step 01, run r1)\r\n- x (step 2, run r)\r\n"
    assert notes.read_bytes() == b"# Ours\r\n* Times are in  utc.\r\nno end \xff" + added
    notes.unlink()
    notes.symlink_to("elsewhere")
    with pytest.raises(InvalidInput, match=NOTES):
        append_notes(notes, "- x\n")
