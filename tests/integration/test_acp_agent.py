"""An agent that speaks the Agent Client Protocol, played by a real program that does what its prompt says."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from tests.agents.agent_fixture import make_nap
from tests.integration import acpactor
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.acp import AcpAgent
from drumline.agents.acp_programs import PROVIDERS, find_own, name_program
from drumline.agents.acp_talk import UNHELD
from drumline.agents.acp_verdict import EMPTY
from drumline.agents.jail import find_jail
from drumline.core.blocked import Reply
from drumline.core.ids import RunId, StepId
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Conversation, Job, Processes
from drumline.profiles import Grant, McpServer
from drumline.record import replace

ACTOR = Path(acpactor.__file__)
JAILED = pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
USAGE = {"total_tokens": 35, "input_tokens": 10, "output_tokens": 5, "cached_read_tokens": 20}


class Stage:
    """An actor in a workspace; `told` is what it reported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "work"
        self.memory = folder / "memory"
        self.log = folder / "logs" / "work.log"
        self.told: list[Happening] = []
        self.workspace.mkdir()
        self.memory.mkdir()

    def open(self, *words: str, jailed: bool = False) -> AcpAgent:
        spec = shlex.join(["acp:" + sys.executable, str(ACTOR), str(self.memory), *words])
        processes = supervise(self.folder)
        agent = open_agent(spec.replace("'", "", 2) if spec.startswith("'") else spec, processes=processes, base=ACTOR)
        assert isinstance(agent, AcpAgent)
        return agent if jailed else replace(agent, jail=None)

    def assign(self, *steps: dict[str, Any], **fields: Any) -> Assignment:
        async def note(happening: Happening) -> None:
            self.told.append(happening)

        return Assignment(
            run=RunId("r1"),
            step=StepId("s1"),
            node="implement",
            attempt=1,
            prompt=json.dumps(steps),
            prompt_file=self.folder / "prompt.md",
            workspace=self.workspace,
            log=self.log,
            report=note,
            **{"timeout": 60.0, **fields},
        )

    def work(self, *steps: dict[str, Any], **fields: Any) -> Outcome:
        return anyio.run(self.open().work, self.assign(*steps, **fields))

    def answers(self) -> list[str]:
        return (self.workspace / "answers").read_text().split()

    def happened(self, *kinds: str) -> list[tuple[str, str]]:
        return [(h.kind, h.text) for h in self.told if h.kind in kinds]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def call(kind: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Tool", "kind": kind, **fields}


def test_what_is_said_after_the_last_tool_is_the_answer(stage: Stage) -> None:
    outcome = stage.work(
        {"say": "I begin."}, {"update": call("read", title="Read a.txt")}, {"say": "All done."}, {"usage": USAGE}
    )

    assert (outcome.failure, outcome.message, outcome.session) == ("", "All done.", "s-1")
    assert (outcome.source, outcome.usage) == ("acp", {"input": 30, "output": 5, "cached": 20})
    expected = [("session", "s-1"), ("text", "I begin."), ("tool", "Read a.txt"), ("text", "All done.")]
    assert stage.happened("session", "text", "tool") == expected
    assert '"stopReason": "end_turn"' in stage.log.read_text()
    assert not stage.log.with_name("work.log.tmp").exists()


class Leaving:
    """Processes of which something cannot be ended."""

    def __init__(self, processes: Processes) -> None:
        self.run = processes.run
        self._open = processes.open

    @asynccontextmanager
    async def open(self, job: Job) -> AsyncIterator[Conversation]:
        """Talk, and leave something behind."""
        async with self._open(job) as conversation:
            yield conversation
        assert conversation.left == ""
        conversation.left = "sleep (pid 12)"


def test_what_an_agent_started_and_could_not_be_ended_is_a_notice(stage: Stage) -> None:
    agent = stage.open()

    outcome = anyio.run(replace(agent, processes=Leaving(agent.processes)).work, stage.assign({"say": "done"}))

    told = "what it started could not be ended and may still be at work: sleep (pid 12)"
    assert (outcome.message, outcome.notices) == ("done", (told,))


def test_tools_are_told_once_and_edits_when_they_are_done(stage: Stage) -> None:
    inside = str(stage.workspace / "src" / "a.py")
    grown = {"sessionUpdate": "tool_call_update", "toolCallId": "c2", "rawInput": {"command": "make"}}
    stage.work(
        {"update": call("edit", status="pending", locations=[{"path": inside}])},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}},
        {"update": call("execute", toolCallId="c2", title="")},
        {"update": grown},
        {"update": {**grown, "status": "completed"}},
        {"update": call("edit", toolCallId="c3", status="failed", locations=[{"path": "never.txt"}])},
        {"update": {"sessionUpdate": "something_new", "content": 3}},
        {"print": "not a message"},
    )

    assert stage.happened("edit", "command", "tool") == [("edit", "src/a.py"), ("command", "make")]


