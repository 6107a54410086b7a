"""What checks come to through the command line: programs that are not there, networks, and what checks leave behind."""

from __future__ import annotations

import os
from pathlib import Path

from tests.acceptance.cli_flows import flow_text, flow_user, run_flow
from tests.acceptance.cli_user import User, make_user, step_text

OFFLINE = "echo 'curl: (6) Could not resolve host: registry.acme.io' >&2; exit 6"


def install(user: User, name: str, text: str = "exit 0") -> dict[str, str]:
    """Put a program on a PATH of its own; the environment that has it."""
    folder = user.folder / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def test_a_missing_program_blocks_a_step_and_its_work_is_only_checked_again(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("frobnicate --all",)), step_text("step-2", ["step-1"]))

    ran = user.run()
    blocked = user.step("step-1")
    why = user.drumline("why", "step-1")
    resumed = user.drumline("resume", env=install(user, "frobnicate", "test -f step-1.txt"))

    assert ran.code == 2, ran.text
    assert (blocked["state"], blocked["attempts"]) == ("blocked", 1)
    assert "a program that the check needs cannot be run here" in why.text
    assert "frobnicate: command not found" in why.text
    assert "drumline retry step-1" in why.text
    assert resumed.code == 0, resumed.text
    step = user.step("step-1")
    assert (step["state"], step["proved"], step["attempts"]) == ("done", True, 1)


def test_a_script_that_the_step_was_to_create_is_the_steps_own_failure(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("bash ./check.sh",)))
    user.play({"match": {"step": "step-1", "attempt": 2}, "write": {"check.sh": "exit 0\n"}})

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.step("step-1")["attempts"] == 2


def test_a_network_that_comes_back_costs_nothing(tmp_path: Path) -> None:
    once = f"test -f step-1.txt && {{ test -e ../../../seen || {{ touch ../../../seen; {OFFLINE}; }}; }}"
    user = make_user(tmp_path, step_text("step-1", checks=(once,)))

    ran = user.run(env={"DRUMLINE_CHECK_FOLDERS": str(tmp_path)})

    assert ran.code == 0, ran.text
    assert "the check could not reach the network (curl: (6) Could not resolve host: registry.acme.io)" in ran.text
    step = user.step("step-1")
    assert (step["attempts"], step["proved"]) == (1, True)


FLOW = flow_text(
    "look",
    {
        "look": {"type": "check", "checks": ["frobnicate --all"], "on_pass": "good", "on_fail": "fix"},
        "fix": {"type": "agent", "agent": "default", "prompt": "fix it", "next": "look"},
        "good": {"type": "end", "output": "good"},
    },
)
PLAY = "rules: []\ndefault: {write: {fixed.txt: 'x'}}\n"


def test_a_missing_program_blocks_a_flow_without_asking_its_agent_and_a_resume_visits_it_again(tmp_path: Path) -> None:
    with flow_user(tmp_path, {"f.yaml": FLOW, "play.yaml": PLAY}) as user:
        ran = run_flow(user, "f.yaml")
        status = user.drumline("status", "--json").json
        why = user.drumline("why", "look")
        again = user.drumline("resume")
        resumed = user.drumline("resume", env=install(user, "frobnicate"))

        assert ran.code == 2, ran.text
        assert status["state"] == "blocked"
        assert "frobnicate: command not found" in why.text
        assert "drumline resume" in why.text
        assert not (user.repo / "fixed.txt").exists()
        assert again.code == 2, again.text
        assert resumed.code == 0, resumed.text
        assert resumed.out == "good\n"


def test_what_a_check_drops_is_not_landed_and_is_named_once_and_a_check_that_changes_files_proves_nothing(
    tmp_path: Path,
) -> None:
    drop = "test -f step-1.txt && mkdir -p src/__pycache__ && touch src/__pycache__/x.pyc"
    change = "date +%N > README.md"
    user = make_user(
        tmp_path,
        step_text("step-1", checks=(drop,)),
        step_text("step-2", ["step-1"], checks=(drop, change)),
    )

    ran = user.run("--require", "none")

    assert ran.code == 0, ran.text
    assert (user.step("step-1")["proved"], user.step("step-2")["proved"]) == (True, False)
    assert ran.text.count("which were removed: src/__pycache__/; add what belongs to no commit to .gitignore") == 1
    assert user.step("step-2")["reason"] == (
        f"landed, but only 1 of its 2 checks could be run ({change} changes the tree)"
    )
    assert "changes the tree, so it proves nothing; files restored: README.md" in user.drumline("why", "step-2").text
    assert user.landed("README.md") == "hello"
    assert "__pycache__" not in user.git("ls-tree", "-r", "--name-only", user.branch())


def test_what_an_agent_drops_by_running_tests_itself_is_not_landed_either(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("test -f a.py && touch .coverage && date +%N > .coverage",)))
    user.play({"match": {"step": "step-1"}, "write": {"a.py": "x = 1\n", ".coverage": "1", "__pycache__/a.pyc": "1"}})

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.step("step-1")["proved"] is True
    landed = user.git("ls-tree", "-r", "--name-only", user.branch()).splitlines()
    assert "a.py" in landed
    assert not {".coverage", "__pycache__/a.pyc"} & {*landed}


def test_a_check_cannot_pass_because_of_what_an_agent_dropped_and_does_not_land(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=("test -s .coverage",)))
    user.play({"match": {"step": "step-1"}, "write": {"a.py": "x = 1\n", ".coverage": "1"}})

    ran = user.run("--retries", "0")

    assert ran.code != 0, ran.text
    assert user.step("step-1")["state"] != "done"
    assert "left files that git does not ignore" not in ran.text


LITTER = flow_text(
    "look",
    {
        "look": {
            "type": "check",
            "checks": ["touch dropped.log", "date +%N > kept.txt"],
            "on_pass": "good",
            "on_fail": "bad",
        },
        "good": {"type": "end", "output": "{{check.results}}"},
        "bad": {"type": "end", "output": "bad", "status": "failed"},
    },
)


def test_in_a_worktree_of_ours_a_flows_check_leaves_nothing_and_what_it_changes_is_restored(tmp_path: Path) -> None:
    with flow_user(tmp_path, {"f.yaml": LITTER, "kept.txt": "as it was\n"}) as user:
        ran = user.drumline("flow", "run", "f.yaml", "--worktree")

        assert ran.code == 0, ran.text
        assert '"state":"void"' in ran.out.replace(" ", "")
        assert "which were removed: dropped.log; add what belongs to no commit to .gitignore" in ran.err
        assert "changes the tree, so it proves nothing; files restored: kept.txt" in ran.err
        branches = user.git("branch", "--list", "drumline/*", "--format", "%(refname:short)").split()
        assert all("dropped.log" not in user.git("ls-tree", "--name-only", branch) for branch in branches)
        assert (user.repo / "kept.txt").read_text() == "as it was\n"


def test_in_the_users_own_folder_a_flows_check_is_only_told_of(tmp_path: Path) -> None:
    with flow_user(tmp_path, {"f.yaml": LITTER, "kept.txt": "as it was\n"}) as user:
        (user.repo / "mine.txt").write_text("mine\n")

        ran = user.drumline("flow", "run", "f.yaml")

        assert ran.code == 0, ran.text
        assert "void" not in ran.out
        assert "(they stay, because this is your folder): dropped.log; add what belongs" in ran.err
        assert "changed files (they stay, because this is your folder): kept.txt" in ran.err
        assert (user.repo / "dropped.log").exists()
        assert (user.repo / "kept.txt").read_text() != "as it was\n"
        assert "mine.txt" not in ran.err
