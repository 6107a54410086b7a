"""A program of our own that reaches nobody, or is let in nowhere: it is stopped, and people are told what to type."""

from __future__ import annotations

from pathlib import Path

import anyio
from tests.integration.test_cli_agent import PLAIN, assign, say
from tests.supervision import supervise

from drumline.agents.cli import CliAgent
from drumline.ports.agents import Outcome
from drumline.record import replace

WAITS = say(kind="notice", text="Reconnecting... waiting for network (no route)")
PROGRAM = replace(PLAIN, offline=("waiting for network",), login="plain login")


def work(folder: Path, prompt: str, **limits: float) -> Outcome:
    """Let the program do what the prompt says."""
    agent = CliAgent(program=PROGRAM, executable=Path("bash"), processes=supervise(folder))
    return anyio.run(agent.work, assign(folder, prompt, **limits))


def test_a_program_that_only_waits_for_the_network_is_stopped_though_it_is_not_silent(tmp_path: Path) -> None:
    outcome = work(tmp_path, f"while true; do\n{WAITS}sleep 0.3\ndone", idle=2.0)

    assert outcome.failure == "transient"
    assert "it cannot reach its service: Reconnecting... waiting for network (no route)" in outcome.message


def test_a_program_whose_network_comes_back_goes_on(tmp_path: Path) -> None:
    outcome = work(tmp_path, f"{WAITS}sleep 0.5\n{WAITS}{say(kind='command', text='make')}{say(done='ok')}", idle=20.0)

    assert (outcome.failure, outcome.message) == ("", "ok")


def test_a_timeout_tells_that_it_was_waiting_for_the_network(tmp_path: Path) -> None:
    outcome = work(tmp_path, f"{WAITS}sleep 60", timeout=3.0)

    assert "timed out after 3 s" in outcome.message
    assert "waiting for network (no route)" in outcome.message


def test_who_is_not_let_in_is_told_how_to_log_in_also_if_it_said_so_on_stdout(tmp_path: Path) -> None:
    outcome = work(tmp_path, "echo 'error: No provider configured.'; exit 1")

    assert outcome.failure == "auth"
    assert outcome.message.startswith("log in with `plain login`; it said: ended with exit code 1")
    assert outcome.message.endswith("error: No provider configured.")


def test_any_other_failure_has_nothing_to_do_with_the_login(tmp_path: Path) -> None:
    outcome = work(tmp_path, "echo oops; exit 1")

    assert outcome.failure == "crash"
    assert "plain login" not in outcome.message
