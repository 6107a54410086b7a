"""A session of phases in another tool's state file: mode, batches, reports, a conflict, and books that are kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, Rule, User, gates_of, make_user, states_of, step_text, write_script
from tests.acceptance.terminals import accept_commands, open_terminal
from tests.acceptance.test_clean_plans import SESSION, STATE

REPORT = (
    "# Task Report\n\n- Status: success\n- Validation: pass\n\n# Downstream Context\n\n"
    "- Key Interfaces Introduced: part{number}()\n- Assumptions: none\n"
)
MEET = "touch $HOME/$DRUMLINE_STEP; for i in $(seq 1200); do [ -e $HOME/{} ] && exit 0; sleep 0.05; done; exit 1"
LOOK = "echo $DRUMLINE_STEP >> $HOME/looks"
NEEDS: dict[int, list[int]] = {1: [], 2: [], 3: [1, 2]}
PLANS = "docs/maestro/plans"
REVIEWER = """
[agents.code-reviewer]
agent = "scripted:reviewer.yaml"
"""


def make_session(**more: object) -> dict[str, Any]:
    """A session as its tool has just created it: the first phase is called in progress, and nobody has begun it."""
    listed = [
        {**phase, "parallel": True, "blocked_by": NEEDS[phase["id"]], "planned_files": [f"{phase['id']}.py"]}
        for phase in SESSION["phases"]  # type: ignore[attr-defined]
    ]
    listed[0] |= {"status": "in_progress", "started": SESSION["created"]}
    documents = {"design_document": f"{PLANS}/x-design.md", "implementation_plan": f"{PLANS}/x-impl-plan.md"}
    return {**SESSION, **documents, "phases": listed, **more}


def open_user(folder: Path, *rules: Rule, session: dict[str, Any] | None = None, config: str = "") -> User:
    """A session of three phases, of which two have nothing to wait for."""
    user = make_user(folder, step_text("step-1"))
    text = f"---\n{json.dumps(session or make_session(), indent=2)}\n---\n# X Orchestration Log\n"
    files = {
        STATE: text,
        f"{PLANS}/x-design.md": "# The design\n",
        f"{PLANS}/x-impl-plan.md": "# The plan\n",
        ".drumline/config.toml": f'checks = ["true"]\nrequire = "none"\n{config}',
    }
    write_files(user, files)
    user.commit_all()
    user.play(*rules, *(work(number, {f"{number}.py": "good\n"}, step=str(number)) for number in NEEDS))
    return user


def work(number: int, files: dict[str, str], *, run: str = "", said: str = REPORT, **match: object) -> Rule:
    """An agent that leaves files and a report."""
    more = {"run": run} if run else {}
    return {"match": match, "write": files, "say": said.format(number=number), **more}


def session_of(user: User) -> dict[str, Any]:
    """The state file as its own tool reads it."""
    kept = user.repo / "docs/maestro/state/archive" / f"{SESSION['session_id']}.md"
    file = kept if kept.exists() else user.repo / STATE
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8").split("---\n")[1])
    return found


@pytest.mark.long
def test_a_session_runs_in_batches_asks_for_a_report_and_keeps_its_progress_report(tmp_path: Path) -> None:
    copy = f"cp '{tmp_path}/repo/{STATE}' '{tmp_path}/seen.md'"
    wait = f"until grep -q 'batch-1-2' '{tmp_path}/repo/{STATE}'; do sleep 0.1; done"
    nothing = {"match": {"node": "look"}, "say": json.dumps({"findings": [], "fixed": []}), "run": LOOK}
    user = open_user(
        tmp_path,
        nothing,
        work(1, {"1.py": "good\n"}, run=f"{wait}; {copy}; {MEET.format(2)}", said="All is done.", step="1", attempt=1),
        work(1, {}, step="1", attempt=2),
        {**work(2, {"2.py": "good\n"}, run=MEET.format(1), step="2"), "usage": {"input": 100, "output": 20}},
        work(3, {"4.py": "good\n"}, step="3"),
        config='review = "all"\n',
    )

    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")

    assert ran.code == 0, ran.text
    session = session_of(user)
    seen = json.loads((tmp_path / "seen.md").read_text().split("---\n")[1])
    assert (seen["execution_mode"], seen["current_batch"]) == ("parallel", "batch-1-2")
    assert (session["status"], session["execution_mode"]) == ("completed", "parallel")
    first, second, third = session["phases"]
    assert [phase["status"] for phase in (first, second, third)] == ["completed"] * 3
    assert [phase["files_created"] for phase in (first, second, third)] == [["1.py"], ["2.py"], ["4.py"]]
    assert (session["token_usage"]["total_input"], session["token_usage"]["total_output"]) == (100, 20)
    assert list(session["token_usage"]["by_agent"]) == ["coder"]
    looks = (tmp_path / "home" / "looks").read_text().split()
    assert sorted(looks[:-1]) == ["1", "2", "3"]
    assert looks[-1] == "@final"  # the code-review gate, before the session is archived
    assert "declared, and not found:\n  3: 3.py: no landing changed it" in ran.out
    assert "100 input and 20 output tokens" in ran.out
    assert first["downstream_context"]["key_interfaces_introduced"] == ["part1()"]
    assert first["downstream_context"]["assumptions"] == []
    asked = user.prompt("1", 2)
    assert "answer with the report alone" in asked
    told = user.prompt("3", 1)
    assert "part1()" in told
    assert "part2()" in told
    assert "Phase: 3/3" in told
    state = user.repo / "docs/maestro/state"
    assert f"was moved to docs/maestro/state/archive/{SESSION['session_id']}.md" in ran.err
    assert not (user.repo / STATE).exists()
    assert sorted(file.name for file in (user.repo / PLANS / "archive").iterdir()) == ["x-design.md", "x-impl-plan.md"]
    assert session["design_document"] == f"{PLANS}/archive/x-design.md"
    assert [file.name for file in state.iterdir()] == ["archive"]
    assert user.drumline("status").code == 0
    report = user.drumline("report", "--json").json
    assert (report["state"], report["unassigned"], len(report["filesChanged"])) == ("done", [], 3)  # type: ignore[arg-type]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")
def test_the_mode_is_asked_for_with_what_can_run_side_by_side_and_kept(tmp_path: Path) -> None:
    user = open_user(tmp_path)
    accept_commands(user, STATE)

    with open_terminal(user) as terminal:
        terminal.type_command("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")
        asked = terminal.await_text("Mode: parallel (recommended) or sequential")
        nothing = session_of(user)
        terminal.press("sequential", "Enter")
        terminal.await_text("exit=0")

    assert "2 of 3 steps are free to run side by side, in 2 waves." in asked
    assert asked.count("(recommended)") == 1
    assert (nothing["execution_mode"], nothing["phases"][1]["status"]) == (None, "pending")
    assert session_of(user)["execution_mode"] == "sequential"


@pytest.mark.long
@pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")
def test_where_no_two_phases_are_free_side_by_side_nobody_is_asked_about_the_mode(tmp_path: Path) -> None:
    session = make_session(execution_mode=None)
    session["phases"][1]["blocked_by"] = [1]
    user = open_user(tmp_path, session=session)
    accept_commands(user, STATE)

    with open_terminal(user) as terminal:
        terminal.type_command("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")
        shown = terminal.await_text("exit=0")

    assert "Mode: parallel" not in shown
    assert "Mode: sequential" not in shown
    assert session_of(user)["execution_mode"] == "sequential"


@pytest.mark.long
def test_a_phase_that_stays_wrong_fails_after_its_retries_and_a_person_says_how_it_goes_on(tmp_path: Path) -> None:
    user = open_user(
        tmp_path,
        work(1, {"1.py": "bad\n"}, step="1"),
        config='[commands]\ntest = "test ! -f 1.py || grep -q good 1.py"\n',
    )

    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot", env={"MAESTRO_MAX_RETRIES": "1"})
    failed = session_of(user)
    first = failed["phases"][0]
    user.play(*(work(number, {f"{number}.py": "good\n"}, step=str(number)) for number in NEEDS))
    retried = user.drumline("answer", "failure-1", "retry", "--resume")

    assert ran.code == 2, ran.text
    assert (first["status"], first["retry_count"]) == ("failed", 1)
    assert [(one["type"], one["resolution"]) for one in first["errors"]][:2] == [
        ("validation", "retried"),
        ("validation", "pending"),
    ]
    assert failed["status"] == "in_progress"
    assert retried.code == 0, retried.text
    session = session_of(user)
    assert [phase["status"] for phase in session["phases"]] == ["completed"] * 3
    assert all(one["resolved"] for one in session["phases"][0]["errors"])


@pytest.mark.long
def test_a_session_that_was_left_with_a_failed_phase_is_resumed_there_once_a_person_says_so(tmp_path: Path) -> None:
    session = make_session(execution_mode="sequential")
    failure = {"agent": "coder", "timestamp": session["created"], "type": "validation", "message": "no"}
    session["phases"][0] |= {
        "status": "completed",
        "downstream_context": {"key_interfaces_introduced": ["of_its_own_tool()"]},
    }
    session["phases"][1] |= {"status": "failed", "errors": [{**failure, "resolution": "pending", "resolved": False}]}
    user = open_user(tmp_path, session=session)

    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")
    resumed = user.drumline("retry", "2", "--resume")

    assert ran.code == 2, ran.text
    assert "active-session.md marks it failed" in ran.out
    assert "  drumline why 2" in ran.out
    assert resumed.code == 0, resumed.text
    assert states_of(user.status()) == dict.fromkeys(("1", "2", "3"), "done")
    assert "of_its_own_tool()" in user.prompt("3", 1)
    second = session_of(user)["phases"][1]
    assert (second["status"], second["errors"][0]["resolved"]) == ("completed", True)


@pytest.mark.long
def test_a_phase_of_a_reviewer_sees_what_the_others_have_done_and_another_program_does_it(tmp_path: Path) -> None:
    session = make_session(execution_mode=None)
    session["phases"][2] |= {"agents": ["code-reviewer"], "planned_files": []}
    user = open_user(tmp_path, session=session, config=REVIEWER)
    write_script(user.repo / "reviewer.yaml", [{"match": {}, "say": "No defects. Reviewed."}])

    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")

    told = user.prompt("3", 1)
    assert ran.code == 0, ran.text
    assert user.step("3")["agent"] == "code-reviewer"
    assert f"Base: {user.git('rev-parse', 'main')}" in told
    assert f"Head: {user.git('rev-parse', user.branch() + '~1')}" in told
    assert "+good" in told
    assert "- `1.py` (created)" in told


def test_a_session_is_refused_while_its_agents_are_switched_off_and_stays_where_it_is_if_that_is_wished(
    tmp_path: Path,
) -> None:
    user = open_user(tmp_path)
    run = ("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot")

    refused = user.drumline(*run, env={"MAESTRO_DISABLED_AGENTS": "tester,coder"})
    environment = {"MAESTRO_AUTO_ARCHIVE": "false", "MAESTRO_VALIDATION_STRICTNESS": "strict"}
    strict = user.drumline(*run, env=environment)

    assert refused.code == 3, refused.text
    assert "the agent 'coder' of 1 is switched off by MAESTRO_DISABLED_AGENTS" in refused.err
    assert strict.code == 0, strict.text  # the configuration overrules the environment
    assert (user.repo / STATE).exists()
    assert session_of(user)["status"] == "completed"


@pytest.mark.long
def test_a_conflict_between_phases_is_for_a_person(tmp_path: Path) -> None:
    user = open_user(
        tmp_path,
        *(
            work(n, {f"{n}.py": "good\n", "both.py": f"{n}\n"}, run=MEET.format(3 - n), step=str(n), attempt=1)
            for n in (1, 2)
        ),
        *(work(n, {f"{n}.py": "good\n", "both.py": "1 and 2\n"}, step=str(n)) for n in (1, 2)),
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
    assert user.landed("both.py") == "1 and 2"


@pytest.mark.long
@pytest.mark.parametrize(("word", "mode"), [("sequential", "sequential"), ("parallel", "parallel")])
def test_the_mode_in_the_environment_is_not_asked_about(tmp_path: Path, word: str, mode: str) -> None:
    user = open_user(tmp_path)

    environment = {"MAESTRO_EXECUTION_MODE": word, "MAESTRO_MAX_CONCURRENT": "1"}
    ran = user.drumline("run", STATE, "--agent", SCRIPTED, "--autonomy", "autopilot", env=environment)

    assert ran.code == 0, ran.text
    assert session_of(user)["execution_mode"] == mode
