"""Real programs that nobody has logged in: that is told at once, with what to type, and another agent takes over."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, write_files
from tests.acceptance.cli_user import PLAN, SCRIPTED, Ran, User, leaving_nothing, make_user, states_of, step_text
from tests.agents.programs import find_entry

LOGINS: Mapping[str, str] = {
    "claude": "claude auth login",
    "gemini": "gemini",
    "qwen": "qwen",
    "goose": "goose configure",
}
NAMES = tuple(LOGINS)
FLOW = flow_text(
    "work",
    {
        "work": {"type": "agent", "agent": "default", "prompt": "Paint the house.", "next": "done"},
        "done": {"type": "end", "output": "painted"},
    },
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def type_fresh(user: User, name: str, *words: str) -> Ran:
    """Type a command where the program is installed, and its home is empty."""
    entry = find_entry(name)
    assert entry is not None
    # Claude Code refuses to skip its questions as root anywhere else; goose would ask a keyring.
    env = {"PATH": f"{entry.parent}{os.pathsep}{user.env['PATH']}", "IS_SANDBOX": "1", "GOOSE_DISABLE_KEYRING": "1"}
    return user.drumline(*words, env=env)


@pytest.mark.parametrize("name", NAMES)
def test_a_trial_says_how_to_log_in(name: str, user: User) -> None:
    tried = type_fresh(user, name, "agents", "test", name)

    assert tried.code == 1
    assert "auth: " in tried.text
    assert f"next: {LOGINS[name]}\n" in tried.text


@pytest.mark.parametrize("name", NAMES)
def test_a_run_says_how_to_log_in_and_to_try_again(name: str, user: User) -> None:
    ran = type_fresh(user, name, "run", PLAN, "--agent", name, "--autonomy", "autopilot")
    why = user.drumline("why", "step-1").text

    again = f"{LOGINS[name]} && drumline retry step-1"
    assert states_of(user.status()) == {"step-1": "blocked"}, ran.text
    assert f"the agent is not logged in: log in with `{LOGINS[name]}`" in why
    assert f"next: {again}" in why
    assert f"→ {again}" in ran.text
    assert again in ran.text.partition("not done")[2]


@pytest.mark.parametrize("name", NAMES)
def test_a_flow_says_how_to_log_in_and_to_resume(name: str, user: User) -> None:
    write_files(user, {"flow.yaml": FLOW})

    ran = type_fresh(user, name, "flow", "run", "flow.yaml", "--agent", name)
    why = user.drumline("why").text

    again = f"{LOGINS[name]} && drumline resume "
    assert ran.code == 2, ran.text + why
    assert f"next:\n  {again}" in ran.text, ran.text + why
    assert f"next: {again}" in why


@pytest.mark.parametrize("name", NAMES)
def test_the_next_agent_takes_over_at_once(name: str, user: User) -> None:
    write_files(user, {".drumline/config.toml": f'fallback = ["{SCRIPTED}"]\n'})

    ran = type_fresh(user, name, "run", PLAN, "--agent", name, "--autonomy", "autopilot")

    assert ran.code == 0, ran.text
    assert f"the agent is not logged in; {SCRIPTED} takes over with attempt 2" in ran.text
    assert states_of(user.status()) == {"step-1": "done"}
