"""What a plan as a whole lists for people: it belongs to the last step, and is ticked in the file where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.core.ids import StepId
from drumline.core.plan import Correction, Marks, Status
from drumline.planfiles import open_plan
from drumline.ports.planfiles import PlanFiles

DONE = Marks(status=Status.DONE)
BY_HAND = """
- `make all`
- All in all, it is fine
- N/A

### Manual Verification

- [ ] Log in
- [ ] Log out
- None

### Load

- Nobody waits
"""
STEP = """\
---
id: step-{number}
name: Step {number}
depends_on: [{needs}]
status: ready
---
#### Automated Verification:

- [ ] `make {number}`

#### Manual Verification:

- [ ] {number} is nice
"""
ROOT = f"---\nplan_type: dag\n---\n# A plan\n\n## Global Verification\n{BY_HAND}"
LINEAR = "# A plan\n" + "".join(
    f"\n## Phase {number}: Phase {number}\n\n#### Automated Verification:\n\n- [ ] `make {number}`\n\n"
    f"#### Manual Verification:\n\n- [ ] {number} is nice\n"
    for number in (1, 2)
)
IMPLEMENT = "# Implementation Plan: A plan\n\n## Steps\n" + "".join(
    f"### Step {number}: Step {number}\n**Status:** pending\n**Test:** `make {number}`\n\n" for number in (1, 2)
)


def open_dag(folder: Path) -> PlanFiles:
    (folder / "root.md").write_text(ROOT)
    for number, needs in ((1, ""), (2, "step-1"), (3, "step-2"), (4, "step-1")):
        (folder / f"step-{number}.md").write_text(STEP.format(number=number, needs=needs))
    return open_plan(folder, repo=folder.parent, locks=folder.parent / "locks")


def open_linear(folder: Path) -> PlanFiles:
    (folder / "plan.md").write_text(f"{LINEAR}\n## Global Verification\n{BY_HAND}")
    return open_plan(folder / "plan.md", repo=folder, locks=folder / "locks")


def open_implement(folder: Path) -> PlanFiles:
    (folder / "implement.md").write_text(f"{IMPLEMENT}\n## Testing Plan\n{BY_HAND}")
    return open_plan(folder / "implement.md", repo=folder, locks=folder / "locks")


OPEN = {"root.md": open_dag, "plan.md": open_linear, "implement.md": open_implement}
LAST = {"root.md": "step-3", "plan.md": "phase-2", "implement.md": "2"}


@pytest.fixture(params=OPEN)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[PlanFiles, Path, StepId]:
    """A plan, the file that speaks of it as a whole, and its last step."""
    folder = tmp_path / "plan"
    folder.mkdir()
    return OPEN[request.param](folder), folder / request.param, StepId(LAST[request.param])


Place = tuple[PlanFiles, Path, StepId]


def test_items_for_people_belong_to_the_last_step_and_the_others_are_listed_as_not_run(place: Place) -> None:
    files, _, last = place

    found = files.read()

    items = {step.id: step.manual for step in found.plan.steps if "Log in" in step.manual}
    assert items.keys() == {last}
    assert items[last][-2:] == ("Log in", "Log out")
    assert found.plan.not_run == ("All in all, it is fine", "Nobody waits")
    assert [check.command for check in found.plan.final] == ["make all"]


def test_one_of_them_is_ticked_where_it_stands_and_nothing_else_changes(place: Place) -> None:
    files, path, last = place
    step = files.read().plan.by_id[last]
    files.write(step, DONE)
    before = path.read_text()

    files.write(step, DONE, ticked=[step.manual_lines[-1]])

    assert path.read_text() == before.replace("[ ] Log out", "[x] Log out")
    assert "[ ] Log in" in before
    assert files.read().plan.by_id[last].text_digest == step.text_digest


def test_a_steps_own_item_is_ticked_beside_them(place: Place) -> None:
    files, _, last = place
    step = files.read().plan.by_id[last]
    own = [line for line, text in zip(step.manual_lines, step.manual, strict=True) if text.endswith("is nice")]

    files.write(step, DONE, ticked=own)

    assert ("[x]" in files.text(step)) is bool(own)
    assert "[x] Log" not in files.text(step)


def test_an_edit_of_them_is_noticed_and_reading_again_gives_the_same(place: Place) -> None:
    files, path, last = place
    before = files.read()
    path.write_text(path.read_text().replace("Log in", "Sign in"))

    after = files.read(before)

    assert after == files.read()
    assert after.plan.by_id[last].manual[-2:] == ("Sign in", "Log out")
    assert after.plan.by_id[last].text_digest != before.plan.by_id[last].text_digest


def test_a_corrective_step_does_not_take_them_over(place: Place) -> None:
    files, _, last = place
    before = files.read()
    correction = Correction(id=StepId(f"{last}h"), title="Again", what="w", why="y")

    files.insert(correction, helps=before.plan.by_id[last])

    after = files.read(before).plan
    assert after.by_id[last].manual == before.plan.by_id[last].manual
    assert "Log in" not in after.by_id[correction.id].manual


def test_a_criterion_of_a_checklist_is_ticked_once_a_person_has_verified_it(tmp_path: Path) -> None:
    file = tmp_path / "TODO.md"
    file.write_text(
        "# A\n\n- [ ] Add a page\n- [ ] Add a style\n\n## Acceptance criteria\n\n- [ ] Shown\n- [ ] Small\n"
    )
    files = open_plan(file, repo=tmp_path, locks=tmp_path / "locks")
    step = files.read().plan.steps[-1]

    files.write(step, DONE, ticked=[step.manual_lines[1]])

    assert (step.manual, step.manual_lines) == (("Shown", "Small"), (8, 9))
    assert file.read_text().endswith("- [x] Add a style\n\n## Acceptance criteria\n\n- [ ] Shown\n- [x] Small\n")
