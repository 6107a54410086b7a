"""An agent that asks leave for a tool nobody knows: the run parks, and what a person answers decides about the tool."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, write_files
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, step_of, step_text
from tests.integration import acpactor

# What the actor is answered it notes in a file of its workspace.
STEPS = [{"ask": {"kind": "other", "title": "Deploy to: the moon"}}, {"say": "That is all."}]
FLOW = flow_text(
    "ship",
    {
        "ship": {"type": "agent", "agent": "default", "prompt": "Ship it.", "next": "look"},
        "look": {"type": "check", "checks": ["test -s answers"], "on_pass": "done", "on_fail": "bad"},
        "done": {"type": "end", "output": "shipped"},
        "bad": {"type": "end", "status": "failed"},
    },
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=("test -s answers",)))


def hire(user: User) -> str:
    """The actor as an agent; the folder named after it is its own, in a jail, too."""
    memory = user.folder / "home" / ".acpactor"
    memory.mkdir()
    (memory / "steps.json").write_text(json.dumps(STEPS))
    return "acp:" + shlex.join([sys.executable, acpactor.__file__, str(memory)])


@pytest.mark.parametrize(("said", "given"), [("yes", "yes"), ("no, never", "no")])
def test_a_tool_is_used_in_the_next_attempt_if_a_person_said_yes(user: User, said: str, given: str) -> None:
    parked = user.run(agent=hire(user))
    before = user.status()
    answered = user.drumline("answer", "question-step-1", said, "--resume")

    assert (parked.code, gates_of(before)) == (2, ["question-step-1"]), parked.text
    assert "May it use Deploy to: the moon?" in str(before["gates"])
    assert answered.code == 0, answered.text
    assert user.landed("answers").split() == ["no", given]
    assert step_of(user.status(), "step-1")["attempts"] == 2


def test_a_yes_holds_in_a_flow_as_well(user: User) -> None:
    write_files(user, {"ship.yaml": FLOW})

    parked = user.drumline("flow", "run", "ship.yaml", "--agent", hire(user))
    gates = gates_of(user.status())
    answered = user.drumline("answer", "ship", "yes", "--resume")

    assert (parked.code, gates) == (2, ["ship"]), parked.text
    assert (answered.code, answered.out) == (0, "shipped\n"), answered.text
    assert (user.repo / "answers").read_text().split() == ["no", "yes"]
