"""Maestro plans and state files on disk: read in every style, written without touching another byte."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import MANY

from drumline.core.ids import StepId
from drumline.core.plan import Marks, Severity, Status, Step
from drumline.core.vocabulary import DocumentKind
from drumline.datatext import Data, plain, read_data
from drumline.errors import InvalidInput
from drumline.planfiles import open_plan
from drumline.planfiles.maestro import MaestroFiles, PlanDialect, StateDialect
from drumline.planfiles.maestro_data import frontmatter
from drumline.planfiles.stepfile import replace_spans
from drumline.ports.planfiles import Correction, ProgressReport, StepFailure, StepProgress, Trouble
from drumline.record import replace

MARKDOWN = """\
---
title: "A thing"
design_ref: "docs/design.md"
status: "draft"
total_phases: 2
task_complexity: "simple"
---

# A thing, step by step

## Dependency Graph

```
## Phase 9: not a phase
### Agent: coder
```

## Phase 1: Foundation: the core

### Objective
Make the core.

### Agent: coder
### Parallel: No

### Files to Create

- `src/core.py` — the core
- src/other.py: something

### Validation
- [ ] `make test`
- Look at it

### Dependencies
- Blocked by: None
- Blocks: Phase 2

---

## Phase 2: Words

### Agent: technical_writer
### Parallel: Yes
### Files to Modify
- `./README.md`
### Validation
- [ ] Lint: `make lint`
### Dependencies
- Blocked by: Phase 1 (the core)
- Blocks: None

## File Inventory

| 1 | `src/core.py` |
"""

PLAN_JSON = """\
{
  "task_complexity": "simple",
  "phases": [
    {
      "id": 1, "name": "One", "agent": "coder", "parallel": false,
      "blocked_by": [], "files": ["src/a.py"]
    },
    {
      "id": 2, "name": "Two \\ud83d\\ude00", "agent": "tester", "parallel": true,
      "blocked_by": [1], "checks": ["make test"]
    }
  ]
}
"""

PLAN_YAML = """\
# by hand
phases:
- id: one
  name: 'One'   # the first
  agent: coder
  parallel: false
  blocked_by: []

- {id: two, name: Two, agent: coder, parallel: true, blocked_by: [one]}  # last
"""

STATE_YAML = """\
---
session_id: "2030-01-02-thing"
task: "Make a thing"
created: "2030-01-01T00:00:00Z"
updated: "2030-01-01T00:00:00Z"   # by hand
status: "in_progress"
workflow_mode: standard
current_phase: 1
total_phases: 2
execution_mode: null

token_usage:
  total_input: 7
  total_output: 0
  total_cached: 0
  by_agent: {}

phases:
  - id: 1
    name: "First"
    status: "pending"   # where it is
    agents: ["coder"]
    parallel: false
    started: null
    completed: null
    blocked_by: []
    files_created: []
    files_modified: []
    files_deleted: []
    planned_files: ["src/a.py"]
    downstream_context:
      key_interfaces_introduced: []
      patterns_established: []
      integration_points: []
      assumptions: []
      warnings: []
    errors: []
    retry_count: 0

  - id: 2
    name: Second
    status: pending
    agents:
      - technical_writer
    parallel: true
    blocked_by:
      - 1
    errors: []
---

# Log