def test_a_cost_in_dollars_is_the_cost_of_a_new_session_only(stage: Stage) -> None:
    cost = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.25, "currency": "USD"}}

    first = stage.work({"update": cost}, {"say": "Done."})
    second = stage.work({"update": cost}, {"say": "Done."}, session="s-1")

    assert first.usage == {"cost_usd": 0.25}
    assert second.usage == {}


def test_a_session_goes_on_and_its_past_is_not_told_again(stage: Stage) -> None:
    stage.work({"say": "One."})
    stage.told.clear()

    outcome = stage.work({"say": "Two."}, session="s-1")

    assert (outcome.session, outcome.message, outcome.notices) == ("s-1", "Two.", ())
    assert len((stage.memory / "s-1").read_text().splitlines()) == 2
    assert stage.happened("text") == [("text", "Two.")]


def test_a_session_that_is_gone_is_begun_anew(stage: Stage) -> None:
    outcome = stage.work({"say": "One."}, session="s-77")

    assert (outcome.failure, outcome.session) == ("", "s-1")
    assert any("s-77" in notice for notice in outcome.notices)


ASKED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"kind": "edit", "locations": [{"path": "a.txt"}]}, "yes"),
    ({"kind": "edit", "content": [{"type": "diff", "path": "/etc/passwd", "newText": "x"}]}, "no"),
    ({"kind": "edit", "rawInput": {"file_path": "../a.txt"}}, "no"),
    ({"kind": "edit", "locations": [{"path": "link/a.txt"}]}, "no"),
    ({"kind": "delete", "locations": [{"path": ".git/config"}]}, "no"),
    ({"kind": "execute", "rawInput": {"command": "make test"}}, "yes"),
    ({"kind": "execute", "rawInput": {"command": "ls", "cwd": "/"}}, "no"),
    ({"kind": "read", "locations": [{"path": "a.txt"}]}, "yes"),
    ({"kind": "read", "locations": [{"path": "/etc/shadow"}]}, "no"),
    ({"kind": "search"}, "yes"),
)


def test_leave_is_given_inside_the_workspace_and_refused_outside(stage: Stage) -> None:
    (stage.workspace / "link").symlink_to(stage.folder)
    steps = [{"ask": {"title": "Tool", **tool}} for tool, _ in ASKED]

    outcome = stage.work(*steps, {"say": "Done."})

    assert stage.answers() == [answer for _, answer in ASKED]
    assert (outcome.failure, outcome.question) == ("", "")
    assert len(outcome.notices) == stage.answers().count("no")


def test_what_the_policy_does_not_know_is_refused_and_asked(stage: Stage) -> None:
    unknown: list[dict[str, Any]] = [{"kind": "other"}, {}, {"kind": "edit"}, {"kind": "switch_mode"}]
    steps = [{"ask": {"title": f"Deploy {number}", **tool}} for number, tool in enumerate(unknown)]

    outcome = stage.work(*steps, {"say": "I wait."})

    assert stage.answers() == ["no"] * 4
    assert (outcome.failure, outcome.message) == ("", "I wait.")
    assert [f"Deploy {number}" in line for number, line in enumerate(outcome.question.splitlines())] == [True] * 4
    assert outcome.question.count("answer yes or no") == 4


LOOK = Reply(asked="May it use Look?", said="yes", permissions=("May it use Look?",))


def reply(asked: Outcome, said: str) -> Reply:
    """What a person said to what an agent asked leave for."""
    return Reply(asked=asked.question, said=said, permissions=asked.permissions)


