"""What checks come to through the command line: programs that are not there, networks, and what checks leave behind."""

from __future__ import annotations

import os
from pathlib import Path

from tests.acceptance.flowland import flow_text, flow_user, run_flow
from tests.acceptance.userland import User, make_user, step_text

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
    resumed = user.drumline("resume", env=install(user, "frobnicate"))

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
    once = f"test -e ../../../seen || {{ touch ../../../seen; {OFFLINE}; }}"
    user = make_user(tmp_path, step_text("step-1", checks=(once,)))

    ran = user.run()

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
