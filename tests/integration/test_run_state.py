"""What other tools find beside an implement.md of a ticket while a run is on, and what is said about theirs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from drumline.core.ids import StepId
from drumline.planfiles import open_plan
from drumline.ports.planfiles import PlanFiles, ProgressReport, StepProgress
from drumline.walltimes import write_iso

PLAN = "# Implementation Plan: X\n\n## Steps\n\n### Step 1: Do it\n**Status:** pending\n**Test:** `true`\n"
NOW = "2026-11-18T10:00:00Z"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / ".ai" / "specs" / "4711-login"
    found.mkdir(parents=True)
    (found / "implement.md").write_text(PLAN, encoding="utf-8")
    return found


def open_it(folder: Path, tmp_path: Path) -> PlanFiles:
    return open_plan(folder, repo=tmp_path)


def progress(state: str, *steps: StepProgress) -> ProgressReport:
    return ProgressReport(run="r1", state=state, mode="sequential", now=NOW, steps=steps, branch="drumline/x")


def test_a_run_leaves_its_state_and_branch_for_other_tools_until_it_is_done(folder: Path, tmp_path: Path) -> None:
    files = open_it(folder, tmp_path)
    working = StepProgress(step=StepId("1"), state="running", started=NOW)
    done = StepProgress(step=StepId("1"), state="done", started=NOW, modified=("a.py",))

    files.report_progress(progress("running", working))
    during = json.loads((folder / "run-state.json").read_text(encoding="utf-8"))
    files.report_progress(progress("done", done))

    assert files.reports_progress
    assert {key: during[key] for key in ("skill", "ticket", "started", "step", "completed_phases")} == {
        "skill": "drumline",
        "ticket": "4711",
        "started": NOW,
        "step": "1",
        "completed_phases": [],
    }
    assert not (folder / "run-state.json").exists()
    assert (folder / ".branch").read_text(encoding="utf-8") == "drumline/x\n"
    assert {".ai/specs/4711-login/run-state.json", ".ai/specs/4711-login/.branch"} <= set(files.patterns)


@pytest.mark.parametrize(
    ("age", "code", "told"),
    [
        (600, "run_state", "10 minutes ago at step 3 and may still be at work"),
        (9000, "old_run_state", "more than two hours ago"),
    ],
)
def test_a_run_of_another_tool_is_named(folder: Path, tmp_path: Path, age: float, code: str, told: str) -> None:
    state = {"skill": "dx-step-all", "started": write_iso(time.time() - age), "step": 3}
    (folder / "run-state.json").write_text(json.dumps(state), encoding="utf-8")

    problems = open_it(folder, tmp_path).read().problems

    assert [one.code for one in problems if told in one.message and "dx-step-all" in one.message] == [code]


def test_a_state_of_ours_or_one_that_cannot_be_read_is_not_named(folder: Path, tmp_path: Path) -> None:
    for text in ('{"skill": "drumline"}', "{", "[]", ""):
        (folder / "run-state.json").write_text(text, encoding="utf-8")

        assert not [p for p in open_it(folder, tmp_path).read().problems if p.code.endswith("run_state")]


def test_an_implement_md_elsewhere_keeps_no_state(tmp_path: Path) -> None:
    (tmp_path / "implement.md").write_text(PLAN, encoding="utf-8")
    files = open_plan(tmp_path / "implement.md", repo=tmp_path)

    files.report_progress(progress("running"))

    assert not files.reports_progress
    assert sorted(path.name for path in tmp_path.iterdir()) == ["implement.md"]
