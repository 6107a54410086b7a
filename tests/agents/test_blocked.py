"""Real programs that cannot go on without a person: they ask, the run parks, and the answer is in the next prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, states_of, step_of, step_text
from tests.agents.agent_fixture import assign, open_office
from tests.agents.test_conformance import SUBJECTS
from tests.agents.test_end_to_end import equip
from tests.modelserver import ModelServer, Run, Scenario, Turn, Use, Write

from drumline.agents.asking import ConnectedAgent
from drumline.core.blocked import OFFER
from drumline.engine.questions import AskingAgent
from drumline.ports.agents import Agent
from drumline.profiles import McpServer
from drumline.record import replace

NAMES = ("claude", "codex")
OFFERING = {"claude": "claude", "codex": "codex:scripted"}
"""With these the tools of servers are offered at once."""
QUESTION = "Which greeting does the file need?"
LINE = '{"blocked": "Which greeting does the file need?", "options": ["hello", "welcome"]}'
GATE = "question-step-1"
HALF = Turn(text="I begin.", calls=(Write(path="half.txt", content="half\n"),))
DECIDED = Scenario(
    name="decided",
    when="The answer: welcome aboard",
    turns=(Turn(calls=(Write(path="step-1.txt", content="welcome aboard\n"),)), Turn(text="All done.")),
)
ASKS_BY_LINE = Scenario(name="asks", when="(step-1)", turns=(HALF, Turn(text=f"It is not said.\n\n{LINE}")))


def ask_by_tool(tool: str = "ask_person") -> Scenario:
    """The model uses the tool of ours, under the name that the agent has for it."""
    call = Use(tool=tool, arguments={"question": QUESTION, "options": ["hello", "welcome"]})
    return Scenario(name="asks", turns=(HALF, Turn(calls=(call,)), Turn(text="I wait.")))


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=("grep -q welcome step-1.txt",)))


def answer_and_resume(user: User, agent: str, asks: Scenario) -> str:
    """Run the plan to its question, answer it, drive on to the end; what the last prompt was."""
    with ModelServer([DECIDED, asks]) as server:
        env = equip(user, agent.partition(":")[0], server)
        parked = user.run(agent=agent, env=env)
        before = user.status()
        answered = user.drumline("answer", GATE, "welcome aboard", "--resume", env=env)

    assert (parked.code, gates_of(before), states_of(before)) == (2, [GATE], {"step-1": "parked"}), parked.text
    assert QUESTION in parked.text
    assert answered.code == 0, answered.text
    return user.prompt("step-1", attempt=2)


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_parks_at_a_programs_question_and_goes_on_with_the_answer(name: str, user: User) -> None:
    prompt = answer_and_resume(user, name, ASKS_BY_LINE)

    assert QUESTION in prompt
    assert "(options: hello, welcome)" in prompt
    assert "The answer: welcome aboard" in prompt
    assert user.landed("step-1.txt") == "welcome aboard"
    assert user.landed("half.txt") == "half"
    assert (step_of(user.status(), "step-1")["attempts"], states_of(user.status())) == (2, {"step-1": "done"})


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_parks_at_a_question_asked_with_the_tool(name: str, user: User) -> None:
    (user.repo / ".drumline").mkdir()
    (user.repo / ".drumline" / "config.toml").write_text('questions = "tool"\n')

    prompt = answer_and_resume(user, OFFERING[name], replace(ask_by_tool(), when="(step-1)"))

    assert "The answer: welcome aboard" in prompt
    assert user.landed("step-1.txt") == "welcome aboard"
    assert states_of(user.status()) == {"step-1": "done"}


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_agent_is_blocked_by_a_last_line_that_asks(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = Scenario(turns=(Turn(calls=(Run(command="ls"),)), Turn(text=f"It is not said.\n{LINE}")))
    with ModelServer([asks]) as server:
        office = open_office(tmp_path, monkeypatch, name, server)
        agent = AskingAgent(agent=office.agent)
        outcome = anyio.run(agent.work, assign(office.workspace, office.log, prompt=f"Greet.\n\n{OFFER}"))

    assert outcome.failure == "", outcome.message
    assert outcome.question == f"{QUESTION}\n(options: hello, welcome)"


@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if subject.serves])
def test_every_agent_that_takes_servers_is_blocked_by_what_it_asked_with_the_tool(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = SUBJECTS[name].tool.replace("tracker", "person").replace("close", "ask_person")
    with ModelServer([ask_by_tool(tool)]) as server:
        office = open_office(tmp_path, monkeypatch, name, server)

        def open_with(*, servers: Mapping[str, McpServer]) -> Agent:
            return replace(office.agent, servers=servers)

        agent = ConnectedAgent(open=open_with, servers={})
        given = assign(
            office.workspace, office.log, prompt=f"Greet.\n\n{OFFER}", model=SUBJECTS[name].model, timeout=200.0
        )
        outcome = anyio.run(agent.work, given)

    assert outcome.failure == "", outcome.message
    assert outcome.question == f"{QUESTION}\n(options: hello, welcome)"
    assert [path.name for path in office.log.parent.iterdir() if "asked" in path.name] == []
