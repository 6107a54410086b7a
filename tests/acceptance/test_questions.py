"""Any command can be an agent that asks, in a plan and in a flow: the run parks, and the answer goes in on stdin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, write_files
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, step_of, step_text

AGENT = """#!/bin/sh
if grep -q 'The answer: blue'; then
  echo blue > step-1.txt
  echo All done.
else
  echo 'The step does not say it.'
  echo '{"blocked": "Which colour?", "options": ["blue", "red"]}'
fi
"""

FLOW = flow_text(
    "paint",
    {
        "paint": {"type": "agent", "agent": "default", "prompt": "Paint it.", "next": "look"},
        "look": {"type": "check", "checks": ["grep -q blue step-1.txt"], "on_pass": "done", "on_fail": "bad"},
        "done": {"type": "end", "output": "painted"},
        "bad": {"type": "end", "status": "failed"},
    },
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=("grep -q blue step-1.txt",)))


def test_a_command_that_ends_with_a_question_is_blocked_until_a_person_answers(user: User) -> None:
    agent = user.folder / "agent.sh"
    agent.write_text(AGENT)

    parked = user.run(agent=f"command:sh {agent}")
    before = user.status()
    answered = user.drumline("answer", "question-step-1", "blue", "--resume")

    assert (parked.code, gates_of(before)) == (2, ["question-step-1"]), parked.text
    assert "Which colour?\n(options: blue, red)" in str(before["gates"]).replace("\\n", "\n")
    assert answered.code == 0, answered.text
    assert user.landed("step-1.txt") == "blue"
    assert step_of(user.status(), "step-1")["attempts"] == 2
    assert "failed" not in user.prompt("step-1", attempt=2)


def test_a_command_asks_in_a_flow_as_well(user: User) -> None:
    agent = user.folder / "agent.sh"
    agent.write_text(AGENT)
    write_files(user, {"paint.yaml": FLOW})

    parked = user.drumline("flow", "run", "paint.yaml", "--agent", f"command:sh {agent}")
    gates = gates_of(user.status())
    answered = user.drumline("answer", "paint", "blue", "--resume")

    assert (parked.code, gates) == (2, ["paint"]), parked.text
    assert (answered.code, answered.out) == (0, "painted\n"), answered.text
