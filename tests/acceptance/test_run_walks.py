"""What a repository lets runs do at their ends: red blocks, a resume goes on, a kill in the middle costs nothing."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, states_of, step_text, wait_for

FINAL = """
name: final
start: workspace
nodes:
  workspace: {type: workspace, next: look}
  look: {type: check, checks: [COMMAND], on_pass: done, on_fail: red}
  done: {type: end, status: done}
  red: {type: end, status: blocked, output: "the whole does not fit together"}
"""


@pytest.fixture
def user(tmp_path: Path) -> User:
    return make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))


def show_folder(user: User) -> Path:
    """A folder that checks see, although they see nothing else of the machine's temporary one."""
    shown = user.folder / "shown"
    shown.mkdir()
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'check_folders = ["{shown}"]\n', encoding="utf-8")
    return shown


def write_flow(user: User, name: str, command: str) -> None:
    place = user.repo / ".drumline" / "flows" / name / "graph.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(FINAL.replace("COMMAND", f'"{command}"'), encoding="utf-8")
    user.commit_all("what a run does at its end")


def list_run_walks(user: User) -> dict[str, object]:
    walks = user.status()["run_walks"]
    assert isinstance(walks, list)
    return {walk["id"]: walk["state"] for walk in walks}


def list_at_work(user: User) -> list[str]:
    """The nodes of the run's own walks that act."""
    walks = user.status().get("run_walks", [])
    assert isinstance(walks, list)
    return [visit["node"] for walk in walks if walk["walk"] for visit in walk["walk"]["at_work"]]


def test_a_red_last_walk_blocks_the_run_until_its_cause_is_gone(user: User) -> None:
    fits = show_folder(user) / "fits"
    write_flow(user, "final", f"test -f step-1.txt && test -f step-2.txt && test -f {fits}")

    blocked = user.run()
    told = user.status()
    why, logs, board = user.type("why", "@final"), user.type("logs", "@final"), user.type("status")
    skipped = user.type("skip", "@final", "--reason", "no time")
    fits.touch()
    resumed = user.drumline("resume")

    assert blocked.code == 2, blocked.text
    assert "@final blocked: the whole does not fit together" in blocked.text
    assert "2 of 2 steps landed" in blocked.text
    assert told["state"] == "blocked"
    assert told["reason"] == "@final: the whole does not fit together"
    assert states_of(told) == {"step-1": "done", "step-2": "done"}
    assert "status: done" in user.file("step-2")
    assert "the whole does not fit together" in why.out
    assert "look" in logs.out
    assert "@final" in board.out
    assert skipped.code == 3
    assert "cannot be skipped" in skipped.text
    assert resumed.code == 0, resumed.text
    assert list_run_walks(user) == {"@final": "done"}


def test_a_red_first_walk_lets_no_step_begin(user: User) -> None:
    ready = show_folder(user) / "ready"
    write_flow(user, "preflight", f"test -f {ready}")

    blocked = user.run()
    told, why = user.status(), user.type("why", "step-1")
    ready.touch()
    resumed = user.drumline("resume")

    assert blocked.code == 2, blocked.text
    assert states_of(told) == {"step-1": "waiting", "step-2": "waiting"}
    assert "status: ready" in user.git("show", "HEAD:plans/p/step-1.md")
    assert "@preflight, which is blocked: the whole does not fit together" in why.out
    assert resumed.code == 0, resumed.text
    assert list_run_walks(user) == {"@preflight": "done", "@final": "done"}


def test_a_walk_that_is_killed_in_the_middle_is_walked_on(user: User) -> None:
    go = show_folder(user) / "go"
    write_flow(user, "final", f"until test -e {go}; do sleep 0.05; done")

    with leaving_nothing(user.folder):
        driver = user.start("run", "plans/p", "--agent", "scripted:agent.yaml", "--autonomy", "autopilot")
        wait_for(lambda: "look" in list_at_work(user), "the check of the last walk runs")
        driver.send_signal(signal.SIGKILL)
        driver.communicate()
        wait_for(lambda: user.status()["state"] == "interrupted", "what the dead driver had started is gone, too")
        go.touch()
        resumed = user.drumline("resume")

    assert resumed.code == 0, resumed.text
    assert list_run_walks(user) == {"@final": "done"}
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}


def test_a_broken_flow_of_the_run_is_refused_before_anything_begins(user: User) -> None:
    write_flow(user, "final", "true")
    file = user.repo / ".drumline" / "flows" / "final" / "graph.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("next: look", "next: lok"), encoding="utf-8")

    refused = user.run()

    assert refused.code == 3, refused.text
    assert "final/graph.yaml" in refused.text
    assert user.status() == {"ok": False}


def test_flow_validate_says_what_a_run_cannot_walk(user: User) -> None:
    write_flow(user, "final", "true")
    file = user.repo / ".drumline" / "flows" / "final" / "graph.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("start: workspace", "start: look").replace("on_pass: done", "on_pass: land"))
    with file.open("a", encoding="utf-8") as more:
        more.write("  land: {type: land, next: done}\n")

    said = user.type("flow", "validate", "final")

    assert said.code == 3
    assert "passes no `workspace` node" in said.text
    assert "lands nothing" in said.text


