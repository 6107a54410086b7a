"""`drumline` alone, names that are nearly right, completions, and errors for programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, step_text

from drumline.cli.main import COMMANDS, main


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))


def test_without_a_command_it_says_where_things_stand_and_what_comes_next(user: User) -> None:
    before = user.drumline()
    user.run("--only", "step-1")
    landed = user.drumline()
    user.git("merge", "-q", user.branch())
    merged = user.drumline()

    assert [ran.code for ran in (before, landed, merged)] == [0, 0, 0]
    file = f"{PLAN}/root.md"
    plan = [f"unfinished plan: {file}", f"  next: drumline validate {file}, then: drumline run {file}"]
    end = "all commands: drumline --help"
    assert before.out.splitlines() == [*plan, end]
    assert "done, 1 of 1 steps done" in landed.out.splitlines()[0]
    assert landed.out.splitlines()[1:] == [f"  next: drumline merge {user.status()['run']}", *plan, end]
    assert merged.out.splitlines()[1:] == [*plan, end]


def test_without_a_command_it_tells_programs_the_same(user: User) -> None:
    before = user.drumline("--json").json
    user.run("--only", "step-1")
    landed = user.drumline("--json").json
    misplaced = user.drumline("--json", "status")

    run = landed["run"]
    assert isinstance(run, dict)
    assert (before["run"], before["next"]) == (None, [f"drumline run {PLAN}/root.md"])
    assert (run["state"], landed["next"]) == ("done", [f"drumline merge {run['run']}"])
    assert (misplaced.code, "--json goes after the command" in misplaced.err) == (3, True)


def test_a_run_that_waits_for_a_person_names_the_answer_and_not_the_plan(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "ask": "Tabs or spaces?"})
    user.run()

    lines = user.drumline().out.splitlines()

    assert "parked" in lines[0]
    assert lines[1].startswith("  next: drumline answer question-step-1 ")
    assert lines[2:] == ["all commands: drumline --help"]


def test_outside_a_repository_and_without_a_plan_it_says_how_to_begin(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bare, fresh = tmp_path / "bare", tmp_path / "fresh"
    for folder in (bare, fresh):
        folder.mkdir()
    user.git("init", "-q", cwd=fresh)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))

    for folder in (bare, fresh):
        monkeypatch.chdir(folder)
        assert main([]) == 0

    told = capsys.readouterr().out
    assert "  next: git init\n" in told
    assert "no run and no plan here yet\n  next: drumline do 'WHAT TO DO'" in told


def test_names_that_are_nearly_right_are_asked_about(user: User) -> None:
    unknown = user.drumline("run", PLAN, "--step", "stepp-2", "--dry-run")
    user.run()
    run = str(user.status()["run"])

    told = [
        user.drumline("stauts"),
        user.drumline("why", "stpe-1"),
        user.drumline("logs", "stpe-1"),
        user.drumline("status", f"{run[:-1]}!"),
        unknown,
    ]

    assert [ran.code for ran in told] == [3] * 5
    for ran, meant in zip(told, ("status", "step-1", "step-1", run, "step-2"), strict=True):
        assert f"id you mean '{meant}'?" in ran.err
    assert "mean" not in user.drumline("status", "zzz").err


def test_what_cannot_be_typed_so_is_an_object_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--jobs", "--json"]) == 3

    told = capsys.readouterr()
    error = json.loads(told.out)["error"]
    assert error["message"].startswith("No such option '--jobs'")
    assert (error["hint"], error["exit_code"]) == ("drumline status --help", 3)
    assert "No such option '--jobs'" in told.err


def test_a_watched_run_is_told_as_objects(user: User) -> None:
    user.run()

    watched = user.drumline("attach", "--json")

    assert watched.code == 0
    assert watched.err == ""
    assert watched.lines[0]["event"] == "start"
    assert watched.lines[-1] == user.status() | {"schema_version": 1}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["completions", shell]) == 0

    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    assert f"_DRUMLINE_COMPLETE={shell}_complete" in script.read_text()
    if shutil.which(shell):
        assert subprocess.run([shell, "-n", script]).returncode == 0


def test_commands_options_runs_and_steps_are_completed(user: User) -> None:
    user.run()

    def complete(*words: str) -> list[str]:
        asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
        ran = user.drumline(env={**asked, "_DRUMLINE_COMPLETE": "bash_complete"})
        return [line.partition(",")[2] for line in ran.out.splitlines()]

    assert complete("drumline", "") == list(COMMANDS)
    assert complete("drumline", "st") == ["status"]
    assert "--errors" in complete("drumline", "logs", "--e")
    assert complete("drumline", "why", "step") == ["step-1", "step-2"]
    assert complete("drumline", "status", "") == [user.status()["run"]]
    assert complete("drumline", "validate", "pl") == ["pl"]


def test_where_nothing_ran_there_is_nothing_to_complete(user: User) -> None:
    asked = {"COMP_WORDS": "drumline\nstatus\n", "COMP_CWORD": "2", "_DRUMLINE_COMPLETE": "bash_complete"}

    ran = user.drumline(env={**os.environ, **user.env, **asked})

    assert (ran.out.strip(), ran.err) == ("", "")