## Phase 1: not a phase
"""


def state_json() -> str:
    found = read_data(STATE_YAML, *_bounds(STATE_YAML))
    assert isinstance(found, Data)
    return f"---\n{json.dumps(plain(found.root), indent=2)}\n---\n# Log\n"


def _bounds(text: str) -> tuple[int, int]:
    region = frontmatter(text)
    assert region is not None
    return region.start, region.end


DOCUMENTS: Mapping[str, str] = {
    "a-impl-plan.md": MARKDOWN,
    "plan.json": PLAN_JSON,
    "mini.json": json.dumps(json.loads(PLAN_JSON), separators=(",", ":")),
    "plan.yaml": PLAN_YAML,
    "state.md": STATE_YAML,
    "active-session.md": state_json(),
    "fenced.md": f"# Plan\n\nText.\n\n```json\n{PLAN_JSON}```\n\n## Phase 7: prose\n### Agent: coder\n",
}
EVERY = [
    Marks(status=Status.CLAIMED, assignee="driver-1", claimed_at="2030-01-02T03:04:05Z"),
    Marks(status=Status.BLOCKED, reason='no: "way" #1\nsee the log'),
    Marks(status=Status.FAILED, reason="gave up"),
    Marks(status=Status.SKIPPED),
    Marks(status=Status.DONE),
    Marks(),
]
TIMES = "2031-01-01T00:00:00Z"


@pytest.fixture(params=sorted(DOCUMENTS))
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = tmp_path / str(request.param)
    made.write_bytes(DOCUMENTS[made.name].encode())
    return made


def opened(file: Path, text: str | None = None) -> MaestroFiles:
    if text is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return MaestroFiles(file.resolve(), repo=file.parent.resolve())


def changed_lines(before: str, after: str) -> list[str]:
    """The lines of `after` that differ, for texts with equally many lines."""
    old, new = before.splitlines(), after.splitlines()
    assert len(old) == len(new)
    return [now for then, now in zip(old, new, strict=True) if then != now]


def codes(files: MaestroFiles) -> list[str]:
    return [problem.code for problem in files.read().problems if problem.code != "no_checks"]


def test_every_style_is_recognised_and_read(file: Path) -> None:
    plan = open_plan(file, repo=file.parent).read().plan

    assert plan.format == "maestro"
    assert [len(step.needs) for step in plan.steps] == [0, 1]
    assert plan.steps[1].needs == (plan.steps[0].id,)
    assert plan.steps[0].alone
    assert not plan.steps[1].alone


def test_reading_writes_nothing(file: Path) -> None:
    before = file.read_bytes()

    opened(file).read()

    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_marks_round_trip_and_only_the_status_changes(file: Path, ending: str, bom: str) -> None:
    text = bom + DOCUMENTS[file.name].replace("\n", ending)
    files = opened(file, text)
    step = files.read().plan.steps[1]

    for marks in [*EVERY, EVERY[0]]:
        digest = files.write(step, marks)

        again = opened(file)
        assert again.marks(step) == marks
        assert again.read().marks == {files.read().plan.steps[0].id: Marks(), step.id: marks}
        assert again.read().digests[step.path] == digest
        assert again.read().plan.steps[1] == step
    changed = changed_lines(text, file.read_bytes().decode())
    assert all("in_progress" in line for line in changed)
    assert len(changed) == (1 if file.name in ("state.md", "active-session.md") else 0)


def test_the_words_of_a_state_file_are_maestros_own(tmp_path: Path) -> None:
    files = opened(tmp_path / "active-session.md", STATE_YAML)
    step = files.read().plan.steps[0]
    words = []

    for marks in EVERY:
        files.write(step, marks)
        text = (tmp_path / "active-session.md").read_text()
        words += [line.strip() for line in text.splitlines() if "# where it is" in line]

    said = ["in_progress", "failed", "failed", "skipped", "completed", "pending"]
    assert words == [f'status: "{word}"   # where it is' for word in said]


def test_a_status_that_another_tool_wrote_wins_over_the_sidecar(tmp_path: Path) -> None:
    file = tmp_path / "active-session.md"
    files = opened(file, STATE_YAML)
    step = files.read().plan.steps[0]
    files.write(step, EVERY[0])

    file.write_text(file.read_text().replace('status: "in_progress"   #', 'status: "completed"   #'))

    assert opened(file).marks(step) == Marks(status=Status.DONE)


def test_a_foreign_mark_in_progress_has_no_owner_and_no_time(tmp_path: Path) -> None:
    files = opened(tmp_path / "active-session.md", STATE_YAML.replace("status: pending", "status: in_progress"))

    assert files.read().marks[StepId("2")] == Marks(status=Status.CLAIMED)


def test_a_corrective_phase_is_inserted_and_nothing_else_changes(file: Path) -> None:
    before = file.read_text()
    files = opened(file)
    first, helped = files.read().plan.steps
    fix = Correction(
        id=StepId(f"{helped.id}h"), title="Go: another way", what="Do\n## It", why="stuck", test="make fix"
    )

    files.insert(fix, helps=helped)
    files.insert(fix, helps=helped)

    after = files.read()
    assert [step.id for step in after.plan.steps] == [first.id, helped.id, fix.id]
    added = after.plan.by_id[fix.id]
    assert (added.title, added.needs, added.role) == ("Go: another way", helped.needs, helped.role)
    assert [check.command for check in added.checks] == ["make fix"]
    assert after.plan.by_id[helped.id].needs == (*helped.needs, fix.id)
    assert after.plan.by_id[first.id] == first
    assert after.errors == ()
    assert is_subsequence(before, file.read_text())


def is_subsequence(short: str, long: str) -> bool:
    """Whether one text can be made from the other by taking things out."""
    rest = iter(long)
    return all(char in rest for char in short)


@pytest.mark.parametrize("number", [0, 1])
def test_a_second_correction_inherits_what_the_first_did(file: Path, number: int) -> None:
    files = opened(file)
    helped = files.read().plan.steps[number]
    for name in ("h", "h2"):
        fix = Correction(id=StepId(f"{helped.id}{name}"), title="Again", what="This.", why="That.")
        files.insert(fix, helps=files.read().plan.by_id[helped.id])

    by_id = files.read().plan.by_id

    assert by_id[StepId(f"{helped.id}h2")].needs == helped.needs
    assert by_id[helped.id].needs == (*helped.needs, f"{helped.id}h", f"{helped.id}h2")
    assert files.read().errors == ()


def progress(*steps: StepProgress, state: str = "running", mode: str = "") -> ProgressReport:
    return ProgressReport(run="run-1", state=state, mode=mode, now=TIMES, steps=steps)


FIRST_DONE = StepProgress(
    step=StepId("1"),
    state="done",
    started="2030-01-01T01:00:00Z",
    finished="2030-01-01T02:00:00Z",
    created=("src/a.py",),
    modified=("src/b: c.py",),
    retries=1,
    said="# Downstream Context\n- Warnings: mind the gap\n- Assumptions:\n  - one\n  - two\n",
    usage={"input": 10, "output": 5, "cost_usd": 0.5},
)


@pytest.mark.parametrize("name", ["state.md", "active-session.md"])
def test_the_books_of_a_state_file_are_kept(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    files = opened(file, DOCUMENTS[name])
    files.write(files.read().plan.steps[0], Marks(status=Status.DONE))

    files.report_progress(
        progress(FIRST_DONE, StepProgress(step=StepId("2"), state="running", started=TIMES), mode="parallel")
    )

    state = data_of(file)
    first, second = state["phases"]
    assert (state["current_phase"], state["current_batch"], state["execution_mode"]) == (2, None, "parallel")
    assert (state["status"], state["updated"]) == ("in_progress", TIMES)
    assert state["token_usage"]["total_input"] == 10
    assert state["token_usage"]["by_agent"] == {"coder": {"input": 10, "output": 5, "cached": 0}}
    assert (first["started"], first["completed"]) == (FIRST_DONE.started, FIRST_DONE.finished)
    assert (first["files_created"], first["files_modified"]) == (["src/a.py"], ["src/b: c.py"])
    assert first["downstream_context"]["assumptions"] == ["one", "two"]
    assert first["downstream_context"]["warnings"] == ["mind the gap"]
    assert (first["retry_count"], first["errors"]) == (1, [])
    assert second["started"] == TIMES


@pytest.mark.parametrize("name", ["state.md", "active-session.md"])
def test_a_progress_report_written_twice_changes_nothing(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    files = opened(file, DOCUMENTS[name])
    failures = (StepFailure(at=TIMES, message="check 'x' failed"),)
    failed = StepProgress(step=StepId("2"), state="blocked", failures=failures, finished=TIMES)
    files.report_progress(progress(FIRST_DONE, failed))
    once = file.read_bytes()

    files.report_progress(progress(FIRST_DONE, failed))

    assert file.read_bytes() == once


LATER = "2030-01-01T04:00:00Z"


@pytest.mark.parametrize("name", ["state.md", "active-session.md"])
def test_every_failure_is_one_entry_with_what_came_of_it(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    files = opened(file, DOCUMENTS[name])
    failures = [
        StepFailure(at=TIMES, message="check failed: make", trouble=Trouble.WORK, retried=True),
        StepFailure(at=TIMES, message="check failed: make", trouble=Trouble.WORK, retried=True),
        StepFailure(at=LATER, message="the agent took too long", trouble=Trouble.TIME),
        StepFailure(at=LATER, message="still failing after 2 fixes: make timeout", trouble=Trouble.WORK),
    ]

    def write_progress(count: int, state: str) -> list[tuple[str, str, bool]]:
        step = StepProgress(step=StepId("2"), state=state, failures=tuple(failures[:count]), retries=2)
        files.report_progress(progress(step))
        errors = data_of(file)["phases"][1]["errors"]
        assert all(set(e) == {"agent", "timestamp", "type", "message", "resolution", "resolved"} for e in errors)
        return [(error["type"], error["resolution"], error["resolved"]) for error in errors]

    validation, timeout = ("validation", "retried", False), ("timeout", "pending", False)
    assert write_progress(1, "running") == [validation]
    assert write_progress(3, "running") == [validation, validation, timeout]
    assert write_progress(4, "blocked") == [validation, validation, timeout, ("validation", "pending", False)]
    failures[2:] = [replace(failure, retried=True) for failure in failures[2:]]
    kinds = ["validation", "validation", "timeout", "validation"]
    assert write_progress(4, "done") == [(kind, "retried", True) for kind in kinds]
    assert data_of(file)["phases"][1]["retry_count"] == 2


def test_what_waits_for_an_answer_has_not_failed(tmp_path: Path) -> None:
    file = tmp_path / "active-session.md"
    files = opened(file, STATE_YAML)
    step = files.read().plan.steps[0]
    waits = Marks(status=Status.BLOCKED, reason="waiting for gate question-1")

    files.write(step, waits)

    assert data_of(file)["phases"][0]["status"] == "in_progress"
    assert files.marks(step) == waits


def test_a_batch_is_named_while_several_phases_run(tmp_path: Path) -> None:
    file = tmp_path / "active-session.md"
    files = opened(file, STATE_YAML)

    files.report_progress(progress(*(StepProgress(step=StepId(number), state="running") for number in "12")))

    assert data_of(file)["current_batch"] == "batch-1-2"


def test_a_phase_that_ends_in_a_record_takes_new_keys_after_it(tmp_path: Path) -> None:
    file = tmp_path / "active-session.md"
    text = "---\nphases:\n  - id: 1\n    name: X\n    downstream_context:\n      warnings: []\n---\n"
    files = opened(file, text)

    files.report_progress(progress(FIRST_DONE))

    (phase,) = data_of(file)["phases"]
    assert phase["downstream_context"]["assumptions"] == ["one", "two"]
    assert phase["retry_count"] == 1
    assert data_of(file)["updated"] == TIMES


def test_what_a_phase_left_for_the_next_ones_is_read_from_the_state_file(tmp_path: Path) -> None:
    context = "    downstream_context:\n      assumptions: [the port is free, it is fast]\n      warnings: []\n"
    text = f"---\nphases:\n  - id: 1\n    name: X\n{context}  - id: 2\n    name: Y\n---\n"
    files = opened(tmp_path / "active-session.md", text)
    first, second = files.read().plan.steps

    assert files.read_document(DocumentKind.HANDOFF, first) == "- assumptions: the port is free; it is fast"
    assert files.read_document(DocumentKind.HANDOFF, second) == ""


def test_a_plan_keeps_no_books(tmp_path: Path) -> None:
    files = opened(tmp_path / "plan.json", PLAN_JSON)

    files.report_progress(progress(FIRST_DONE))

    assert not files.reports_progress
    assert (tmp_path / "plan.json").read_text() == PLAN_JSON


def data_of(file: Path) -> Any:
    text = file.read_text()
    found = read_data(text, *_bounds(text))
    assert isinstance(found, Data)
    return plain(found.root)


def test_markdown_is_read_by_structure(tmp_path: Path) -> None:
    plan = opened(tmp_path / "a-impl-plan.md", MARKDOWN).read().plan

    first, second = plan.steps
    assert (plan.title, plan.complexity) == ("A thing", "simple")
    assert (first.id, first.title, first.role, first.line) == ("1", "Foundation: the core", "coder", 18)
    assert first.files == ("src/core.py", "src/other.py")
    assert (first.binding, [check.command for check in first.checks], first.not_run) == (
        False,
        ["make test"],
        ("Look at it",),
    )
    assert (second.role, second.files, second.needs) == ("technical-writer", ("README.md",), ("1",))


@pytest.mark.parametrize(
    ("heading", "agent", "parallel", "needs"),
    [
        ("Фаза {}: Слова", "Агент", "Параллельно: Да", "Зависимости\n- Заблокировано: {}"),
        ("阶段 {}：文字", "代理", "并行：是", "依赖\n- 阻塞于：阶段 {}"),
        ("第{}阶段：文字", "代理", "并行：是", "依赖关系\n- 阻塞于：{}"),
        ("Etapa {} - Texto", "Agente", "Paralelo: Sí", "Dependencias\n- Bloqueado por: [{}]"),
        ("Phase {}. Wörter", "Agent", "Parallel: Ja", "Abhängigkeiten\n- Blockiert durch: Phase {}"),
        ("Faasi {}: Sõnad", "Tegija", "Parallel: yes", "Dependencies\n- Blocked by: {}"),
    ],
)
def test_headings_may_be_in_any_language(tmp_path: Path, heading: str, agent: str, parallel: str, needs: str) -> None:
    text = "# X\n\n## 0. Overview: all\ntext\n\n" + "".join(
        f"## {heading.format(number)}\n\n### {agent}: coder\n### {parallel}\n### {needs.format(number - 1 or '[]')}\n\n"
        for number in (1, 2)
    )

    steps = opened(tmp_path / "x.md", text).read().plan.steps

    assert [(step.id, step.needs, step.role, step.alone) for step in steps] == [
        ("1", (), "coder", False),
        ("2", ("1",), "coder", False),
    ]


def test_sub_headings_of_unknown_words_are_told_by_their_place(tmp_path: Path) -> None:
    words = [
        "Aa",
        "Bb: coder",
        "Cc: yes",
        "Dd\n- `src/x.py`",
        "Ee\n- `y.py`",
        "Ff\ntext",
        "Gg\n- `make z`",
        "Hh\n- Ii: None",
    ]
    text = "## Jj 1: Name\n\n" + "\n\n".join(f"### {word}" for word in words) + "\n"

    (step,) = opened(tmp_path / "x.md", text).read().plan.steps

    assert (step.files, [check.command for check in step.checks], step.alone) == (
        ("src/x.py", "y.py"),
        ["make z"],
        False,
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("None", ()),
        ("[]", ()),
        ("N/A (first)", ()),
        ("Phase 1", ("1",)),
        ("[1, 2]", ("1", "2")),
        ("Phases 1-2", ("1", "2")),
        ("Phase 1, Phase 2 (see 9)", ("1", "2")),
        ("1 and 2.", ("1", "2")),
    ],
)
def test_blockers_are_read_as_people_write_them(tmp_path: Path, said: str, expected: tuple[str, ...]) -> None:
    text = "".join(
        f"## Phase {number}: X\n### Agent: coder\n### Parallel: No\n### Dependencies\n- **Blocked by**: {needs}\n"
        for number, needs in ((1, "None"), (2, "None"), (3, said))
    )

    files = opened(tmp_path / "x.md", text)

    assert files.read().plan.steps[2].needs == expected
    assert codes(files) == []


def test_what_a_markdown_plan_leaves_out_is_assumed_and_told(tmp_path: Path) -> None:
    files = opened(tmp_path / "x.md", "## Phase 1: X\n### Agent: coder\n\n## Phase 2: Y\n**Agent:** Coder (main)\n")

    found = files.read()

    assert [(step.role, step.needs, step.alone) for step in found.plan.steps] == [
        ("coder", (), True),
        ("coder", ("1",), True),
    ]
    assert codes(files) == ["parallel_assumed", "parallel_assumed", "needs_assumed"]
    assert all(problem.severity is Severity.WARNING for problem in found.problems)


def test_what_a_phase_blocks_is_not_read_as_what_blocks_it(tmp_path: Path) -> None:
    text = "".join(
        f"## Phase {number}: X\n### Agent: coder\n### Parallel: No\n### Dependencies\n- Blocks: {blocks}\n"
        for number, blocks in ((1, "Phase 2"), (2, "None"))
    )

    files = opened(tmp_path / "x.md", text)

    assert [step.needs for step in files.read().plan.steps] == [(), ("1",)]
    assert codes(files) == ["needs_assumed"]


def test_a_box_is_ticked_after_a_corrective_phase_moved_it(tmp_path: Path) -> None:
    file = tmp_path / "a-impl-plan.md"
    files = opened(file, MARKDOWN)
    first, second = files.read().plan.steps
    files.insert(Correction(id=StepId("1h"), title="X", what="X", why="X"), helps=first)

    files.write(second, Marks(status=Status.DONE), ticked=[second.checks[0].line])

    assert "- [x] Lint: `make lint`" in file.read_text()
    assert "- [ ] `make test`" in file.read_text()


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("status: pending", "status: paused", "bad_status", 42),
        ("  - id: 2", "  - id: 1\n    name: X\n  - id: 2", "duplicate_id", 40),
        ("      - 1\n", "      - 7\n", "unknown_need", 40),
        ("technical_writer", "wizard", "unknown_agent", 44),
        ("errors: []\n---", "errors: [\n---", "bad_yaml", 48),
        ("name: Second", "name: Second\n    name: Third", "duplicate_key", 42),
        ("phases:", "stages:", "invalid_plan", 2),
        ("name: Second", "name: *first", "yaml_alias", 41),
        ("planned_files: [", "planned_files: ['../x', ", "path_escape", 19),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, old: str, new: str, code: str, line: int) -> None:
    files = opened(tmp_path / "active-session.md", STATE_YAML.replace(old, new))

    found = [(problem.code, problem.where) for problem in files.read().errors]

    assert found == [(code, f"active-session.md:{line}")]


def test_a_state_file_may_leave_out_what_real_ones_do(tmp_path: Path) -> None:
    text = (
        "---\nphases:\n  - id: P1\n    status: done\n  - id: P2\n    agents: [refactor, tester]\n    name: Two\n---\n"
    )

    found = opened(tmp_path / "active-session.md", text).read()

    assert found.errors == ()
    assert [(step.id, step.title, step.role) for step in found.plan.steps] == [
        ("P1", "Phase P1", "coder"),
        ("P2", "Two", "refactor"),
    ]
    assert found.marks[StepId("P1")].status is Status.DONE
    assert "several_agents" in [problem.code for problem in found.problems]


def test_an_express_session_is_an_express_plan(tmp_path: Path) -> None:
    text = STATE_YAML.replace("workflow_mode: standard", "workflow_mode: express\ntask_complexity: simple")

    plan = opened(tmp_path / "active-session.md", text).read().plan

    assert (plan.express, plan.complexity, plan.title) == (True, "simple", "Make a thing")
    assert plan.name == "2030-01-02-thing"


def test_the_state_directory_is_a_plan(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "maestro"
    (folder / "plans").mkdir(parents=True)
    (folder / "plans" / "2030-01-01-old-impl-plan.md").write_text(MARKDOWN)
    (folder / "plans" / "2030-01-02-new-impl-plan.md").write_text(MARKDOWN)
    without = open_plan(folder, repo=tmp_path).read().plan.path
    (folder / "state").mkdir()
    (folder / "state" / "active-session.md").write_text(STATE_YAML)

    found = open_plan(folder, repo=tmp_path).read().plan.path

    assert without == "docs/maestro/plans/2030-01-02-new-impl-plan.md"
    assert found == "docs/maestro/state/active-session.md"


@pytest.mark.parametrize("named", ["docs/maestro/plans/x-impl-plan.md", "/elsewhere/plans/x-impl-plan.md"])
def test_the_prompt_of_a_session_holds_what_its_plan_says(tmp_path: Path, named: str) -> None:
    folder = tmp_path / "docs" / "maestro"
    (folder / "plans").mkdir(parents=True)
    (folder / "plans" / "x-impl-plan.md").write_text(MARKDOWN)
    (folder / "state").mkdir()
    text = STATE_YAML.replace("task: ", f"implementation_plan: {named}\ntask: ")
    (folder / "state" / "active-session.md").write_text(text)
    files = open_plan(folder, repo=tmp_path)

    prompt = files.text(files.read().plan.steps[0])

    assert 'name: "First"' in prompt
    assert "Make the core." in prompt


def test_a_session_is_proved_by_the_checks_its_plan_lists(tmp_path: Path) -> None:
    (tmp_path / "x-impl-plan.md").write_text(MARKDOWN)
    linked = STATE_YAML.replace("task: ", "implementation_plan: x-impl-plan.md\ntask: ")
    files = opened(tmp_path / "active-session.md", linked)

    found = files.read()

    step = found.plan.steps[0]
    assert [(check.command, check.line) for check in step.checks] == [("make test", 0)]
    assert step.not_run == ("Look at it",)
    assert not [problem for problem in found.problems if problem.where.endswith(":0")]


def test_a_plan_outside_the_repository_is_not_read_for_the_prompt(tmp_path: Path) -> None:
    (tmp_path / "x-impl-plan.md").write_text(MARKDOWN)
    file = tmp_path / "repo" / "active-session.md"
    files = opened(file, STATE_YAML.replace("task: ", "implementation_plan: ../x-impl-plan.md\ntask: "))

    assert "Make the core." not in files.text(files.read().plan.steps[0])


def test_a_state_directory_that_leads_out_of_the_repository_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "active-session.md").write_text(STATE_YAML)
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "state").symlink_to(outside)

    with pytest.raises(InvalidInput):
        open_plan(repo, repo=repo, format="maestro")


@pytest.mark.parametrize("text", ["# Notes\n\n## Phase 1: Think\n\nText.\n", "", "## 1. A\n## 2. B\n"])
def test_other_markdown_is_not_taken_for_a_plan(tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.md"
    file.write_text(text)

    assert not MaestroFiles.recognise(file)


FRAGMENTS = [
    "\n---\n", "---", "```\n", "## Phase 3: X\n", "### Agent: coder\n", "\n- id: 4\n", "- Blocked by: 1-9\n",
    "{", "}", "[", "]", '"', "'", ":", ": ", ",", "#", "\t", "\r", "\x00", "\ufeff", "&a ", "*a",
    "!!python/x ", "| \n", "\\ud83d", "null", "phases:", '"phases": [', "  ", "\n", "🎺", "- [ ] `x`\n", "1",
    "<!-- ", "> ", "\x85", "...", "? ", "status: done\n",
]  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, str]:
    """One of the documents after a few accidents."""
    name = draw(st.sampled_from(sorted(DOCUMENTS)))
    text = DOCUMENTS[name]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        length = draw(st.sampled_from([0, 0, 1, 3, 40, 400]))
        text = text[:start] + draw(st.sampled_from(FRAGMENTS)) + text[start + length :]
    return name, text


@settings(max_examples=MANY, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.sampled_from([True, False, False, False]))
def test_no_accident_breaks_the_reader_or_the_writer(document: tuple[str, str], writes: bool) -> None:
    name, text = document
    state = name in ("state.md", "active-session.md")
    dialect = StateDialect() if state else PlanDialect(markdown=name.endswith(".md"))

    parsed = dialect.parse(text, name)

    assert parsed.steps or parsed.problems or name.endswith(".md")
    assert set(parsed.marks) == {step.id for step in parsed.steps}
    for step in parsed.steps[:writes]:
        try_writing(dialect, text, step)


def try_writing(dialect: StateDialect | PlanDialect, text: str, step: Step) -> None:
    fix = Correction(id=StepId("9h"), title="Fix", what="What", why="Why", test="make")
    marks = dialect.shown(Marks(status=Status.DONE))
    edits = dialect.edit(text, step, marks, [check.line for check in step.checks])
    dialect.parse(replace_spans(text, edits), "x")
    dialect.parse(replace_spans(text, dialect.insert(text, fix, step)), "x")
    dialect.parse(replace_spans(text, dialect.write_progress(text, progress(FIRST_DONE))), "x")


CREATED = STATE_YAML.replace('"pending"   # where', '"in_progress"   # where').replace(
    "    started: null", '    started: "2030-01-01T00:00:00Z"', 1
)


def test_the_first_phase_of_a_session_that_was_just_created_is_free(tmp_path: Path) -> None:
    file = tmp_path / "active-session.md"
    files = opened(file, CREATED)
    reading = files.read()
    (step, *_) = reading.plan.steps
    ours = Marks(status=Status.CLAIMED, assignee="drumline/run-1", claimed_at="2030-01-01T03:00:00Z")

    files.write(step, ours, unless=Marks())

    assert reading.marks[step.id] == Marks()
    assert files.read().marks[step.id] == ours
    assert data_of(file)["phases"][0]["started"] is None
    begun = CREATED.replace("    errors: []", "    errors: [x]", 1)
    assert opened(tmp_path / "state.md", begun).read().marks[step.id] == Marks(status=Status.CLAIMED)


def make_session(folder: Path) -> Path:
    """A session whose phases are over, with its documents and its gate where Maestro keeps them."""
    state = folder / "docs/maestro/state/active-session.md"
    texts = {
        state: STATE_YAML.replace('"pending"', '"completed"').replace(": pending", ": skipped"),
        state.with_name("2030-01-02-thing.design-gate.json"): "{}",
        folder / "docs/maestro/plans/x-design.md": "the design\n",
        folder / "docs/elsewhere.md": "mine\n",
    }
    named = f'design_document: "{folder}/docs/maestro/plans/x-design.md"\nimplementation_plan: docs/elsewhere.md\n'
    for file, text in texts.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("workflow_mode:", f"{named}workflow_mode:"))
    return state


def test_a_session_that_is_over_is_archived_with_its_documents_and_nothing_is_overwritten(tmp_path: Path) -> None:
    state = make_session(tmp_path)
    archive = state.parent / "archive"
    archive.mkdir()
    (archive / "2030-01-02-thing.md").write_text("an earlier session\n")
    files = MaestroFiles(state, repo=tmp_path)
    (step, *_) = files.read().plan.steps
    files.keep_checks({step.id: ["true"]})

    told = files.report_progress(progress(FIRST_DONE, state="done"))

    kept = archive / "2030-01-02-thing-2.md"
    assert told == "the session is over and was moved to docs/maestro/state/archive/2030-01-02-thing-2.md"
    assert (archive / "2030-01-02-thing.md").read_text() == "an earlier session\n"
    assert data_of(kept)["status"] == "completed"
    assert (archive / "2030-01-02-thing-2.md.drumline.json").exists()
    assert data_of(kept)["design_document"] == f"{tmp_path}/docs/maestro/plans/archive/x-design.md"
    assert (tmp_path / "docs/maestro/plans/archive/x-design.md").read_text() == "the design\n"
    assert (tmp_path / "docs/elsewhere.md").read_text() == "mine\n"
    assert [file.name for file in state.parent.iterdir()] == ["archive"]


@pytest.mark.parametrize(
    ("old", "new", "archives", "told"),
    [
        (": skipped", ": pending", True, ""),
        (": skipped", ": skipped", False, ""),
        ("errors: []\n---", "errors: []\n    requires_reconciliation: true\n---", True, "phase Second"),
        ("2030-01-02-thing", "../2030", True, "'../2030'"),
    ],
)
def test_a_session_that_is_not_over_or_is_to_stay_is_left_where_it_is(
    tmp_path: Path, old: str, new: str, archives: bool, told: str
) -> None:
    state = make_session(tmp_path)
    state.write_text(state.read_text().replace(old, new))

    said = MaestroFiles(state, repo=tmp_path).report_progress(
        replace(progress(FIRST_DONE, state="done"), archives=archives)
    )

    assert told in said
    assert bool(said) == bool(told)
    assert state.exists()
    assert (tmp_path / "docs/maestro/plans/x-design.md").exists()