def write_root(user: User, words: str) -> None:
    (user.repo / "plans/p/root.md").write_text(f"# A small plan\n\n{words}\n", encoding="utf-8")


def test_the_plans_pre_flight_commands_have_to_succeed_before_the_first_agent(user: User) -> None:
    tool = show_folder(user) / "tool"
    write_root(user, f"## Pre-flight Verification\n\n- [ ] The tool is there: `test -f {tool}`\n- [ ] All is well\n")
    user.commit_all("what must hold before")

    read, preview = user.type("validate", "plans/p"), user.type("run", "plans/p", "--dry-run")
    blocked = user.run()
    told = user.status()
    tool.touch()
    resumed = user.drumline("resume")

    assert "'All is well' is not run: it has no command in backticks" in read.text
    assert f"before the first step: test -f {tool}" in preview.out
    assert blocked.code == 2, blocked.text
    assert f"@preflight blocked: test -f {tool} fails before the first step" in blocked.text
    assert "on the commit that the run began with, `drumline run --new` on what is committed by now" in blocked.text
    assert list_run_walks(user)["@preflight"] == "done"
    assert states_of(told) == {"step-1": "waiting", "step-2": "waiting"}
    assert isinstance(told["usage"], dict)
    assert told["usage"]["attempts"] == 0
    assert resumed.code == 0, resumed.text


def test_an_edit_of_the_root_file_in_mid_run_reaches_the_prompts_that_follow(user: User) -> None:
    write_root(user, "## Overview\n\nAs it was.")
    root = user.repo / "plans/p/root.md"
    edit = f"sed -i 's/As it was/As it is now/' {root}"
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": edit})
    user.commit_all("a plan with words")

    ran = user.run()

    assert ran.code == 0, ran.text
    assert "the plan was edited: what it says as a whole" in ran.err
    assert "As it was" in user.prompt("step-1")
    assert "As it is now" in user.prompt("step-2")


def test_a_step_whose_check_a_later_step_breaks_is_named_in_the_summary(tmp_path: Path) -> None:
    checks = ["grep -q one shared.txt"]
    user = make_user(
        tmp_path, step_text("step-1", checks=checks), step_text("step-2", ["step-1"], checks=["test -s b"])
    )
    user.play(
        {"match": {"step": "step-1"}, "write": {"shared.txt": "one\n"}},
        {"match": {"step": "step-2"}, "write": {"shared.txt": "two\n", "b": "b\n"}},
    )

    ran = user.run()

    assert ran.code == 2, ran.text
    assert "step-1 Make step-1: shared.txt (its check fails on the head of the run branch, after step-2)" in ran.text
    assert "drumline why step-1" in ran.text
    assert "drumline why step-2" not in ran.text
    told: Any = user.type("report", "--json").json
    assert [one["title"] for one in told["concerns"]] == [f"superseded by step-2: the check {checks[0]} fails"]
    assert "@final: node" not in ran.text


RED = "its check fails on the head of the run branch, after step-2"


def break_check(folder: Path) -> User:
    """A run whose second step breaks the check of the first, with which it shares no file."""
    checks = ["grep -q one one.txt && ! test -e two.txt"]
    user = make_user(
        folder, step_text("step-1", checks=checks), step_text("step-2", ["step-1"], checks=["test -s two.txt"])
    )
    user.play(
        {"match": {"step": "step-1"}, "write": {"one.txt": "one\n"}},
        {"match": {"step": "step-2"}, "write": {"two.txt": "two\n"}},
    )
    return user


def test_every_view_of_a_red_head_says_so_although_a_person_accepted_it(tmp_path: Path) -> None:
    user = break_check(tmp_path)

    parked = user.run()
    accepted = user.drumline("answer", "accept", "yes", "--resume")
    board, why, errors = (user.type(*words).out for words in (("status",), ("why", "step-1"), ("logs", "--errors")))

    assert (parked.code, accepted.code) == (2, 0), accepted.text
    assert "clean" not in accepted.text
    assert f"; {RED}" in why
    assert f"step-1: {RED}" in user.type("why", "@final").out
    assert f"but {RED}" in user.type("handoff", "step-1").out
    assert "✓ step-1" not in board
    assert "fails on the head, after step-2" in board
    assert "red for step-1 0/1" in board
    assert f"step-1: {RED}; accepted by" in errors
    assert "the step is done" not in errors


def test_the_report_of_a_red_head_has_a_concern_and_is_not_clean(tmp_path: Path) -> None:
    user = break_check(tmp_path)

    user.run()
    user.drumline("answer", "accept", "yes", "--resume")
    told: Any = user.type("report", "--json").json
    [concern] = told["concerns"]

    assert told["clean"] is False
    assert (concern["step"], concern["settled"], concern["by"]) == ("step-1", "accepted", "drumline")
    assert concern["title"].endswith("fails on the head of the run branch, after step-2")
    assert [chunk["testsPassed"] for chunk in told["perChunk"]] == [False, True]
    assert told["steps"][0]["fails_on_head"] == ["grep -q one one.txt && ! test -e two.txt"]
    assert f"| step-1 | Make step-1 | done: {RED} |" in user.type("report").out
    assert RED in user.type("report", "--html").out
