"""A session of phases in another tool's state file: mode, batches, reports, a conflict, and books that are kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, Rule, User, gates_of, make_user, states_of, step_text
from tests.acceptance.test_clean_plans import SESSION, STATE

REPORT = (
    "# Task Report\n\n- Status: success\n- Validation: pass\n\n# Downstream Context\n\n"
    "- Key Interfaces Introduced: part{number}()\n- Assumptions: none\n"
)
MEET = "touch $HOME/$DRUMLINE_STEP; for i in $(seq 1200); do [ -e $HOME/{} ] && exit 0; sleep 0.05; done; exit 1"
NEEDS: dict[int, list[int]] = {1: [], 2: [], 3: [1, 2]}


def open_user(folder: Path, *rules: Rule) -> User:
    """A session of three phases, of which two have nothing to wait for."""
    user = make_user(folder, step_text("step-1"))
    phases: list[dict[str, Any]] = list(SESSION["phases"])  # type: ignore[call-overload]
    listed = [
        {**phase, "parallel": True, "blocked_by": NEEDS[phase["id"]], "planned_files": [f"{phase['id']}.txt"]}
        for phase in phases
    ]
    session = {**SESSION, "phases": listed, "implementation_plan": None}
    text = f"---\n{json.dumps(session, indent=2)}\n---\n# X Orchestration Log\n"
    write_files(user, {STATE: text, ".drumline/config.toml": 'checks = ["true"]\nrequire = "none"\n'})
    user.commit_all()
    user.play(*rules, *(work(number, {f"{number}.txt": "good\n"}, step=str(number)) for number in NEEDS))
    return user


def work(number: int, files: dict[str, str], *, run: str = "", said: str = REPORT, **match: object) -> Rule:
    """An agent that leaves files and a report."""
    more = {"run": run} if run else {}
    return {"match": match, "write": files, "say": said.format(number=number), **more}


def session_of(user: User) -> dict[str, Any]:
    """The state file as its own tool reads it."""
    found: dict[str, Any] = json.loads((user.repo / STATE).read_text(encoding="utf-8").split("---\n")[1])
    return found


@pytest.mark.long
def test_a_session_runs_in_batches_asks_for_a_report_and_keeps_its_books(tmp_path: Path) -> None:
    copy = f"cp '{tmp_path}/repo/{STATE}' '{tmp_path}/seen.md'"
    wait = f"until grep -q 'batch-1-2' '{tmp_path}/repo/{STATE}'; do sleep 0.1; done"
    user = open_user(
        tmp_path,
        work(1, {"1.txt": "good\n"}, run=f"{wait}; {copy}; {MEET.format(2)}", said="All is done.", step="1", attempt=1),
        work(1, {}, step="1", attempt=2),
        work(2, {"2.txt": "good\n"}, run=MEET.format(1), step="2"),
    )

    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")

    assert ran.code == 0, ran.text
    session = session_of(user)
    seen = json.loads((tmp_path / "seen.md").read_text().split("---\n")[1])
    assert (seen["execution_mode"], seen["current_batch"]) == ("parallel", "batch-1-2")
    assert (session["status"], session["execution_mode"]) == ("completed", "parallel")
    first, second, third = session["phases"]
    assert [phase["status"] for phase in (first, second, third)] == ["completed"] * 3
    assert [phase["files_created"] for phase in (first, second, third)] == [["1.txt"], ["2.txt"], ["3.txt"]]
    assert first["downstream_context"]["key_interfaces_introduced"] == ["part1()"]
    assert first["downstream_context"]["assumptions"] == []
    asked = user.prompt("1", 2)
    assert "answer with the report alone" in asked
    told = user.prompt("3", 1)
    assert "part1()" in told
    assert "part2()" in told
    assert "Phase: 3 of 3" in told


@pytest.mark.long
def test_a_conflict_between_phases_is_for_a_person(tmp_path: Path) -> None:
    user = open_user(
        tmp_path,
        *(
            work(n, {f"{n}.txt": "good\n", "both.txt": f"{n}\n"}, run=MEET.format(3 - n), step=str(n), attempt=1)
            for n in (1, 2)
        ),
        *(work(n, {f"{n}.txt": "good\n", "both.txt": "1 and 2\n"}, step=str(n)) for n in (1, 2)),
    )

    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "critical")
    asked = gates_of(user.status())
    late = asked[0].partition("-")[2]
    waiting = session_of(user)["phases"][int(late) - 1]["status"]
    answered = user.drumline("answer", asked[0], "retry", "--resume")

    assert ran.code == 2, ran.text
    assert asked == [f"conflict-{late}"]
    assert waiting == "in_progress"
    assert answered.code == 0, answered.text
    assert states_of(user.status()) == dict.fromkeys(("1", "2", "3"), "done")
    assert user.landed("both.txt") == "1 and 2"


@pytest.mark.long
@pytest.mark.parametrize(("word", "mode"), [("sequential", "sequential"), ("parallel", "parallel")])
def test_the_mode_in_the_environment_is_not_asked_about(tmp_path: Path, word: str, mode: str) -> None:
    user = open_user(tmp_path)

    environment = {"MAESTRO_EXECUTION_MODE": word, "MAESTRO_MAX_CONCURRENT": "1"}
    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot", env=environment)

    assert ran.code == 0, ran.text
    assert session_of(user)["execution_mode"] == mode
