"""An agent that ends with a question is blocked, whichever agent it is; nothing else makes it so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.cli import CliAgent
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.core.blocked import OFFER
from drumline.core.flow.model import Json
from drumline.core.ids import RunId, StepId
from drumline.engine.questions import AskingAgent
from drumline.ports.agents import Agent, Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

LINE = '{"blocked": "Tabs or spaces?"}'
SAID = f"I looked at both.\n{LINE}"
SCHEMA: Mapping[str, Json] = {"type": "object"}

MakeAgent = Callable[[str], Agent]


class LastLine:
    """Reads the one event of the stand-in."""

    def __init__(self, assignment: Assignment) -> None:
        self._said = ""

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        self._said = str(event["said"])
        return ()

    def conclude(self, ended: Ended) -> Outcome:
        return Outcome(message=self._said)


def make_stand_in(said: str) -> Program:
    """A program whose only event is what it has to say."""

    def build(assignment: Assignment, setting: Setting) -> Launch:
        return Launch(argv=("printf", "%s\n", json.dumps({"said": said})))

    return Program(name="plain", executables=("printf",), build=build, open_reader=LastLine, abilities=Abilities())


@pytest.fixture(params=["command", "scripted", "program"])
def make_agent(request: pytest.FixtureRequest, tmp_path: Path) -> MakeAgent:
    """Opens the agent under test with what it is going to say."""
    processes = supervise(tmp_path)

    def make(said: str) -> Agent:
        (tmp_path / "said.txt").write_text(said)
        (tmp_path / "play.yaml").write_text(json.dumps({"default": {"say": said}}))
        if request.param == "program":
            return CliAgent(program=make_stand_in(said), executable=Path("printf"), processes=processes)
        spec = {"scripted": "scripted:play.yaml", "command": f"command:cat {tmp_path}/said.txt"}[request.param]
        return open_agent(spec, processes=processes, base=tmp_path)

    return make


def assign(folder: Path, *, prompt: str = f"Indent it.\n\n{OFFER}", **fields: Any) -> Assignment:
    """An assignment that lets the agent ask, unless its prompt is another."""
    (folder / "work").mkdir()
    return Assignment(
        run=RunId("r1"),
        step=StepId("step-1"),
        node="implement",
        attempt=1,
        prompt=prompt,
        prompt_file=folder / "prompt.md",
        workspace=folder / "work",
        log=folder / "work.log",
        **{"timeout": 60.0, "may_ask": OFFER in prompt, **fields},
    )


def test_a_last_line_that_asks_makes_the_outcome_blocked_and_not_failed(make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = AskingAgent(agent=make_agent(SAID))

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert (outcome.failure, outcome.question) == ("", "Tabs or spaces?")
    assert outcome.message == SAID


def test_one_that_only_speaks_of_it_is_not_blocked(make_agent: MakeAgent, tmp_path: Path) -> None:
    agent = AskingAgent(agent=make_agent(f"{LINE}\nNo need to ask, the file says it."))

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert outcome.question == ""


@pytest.mark.parametrize("fields", [{"prompt": "Indent it."}, {"output_schema": SCHEMA}])
def test_the_line_is_an_answer_like_any_other_where_asking_was_not_offered(
    fields: dict[str, Any], make_agent: MakeAgent, tmp_path: Path
) -> None:
    agent = AskingAgent(agent=make_agent(SAID))

    outcome = anyio.run(agent.work, assign(tmp_path, **fields))

    assert (outcome.question, outcome.message) == ("", SAID)


@dataclass(frozen=True, kw_only=True, slots=True)
class Concluding:
    """Has concluded already."""

    outcome: Outcome

    async def work(self, assignment: Assignment) -> Outcome:
        return self.outcome


@pytest.mark.parametrize(
    "outcome",
    [
        pytest.param(Outcome(failure="crash", message=SAID), id="failed"),
        pytest.param(Outcome(question="May it use the network?", message=SAID), id="asked in its own way"),
    ],
)
def test_what_failed_or_asked_already_stays_as_it_is(outcome: Outcome, tmp_path: Path) -> None:
    agent = AskingAgent(agent=Concluding(outcome=outcome))

    concluded = anyio.run(agent.work, assign(tmp_path))

    assert concluded == outcome


REPORT = "# Task Report\n\n- Status: failure\n- Errors: no compiler\n"
BLOCKER = "## Blockers\n\n- BLOCKER: Which port?\n"


def test_a_report_against_itself_is_a_failed_attempt_whether_or_not_asking_was_offered(tmp_path: Path) -> None:
    agent = AskingAgent(agent=Concluding(outcome=Outcome(message=REPORT, session="s")))

    assignment = assign(tmp_path)
    offered = anyio.run(agent.work, assignment)
    plain = anyio.run(agent.work, replace(assignment, prompt="Indent it."))

    assert offered == plain
    assert (offered.failure, offered.question, offered.session) == ("validation", "", "s")
    assert "no compiler" in offered.message


def test_a_blocker_is_a_question_with_its_text(tmp_path: Path) -> None:
    agent = AskingAgent(agent=Concluding(outcome=Outcome(message=BLOCKER)))

    outcome = anyio.run(agent.work, assign(tmp_path))

    assert outcome.failure == ""
    assert "Which port?" in outcome.question


@pytest.mark.parametrize("fields", [{"self_report": False}, {"output_schema": SCHEMA}])
def test_a_report_that_somebody_else_judges_is_an_answer_like_any_other(fields: dict[str, Any], tmp_path: Path) -> None:
    said = Outcome(message=REPORT)
    agent = AskingAgent(agent=Concluding(outcome=said))

    assert anyio.run(agent.work, assign(tmp_path, **fields)) == said
