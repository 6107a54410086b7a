"""A flow with real agent programs on the real command line: a question is answered, and a loop keeps its session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import flow_text, flow_user, read_journal
from tests.acceptance.cli_user import User
from tests.agents.test_end_to_end import NAMES, equip, write_file
from tests.modelserver import ModelServer, Scenario, Turn

from drumline.core.events import AttemptStarted

FLOW = flow_text(
    "work",
    {
        "work": {
            "type": "agent",
            "agent": "default",
            "prompt": "Paint the house. Missing: {{check.failed}}",
            "session": "work",
            "next": "prove",
        },
        "prove": {"type": "check", "checks": ["test -e second.txt"], "on_pass": "done", "on_fail": "work"},
        "done": {"type": "end", "output": "painted"},
    },
    initial_state={"check": {"failed": "everything"}},
)
ASKS = Scenario(
    name="asks",
    when="Missing: everything",
    turns=(Turn(text='I have to know first.\n{"blocked": "Which colour?"}'),),
)
WORK = (
    write_file("Missing: test -e second.txt", "second.txt", "two\n"),
    write_file("The answer: blue", "first.txt", "one\n"),
    ASKS,
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with flow_user(tmp_path, {"flow.yaml": FLOW}) as user:
        yield user


@pytest.mark.parametrize("name", NAMES)
def test_a_program_asks_goes_on_with_the_answer_and_keeps_its_session_in_a_loop(name: str, user: User) -> None:
    with ModelServer(WORK) as server:
        env = equip(user, name, server)
        parked = user.drumline("flow", "run", "flow.yaml", "--agent", name, env=env)
        ran = user.drumline("answer", "work", "blue", "--resume", env=env)

    asked = [event for event in read_journal(user).events if isinstance(event, AttemptStarted)]
    assert parked.code == 2, parked.text
    assert "Which colour?" in parked.text
    assert (ran.code, ran.out) == (0, "painted\n"), ran.text
    assert [event.visit for event in asked] == [1, 1, 2]
    assert [bool(event.session) for event in asked] == [False, True, True]
    assert (user.repo / "first.txt").read_text() == "one\n"
    assert (user.repo / "second.txt").read_text() == "two\n"
