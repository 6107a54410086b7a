"""One step of a native plan as an atomic piece of work: claim, checks, one report, and marks that other tools read."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, gates_of, make_user, states_of, step_text, wait_for

ROOT = """---
plan_type: dag
status: in-progress
last_updated: 2026-01-31
last_updated_by: kim
---
# A small plan

## Steps

| ID | Name | Depends on | Status | File |
|----|------|------------|--------|------|
| step-1 | Make step-1 | | ready | step-1.md |
| step-2 | Make step-2 | step-1 | ready | step-2.md |
"""
QA = "\n#### Automated QA:\n\n- [ ] open it and read the number\n- [ ] open it twice\n"
CHECKS = ["test -f step-1.txt", "grep -q right step-1.txt"]


def open_user(folder: Path) -> User:
    """Two steps, of which the first has checks, scenarios for its agent and something for a person."""
    first = step_text("step-1", checks=CHECKS, manual="look at the colours").replace(
        "\n#### Manual", f"{QA}\n#### Manual"
    )
    user = make_user(folder, first, step_text("step-2", ["step-1"]))
    (user.repo / PLAN / "root.md").write_text(ROOT, encoding="utf-8")
    user.commit_all()
    return user


def report_of(user: User, step: str, *args: str) -> tuple[int, dict[str, object]]:
    """Run one step for a script, and read its report."""
    ran = user.run("--step", step, "--json", *args)
    return ran.code, next(line for line in ran.lines if line.get("event") == "report")


def claim(user: User, step: str, *, hours: float) -> None:
    """Somebody else has claimed the step so many hours ago."""
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - hours * 3600))
    user.edit(step, "status: ready", f"status: claimed\nassignee: another-session\nclaimed_at: {at}")


def test_a_step_is_claimed_fixed_once_proved_and_reported_with_every_field(tmp_path: Path) -> None:
    user = open_user(tmp_path)
    claim(user, "step-1", hours=2)
    user.play(
        {"match": {"attempt": 1}, "write": {"step-1.txt": "wrong\n"}, "say": "done"},
        {"match": {"attempt": 2}, "write": {"step-1.txt": "right\n"}, "say": "Automated QA: 1/2 passed"},
    )

    code, report = report_of(user, "step-1")

    assert (code, report["result"], report["mark"], report["proved"]) == (0, "done", "done", True)
    assert (report["files"], report["checks"]) == (["step-1.txt"], {"passed": 2, "total": 2})
    assert (report["qa"], report["manual"]) == ({"claimed": 1, "total": 2}, ["look at the colours"])
    assert report["attempts"] == 2
    text = user.file("step-1")
    assert text.count("- [x] it holds") == 2
    assert text.count("- [ ]") == 3  # two scenarios and one for a person, which nobody has proved
    assert "assignee" not in text
    root = (user.repo / PLAN / "root.md").read_text(encoding="utf-8")
    assert "| step-1 | Make step-1 | | done | step-1.md |" in root
    assert "last_updated_by: drumline" in root
    assert "last_updated: 2026-01-31" not in root
    assert "status: in-progress" in root


@pytest.mark.long
def test_a_step_that_stays_red_reports_its_partial_progress_and_is_free_to_be_tried_again(tmp_path: Path) -> None:
    user = open_user(tmp_path)
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "wrong\n"}, "say": "done"})

    code, report = report_of(user, "step-1", "--retries", "1")
    said = user.file("step-1")
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "right\n"}})
    again = user.drumline("retry", "step-1", "--resume")

    assert (code, report["result"], report["mark"]) == (2, "blocked", "blocked")
    assert (report["files"], report["checks"]) == (["step-1.txt"], {"passed": 1, "total": 2})
    assert "grep -q right step-1.txt" in str(report["reason"])
    assert report["hint"] == "drumline answer failure-step-1 adapt --comment TEXT --resume"
    assert "status: blocked" in said
    assert "assignee" not in said
    assert again.code == 0, again.text


@pytest.mark.long
def test_what_is_done_claimed_or_not_ready_is_not_worked_on(tmp_path: Path) -> None:
    user = open_user(tmp_path)

    early = user.run("--step", "step-2")
    asked = gates_of(user.status())
    claim(user, "step-1", hours=0.1)
    held = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--step", "step-1", "--new")
    wait_for(lambda: "another-session" in user.drumline("why", "step-1").out, "nobody waits for the other session")
    user.edit("step-1", "status: claimed", "status: done")
    said = held.communicate()[1]

    assert (early.code, asked) == (2, ["proceed-step-2"])
    assert held.returncode == 0, said
    assert "waiting: claimed by another-session since" in said
    assert states_of(user.status())["step-1"] == "done"
    assert user.git("log", "--format=%s", "-1", user.branch()) == "more"


def test_a_step_that_is_done_already_is_reported_as_such_and_names_the_run_that_did_it(tmp_path: Path) -> None:
    user = open_user(tmp_path)
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "right\n"}})
    report_of(user, "step-1")
    first = user.status()["run"]

    code, report = report_of(user, "step-1", "--new")

    assert (code, report["result"], report["declared"], report["mark"]) == (0, "done", True, "done")
    assert (report["attempts"], report["files"], report["commit"]) == (0, [], None)
    assert "step-1.md says so" in str(report["reason"])
    handoff = user.type("handoff", "step-1")
    assert handoff.code == 3
    assert f"next: drumline handoff step-1 --run {first}" in handoff.err
    assert "result: complete" in user.type("handoff", "step-1", "--run", str(first)).out
    assert "has not ended yet" in user.type("handoff", "step-2").err


@pytest.mark.long
def test_the_root_file_is_completed_with_its_last_step(tmp_path: Path) -> None:
    user = open_user(tmp_path)
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "right\n"}})

    ran = user.run()

    root = (user.repo / PLAN / "root.md").read_text(encoding="utf-8")
    assert ran.code == 0, ran.text
    assert "status: completed" in root
    assert root.count("| done |") == 2
    assert "last_updated_by: drumline" in root
    assert "last_updated: 2026-01-31" not in root
