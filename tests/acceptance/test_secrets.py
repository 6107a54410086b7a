"""Secrets of the environment that agents and checks print are in no file that Drumline keeps."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user, write_files
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text, wait_for

HUNTER = "hunter2-hunter2-hunter2"
ENV = {"SERVICE_TOKEN": HUNTER}
GRANTED = {".drumline/config.toml": 'check_env = ["SERVICE_TOKEN"]\n[agents.command]\nenv = ["SERVICE_TOKEN"]\n'}
NODES = {
    "work": {
        "type": "agent",
        "agent": "anybody",
        "prompt": "go",
        "state_updates": {"said": "{{output}}"},
        "next": "look",
    },
    "look": {
        "type": "check",
        "checks": ["echo saw $SERVICE_TOKEN; false"],
        "into": "seen",
        "on_pass": "end",
        "on_fail": "end",
    },
    "end": {"type": "end", "output": "{{said}} {{seen}}"},
}


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1", checks=("echo saw $SERVICE_TOKEN; test -f fixed",)))
        write_files(user, GRANTED)
        yield user


def kill_once_it_leaked(user: User, *args: str) -> None:
    """Start a command, and kill it when what its agent has said is on disk; from then on agents do not wait."""
    driver = user.start(*args, env=ENV)
    state = user.repo / ".git" / "drumline" / "state.db"
    wait_for(lambda: state.exists() and bool(find_leaks(user)), "the agent has said nothing")
    driver.send_signal(signal.SIGKILL)
    driver.communicate()
    (user.folder / "go").touch()


def find_leaks(user: User) -> list[str]:
    """Files of Drumline's own that hold the secret."""
    state = user.repo / ".git" / "drumline"
    assert (state / "state.db").exists()
    files = [path for path in state.rglob("*") if path.is_file()]
    return [str(path.relative_to(state)) for path in files if HUNTER.encode() in _read(path)]


def _read(path: Path) -> bytes:
    """What is in a file; nothing if a driver at work has put its draft in place meanwhile."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def test_what_an_agent_and_a_check_of_a_plan_print_is_kept_without_secrets(user: User) -> None:
    ran = user.run(agent="command:echo I know $SERVICE_TOKEN; test -f tried && touch fixed; touch tried", env=ENV)

    assert ran.code == 0, ran.text
    assert find_leaks(user) == []
    assert HUNTER not in ran.text
    assert "I know [secret]" in user.drumline("logs", "step-1").out
    assert "saw [secret]" in user.prompt("step-1", 2)
    folders = [path.parent for path in (user.repo / ".git" / "drumline").rglob("attempt-1.log")]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700]


def test_what_a_flows_agent_and_check_print_is_kept_without_secrets(tmp_path: Path) -> None:
    with flow_user(tmp_path, {}) as user:
        write_files(user, {"f.yaml": flow_text("work", NODES), **GRANTED})

        ran = user.drumline("flow", "run", "f.yaml", "--agent", "command:echo I know $SERVICE_TOKEN", env=ENV)

        assert ran.code == 0, ran.text
        assert "I know [secret]" in ran.out
        assert "saw [secret]" in ran.out
        assert find_leaks(user) == []
        assert HUNTER not in ran.text


def test_what_a_killed_driver_left_is_redacted_when_the_step_is_taken_up_again(user: User) -> None:
    agent = f"command:echo I know $SERVICE_TOKEN; touch fixed; test -e {user.folder}/go || sleep 600"
    kill_once_it_leaked(user, "run", "plans/p", "--agent", agent, "--autonomy", "autopilot")

    ran = user.drumline("resume", env=ENV)

    assert ran.code == 0, ran.text
    assert find_leaks(user) == []


def test_what_a_killed_driver_of_a_flow_left_is_redacted_when_it_is_taken_up_again(tmp_path: Path) -> None:
    with flow_user(tmp_path, {"f.yaml": flow_text("work", NODES), **GRANTED}) as user:
        agent = f"command:echo I know $SERVICE_TOKEN; test -e {user.folder}/go || sleep 600"
        kill_once_it_leaked(user, "flow", "run", "f.yaml", "--agent", agent)

        ran = user.drumline("resume", env=ENV)

        assert ran.code == 0, ran.text
        assert find_leaks(user) == []


def test_an_agent_does_not_see_a_secret_that_nobody_granted_it(user: User) -> None:
    (user.repo / ".drumline" / "config.toml").unlink()

    ran = user.run(agent="command:echo it is ${SERVICE_TOKEN:-unknown}; touch fixed", env=ENV)

    assert ran.code == 0, ran.text
    assert "it is unknown" in user.drumline("logs", "step-1").out
