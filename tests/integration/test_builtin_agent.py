"""The built-in agent against a scripted model over real HTTP: it keeps what every agent promises."""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from tests.agents.agent_fixture import make_checkout, make_nap
from tests.modelserver import Answer, Cut, Hang, ModelServer, Read, Refuse, Run, Scenario, Turn, Use, Write
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.jail import find_jail
from drumline.core.ids import RunId, StepId
from drumline.errors import InvalidInput
from drumline.isolation.outside import UNJAILED
from drumline.models.builtin import BuiltinAgent
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.profiles import Grant, McpServer
from drumline.record import replace

KEY = "sk-not-for-the-records"
JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
WORK = (
    Turn(text="I begin.", calls=(Write(path="hello.txt", content="hello\n"),)),
    Turn(calls=(Run(command="cat hello.txt > copy.txt"),)),
    Turn(text="All done."),
)
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}


class Bench:
    """A workspace for the agent, and what it told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.workspace = folder / "work"
        self.log = folder / "logs" / "work.log"
        self.told: list[Happening] = []
        self._monkeypatch = monkeypatch
        self.workspace.mkdir()
        for name in os.environ:
            if name.endswith("_API_KEY"):
                monkeypatch.delenv(name)

    def open(
        self, server: ModelServer, spec: str = "builtin:openai-chat:scripted", *, jailed: bool = False
    ) -> BuiltinAgent:
        self._monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        self._monkeypatch.setenv("OPENAI_API_KEY", KEY)
        self._monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        processes = supervise(self.folder)
        agent = open_agent(spec, processes=processes, base=self.folder)
        assert isinstance(agent, BuiltinAgent)
        return agent if jailed else replace(agent, jail=None)

    def assign(self, prompt: str = "Please do the work.", **fields: Any) -> Assignment:
        async def note(happening: Happening) -> None:
            self.told.append(happening)

        return Assignment(
            run=RunId("r1"),
            step=StepId("s1"),
            node="implement",
            attempt=1,
            prompt=prompt,
            prompt_file=self.folder / "prompt.md",
            workspace=self.workspace,
            log=self.log,
            report=note,
            **{"timeout": 120.0, **fields},
        )

    def work(self, server: ModelServer, prompt: str = "Please do the work.", **fields: Any) -> Outcome:
        return anyio.run(self.open(server).work, self.assign(prompt, **fields))


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """The libraries of the providers are imported before any limit of time is tried: that may take seconds."""
    for module in ("drumline.models.builtin_session", "openai", "anthropic"):
        import_module(module)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def play(*turns: Turn) -> ModelServer:
    return ModelServer([Scenario(turns=turns)])


@pytest.mark.parametrize(
    "spec", ["builtin:openai-chat:scripted", "builtin:openai-responses:gpt-5.5", "builtin:anthropic:claude-sonnet-5-5"]
)
def test_edits_land_commands_run_and_all_of_it_is_told(
    bench: Bench, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with play(*WORK) as server:
        outcome = anyio.run(bench.open(server, spec).work, bench.assign())

    assert (outcome.failure, outcome.message, outcome.source) == ("", "All done.", "builtin"), outcome.message
    assert (outcome.usage["input"], outcome.usage["output"]) == (300, 60)
    assert outcome.model == spec.removeprefix("builtin:")
    assert (bench.workspace / "copy.txt").read_text() == "hello\n"
    told = [(h.kind, h.text) for h in bench.told if h.kind not in ("usage", "notice")]
    assert told == [
        ("session", outcome.session),
        ("text", "I begin."),
        ("edit", "hello.txt"),
        ("result", ""),
        ("command", "cat hello.txt > copy.txt"),
        ("result", ""),
        ("text", "All done."),
    ]
    assert "All done." in bench.log.read_text()
    assert not bench.log.with_name("work.log.tmp").exists()


def test_a_call_has_failed_if_its_tool_says_so_and_not_by_the_words_of_a_file(bench: Bench) -> None:
    (bench.workspace / "build.log").write_text("error: none, really\n")
    with play(
        Turn(calls=(Read(path="build.log"),)), Turn(calls=(Read(path="gone.log"),)), Turn(text="Seen.")
    ) as server:
        bench.work(server)

    assert [happening.failed for happening in bench.told if happening.kind == "result"] == [False, True]


def test_what_the_repository_says_to_agents_is_heard(bench: Bench) -> None:
    (bench.workspace / "AGENTS.md").write_text("Write in verse.")
    with play(Turn(text="Here.")) as server:
        bench.work(server, instructions="Be brief.")

    asked = json.dumps(server.turns[0].body)
    assert "Write in verse." in asked
    assert "Be brief." in asked


def test_a_session_goes_on_where_it_was(bench: Bench) -> None:
    second = Scenario(when="SECOND", turns=(Turn(text="And more."),))
    wanted = "7d9e2f70-54a5-4fbb-a3d7-0b4c11f7a111"
    with ModelServer([second, Scenario(turns=WORK)]) as server:
        first = bench.work(server, new_session=wanted)

        outcome = bench.work(server, "Do the SECOND thing.", session=wanted)

    assert (first.session, outcome.session) == (wanted, wanted)
    assert (outcome.failure, outcome.message) == ("", "And more.")
    assert (outcome.usage["input"], outcome.usage["output"]) == (100, 20)
    assert "Please do the work." in json.dumps(server.turns[-1].body)


def test_a_session_that_was_stopped_in_mid_command_goes_on(bench: Bench) -> None:
    stuck = Scenario(turns=(*WORK[:1], Turn(calls=(Run(command="touch begun; sleep 8301.5"),)), Turn(text="x")))
    second = Scenario(when="SECOND", turns=(Turn(text="And more."),))
    with ModelServer([second, stuck]) as server:
        first = bench.work(server, timeout=5.0)

        outcome = bench.work(server, "Do the SECOND thing.", session=first.session)

    assert (bench.workspace / "begun").exists()
    assert (first.failure, outcome.failure, outcome.message) == ("timeout", "", "And more.")


@pytest.mark.parametrize("gone", ["0199e1b1-6eaa-7620-8482-b5ec02969705", "../../etc/passwd"])
def test_a_session_that_is_gone_is_begun_anew(bench: Bench, gone: str) -> None:
    with play(Turn(text="Here.")) as server:
        outcome = bench.work(server, session=gone)

    assert (outcome.failure, outcome.message) == ("", "Here.")
    assert outcome.session not in ("", gone)
    assert any(gone in notice for notice in outcome.notices)


def test_an_answer_that_fits_its_schema_comes_as_a_value(bench: Bench) -> None:
    with play(Turn(answer=Answer(value={"verdict": "ok"}))) as server:
        outcome = bench.work(server, output_schema=SCHEMA)

    assert (outcome.failure, outcome.structured) == ("", {"verdict": "ok"})


def test_an_answer_that_never_fits_is_a_failed_validation(bench: Bench) -> None:
    with play(Turn(answer=Answer(value={"verdict": 5}))) as server:
        outcome = bench.work(server, output_schema=SCHEMA)

    assert (outcome.failure, outcome.structured) == ("validation", None)
    assert "no answer of it fitted the schema" in outcome.message


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (Refuse(status=401), "auth"),
        (Refuse(status=402, message="Payment required"), "billing"),
        (Refuse(status=429, retry_after=1), "quota"),
        (Refuse(status=500), "transient"),
        (Refuse(status=400), "permanent"),
        (Cut(), "transient"),
    ],
    ids=["401", "402", "429", "500", "400", "cut"],
)
def test_a_failure_has_its_class(bench: Bench, fault: Refuse | Cut, failure: str) -> None:
    with play(Turn(text="x", fault=fault)) as server:
        outcome = bench.work(server)

    assert outcome.failure == failure, outcome.message
    assert outcome.message
    assert KEY not in outcome.message + bench.log.read_text()


def test_it_is_told_when_a_quota_is_there_again(bench: Bench) -> None:
    with play(Turn(fault=Refuse(status=429, retry_after=2))) as server:
        outcome = bench.work(server)

    assert outcome.resets_at is not None
    assert 0 < outcome.resets_at - time.time() <= 2


def test_an_agent_that_says_and_does_nothing_has_failed(bench: Bench) -> None:
    with play(Turn()) as server:
        outcome = bench.work(server)

    assert (outcome.failure, outcome.message) == ("validation", "the agent exited without output and changed nothing")


def test_a_silent_model_is_given_up_and_the_work_is_kept(bench: Bench) -> None:
    with play(*WORK[:1], Turn(fault=Hang())) as server:
        outcome = bench.work(server, idle=4.0)

    assert outcome.failure == "crash"
    assert outcome.message == "said nothing for 4 s and was stopped; the last thing it did: edit hello.txt"
    assert (bench.workspace / "hello.txt").exists()
    assert outcome.session


def test_work_that_takes_too_long_is_stopped_with_all_it_started(bench: Bench) -> None:
    nap = make_nap()
    with play(Turn(calls=(Run(command=f"setsid {nap} & {nap}"),)), Turn(text="x")) as server:
        outcome = bench.work(server, timeout=5.0)

    assert outcome.failure == "timeout"
    assert outcome.message.startswith("timed out after 5 s; the last thing it did: command")
    assert count_processes(nap) == 0


def test_a_budget_ends_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with play(*WORK) as server:
        agent = bench.open(server, "builtin:anthropic:claude-sonnet-5-5")
        outcome = anyio.run(agent.work, bench.assign(budget=0.0007))

    assert outcome.failure == "quota"
    assert "budget" in outcome.message
    assert outcome.usage["cost_usd"] > 0.0007


@JAILED
def test_in_a_jail_nothing_can_be_written_outside(bench: Bench) -> None:
    outside = bench.folder / "outside.txt"
    turns = (
        Turn(calls=(Write(path=str(outside), content="x\n"),)),
        Turn(calls=(Run(command=f"echo x > {outside}; echo x > inside.txt; mktemp"),)),
        Turn(text="Tried."),
    )
    with play(*turns) as server:
        outcome = anyio.run(bench.open(server, jailed=True).work, bench.assign())

    assert (outcome.failure, outcome.message) == ("", "Tried.")
    assert (bench.workspace / "inside.txt").exists()
    assert not outside.exists()
    assert not [h for h in bench.told if h.kind == "edit"]


def test_without_a_jail_it_is_told_what_its_commands_changed_in_the_checkout(bench: Bench) -> None:
    checkout, workspace = bench.folder / "checkout", bench.folder / "trees" / "one"
    make_checkout(checkout, workspace)
    with play(Turn(calls=(Run(command=f"echo x > {checkout}/stray.txt"),)), Turn(text="Done.")) as server:
        outcome = anyio.run(bench.open(server).work, replace(bench.assign(), workspace=workspace))

    assert outcome.notices == (f"{checkout}/stray.txt changed while it worked, outside its workspace",)
    assert UNJAILED in [happening.text for happening in bench.told if happening.kind == "notice"]


def test_its_file_tools_never_leave_the_workspace(bench: Bench) -> None:
    secret = bench.folder / "secret.txt"
    secret.write_text("hush")
    turns = (
        Turn(calls=(Read(path=str(secret)), Write(path="../outside.txt", content="x"))),
        Turn(text="Tried."),
    )
    with play(*turns) as server:
        bench.work(server)

    assert "hush" not in json.dumps(server.turns[-1].body)
    assert not (bench.folder / "outside.txt").exists()


def test_who_may_only_read_has_no_tool_that_writes(bench: Bench) -> None:
    (bench.workspace / "kept.txt").write_text("kept\n")
    with play(Turn(calls=(Read(path="kept.txt"),)), Turn(text="Looked.")) as server:
        outcome = bench.work(server, read_only=True)

    offered = {tool["function"]["name"] for tool in server.turns[0].body["tools"]}  # type: ignore[call-overload,union-attr,index]
    assert outcome.message == "Looked."
    assert offered == {"read", "list", "search", "find"}
    assert "kept" in json.dumps(server.turns[-1].body)


@JAILED
def test_in_a_jail_who_may_only_read_may_run_commands_that_cannot_write(bench: Bench) -> None:
    with play(Turn(calls=(Run(command="echo x > shell.txt; cat kept.txt"),)), Turn(text="Looked.")) as server:
        (bench.workspace / "kept.txt").write_text("the kept words\n")
        anyio.run(bench.open(server, jailed=True).work, bench.assign(read_only=True))

    assert not (bench.workspace / "shell.txt").exists()
    assert "the kept words" in json.dumps(server.turns[-1].body)


def test_only_the_tools_that_are_named_are_there(bench: Bench) -> None:
    with play(Turn(text="Here.")) as server:
        bench.work(server, tools=("read", "exec"))
        refused = bench.work(server, tools=("fly",))

    offered = {tool["function"]["name"] for tool in server.turns[0].body["tools"]}  # type: ignore[call-overload,union-attr,index]
    assert offered == {"read", "exec"}
    assert (refused.failure, "fly" in refused.message) == ("permanent", True)


def test_commands_see_no_secret(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "our-own-secret")
    with play(Turn(calls=(Run(command="env > env.txt"),)), Turn(text="x")) as server:
        bench.work(server)

    seen = (bench.workspace / "env.txt").read_text()
    assert "PATH=" in seen
    assert KEY not in seen
    assert "our-own-secret" not in seen


SERVER = """
import os
from mcp.server import MCPServer

