"""Models and agents are asked: strict templates, bounded tries and repairs, and no value that was not validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import anyio
import pytest

from drumline.core.blocked import OFFER
from drumline.core.events import AttemptEnded
from drumline.core.flow.model import AgentNode, Flow, Json, LlmNode, NodeId
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import Key
from drumline.core.ids import RunId
from drumline.engine.nodes.agent import Terms, ask_agent
from drumline.engine.nodes.answers import EXTRACTION
from drumline.engine.nodes.llm import PASSING, ask_model
from drumline.engine.nodes.visit import Visit
from drumline.engine.services import Price, know_no_price
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment
from drumline.ports.agents import Outcome as Concluded
from drumline.ports.models import Answer, Question
from drumline.ports.skills import Skill
from drumline.record import replace
from drumline.schemas.checking import JsonSchemas
from drumline.testing.clock import FakeClock

SCHEMA: Mapping[str, Json] = {"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}
BUSY = Answer(failure="transient", message="the service is busy")
SLOW = 3600.0


@dataclass
class Replies:
    """A model that gives the answers it was told to give, then the last one for ever."""

    answers: Sequence[Answer]
    asked: list[Question] = field(default_factory=list)

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        await anyio.lowlevel.checkpoint()
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


@dataclass
class Colleague:
    """An agent that concludes as it was told to."""

    outcomes: Sequence[Concluded]
    given: list[Assignment] = field(default_factory=list)

    async def work(self, assignment: Assignment) -> Concluded:
        self.given.append(assignment)
        return self.outcomes[min(len(self.given), len(self.outcomes)) - 1]


class Asleep:
    """Neither a model nor an agent that ever answers."""

    async def ask(self, question: Question) -> Answer:
        await anyio.sleep(SLOW)
        return Answer(text="late")

    async def work(self, assignment: Assignment) -> Concluded:
        await anyio.sleep(SLOW)
        return Concluded(message="late")


@dataclass
class Shelf:
    """Skills by name."""

    texts: Mapping[str, str] = field(default_factory=dict)

    def near(self, flow: Path) -> Shelf:
        return self

    def list_skills(self) -> Sequence[Skill]:
        return [self.find_skill(name) for name in self.texts]

    def find_skill(self, name: str) -> Skill:
        self.load(name)
        return Skill(name=name, description=f"all about {name}", origin="user", path=Path(name))

    def load(self, name: str) -> str:
        if name not in self.texts:
            raise InvalidInput(f"no skill is called {name!r}", hint="drumline flow skills")
        return self.texts[name]


@dataclass
class Scene:
    """One visit of a node, and who is asked in it."""

    folder: Path
    flow: Flow = field(default_factory=lambda: Flow(name="f", start=NodeId("ask"), nodes={}))
    values: Mapping[str, Json] = field(default_factory=dict)
    skills: Shelf = field(default_factory=Shelf)
    clock: FakeClock = field(default_factory=FakeClock)
    timeout: float | None = None
    model: str = ""
    price: Price = know_no_price

    def visit(self, node: str = "ask", number: int = 1) -> Visit:
        return Visit(
            run=RunId("r"),
            key=Key("fix#2", NodeId(node), number),
            flow=self.flow,
            values=self.values,
            folder=self.folder,
            logs=self.folder / "logs",
            timeout=self.timeout,
            model=self.model,
        )

    def ask(self, node: LlmNode, models: Replies | Asleep) -> Outcome:
        async def play() -> Outcome:
            visit, schemas = self.visit(), JsonSchemas()
            return await ask_model(node, visit, models=models, schemas=schemas, skills=self.skills, clock=self.clock)

        return anyio.run(play)

    def send(self, node: AgentNode, agent: Colleague | Asleep, *, number: int = 1) -> Outcome:
        async def play() -> Outcome:
            visit = self.visit("work", number)
            terms = Terms(tier="strong", model="named", idle=7.0, price=self.price)
            return await ask_agent(node, visit, agent=agent, schemas=JsonSchemas(), terms=terms)

        return anyio.run(play)


def llm(prompt: str = "go", *, schema: Mapping[str, Json] | None = None, attempts: int = 1) -> LlmNode:
    return LlmNode(id=NodeId("ask"), prompt=prompt, output_schema=schema, max_attempts=attempts)


def work(prompt: str = "go", *, schema: Mapping[str, Json] | None = None) -> AgentNode:
    return AgentNode(id=NodeId("work"), agent="someone", prompt=prompt, output_schema=schema)


def attempt_of(outcome: Outcome) -> AttemptEnded:
    """The end of the one attempt that a visit made."""
    (ended,) = (event for event in outcome.effects if isinstance(event, AttemptEnded))
    return ended


def without_attempt(outcome: Outcome) -> Outcome:
    """What a visit came to, and nothing of the one attempt it took, which ended well."""
    assert outcome.effects == (attempt_of(outcome),)
    assert not attempt_of(outcome).failure
    return replace(outcome, effects=())


def said(*texts: str) -> Replies:
    return Replies([Answer(text=text) for text in texts])


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(folder=tmp_path)


def test_text_without_a_schema_is_the_answer_as_it_is(scene: Scene) -> None:
    models = said("  {not json}\n")

    outcome = scene.ask(llm(), models)

    assert outcome == Outcome(output="  {not json}\n")
    question = models.asked[0]
    assert (question.run, question.scope, question.node, question.visit, question.attempt) == (
        "r",
        "fix#2",
        "ask",
        1,
        1,
    )
    assert (question.workspace, question.tools, question.instructions) == (scene.folder, (), "")


def test_everything_a_template_lacks_is_told_at_once_and_nobody_is_asked(scene: Scene) -> None:
    models = said("x")
    scene.values = {"here": 1}

    outcome = scene.ask(replace(llm("{{b}} {{here}} {{a}}"), instructions="{{c.d}} {{a}}"), models)

    assert outcome.failure == "Template interpolation failed: 'c.d', 'a', 'b' not found in state"
    assert outcome.failure_class == "permanent"
    assert models.asked == []


def test_a_value_with_braces_is_not_expanded_again(scene: Scene) -> None:
    models = said("x")
    scene.values = {"task": "say {{secret}}", "secret": "s"}

    scene.ask(llm("{{task}}"), models)

    assert models.asked[0].prompt == "say {{secret}}"


@pytest.mark.parametrize(
    ("override", "own", "whole", "expected"),
    [("o:1", "n:1", "f:1", "o:1"), ("", "n:1", "f:1", "n:1"), ("", None, "f:1", "f:1"), ("", None, None, "")],
)
def test_the_callers_model_goes_before_the_nodes_and_that_before_the_flows(
    scene: Scene, override: str, own: str | None, whole: str | None, expected: str
) -> None:
    models = said("x")
    scene.model, scene.flow = override, replace(scene.flow, model=whole)

    scene.ask(replace(llm(), model=own), models)

    assert models.asked[0].model == expected


def test_settings_of_the_node_go_before_those_of_the_flow_even_if_they_are_zero(scene: Scene) -> None:
    models = said("x")
    scene.flow = replace(scene.flow, temperature=0.7, top_p=0.5, reasoning_effort="low")

    scene.ask(replace(llm(), temperature=0.0, max_iterations=3), models)

    question = models.asked[0]
    assert (question.temperature, question.top_p, question.reasoning_effort) == (0.0, 0.5, "low")
    assert question.max_iterations == 3


def test_tools_and_servers_are_those_the_node_lists(scene: Scene) -> None:
    models = said("x")
    scene.flow = replace(scene.flow, global_tools=("fs_cat.sh", "fs_ls"), mcp_servers=("papers", "other"))

    scene.ask(replace(llm(), tools=("fs_cat", "mcp:papers")), models)

    assert (models.asked[0].tools, models.asked[0].mcp_servers) == (("fs_cat",), ("papers",))


@pytest.mark.parametrize("tool", ["execute_command", "mcp:elsewhere"])
def test_a_tool_outside_the_flows_own_list_is_refused(scene: Scene, tool: str) -> None:
    models = said("x")
    scene.flow = replace(scene.flow, global_tools=("fs_cat",), mcp_servers=("papers",))

    outcome = scene.ask(replace(llm(), tools=(tool,)), models)

    assert tool.removeprefix("mcp:") in outcome.failure
    assert models.asked == []


def test_a_failure_that_passes_by_itself_is_waited_out(scene: Scene) -> None:
    models = Replies([BUSY, BUSY, BUSY, Answer(text="done")])
    before = scene.clock.now()

    outcome = scene.ask(llm(attempts=4), models)

    assert outcome.output == "done"
    assert [question.attempt for question in models.asked] == [1, 2, 3, 4]
    assert len({question.log for question in models.asked}) == 4
    assert scene.clock.now() - before == 2 + 4 + 4


def test_tries_are_as_many_as_the_node_says(scene: Scene) -> None:
    models = Replies([BUSY])

    outcome = scene.ask(llm(attempts=2), models)

    assert (outcome.failure, outcome.failure_class, outcome.stage) == ("the service is busy", "transient", "")
    assert len(models.asked) == 2


@pytest.mark.parametrize("word", PASSING)
def test_the_formats_words_for_a_passing_failure_count_as_well(scene: Scene, word: str) -> None:
    models = Replies([Answer(failure="permanent", message=f"Error: {word}!"), Answer(text="done")])

    assert scene.ask(llm(attempts=2), models).output == "done"


@pytest.mark.parametrize("failure", ["auth", "billing", "quota", "permanent", "validation", "odd"])
def test_other_failures_are_final(scene: Scene, failure: str) -> None:
    models = Replies([Answer(failure=failure, message="no"), Answer(text="done")])

    outcome = scene.ask(llm(attempts=3), models)

    assert (outcome.failure, outcome.failure_class) == ("no", failure)
    assert len(models.asked) == 1


def test_a_quota_is_not_waited_out_whatever_words_it_has(scene: Scene) -> None:
    models = Replies([Answer(failure="quota", message="429: the quota of the month is used up")])

    scene.ask(llm(attempts=3), models)

    assert len(models.asked) == 1


def test_silence_is_a_failure_that_may_pass(scene: Scene) -> None:
    assert scene.ask(llm(), said(" \n")).failure == "the model produced no output"
    assert scene.ask(llm(attempts=2), said("", "there")).output == "there"


def test_the_schema_is_told_in_the_instructions_if_there_are_any_else_in_the_prompt(scene: Scene) -> None:
    with_none, with_some = said('{"ok": true}'), said('{"ok": true}')

    scene.ask(llm("go", schema=SCHEMA), with_none)
    scene.ask(replace(llm("go", schema=SCHEMA), instructions="be brief"), with_some)

    assert '"required"' in with_none.asked[0].prompt
    assert with_none.asked[0].instructions == ""
    assert with_some.asked[0].prompt == "go"
    assert with_some.asked[0].instructions.startswith("be brief\n\n")
    assert '"required"' in with_some.asked[0].instructions


def test_a_value_that_fits_is_taken_out_of_thoughts_and_fence(scene: Scene) -> None:
    models = said('<think>hm {"ok": 1}</think>\n```json\n{"ok": true}\n```')

    outcome = scene.ask(llm(schema=SCHEMA), models)

    assert outcome == Outcome(output={"ok": True})
    assert len(models.asked) == 1


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("It is fine.", "not valid JSON"),
        ('{"ok": "yes"}', "at $.ok: 'yes' is not of type 'boolean'"),
        ('{"ok": NaN}', "NaN is not a JSON number"),
        ("[true]", "at $: [True] is not of type 'object'"),
        ("<think>never closed", "<think> without </think>"),
    ],
)
def test_an_answer_that_does_not_fit_is_repaired_by_the_same_model_without_tools(
    scene: Scene, answer: str, problem: str
) -> None:
    models = said(answer, '{"ok": true}')
    node = replace(llm("the task", schema=SCHEMA), model="m:1", tools=("fs_cat",), instructions="be brief")

    outcome = scene.ask(node, models)

    assert outcome == Outcome(output={"ok": True})
    repair = models.asked[1]
    assert (repair.model, repair.tools, repair.mcp_servers, repair.attempt) == ("m:1", (), (), 2)
    assert problem in repair.prompt
    assert answer in repair.prompt
    assert "the task" not in repair.prompt


def test_a_value_is_never_accepted_unvalidated_however_often_the_model_insists(scene: Scene) -> None:
    models = said('{"ok": "yes"}')

    outcome = scene.ask(llm(schema=SCHEMA, attempts=5), models)

    assert len(models.asked) == 3
    assert outcome.output is None
    assert (outcome.stage, outcome.failure_class) == (EXTRACTION, "validation")
    assert "at $.ok: 'yes' is not of type 'boolean'" in outcome.failure


def test_a_repair_that_fails_is_told_as_such(scene: Scene) -> None:
    models = Replies([Answer(text="prose"), Answer(failure="auth", message="who are you")])

    outcome = scene.ask(llm(schema=SCHEMA), models)

    assert (outcome.failure, outcome.failure_class, outcome.stage) == ("who are you", "auth", EXTRACTION)


def test_a_huge_answer_is_not_sent_back_as_a_whole(scene: Scene) -> None:
    models = said("x" * 1_000_000, '{"ok": true}')

    outcome = scene.ask(llm(schema=SCHEMA), models)

    assert outcome.output == {"ok": True}
    assert len(models.asked[1].prompt) < 110_000


@pytest.mark.parametrize(("own", "whole"), [(0.01, None), (None, 0.01), (SLOW, 0.01)])
def test_a_model_that_never_answers_is_given_up(scene: Scene, own: float | None, whole: float | None) -> None:
    scene.timeout = whole

    outcome = scene.ask(replace(llm(), timeout=own), Asleep())

    assert (outcome.failure, outcome.failure_class) == ("timed out after 0.01 s", "transient")


SHELF = {"tidy": "# Tidy\nremove {{nothing}}", "review": "# Review", "other": "# Other"}


def test_skills_are_off_unless_somebody_switches_them_on(scene: Scene) -> None:
    models = said("x")
    scene.skills = Shelf(SHELF)
    scene.flow = replace(scene.flow, enabled_skills=("tidy",))

    scene.ask(llm(), models)

    assert (models.asked[0].instructions, models.asked[0].skills) == ("", {})


def test_a_nodes_own_skills_are_in_its_instructions_as_they_are(scene: Scene) -> None:
    models = said("x")
    scene.skills = Shelf(SHELF)

    scene.ask(replace(llm(), instructions="be brief", enabled_skills=("tidy",)), models)

    question = models.asked[0]
    assert question.instructions.startswith("be brief\n\n")
    assert '<skill name="tidy">\n# Tidy\nremove {{nothing}}\n</skill>' in question.instructions
    assert "Review" not in question.instructions
    assert question.skills == {}


@pytest.mark.parametrize(("listed", "names"), [(None, ["tidy", "review", "other"]), (("tidy",), ["tidy"]), ((), [])])
def test_skills_of_the_flow_are_listed_and_can_be_loaded(
    scene: Scene, listed: tuple[str, ...] | None, names: list[str]
) -> None:
    models = said("x")
    scene.skills = Shelf(SHELF)
    scene.flow = replace(scene.flow, skills_enabled=True, enabled_skills=listed)

    scene.ask(llm(), models)

    question = models.asked[0]
    assert list(question.skills) == names
    assert question.instructions.splitlines()[1:] == [f"- {name}: all about {name}" for name in names]
    assert "# Tidy" not in question.instructions


def test_a_node_can_do_without_skills_and_a_flow_without_telling_of_them(scene: Scene) -> None:
    off, silent, own = said("x"), said("x"), said("x")
    scene.skills = Shelf(SHELF)
    scene.flow = replace(scene.flow, skills_enabled=True, enabled_skills=("tidy",), inject_skill_instructions=False)

    scene.ask(replace(llm(), skills_enabled=False, enabled_skills=("tidy",)), off)
    scene.ask(llm(), silent)
    scene.ask(replace(llm(), inject_skill_instructions=True, skill_instructions="Look:"), own)

    assert (off.asked[0].instructions, off.asked[0].skills) == ("", {})
    assert (silent.asked[0].instructions, list(silent.asked[0].skills)) == ("", ["tidy"])
    assert own.asked[0].instructions == "Look:\n- tidy: all about tidy"


@pytest.mark.parametrize(("whole", "told"), [(("review",), "enabled_skills"), (None, "no skill is called 'gone'")])
def test_a_skill_that_is_not_there_or_not_allowed_fails_the_node(
    scene: Scene, whole: tuple[str, ...] | None, told: str
) -> None:
    models = said("x")
    scene.skills = Shelf(SHELF)
    scene.flow = replace(scene.flow, enabled_skills=whole)

    outcome = scene.ask(replace(llm(), enabled_skills=("gone",)), models)

    assert told in outcome.failure
    assert models.asked == []


def test_an_agent_works_in_the_visits_folder_on_a_filled_in_prompt(scene: Scene) -> None:
    agent = Colleague([Concluded(message="did it")])
    scene.values, scene.timeout = {"what": "the parser"}, 20.0

    outcome = scene.send(work("mend {{what}}"), agent, number=3)

    assert without_attempt(outcome) == Outcome(output="did it")
    given = agent.given[0]
    assert (given.step, given.node, given.attempt, given.visit, given.scope) == ("flow", "work", 3, 3, "fix#2")
    assert (given.workspace, given.tier, given.model, given.timeout) == (scene.folder, "strong", "named", 20.0)
    assert given.prompt == given.prompt_file.read_text() == f"mend the parser\n\n{OFFER}"
    assert not given.read_only


def test_the_callers_model_is_for_models_and_an_agent_keeps_its_own(scene: Scene) -> None:
    agent = Colleague([Concluded()])
    scene.model = "override"

    scene.send(work(), agent)

    assert agent.given[0].model == "named"


def test_an_agents_failure_has_its_class_in_front(scene: Scene) -> None:
    outcome = scene.send(work(schema=SCHEMA), Colleague([Concluded(failure="quota", message="come back later")]))

    assert (outcome.failure, outcome.failure_class, outcome.stage) == ("quota: come back later", "quota", "")


def test_an_agent_is_not_sent_out_with_holes_in_its_prompt(scene: Scene) -> None:
    agent = Colleague([Concluded(message="x")])

    outcome = scene.send(work("{{a}} {{b}}"), agent)

    assert "'a', 'b' not found in state" in outcome.failure
    assert agent.given == []


def test_an_agents_value_is_repaired_twice_without_touching_the_workspace(scene: Scene) -> None:
    agent = Colleague([Concluded(message="all done"), Concluded(message="{}"), Concluded(message='{"ok": false}')])

    outcome = scene.send(work(schema=SCHEMA), agent)

    assert without_attempt(outcome) == Outcome(output={"ok": False})
    assert [given.read_only for given in agent.given] == [False, True, True]
    assert [given.attempt for given in agent.given] == [1, 2, 3]
    assert "not valid JSON" in agent.given[1].prompt
    assert "'ok' is a required property" in agent.given[2].prompt
    assert len({given.log for given in agent.given} | {given.prompt_file for given in agent.given}) == 6


def test_an_agents_value_is_never_accepted_unvalidated(scene: Scene) -> None:
    agent = Colleague([Concluded(message='{"ok": "yes"}')])

    outcome = scene.send(work(schema=SCHEMA), agent)

    assert len(agent.given) == 3
    assert (outcome.output, outcome.stage) == (None, EXTRACTION)
    assert "at $.ok" in outcome.failure


def test_an_agent_that_never_ends_is_given_up(scene: Scene) -> None:
    scene.timeout = 0.01

    assert scene.send(work(), Asleep()).failure == "timed out after 0.01 s"


def test_an_agent_of_a_flow_is_told_how_long_it_may_be_silent_and_what_its_session_is_called(scene: Scene) -> None:
    agent = Colleague([Concluded(message="no JSON"), Concluded(message='{"ok": true}')])

    outcome = scene.send(work(schema={"type": "object", "required": ["ok"]}), agent)

    assert outcome.output == {"ok": True}
    assert [assignment.idle for assignment in agent.given] == [7.0, 7.0]
    sessions = [str(UUID(assignment.new_session)) for assignment in agent.given]
    assert len(set(sessions)) == 2


@pytest.mark.parametrize(
    ("usage", "model", "cost"),
    [
        ({"input": 10.0}, "gpt-x", 5.0),
        ({"input": 10.0}, "", 1.0),
        ({"input": 10.0, "cost_usd": 0.25}, "gpt-x", 0.25),
        ({"input": 10.0}, "nobody-knows", None),
        ({}, "gpt-x", None),
    ],
)
def test_what_an_agent_of_a_flow_used_has_its_price(
    scene: Scene, usage: Mapping[str, float], model: str, cost: float | None
) -> None:
    table = {"gpt-x": 0.5, "named": 0.1}
    scene.price = lambda name, used: used["input"] * table[name] if name in table else None

    outcome = scene.send(work(), Colleague([Concluded(message="done", usage=usage, model=model)]))

    ended = attempt_of(outcome)
    assert ended.usage.get("cost_usd") == cost
    assert ended.usage.get("input") == usage.get("input")
    assert not outcome.usage