def test_words_that_look_like_a_question_allow_nothing(stage: Stage) -> None:
    asked = stage.work(DEPLOY, {"say": "I wait."})
    told = Reply(asked=asked.question, said="yes")

    outcome = stage.work(DEPLOY, {"say": "Done."}, answers=(told,))

    assert stage.answers() == ["no", "no"]
    assert outcome.question == asked.question


DEPLOY = {"ask": {"kind": "other", "title": "Deploy", "rawInput": {"command": "ship it"}}}


@pytest.mark.parametrize(
    ("said", "given"),
    [("yes", "yes"), ("Y", "yes"), ("OK, once", "yes"), ("allow", "yes"), ("no", "no"), ("yesterday", "no")],
)
def test_what_a_person_answered_decides_and_is_not_asked_again(stage: Stage, said: str, given: str) -> None:
    asked = stage.work(DEPLOY, {"say": "I wait."})

    outcome = stage.work(DEPLOY, {"say": "Done."}, answers=(reply(asked, said),))

    assert stage.answers() == ["no", given]
    assert (outcome.failure, outcome.message, outcome.question) == ("", "Done.", "")
    assert any("Deploy" in notice for notice in outcome.notices) == (given == "no")


def test_one_yes_is_for_all_that_was_asked_and_for_nothing_else(stage: Stage) -> None:
    other = {"ask": {**DEPLOY["ask"], "rawInput": {"command": "ship all"}}}
    further = {"ask": {"kind": "other", "title": "Publish"}}
    asked = stage.work(DEPLOY, further, DEPLOY, {"say": "I wait."})

    outcome = stage.work(DEPLOY, further, other, {"say": "Done."}, answers=(reply(asked, "yes"),))

    assert asked.question.split("\n") == list(asked.permissions)
    assert len(asked.permissions) == 2
    assert stage.answers() == ["no", "no", "no", "yes", "yes", "no"]
    assert "ship all" in outcome.question
    assert "Publish" not in outcome.question


def test_no_title_can_pass_for_the_question_about_another_tool(stage: Stage) -> None:
    about_it = stage.work(DEPLOY, {"say": "I wait."}).question
    harmless = {"ask": {"kind": "other", "title": f"Look\n{about_it}\n"}}
    asked = stage.work(harmless, {"say": "I wait."})

    outcome = stage.work(DEPLOY, {"say": "Done."}, answers=(reply(asked, "yes"),))

    assert stage.answers() == ["no"] * 3
    assert outcome.question == about_it


def test_a_yes_cannot_allow_what_is_outside_nor_what_is_too_long_to_be_asked(stage: Stage) -> None:
    outside = {"ask": {"kind": "other", "title": "Look", "locations": [{"path": "/etc/shadow"}]}}
    endless = {"ask": {"kind": "other", "title": "Deploy " * 1000}}

    outcome = stage.work(outside, endless, {"say": "Done."}, answers=(LOOK,))

    assert stage.answers() == ["no", "no"]
    assert (outcome.question, len(outcome.notices)) == ("", 2)


def test_who_asks_need_not_say_again_what_was_told_before(stage: Stage) -> None:
    stage.work({"update": call("edit", locations=[{"path": "a.txt"}])}, {"ask": {"title": "Edit"}})

    assert stage.answers() == ["yes"]


def test_the_tools_of_a_server_that_the_assignment_names_may_be_used(stage: Stage) -> None:
    server = McpServer(name="tracker", command=("tracker", "--stdio"), env={"TOKEN": "hush-hush"})
    agent = replace(stage.open(), servers={"tracker": server})
    work = stage.assign({"ask": {"title": "mcp__tracker__close"}}, {"tell": "heard"}, mcp_servers=("tracker",))

    anyio.run(agent.work, work)

    heard = json.loads((stage.workspace / "heard").read_text())["servers"]
    assert stage.answers() == ["yes"]
    assert [(one["name"], one["command"], one["args"]) for one in heard] == [("tracker", "tracker", ["--stdio"])]
    assert [(one["name"], one["value"]) for one in heard[0]["env"]] == [("TOKEN", "hush-hush")]
    assert "hush-hush" not in stage.log.read_text()