server = MCPServer("tracker")


@server.tool()
def close(number: int) -> str:
    \"\"\"Close an item.\"\"\"
    with open("closed.txt", "w") as file:
        file.write(f"{number} {os.environ['TRACKER_TOKEN']}")
    return "closed"


server.run(transport="stdio")
"""


def test_the_tools_of_a_server_can_be_used(bench: Bench) -> None:
    script = bench.folder / "server.py"
    script.write_text(SERVER)
    tracker = McpServer(name="tracker", command=(sys.executable, str(script)), env={"TRACKER_TOKEN": "hush-hush-1"})
    with play(Turn(calls=(Use(tool="tracker_close", arguments={"number": 7}),)), Turn(text="Closed.")) as server:
        agent = replace(bench.open(server), servers={"tracker": tracker})
        outcome = anyio.run(agent.work, bench.assign(mcp_servers=("tracker",)))

    assert (outcome.failure, outcome.message) == ("", "Closed.")
    assert (bench.workspace / "closed.txt").read_text() == "7 hush-hush-1"


@JAILED
def test_in_a_jail_a_server_is_held_like_commands_and_has_what_is_granted(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKER_TOKEN", "granted")
    script, granted = bench.folder / "server.py", bench.folder / "granted"
    script.write_text(SERVER.replace('"closed.txt"', f'f"{granted}/closed-{{number}}.txt" if number else "closed.txt"'))
    tracker = McpServer(name="tracker", command=(sys.executable, str(script)))
    calls = tuple(Use(tool="tracker_close", arguments={"number": number}) for number in (0, 7))
    with play(Turn(calls=calls), Turn(text="Closed.")) as server:
        grant = Grant(env=("TRACKER_*",), folders=(f"{granted}/",))
        agent = replace(bench.open(server, jailed=True), servers={"tracker": tracker}, grant=grant)
        outcome = anyio.run(agent.work, bench.assign(mcp_servers=("tracker",), read_only=True))

    assert (outcome.failure, outcome.message) == ("", "Closed.")
    assert (granted / "closed-7.txt").read_text() == "7 granted"
    assert not (bench.workspace / "closed.txt").exists()


def test_a_server_that_nobody_knows_is_refused_before_anything_starts(bench: Bench) -> None:
    with play(Turn(text="x")) as server:
        outcome = bench.work(server, mcp_servers=("nowhere",))

    assert (outcome.failure, len(server.requests)) == ("permanent", 0)
    assert "nowhere" in outcome.message


def test_the_model_is_that_of_the_assignment_the_spec_or_the_tier(bench: Bench) -> None:
    with play() as server:
        bare, named = bench.open(server, "builtin"), bench.open(server, "builtin:openai:mine")
    tiered = replace(bare, tiers={"fast": "openai:quick"})

    assert named.choose_model(bench.assign(model="openai:this")) == "openai:this"
    assert named.choose_model(bench.assign(tier="fast")) == "openai:mine"
    assert tiered.choose_model(bench.assign(tier="fast")) == "openai:quick"
    assert bare.choose_model(bench.assign(tier="strong")).startswith("openai:")


def test_without_a_key_and_without_a_model_it_says_what_to_set(bench: Bench) -> None:
    with play() as server:
        agent = replace(bench.open(server, "builtin"), environ={})

    outcome = anyio.run(agent.work, bench.assign())

    assert outcome.failure == "auth"
    assert "ANTHROPIC_API_KEY" in outcome.message


def test_a_provider_that_nobody_knows_is_refused_before_the_start(tmp_path: Path) -> None:
    processes = supervise(tmp_path)

    with pytest.raises(InvalidInput, match="unknown provider 'foo'"):
        open_agent("builtin:foo:bar", processes=processes, base=tmp_path)
    for known in ("claude:x", "openai-responses:x", "openrouter:x"):
        open_agent(f"builtin:{known}", processes=processes, base=tmp_path)


@pytest.mark.parametrize("spec", ["builtin:", "builtin:gpt", "builtin:openai:", "builtin::x"])
def test_a_spec_that_names_no_model_is_refused(spec: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        open_agent(spec, processes=supervise(tmp_path), base=tmp_path)


def count_processes(word: str) -> int:
    lines = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    return sum(word in line for line in lines)
