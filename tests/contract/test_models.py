"""What everyone who answers questions promises: one body of tests, and for each its own way to be told what to say."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.jail import find_jail
from drumline.core.ids import RunId
from drumline.isolation.scratch import name_temp
from drumline.models.agency import AgentModels, ScriptedModels
from drumline.models.providers import PydanticModels
from drumline.ports.agents import Agent
from drumline.ports.models import Answer, Models, Question
from drumline.ports.processes import Processes
from drumline.profiles import Grant
from drumline.record import replace
from drumline.testing.models import FakeModels

# What whoever is asked shall do: an act of a script, and a shell command for an agent.
BEHAVIOURS: dict[str, tuple[dict[str, object], str]] = {
    "speaks": ({"say": "all done"}, "echo all done"),
    "is busy": ({"fail": {"class": "transient", "message": "429 later"}}, "echo 429 later; exit 75"),
    "says nothing": ({"say": ""}, "true"),
    "takes long": ({"sleep": 60}, "exec sleep 60"),
}

JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
MakeModels = Callable[[str], Models]


async def play_fake(behaviour: str) -> Answer:
    """The fake's way to behave."""
    if behaviour == "takes long":
        await anyio.sleep(60)
    if behaviour == "is busy":
        return Answer(failure="transient", message="429 later")
    if behaviour == "says nothing":
        return Answer(failure="transient", message="produced no output")
    return Answer(text="all done")