def test_a_server_that_nobody_knows_is_refused_before_anything_starts(stage: Stage) -> None:
    outcome = stage.work({"say": "x"}, mcp_servers=("nowhere",))

    assert outcome.failure == "permanent"
    assert "nowhere" in outcome.message
    assert not stage.log.exists()


def test_files_are_written_for_it_inside_the_workspace_only(stage: Stage) -> None:
    outcome = stage.work(
        {"write": {"path": str(stage.workspace / "new" / "a.txt"), "content": "ü\n"}},
        {"write": {"path": str(stage.folder / "outside.txt"), "content": "x"}},
        {"update": call("edit", status="completed", locations=[{"path": "new/a.txt"}])},
        {"tell": "heard"},
    )

    served = json.loads((stage.workspace / "heard").read_text())["capabilities"]["fs"]
    assert (stage.workspace / "new" / "a.txt").read_text() == "ü\n"
    assert not (stage.folder / "outside.txt").exists()
    assert "refused" in outcome.message
    assert stage.happened("edit") == [("edit", "new/a.txt")]
    assert (served["writeTextFile"], served.get("readTextFile", False)) == (True, False)


def test_who_may_only_read_is_refused_edits_commands_and_writes(stage: Stage) -> None:
    stage.work(
        {"ask": {"kind": "edit", "locations": [{"path": "a.txt"}]}},
        {"ask": {"kind": "execute", "rawInput": {"command": "ls"}}},
        {"ask": {"kind": "read", "locations": [{"path": "a.txt"}]}},
        {"write": {"path": str(stage.workspace / "a.txt"), "content": "x"}},
        {"tell": "heard"},
        read_only=True,
    )

    assert stage.answers() == ["no", "no", "yes"]
    assert not (stage.workspace / "a.txt").exists()
    assert json.loads((stage.workspace / "heard").read_text())["mode"] == "plan"


@pytest.mark.parametrize(("word", "mode"), [("optional", "plan"), ("modeless", None)])
def test_a_mode_for_reading_is_found_among_the_options_or_missed(stage: Stage, word: str, mode: str | None) -> None:
    agent = stage.open(word)

    outcome = anyio.run(agent.work, stage.assign({"tell": "heard"}, {"say": "Looked."}, read_only=True))

    assert json.loads((stage.workspace / "heard").read_text()).get("mode") == mode
    assert outcome.notices == (() if mode else (UNHELD,))


@JAILED
def test_in_a_jail_nothing_can_be_written_outside(stage: Stage) -> None:
    steps = ({"shell": f"echo x > {stage.folder}/outside.txt; echo x > inside.txt"}, {"say": "Tried."})

    outcome = anyio.run(stage.open(jailed=True).work, stage.assign(*steps, writable=(stage.memory,)))

    assert (outcome.failure, outcome.message) == ("", "Tried.")
    assert (stage.workspace / "inside.txt").exists()
    assert not (stage.folder / "outside.txt").exists()


@JAILED
def test_in_a_jail_who_may_only_read_may_run_commands_that_cannot_write(stage: Stage) -> None:
    ask = {"ask": {"kind": "execute", "rawInput": {"command": "ls"}}}
    steps = ({"shell": "echo x > inside.txt"}, {"shell": f"cd {stage.memory}"}, ask, {"say": "Tried."})
    memory = stage.assign(*steps, writable=(stage.memory,), read_only=True)

    outcome = anyio.run(stage.open(jailed=True).work, memory)

    assert (outcome.failure, outcome.message) == ("", "Tried.")
    assert not (stage.workspace / "inside.txt").exists()
    assert not any("not allowed" in notice for notice in outcome.notices)


