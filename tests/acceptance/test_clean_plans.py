"""A run leaves its plan clean, in every format: strictly valid before, on the way and at the end, with true books."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_user import User, gates_of, make_user

AGENT = """REPORT='# Task Report

- Status: success'
n=$(echo "$DRUMLINE_STEP" | tr -dc 0-9 | sed 's/^0*//')
prompt=$(cat)
case "$n/$DRUMLINE_ATTEMPT" in
  1/1) echo bad > 1.txt; echo "$REPORT" ;;
  2/1) echo '{"blocked": "Which colour?"}' ;;
  *) echo good > $n.txt; echo "$REPORT" ;;
esac
"""
CRITERIA = (
    "### Success Criteria:\n\n#### Automated Verification:\n\n- [ ] It holds: `grep -q good {n}.txt`\n\n"
    "#### Automated QA:\n\n- [ ] Nothing\n\n#### Manual Verification:\n\n- [ ] It looks right\n\n"
)
ROOT = (
    "---\ndate: 2026-01-01T00:00:00Z\nauthor: kim\nplan_type: dag\nstatus: in-progress\nlast_updated: 2026-01-01\n"
    "last_updated_by: kim\n---\n# Words\n\n| ID | Name | Depends on | Status | File |\n|---|---|---|---|---|\n"
    + "".join(f"| step-{n} | Do {n} | {f'step-{n - 1}' if n > 1 else '-'} | ready | x |\n" for n in (1, 2, 3))
)
PHASE = (
    "## Phase {n}: Do {n}\n\n### Objective\nWrite it\n\n### Agent: coder\n\n### Parallel: No\n\n### Files to Create\n"
    "- `{n}.txt` — it\n\n### Validation\n- `grep -q good {n}.txt`\n\n### Dependencies\n- Blocked by: {need}\n\n"
)
SESSION = {
    "session_id": "2026-01-01-x",
    "task": "X",
    "created": "2026-01-01T00:00:00Z",
    "updated": "2026-01-01T00:00:00Z",
    "status": "in_progress",
    "workflow_mode": "standard",
    "implementation_plan": "docs/maestro/plans/x-impl-plan.md",
    "current_phase": 1,
    "total_phases": 3,
    "execution_mode": None,
    "current_batch": None,
    "task_complexity": "simple",
    "token_usage": {"total_input": 0, "total_output": 0, "total_cached": 0, "by_agent": {}},
    "phases": [
        {
            "id": n,
            "name": f"Do {n}",
            "status": "pending",
            "agents": ["coder"],
            "parallel": False,
            "started": None,
            "completed": None,
            "blocked_by": [n - 1] if n > 1 else [],
            "files_created": [],
            "files_modified": [],
            "files_deleted": [],
            "errors": [],
            "retry_count": 0,
        }
        for n in (1, 2, 3)
    ],
}
STATE = "docs/maestro/state/active-session.md"
CHUNKS = [
    [{"id": f"c{n}", "scope": f"Do {n}", "files": [f"{n}.txt"], "model": "sonnet", "checks": [f"grep -q good {n}.txt"]}]
    for n in (1, 2, 3)
]
PLANS: dict[str, tuple[str, str, Mapping[str, str]]] = {
    "dag": (
        "plans/words",
        "step-",
        {"plans/words/root.md": ROOT}
        | {
            f"plans/words/step-{n}.md": f"---\nid: step-{n}\nname: Do {n}\n"
            f"depends_on: [{f'step-{n - 1}' if n > 1 else ''}]\nstatus: ready\n---\n# Do {n}\n\n" + CRITERIA.format(n=n)
            for n in (1, 2, 3)
        },
    ),
    "linear": (
        "linear.md",
        "phase-",
        {
            "linear.md": "---\nauthor: kim\n---\n# Words\n\n"
            + "".join(f"## Phase {n}: Do {n}\n\n{CRITERIA.format(n=n)}" for n in (1, 2, 3))
        },
    ),
    "phased": (
        "plans",
        "0",
        {
            f"plans/steps/0{n}-do.md": f"---\nstep: {n}\ntitle: Do {n}\ndepends_on: [{n - 1 or ''}]\nstatus: pending\n"
            f"---\n\n## Objective\n\nWrite it.\n\n## Test commands\n\n- `grep -q good {n}.txt`\n"
            for n in (1, 2, 3)
        },
    ),
    "implement, lines": (
        ".ai/specs/7-words/implement.md",
        "",
        {
            ".ai/specs/7-words/implement.md": "# Words — Implementation Plan\n\n## Steps\n\n"
            + "".join(
                f"### Step {n}: Do {n}\n**Status:** pending\n**Files:** `{n}.txt`\n**What:** Write it.\n"
                f"**Why:** Wanted.\n**Test:** `grep -q good {n}.txt`\n\n"
                for n in (1, 2, 3)
            )
        },
    ),
    "implement, tags": (
        ".ai/specs/7-words/implement.md",
        "",
        {
            ".ai/specs/7-words/implement.md": "# Implementation Plan: Words\n\n**Status:** In Progress\n\n"
            + "".join(
                f"## Step {n}: Do {n} [pending]\n**Files:**\n- Create: `{n}.txt`\n**What:** Write it.\n"
                f"**Verification:** `grep -q good {n}.txt`\n\n"
                for n in (1, 2, 3)
            )
        },
    ),
    "maestro": (
        STATE,
        "",
        {
            STATE: f"---\n{yaml.safe_dump(SESSION, sort_keys=False)}---\n\n# Log\n",
            "docs/maestro/plans/x-impl-plan.md": "# X Implementation Plan\n\n"
            + "".join(PHASE.format(n=n, need=f"Phase {n - 1}" if n > 1 else "None") for n in (1, 2, 3)),
        },
    ),
    "waves": ("chunks.json", "c", {"chunks.json": json.dumps({"description": "Words", "waves": CHUNKS}, indent=2)}),
}


def setup(folder: Path, files: Mapping[str, str]) -> User:
    user = make_user(folder)
    (user.folder / "agent.sh").write_text(AGENT, encoding="utf-8")
    for name, text in files.items():
        (user.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (user.repo / name).write_text(text, encoding="utf-8")
    user.commit_all("the plan")
    return user


def phases(user: User) -> list[dict[str, object]]:
    kept = user.repo / "docs/maestro/state/archive/2026-01-01-x.md"
    file = kept if kept.exists() else user.repo / STATE
    found: list[dict[str, object]] = yaml.safe_load(file.read_text().split("---")[1])["phases"]
    return found


@pytest.mark.parametrize("form", PLANS)
def test_a_plan_is_clean_before_on_the_way_and_after_a_run_with_a_fix_a_question_and_a_skip(
    tmp_path: Path, form: str
) -> None:
    plan, prefix, files = PLANS[form]
    user = setup(tmp_path, files)

    told = [user.type("validate", plan, "--strict")]
    parked = user.type("run", plan, "--agent", f"command:sh {user.folder}/agent.sh", "--autonomy", "autopilot")
    told.append(user.type("validate", plan, "--strict"))
    gates = gates_of(user.status())
    skipped = user.type("skip", f"{prefix}3", "--reason", "not today")
    stays = {"MAESTRO_AUTO_ARCHIVE": "false"}
    done = user.type("answer", f"question-{prefix}2", "blue", "--resume", env=stays)
    told.append(user.type("validate", plan, "--strict"))

    assert (parked.code, gates) == (2, [f"question-{prefix}2"]), parked.text
    assert (skipped.code, done.code) == (0, 0), skipped.text + done.text
    assert [found.code for found in told] == [0, 0, 0], "\n".join(found.text for found in told)


def test_the_root_of_a_finished_plan_says_so(tmp_path: Path) -> None:
    plan, _, files = PLANS["dag"]
    user = setup(tmp_path, files)

    user.type("run", plan, "--agent", "command:echo good | tee -a 1.txt 2.txt 3.txt", "--autonomy", "autopilot")

    root = (user.repo / plan / "root.md").read_text()
    assert "\nstatus: completed\n" in root
    assert "\nlast_updated: 2026-01-01\n" not in root
    assert root.count("| done |") == 3


def test_the_progress_report_of_a_session_tells_each_failure_once_and_no_question(tmp_path: Path) -> None:
    plan, _, files = PLANS["maestro"]
    user = setup(tmp_path, files)

    user.type("run", plan, "--agent", f"command:sh {user.folder}/agent.sh", "--autonomy", "autopilot")
    first, waiting, _ = phases(user)
    user.type("answer", "question-2", "blue", "--resume")
    second = phases(user)[1]

    errors = first["errors"]
    assert isinstance(errors, list)
    assert [(e["type"], e["message"], e["resolution"], e["resolved"]) for e in errors] == [
        ("validation", "check failed: grep -q good 1.txt", "retried", True)
    ]
    assert (first["status"], first["retry_count"], first["files_created"]) == ("completed", 1, ["1.txt"])
    assert (waiting["status"], waiting["errors"], waiting["retry_count"]) == ("in_progress", [], 0)
    assert (second["status"], second["errors"], second["retry_count"]) == ("completed", [], 0)


def test_a_phase_that_did_not_land_lists_no_files(tmp_path: Path) -> None:
    plan, _, files = PLANS["maestro"]
    user = setup(tmp_path, files)
    bad = ("--agent", "command:echo bad > 1.txt", "--autonomy", "autopilot", "--retries", "1")

    user.type("run", plan, *bad)

    first = phases(user)[0]
    errors = first["errors"]
    assert isinstance(errors, list)
    assert [(error["resolution"], error["resolved"]) for error in errors] == [("retried", False), ("pending", False)]
    assert (first["status"], first["retry_count"], first["files_created"]) == ("failed", 1, [])
