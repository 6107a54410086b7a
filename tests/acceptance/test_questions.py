"""Any command can be an agent that asks: the run parks, the answer goes in on its standard input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.userland import User, gates_of, leaving_nothing, make_user, step_of, step_text

AGENT = """#!/bin/sh
if grep -q 'The answer: blue'; then
  echo blue > step-1.txt
  echo All done.
else
  echo 'The step does not say it.'
  echo '{"blocked": "Which colour?", "options": ["blue", "red"]}'
fi
"""


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