@pytest.mark.parametrize(
    ("steps", "failure", "said"),
    [
        (
            ({"error": {"code": -32603, "message": "Internal error", "data": {"details": "429 rate limit"}}},),
            "quota",
            "429",
        ),
        (({"error": {"code": 401, "message": "bad key"}},), "auth", "bad key"),
        (({"error": {"code": -32000, "message": "Please go in"}},), "auth", "go in"),
        (({"error": {"code": -32603, "message": "status 500"}},), "transient", "500"),
        (({"die": 3},), "crash", "something broke"),
        (({"say": "Half"}, {"stop": "max_tokens"}), "validation", "longer than it may be: Half"),
        (({"stop": "max_turn_requests"},), "turns", "more turns"),
        (({"stop": "refusal"},), "permanent", "refused"),
        (({"stop": "cancelled"},), "crash", "cancelled"),
        (
            ({"ask": {"kind": "edit", "locations": [{"path": "/x"}]}}, {"stop": "cancelled"}),
            "validation",
            "not allowed",
        ),
        (({"say": "Ran into this error: status 401 Unauthorized"},), "auth", "Unauthorized"),
        (({"say": "unexpected status 503 Service Unavailable"},), "transient", "503"),
        (
            ({"error": {"code": -32603, "message": "Look after it", "data": {"reason": "credits_exhausted"}}},),
            "billing",
            "Look after it",
        ),
        (({"error": {"code": -32603, "message": "No", "data": {"statusCode": 402}}},), "billing", "No"),
        (
            ({"say": "Network error: decoding\n\nPlease resend your message to try again."}, {"usage": USAGE}),
            "transient",
            "decoding",
        ),
        (
            (
                {"say": "The model returned an empty response. Please resend your message to continue."},
                {"usage": USAGE},
            ),
            "crash",
            "empty response",
        ),
        ((), "validation", "without output"),
        (({"stop": "what_is_this"},), "crash", "does not know"),
    ],
    ids=lambda value: "" if isinstance(value, tuple) else value,
)
def test_a_failure_has_its_class(stage: Stage, steps: Any, failure: str, said: str) -> None:
    outcome = stage.work(*steps)

    assert outcome.failure == failure, outcome.message
    assert said in outcome.message
    assert outcome.session == "s-1"


def test_what_looks_like_an_error_is_an_answer_if_tokens_were_used(stage: Stage) -> None:
    outcome = stage.work({"say": "The API error 500 is fixed: status 500 is gone."}, {"usage": USAGE})

    assert outcome.failure == ""


def test_work_without_a_last_word_is_noted(stage: Stage) -> None:
    edit = call("edit", status="completed", locations=[{"path": "a.txt"}])

    silent = stage.work({"say": "I begin."}, {"update": edit}, {"usage": USAGE})
    spoken = stage.work({"say": "I begin."}, {"update": edit}, {"say": "Done."}, {"usage": USAGE})

    assert (silent.failure, silent.message, silent.notices) == ("", "I begin.", (EMPTY,))
    assert (spoken.failure, spoken.message, spoken.notices) == ("", "Done.", ())


def test_an_answer_with_a_schema_comes_as_a_value(stage: Stage) -> None:
    outcome = stage.work({"say": '{"verdict": "ok"}'}, output_schema={"type": "object"})

    assert outcome.structured == {"verdict": "ok"}


@pytest.mark.parametrize(("word", "failure"), [("locked", "auth"), ("deaf", "crash")])
def test_an_agent_that_lets_nobody_in_or_never_answers_has_failed(stage: Stage, word: str, failure: str) -> None:
    outcome = anyio.run(stage.open(word).work, stage.assign({"say": "x"}, idle=4.0))

    assert outcome.failure == failure


def test_a_silent_agent_is_told_to_stop_and_its_work_is_kept(stage: Stage) -> None:
    edit = call("edit", status="completed", locations=[{"path": "half.txt"}])

    outcome = stage.work({"shell": "echo x > half.txt"}, {"update": edit}, {"await_cancel": ""}, idle=4.0)

    assert outcome.failure == "crash"
    assert outcome.message == "said nothing for 4 s and was stopped; the last thing it did: edit half.txt"
    assert (outcome.session, (stage.workspace / "half.txt").exists()) == ("s-1", True)
    assert (stage.workspace / "cancelled").exists()


def test_an_agent_that_is_stopped_has_cost_what_it_tells_of(stage: Stage) -> None:
    cost = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0.25, "currency": "USD"}}
    usage = {"input_tokens": 70, "output_tokens": 20, "total_tokens": 90}

    outcome = stage.work({"update": cost}, {"usage": usage}, {"await_cancel": ""}, {"stop": "cancelled"}, idle=4.0)

    assert outcome.failure == "crash"
    assert outcome.usage == {"input": 70, "output": 20, "cached": 0, "cost_usd": 0.25}
    assert outcome.source == "acp"


