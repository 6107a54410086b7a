"""An agent whose time is up continues with what is left: its work is kept, the checks say what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import User, make_user, step_of, step_text

CHECKS = ("grep -q one step-1.txt", "grep -q two step-1.txt")
SLOW = {"match": {"step": "step-1"}, "write": {"step-1.txt": "one\n"}, "run": "sleep 60"}


@pytest.fixture
def user(tmp_path: Path) -> User:
    user = make_user(tmp_path, step_text("step-1", checks=CHECKS))
    write_files(user, {".drumline/config.toml": "agent_timeout = 1\n"})
    return user


def test_an_agent_out_of_time_is_asked_for_what_is_left_and_uses_up_no_fix(user: User) -> None:
    items = "- [ ] It says one: `grep -q one step-1.txt`\n- [ ] It says two\n"
    user.edit("step-1", "## Overview", f"## Acceptance criteria\n\n{items}\n## Overview")
    user.commit_all("criteria")
    user.play(
        {**SLOW, "match": {"step": "step-1", "attempt": 1}},
        {"match": {"step": "step-1"}, "write": {"step-1.txt": "one\ntwo\n"}},
    )

    ran = user.run()

    step, prompt = step_of(user.status(), "step-1"), user.prompt("step-1", 2)
    assert ran.code == 0, ran.text
    assert (step["attempts"], step["fixes"], step["proved"]) == (2, 0, True)
    assert "timed out after 1 s; the last thing it did: run sleep 60" in prompt
    assert "step-1: the agent's time was up" in ran.err
    assert "fix 1 of 2" not in ran.err
    assert "Do only what is left. These checks pass already: `grep -q one step-1.txt`." in prompt
    assert "No check has shown these acceptance criteria yet:\n\n- It says two\n\n" in prompt
    assert "An earlier attempt failed this check: `grep -q two step-1.txt`" in prompt
    assert "what attempt 1 had changed is kept: git show" in user.drumline("why", "step-1").out


@pytest.mark.long
def test_an_agent_that_is_always_out_of_time_is_asked_three_times(user: User) -> None:
    user.play(SLOW)

    ran = user.run()

    step = step_of(user.status(), "step-1")
    assert ran.code == 2, ran.text
    assert (step["state"], step["attempts"], step["fixes"]) == ("blocked", 3, 0)
    assert "the agent's time was up, 3 times: " in str(step["reason"])