def play_model(behaviour: str) -> FunctionModel:
    """A model of pydantic-ai that behaves so."""

    async def answer(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        if behaviour == "takes long":
            await anyio.sleep(60)
        if behaviour == "is busy":
            raise ModelHTTPError(429, "played", "later")
        return ModelResponse(parts=[TextPart("" if behaviour == "says nothing" else "all done")])

    return FunctionModel(answer)


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return supervise(tmp_path)


@pytest.fixture(params=["fake", "pydantic", "scripted", "agent"])
def make_models(request: pytest.FixtureRequest, tmp_path: Path, processes: Processes) -> MakeModels:
    """Opens whoever is under test with one of the behaviours."""

    def make(behaviour: str) -> Models:
        act, command = BEHAVIOURS[behaviour]
        (tmp_path / "play.yaml").write_text(json.dumps({"default": act}))

        def open_one(spec: str) -> Agent:
            return open_agent(spec, processes=processes, base=tmp_path)

        def answer(_question: Question) -> Awaitable[Answer]:
            return play_fake(behaviour)

        makers: dict[str, Callable[[], Models]] = {
            "fake": lambda: FakeModels(answer),
            "pydantic": lambda: PydanticModels(processes=processes, find_model=lambda _name: play_model(behaviour)),
            "scripted": lambda: ScriptedModels(spec="scripted:play.yaml", open_agent=open_one),
            "agent": lambda: AgentModels(spec=f"command:{command}", open_agent=open_one),
        }
        return makers[str(request.param)]()

    return make


def ask_about(folder: Path, *, node: str = "ask") -> Question:
    """A question with a workspace of its own."""
    workspace = folder / "work" / node
    workspace.mkdir(parents=True)
    return Question(
        run=RunId("r1"),
        node=node,
        prompt="what now?",
        instructions="be brief",
        model="test:any",
        workspace=workspace,
        log=folder / "logs" / f"{node}.log",
    )


def test_what_is_said_last_is_the_text_and_in_the_transcript(make_models: MakeModels, tmp_path: Path) -> None:
    question = ask_about(tmp_path)

    answer = anyio.run(make_models("speaks").ask, question)

    assert (answer.text, answer.failure, answer.message) == ("all done", "", "")
    assert "all done" in question.log.read_text()


def test_a_failure_is_an_answer_with_its_class_and_its_cause(make_models: MakeModels, tmp_path: Path) -> None:
    question = ask_about(tmp_path)

    answer = anyio.run(make_models("is busy").ask, question)

    assert (answer.text, answer.failure) == ("", "transient")
    assert "429" in answer.message
    assert "429" in question.log.read_text()


def test_an_empty_answer_is_a_failure_that_may_pass(make_models: MakeModels, tmp_path: Path) -> None:
    answer = anyio.run(make_models("says nothing").ask, ask_about(tmp_path))

    assert answer.failure == "transient"
    assert "produced no output" in answer.message


def test_cancellation_gets_through(make_models: MakeModels, tmp_path: Path) -> None:
    async def cancel_soon() -> bool:
        with anyio.move_on_after(0.3) as scope:
            await make_models("takes long").ask(ask_about(tmp_path))
        return scope.cancelled_caught

    assert anyio.run(cancel_soon)


def test_questions_may_overlap(make_models: MakeModels, tmp_path: Path) -> None:
    models = make_models("speaks")
    answers: dict[str, str] = {}

    async def ask(node: str) -> None:
        answers[node] = (await models.ask(ask_about(tmp_path, node=node))).text

    async def ask_all() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(ask, f"node-{number}")

    anyio.run(ask_all)

    assert answers == {f"node-{number}": "all done" for number in range(4)}


def test_a_provider_offers_the_skills_of_a_question_as_a_tool(tmp_path: Path) -> None:
    offered: list[list[str]] = []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.append([tool.name for tool in info.function_tools])
        return ModelResponse(parts=[TextPart("done")])

    models = PydanticModels(
        processes=supervise(tmp_path),
        find_model=lambda _name: FunctionModel(answer),
    )
    asked = Question(
        run=RunId("r"), node="n", prompt="go", workspace=tmp_path, log=tmp_path / "log", skills={"code-review": "twice"}
    )

    anyio.run(models.ask, asked)

    assert offered == [["skill_load"]]


def run_command(models: PydanticModels, question: Question, command: str) -> str:
    """What a model hears that runs a command with its tool."""

    def play(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        heard = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
        call = ToolCallPart("execute_command", {"command": command})
        return ModelResponse(parts=[TextPart(f"heard: {heard[0].content}") if heard else call])

    asked = replace(models, find_model=lambda _name: FunctionModel(play))
    answer = anyio.run(asked.ask, replace(question, tools=("exec",)))
    assert answer.failure == "", answer.message
    return answer.text


def test_commands_of_a_provider_see_harmless_variables_and_what_is_granted(
    processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "DATABASE_URL", "OURS_REGION"):
        monkeypatch.setenv(name, name.lower())
    models = PydanticModels(processes=processes, grant=Grant(env=("OURS_*",)))

    heard = run_command(
        models, ask_about(tmp_path), 'echo "[$OPENAI_API_KEY|$DATABASE_URL|$OURS_REGION|${HOME:+home}]"'
    )

    assert "[||ours_region|home]" in heard


def test_commands_of_a_provider_have_a_temporary_folder_that_goes_with_the_question(
    processes: Processes, tmp_path: Path
) -> None:
    question = ask_about(tmp_path)

    heard = run_command(PydanticModels(processes=processes), question, 'touch "$TMPDIR/mine" && echo "$TMPDIR"')

    scratch = question.log.with_name(f"{question.log.name}.tmp")
    temp = name_temp(scratch)
    assert str(temp) in heard
    assert [path.exists() for path in (scratch, temp)] == [False, False]


@JAILED
def test_in_a_jail_commands_of_a_provider_write_to_the_workspace_and_to_what_is_granted_only(
    processes: Processes, tmp_path: Path
) -> None:
    question, granted, outside = ask_about(tmp_path), tmp_path / "granted", tmp_path / "outside.txt"
    elsewhere = Path("/drumline-outside.txt")  # outside of the temporary folder that the jail has of its own
    granted.mkdir()
    models = PydanticModels(processes=processes, jail=find_jail(), grant=Grant(folders=(str(granted),)))

    heard = run_command(
        models, question, f"echo x > in.txt; echo x > '{granted}/in.txt'; echo x > '{outside}'; echo x > '{elsewhere}'"
    )

    assert re.search(f"{elsewhere}: (Read-only|Permission)", heard)
    made = (question.workspace / "in.txt", granted / "in.txt", outside, elsewhere)
    assert [path.exists() for path in made] == [True, True, False, False]