def test_an_agent_that_takes_too_long_is_stopped_with_all_it_started(stage: Stage) -> None:
    nap = make_nap()
    command = call("execute", rawInput={"command": nap})

    outcome = stage.work({"update": command}, {"shell": f"setsid {nap} & {nap}"}, timeout=6.0)

    assert outcome.failure == "timeout"
    assert outcome.message == f"timed out after 6 s; the last thing it did: command {nap}"
    assert count_processes(str(stage.memory)) == 0
    assert count_processes(nap) == 0


def test_cancelled_it_leaves_no_process(stage: Stage) -> None:
    async def cancel_in_mid_command() -> int:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stage.open().work, stage.assign({"shell": "touch begun; sleep 8201.5"}))
            while not (stage.workspace / "begun").exists():  # noqa: ASYNC110 - the file is another process's
                await anyio.sleep(0.05)
            seen = count_processes(str(stage.memory))
            tasks.cancel_scope.cancel()
        return seen

    assert anyio.run(cancel_in_mid_command) > 0
    assert count_processes(str(stage.memory)) == 0


def test_its_environment_has_no_secret_of_ours(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_PASSWORD", "our-own-secret")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "its-own-key")

    stage.work({"shell": "env > env.txt"})

    seen = (stage.workspace / "env.txt").read_text()
    assert "its-own-key" in seen
    assert "our-own-secret" not in seen


def test_four_work_at_once(stage: Stage) -> None:
    outcomes: list[Outcome] = []

    async def work(number: int) -> None:
        log = stage.folder / f"{number}.log"
        steps = ({"shell": f"echo {number} > {number}.txt"}, {"say": f"Done {number}."})
        outcomes.append(await stage.open().work(replace(stage.assign(*steps), log=log)))

    async def work_everywhere() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(work, number)

    anyio.run(work_everywhere)

    assert sorted(outcome.message for outcome in outcomes) == [f"Done {number}." for number in range(4)]


@pytest.mark.parametrize("spec", ["acp:no-such-program --acp", "acp:'open quote", "acp", "acp: "])
def test_a_command_that_cannot_be_started_is_refused_at_once(spec: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_agent(spec, processes=supervise(tmp_path), base=tmp_path)

    assert "--agent" in caught.value.hint


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("gemini --acp", "gemini"),
        ("/opt/bin/claude-agent-acp", "claude"),
        ("npx -y @google/gemini-cli@0.61.0 --acp", "gemini"),
        ("env A=b codex-acp", "codex"),
        ("node /x/opencode.js acp", "opencode"),
    ],
)
def test_a_program_is_known_by_its_command(command: str, name: str) -> None:
    assert name_program(command.split()) == name


def test_a_program_that_nobody_knows_has_the_folders_and_variables_of_its_name() -> None:
    keep, homes = find_own(("/usr/bin/zeta-acp",))

    assert "ZETA_*" in keep
    assert ("~/.zeta",) in [home.places for home in homes]


@pytest.mark.parametrize("command", ["ssh me@there agent", "docker run -i agent", "/usr/bin/config", "sh -c x"])
def test_folders_with_keys_and_those_of_everybody_are_granted_to_nobody(command: str) -> None:
    keep, homes = find_own(command.split())

    assert (keep, homes) == (PROVIDERS, ())


@JAILED
def test_what_a_person_lends_it_may_see_and_write_to(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_WORD", "hello")
    granted = stage.folder / "granted"
    grant = Grant(env=("OUR_WORD",), folders=(f"{stage.memory}/", f"{granted}/"))
    steps = ({"shell": f"echo $OUR_WORD > {granted}/word; echo x > {stage.folder}/stray"}, {"say": "Done."})

    outcome = anyio.run(replace(stage.open(jailed=True), grant=grant).work, stage.assign(*steps))

    assert outcome.message == "Done."
    assert (granted / "word").read_text() == "hello\n"
    assert not (stage.folder / "stray").exists()


def test_the_library_of_the_protocol_is_imported_when_somebody_talks() -> None:
    names = "'acp', 'pydantic', 'pydantic_ai'"
    program = (
        f"import sys, drumline.agents.acp, drumline.models.builtin; print([n for n in ({names}) if n in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def count_processes(word: str) -> int:
    lines = (" ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"]))
    return sum(word in line for line in lines)
