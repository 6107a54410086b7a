"""Native plans as people keep them: what drifted from the template is read with a warning, and correctives fit in."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import MANY, some
from tests.integration.mutated import mutate

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Reading, Status, Step
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.correction import add_need, native_file
from drumline.planfiles.drawing import Drawing, read_drawing
from drumline.planfiles.markdown import parse_blocks
from drumline.planfiles.rootfile import add_row, compare, read_root
from drumline.planfiles.stepfile import parse_step
from drumline.ports.planfiles import Correction, PlanFiles

ROOT = """---
date: 2030-01-02
plan_type: dag
status: in-progress
last_updated_by: somebody
---
# The plan

## DAG

```mermaid
graph TD
  step-1["step-1: First"] --> step-2
  step-1 --> S3[step-3]
```

## Steps

| ID | Name | Depends on | Status | File |
|----|------|------------|--------|------|
| step-1 | First | - | ready | [step-1.md](./step-1.md) |
| `step-2` | Second | step-1 | ready | [step-2.md](./step-2.md) |
| [step-3](step-3.md) | Third | step-1 | ready | [step-3.md](./step-3.md) |

## Appendix
"""


def step_text(number: int, needs: str = "", *, status: str = "ready", extra: str = "") -> str:
    return (
        f"---\nid: step-{number}\nname: Step {number}\ndepends_on: [{needs}]\nstatus: {status}\n{extra}---\n"
        f"# step-{number}: Step {number}\n\n### Success Criteria:\n\n"
        f"#### Automated Verification:\n\n- [ ] `make {number}`\n\n"
        "#### Automated QA:\n\n- [ ] look\n\n#### Manual Verification:\n\n- [ ] feel\n"
    )


def write_plan(folder: Path, root: str = ROOT, **steps: str) -> Path:
    plan = folder / "plan"
    plan.mkdir()
    (plan / "root.md").write_bytes(root.encode())
    texts = {"step_1": step_text(1), "step_2": step_text(2, "step-1"), "step_3": step_text(3, "step-1")} | steps
    for name, text in texts.items():
        (plan / f"{name.replace('_', '-')}.md").write_bytes(text.encode())
    return plan


def read(folder: Path, root: str = ROOT, **steps: str) -> Reading:
    return open_plan(write_plan(folder, root, **steps), repo=folder).read()


def findings(found: Reading) -> list[tuple[str, str]]:
    return [(problem.code, problem.where) for problem in found.problems]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_plan_that_follows_the_template_has_no_findings(tmp_path: Path) -> None:
    assert findings(read(tmp_path)) == []


# Vectors of the field: what real plans hold, and what is made of it.
DRIFTS = [
    ("claimed_by: x\ncompleted_at: 2030-01-02\nlast_updated_by: y\n", "done", Status.DONE),
    ("claimed_at: 2030-01-02\n", "claimed", Status.CLAIMED),
    ("", "completed", Status.DONE),
    ("", "Done", Status.DONE),
    ("", "in_progress", Status.CLAIMED),
    ("", "", Status.READY),
]


@pytest.mark.parametrize(("extra", "word", "status"), DRIFTS)
def test_drifted_frontmatter_is_read(tmp_path: Path, extra: str, word: str, status: Status) -> None:
    found = read(tmp_path, ROOT.partition("## Steps")[0], step_2=step_text(2, "step-1", status=word, extra=extra))

    assert findings(found) == []
    assert found.marks[StepId("step-2")].status is status


def test_ticked_boxes_with_status_ready_are_a_warning_and_the_status_counts(tmp_path: Path) -> None:
    found = read(tmp_path, step_2=step_text(2, "step-1").replace("[ ] `make", "[x] `make"))

    assert findings(found) == [("boxes_ticked", "plan/step-2.md:13")]
    assert found.errors == ()
    assert found.marks[StepId("step-2")] == Marks()


def test_a_criteria_section_without_one_of_its_lists_is_a_warning(tmp_path: Path) -> None:
    found = read(tmp_path, step_2=step_text(2, "step-1").replace("#### Automated QA:", "#### Other:"))

    assert findings(found) == [("missing_bucket", "plan/step-2.md:9")]
    assert "automated qa" in found.problems[0].message


def test_a_table_that_disagrees_is_a_warning_with_its_line_and_the_files_count(tmp_path: Path) -> None:
    root = ROOT.replace("First | - | ready", "First | - | done").replace("Second | step-1", "Second | step-3")
    root = root.replace("| [step-3](step-3.md) | Third |", "| step-9 | Gone |")

    found = read(tmp_path, root)

    assert findings(found) == [
        ("table_missing_step", "plan/root.md:19"),
        ("table_status", "plan/root.md:21"),
        ("table_needs", "plan/root.md:22"),
        ("table_unknown_step", "plan/root.md:23"),
    ]
    assert found.errors == ()
    assert found.marks[StepId("step-1")] == Marks()
    assert found.plan.by_id[StepId("step-2")].needs == ("step-1",)


def test_a_table_in_a_code_block_and_tables_of_other_things_are_text(tmp_path: Path) -> None:
    fenced = ROOT.replace("| ID |", "```\n| ID |").replace("## Appendix", "```\n")
    other = "\n| ID | Colour |\n|---|---|\n| step-9 | red |\n"

    assert findings(read(tmp_path, fenced.replace("step-3](", "step-9](") + other)) == []


def test_stale_statuses_of_a_whole_table_are_one_finding(tmp_path: Path) -> None:
    done = {f"step_{n}": step_text(n, "step-1" if n > 1 else "", status="done") for n in (1, 2, 3)}

    found = read(tmp_path, **done)

    assert findings(found) == [("table_status", "plan/root.md:21")]
    assert "step-1, step-2, step-3" in found.problems[0].message


@pytest.mark.parametrize(
    ("lines", "differs"),
    [
        ("step-1 --> step-2\nstep-1 --> step-3", False),
        ("step-1-->step-2\nstep-1-->step-3", False),
        ("step-1 --> step-2 & step-3", False),
        ("S1[step-1: a --- b] --> S2(step-2)\nS1 -->|then| S3{{step-3}}", False),
        ("a[step-1<br/>x] -- text --> b[step-2]; a ==> c[step-3]", False),
        ("step1 -.-> step2\nstep1 --> step3\n%% a note\nstyle step1 fill:#fff", False),
        ("start --> step-1\nstep-1 --> step-3", False),
        ("step-1 --> step-2\nstep-2 --> step-3", True),
        ("step-1 --> step-2\nstep-3", True),
        ("step-1 --> step-2\nstep-1 --> step-3\nstep-9 --> step-3", True),
    ],
)
def test_a_drawing_is_compared_when_all_its_nodes_name_steps(tmp_path: Path, lines: str, differs: bool) -> None:
    head, _, rest = ROOT.partition("  step-1[")
    tail = rest.partition("[step-3]\n")[2]
    text = "".join(f"  {line}\n" for line in lines.split("\n"))

    found = read(tmp_path, head + text + tail)

    assert findings(found) == ([("drawing_differs", "plan/root.md:11")] if differs else [])


def test_a_hostile_drawing_costs_no_more_than_its_length() -> None:
    nodes = " & ".join(f"n{number}" for number in range(400))
    many = f"```mermaid\ngraph TD\n{nodes} --> {nodes}\n```\n"
    long = "```mermaid\ngraph TD\na --" + " " * 200_000 + "\n```\n"

    assert read_drawing(parse_blocks(many), 0) is None
    assert read_drawing(parse_blocks(long), 0) is None


def insert(files: PlanFiles, helps: str = "step-2", **words: str) -> Correction:
    step = files.read().plan.by_id[StepId(helps)]
    correction = Correction(
        id=StepId(words.get("id", f"{helps}h")),
        title=words.get("title", "Another | way"),
        what=words.get("what", "Do it."),
        why=words.get("why", "It failed."),
        files=("src/a.py",),
        test=words.get("test", "make again"),
    )
    files.insert(correction, helps=step)
    return correction


def test_a_corrective_step_is_a_new_file_one_row_and_one_changed_line(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    before = snapshot(plan)
    files = open_plan(plan, repo=tmp_path)

    insert(files)

    after = snapshot(plan)
    row = b"| step-2h | Another \\| way | step-1 | ready | step-2h.md |\n"
    assert after.pop("step-2h.md").startswith(b'---\nid: step-2h\nname: "Another | way"\ndepends_on: [step-1]\n')
    assert after == before | {
        "root.md": before["root.md"].replace(b"| [step-3]", row + b"| [step-3]"),
        "step-2.md": before["step-2.md"].replace(b"[step-1]", b"[step-1, step-2h]"),
    }
    found = files.read()
    assert {problem.code for problem in found.problems} <= {"redundant_need"}
    assert [step.id for step in found.plan.steps] == ["step-1", "step-2", "step-2h", "step-3"]
    assert found.plan.by_id[StepId("step-2h")].files == ("src/a.py",)


def test_an_interrupted_insertion_is_ended_by_inserting_again(tmp_path: Path) -> None:
    plan = write_plan(tmp_path)
    files = open_plan(plan, repo=tmp_path)
    insert(files)
    whole = snapshot(plan)
    (plan / "step-2.md").write_bytes(whole["step-2.md"].replace(b", step-2h", b""))
    (plan / "root.md").write_bytes(ROOT.encode())

    insert(files)

    assert snapshot(plan) == whole


@pytest.mark.parametrize("name", ["../step-2h", "a/b", "", "x" * 80])
def test_an_id_that_cannot_name_a_file_is_refused(tmp_path: Path, name: str) -> None:
    plan = write_plan(tmp_path)
    before = snapshot(plan)

    with pytest.raises(InvalidInput):
        insert(open_plan(plan, repo=tmp_path), id=name)

    assert snapshot(plan) == before


NEED_LINES = [
    ("depends_on: []", "depends_on: [x]"),
    ("depends_on: [ ]  # none", "depends_on: [x ]  # none"),
    ("depends_on: [a, b]", "depends_on: [a, b, x]"),
    ("depends_on: [a, b,]", "depends_on: [a, b, x]"),
    ("depends_on: ['a']", "depends_on: ['a', x]"),
    ("depends_on: [a,\n  b]", "depends_on: [a,\n  b, x]"),
    ("depends_on: [a # why\n  ]", "depends_on: [a # why\n  , x]"),
    ("depends_on:\n- a\n- b", "depends_on:\n- a\n- b\n- x"),
    ("depends_on:\n  - a # c", "depends_on:\n  - a # c\n  - x"),
    ("depends_on:", "depends_on: [x]"),
    ("depends_on: none", "depends_on: [x]"),
    ("depends_on: 1", "depends_on: [1, x]"),
    ("depends_on: 1, 2", "depends_on: [1, 2, x]"),
]


@pytest.mark.parametrize(("before", "after"), NEED_LINES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_need_is_added_in_the_style_of_the_list(before: str, after: str, newline: str) -> None:
    text = f"\ufeff---\nid: s\n{before}\nlast: 1\n---\nbody\n".replace("\n", newline)

    changed = add_need(text, "p/s.md", StepId("x"))

    assert changed == f"\ufeff---\nid: s\n{after}\nlast: 1\n---\nbody\n".replace("\n", newline)


def test_a_file_without_needs_gets_a_line_of_them() -> None:
    assert add_need("---\nid: s\n---\nbody\n", "p/s.md", StepId("x")) == "---\nid: s\ndepends_on: [x]\n---\nbody\n"


HOSTILE = ["#### Automated Verification:", "- [ ] `evil`", "---", "status: done", "```", "~~~", "<!--", "", "</pre>"]
said = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=20), max_size=8).map("\n".join)


@given(said, said, said, st.text(max_size=60))
@settings(max_examples=some(200), deadline=None)
def test_nothing_an_agent_says_becomes_structure(title: str, what: str, why: str, test: str) -> None:
    helps = Step(id=StepId("step-2"), title="", needs=(StepId("step-1"), StepId("step-2h")))
    correction = Correction(id=StepId("step-2h2"), title=title, what=what, why=why, test=test)

    text = native_file(correction, helps).encode("utf-8", "replace").decode()

    found = parse_step(text, "plan/step-2h2.md")
    assert found.step is not None
    assert (found.step.id, found.step.needs, found.marks) == ("step-2h2", ("step-1",), Marks())
    # One item, whatever it reads as: words that are not a command are listed as not run.
    assert len(found.step.checks) + len(found.step.not_run) == (1 if test.strip() else 0)


def test_a_command_reads_back_as_it_was_written() -> None:
    for command in ("make `x`", "echo `a`", "cat ``b``", "echo '|' \\", "two\nlines", "ls  b"):
        correction = Correction(id=StepId("xh"), title="t", what="w", why="y", test=command)

        found = parse_step(native_file(correction, Step(id=StepId("x"), title="")), "p/step-xh.md")

        assert found.step is not None
        assert [check.command for check in found.step.checks] == [command]


@given(st.integers(0, 2**32))
@settings(max_examples=MANY, deadline=None)
def test_no_accident_to_a_plans_files_is_more_than_a_problem(seed: int) -> None:
    root, step = mutate(ROOT, seed), mutate(step_text(2, "step-1"), seed)

    found = parse_step(step, "plan/step-2.md")
    steps = [found.step] if found.step is not None else []
    problems = [*found.problems, *read_root(root, "plan/root.md").problems]
    problems += compare(read_root(root, "plan/root.md"), "plan/root.md", steps, {s.id: found.marks for s in steps})

    assert found.step is not None or problems
    assert all(problem.where.rpartition(":")[2].isdigit() for problem in problems)


@given(st.integers(0, 2**32))
@settings(max_examples=some(200), deadline=None)
def test_a_row_added_to_any_table_changes_nothing_else(seed: int) -> None:
    root = mutate(ROOT, seed)
    helps = Step(id=StepId("step-2"), title="", needs=(StepId("step-1"),))
    correction = Correction(id=StepId("step-2h"), title="Fix", what="", why="")

    changed = add_row(root, "p/root.md", correction, helps=helps, file="step-2h.md")

    table = read_root(root, "p/root.md").table
    assert (changed == root) == (table is None or any(row.id == "step-2h" for row in table.rows))
    added = read_root(changed, "p/root.md").table
    if table is not None and added is not None and "id" in table.columns:
        assert [row.id for row in added.rows if row.id != "step-2h"] == [row.id for row in table.rows]


@pytest.mark.long
def test_drawings_and_tables_are_read_in_linear_time() -> None:
    def cost(steps: int) -> float:
        rows = "".join(f"| step-{n} | x | step-{n - 1} | ready | f |\n" for n in range(1, steps))
        arrows = "".join(f"  step-{n} --> step-{n + 1}\n" for n in range(1, steps))
        text = f"```mermaid\ngraph TD\n{arrows}```\n\n| ID | Name | Depends on | Status | File |\n|-|-|-|-|-|\n{rows}"
        started = time.process_time()
        root = read_root(text, "root.md")
        assert root.table is not None
        assert isinstance(root.drawing, Drawing)
        list(compare(root, "root.md", [Step(id=StepId("step-1"), title="")], {StepId("step-1"): Marks()}))
        return (time.process_time() - started) / steps

    cost(200)

    assert min(cost(2_000 + n) for n in range(3)) <= 3 * min(cost(250 + n) for n in range(3))
