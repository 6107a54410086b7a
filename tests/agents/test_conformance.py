"""What every agent promises behind its adapter: one body of tests, the real programs, a scripted model.

An adapter joins by a row in SUBJECTS; how its program finds the scripted model is in `programs.py`, what agents that
are not called like a program are opened by in `agent_fixture.py`, how much of an extra one is tried each time in
`extras.py`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import shlex
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import pytest
from tests.agents.agent_fixture import (
    Office,
    assign,
    count_processes,
    make_nap,
    open_office,
    read_command_lines,
    wait_for_processes,
)
from tests.agents.extras import EXTRAS, MINIMUM
from tests.modelserver import Answer, Cut, Hang, ModelServer, Refuse, Run, Scenario, Turn, Use, Write

from drumline.agents.jail import find_jail
from drumline.core.flow.model import Json
from drumline.ports.agents import Happening, Outcome
from drumline.profiles import McpServer
from drumline.record import replace
from drumline.schemas.checking import JsonSchemas

JAILED = pytest.mark.skipif(
    find_jail() is None, reason="bubblewrap does not work here: install it, see drumline doctor"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """What is special about a program: whether it says when a quota is back, which of its keys its commands see.

    `idle` and `limit` are seconds in which it has come to its work if nothing else runs here; `tool` is its name for
    the tool `close` of an MCP server, `model` one with which it offers that at once. Where it may only read and has no
    jail, commands are refused one by one, or it `offers_no_shell`. Only one that `serves` takes MCP servers from us.
    One that `tells_late` tells a command when it is over.
    `forgets` says why it cannot continue with a session.
    """

    tells_reset: bool = False
    hides_keys: bool = False
    idle: float = 5.0
    limit: float = 12.0
    tool: str = "close"
    model: str = ""
    offers_no_shell: bool = False
    serves: bool = True
    tells_late: bool = False
    forgets: str = ""


SUBJECTS = {
    "claude": Subject(tells_reset=True),
    "codex": Subject(hides_keys=True, model="scripted"),
    "gemini": Subject(idle=8.0, serves=False, offers_no_shell=True),
    "opencode": Subject(
        hides_keys=True,
        idle=12.0,
        limit=20.0,
        tool="tracker_close",
        offers_no_shell=True,
        tells_late=True,
    ),
    "qwen": Subject(idle=8.0, offers_no_shell=True),
    "goose": Subject(),
    "acp": Subject(
        idle=8.0,
        tool="mcp_tracker_close",
        offers_no_shell=True,
        tells_late=True,
        forgets="Gemini CLI loads no session over ACP, although it has saved it; others do, see test_acp.py",
    ),
    "copilot": Subject(hides_keys=True, idle=8.0, tool="tracker-close"),
    "builtin": Subject(
        tells_reset=True,
        hides_keys=True,
        tool="tracker_close",
        offers_no_shell=True,
    ),
}
NAMES = tuple(SUBJECTS)
# They take seconds to start; what another test shows of them, too, is left to the long ones.
SLOW = ("gemini", "opencode", "qwen", "acp")
EITHER_WAY = [
    pytest.param(name, jailed, marks=[JAILED] if jailed else [pytest.mark.long] if name in SLOW else [])
    for name in NAMES
    for jailed in (True, False)
]


def shown_elsewhere(*names: str) -> list[object]:
    """All agents; the test is a long one for those named, as another test shows the same of them."""
    return [pytest.param(name, marks=pytest.mark.long) if name in names else name for name in NAMES]


WORK = Scenario(
    name="work",
    turns=(
        Turn(text="I begin.", calls=(Write(path="hello.txt", content="hello\n"),)),
        Turn(calls=(Run(command="cat hello.txt > copy.txt"),)),
        Turn(text="All done."),
    ),
)
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
OpenOffice = Callable[..., Office]


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenOffice:
    """Opens an agent that works against a server, with our secrets in the environment."""
    return partial(open_office, tmp_path, monkeypatch)


def play(*turns: Turn, when: str = "") -> ModelServer:
    """A server with one scenario."""
    return ModelServer([Scenario(turns=turns, when=when)])


def skip_for(reason: str) -> None:
    """Skip the test where there is a reason why this agent cannot pass it."""
    if reason:
        pytest.skip(reason)


def test_what_is_tried_with_extra_programs_each_time_is_in_this_suite() -> None:
    parameters = {test: set(inspect.signature(globals()[test]).parameters) for test in MINIMUM}

    assert {test: set(given) - parameters[test] for test, given in MINIMUM.items()} == {test: set() for test in MINIMUM}
    assert set(EXTRAS) <= set(NAMES)


@pytest.mark.parametrize(("name", "jailed"), EITHER_WAY)
def test_edits_land_commands_run_and_all_of_it_is_told(name: str, jailed: bool, office: OpenOffice) -> None:
    told: list[Happening] = []

    async def note(happening: Happening) -> None:
        told.append(happening)

    with ModelServer([WORK]) as server:
        desk = office(name, server, jailed=jailed)
        outcome = desk.work(report=note)

    assert (outcome.failure, outcome.message) == ("", "All done.")
    assert (desk.workspace / "hello.txt").read_text() == "hello\n"
    assert (desk.workspace / "copy.txt").read_text() == "hello\n"
    assert {(h.kind, h.text) for h in told} >= {
        ("session", outcome.session),
        ("edit", "hello.txt"),
        ("text", "I begin."),
    }
    assert any(h.kind == "command" and "cat hello.txt > copy.txt" in h.text for h in told)
    assert outcome.session
    assert desk.log.stat().st_size > 0
    assert not desk.log.with_name(desk.log.name + ".tmp").exists()


@pytest.mark.parametrize("name", shown_elsewhere("gemini", "opencode"))
def test_tokens_are_those_of_this_assignment(name: str, office: OpenOffice) -> None:
    with ModelServer([WORK]) as server:
        desk = office(name, server)
        first = desk.work()
        second = desk.work(session=first.session)

    assert [(o.usage["input"], o.usage["output"]) for o in (first, second)] == [(300, 60), (300, 60)]
    assert first.source == name
    assert ("cost_usd" in first.usage) == desk.abilities.prices
    assert first.usage.get("cost_usd") == pytest.approx(second.usage.get("cost_usd"))


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_fits_its_schema_comes_as_a_value(name: str, office: OpenOffice) -> None:
    with play(Turn(answer=Answer(value={"verdict": "ok"})), Turn(text='{"verdict": "ok"}')) as server:
        outcome = office(name, server).work(output_schema=SCHEMA)

    assert (outcome.failure, outcome.structured) == ("", {"verdict": "ok"})


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_does_not_fit_is_never_taken_for_one_that_does(name: str, office: OpenOffice) -> None:
    with play(Turn(answer=Answer(value={"nothing": 1}))) as server:
        outcome = office(name, server).work(output_schema=SCHEMA)

    assert outcome.failure == "validation" or JsonSchemas().find_faults(outcome.structured, SCHEMA)


@pytest.mark.parametrize("name", NAMES)
def test_a_session_goes_on_where_it_was(name: str, office: OpenOffice) -> None:
    skip_for(SUBJECTS[name].forgets)
    second = Scenario(name="second", when="SECOND", turns=(Turn(text="And more."),))
    with ModelServer([second, WORK]) as server:
        desk = office(name, server)
        first = desk.work("Please do the work.")

        outcome = desk.work("Do the SECOND thing.", session=first.session)

    assert (outcome.failure, outcome.message, outcome.session) == ("", "And more.", first.session)
    assert [(o.usage["input"], o.usage["output"]) for o in (first, outcome)] == [(300, 60), (100, 20)]
    assert "Please do the work." in repr(server.turns[-1].body)


@pytest.mark.parametrize("name", NAMES)
def test_a_session_that_is_gone_is_begun_anew(name: str, office: OpenOffice) -> None:
    gone = "0199e1b1-6eaa-7620-8482-b5ec02969705"
    with ModelServer([WORK]) as server:
        outcome = office(name, server).work(session=gone)

    assert (outcome.failure, outcome.message) == ("", "All done.")
    assert outcome.session not in ("", gone)
    assert any(gone in notice for notice in outcome.notices)


@pytest.mark.parametrize("name", shown_elsewhere("opencode", "acp"))
def test_a_session_has_the_id_that_was_wanted_where_that_can_be_had(name: str, office: OpenOffice) -> None:
    wanted = "7d9e2f70-54a5-4fbb-a3d7-0b4c11f7a111"
    with play(Turn(text="Here.")) as server:
        desk = office(name, server)
        outcome = desk.work(new_session=wanted)

    assert (outcome.session == wanted) == desk.abilities.names_session


@pytest.mark.parametrize(
    ("fault", "failure"),
    [
        (Refuse(status=401), "auth"),
        (Refuse(status=402, message="Payment required: your credit balance is too low"), "billing"),
        (Refuse(status=429, retry_after=1), "quota"),
        # Told when to ask again, none waits longer by itself: one of them for over a minute.
        (Refuse(status=500, retry_after=1), "transient"),
        (Cut(), "transient"),
    ],
    ids=["401", "402", "429", "500", "cut"],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_failure_has_its_class(name: str, fault: Refuse | Cut, failure: str, office: OpenOffice) -> None:
    with play(Turn(text="x", fault=fault)) as server:
        outcome = office(name, server).work()

    assert outcome.failure == failure, outcome.message
    assert outcome.message


@pytest.mark.parametrize("name", [name for name, subject in SUBJECTS.items() if subject.tells_reset])
def test_it_is_told_when_a_quota_is_there_again(name: str, office: OpenOffice) -> None:
    with play(Turn(fault=Refuse(status=429, retry_after=2))) as server:
        outcome = office(name, server).work()

    assert outcome.resets_at is not None
    assert 0 < outcome.resets_at - time.time() <= 2


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_that_says_and_does_nothing_has_failed(name: str, office: OpenOffice) -> None:
    with play(Turn()) as server:
        outcome = office(name, server).work()

    assert (outcome.failure, outcome.message) == ("validation", "the agent exited without output and changed nothing")


@pytest.mark.parametrize("name", NAMES)
def test_a_silent_agent_is_stopped_and_its_work_is_kept(name: str, office: OpenOffice) -> None:
    with play(Turn(calls=(Write(path="half.txt", content="half\n"),)), Turn(fault=Hang())) as server:
        desk = office(name, server)
        idle, outcome = stop_at_work(desk, SUBJECTS[name].idle, limit="idle")

    assert outcome.failure == "crash"
    assert outcome.message.startswith(
        f"said nothing for {idle:g} s and was stopped; the last thing it did: edit half.txt"
    )
    assert outcome.session
    assert (desk.workspace / "half.txt").read_text() == "half\n"


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_that_takes_too_long_is_stopped_with_all_it_started(name: str, office: OpenOffice) -> None:
    nap = make_nap()
    # Some programs put a command that takes long into the background and go on.
    command = f"echo x > half.txt; setsid {nap} & {nap}"
    with play(Turn(calls=(Run(command=command),)), Turn(fault=Hang())) as server:
        desk = office(name, server)
        late = SUBJECTS[name].tells_late
        limit, outcome = stop_at_work(desk, SUBJECTS[name].limit, limit="timeout", late=late)

    assert outcome.failure == "timeout"
    assert outcome.message.startswith(f"timed out after {limit:g} s; ")
    assert late or ("the last thing it did: command" in outcome.message and nap in outcome.message)
    assert (desk.workspace / "half.txt").exists()
    assert count_processes(nap) == 0


def stop_at_work(desk: Office, seconds: float, *, limit: str, late: bool = False) -> tuple[float, Outcome]:
    """Let it work under a limit, a longer one where the machine was too busy for it to come to `half.txt` in time.

    Returns the limit that it was stopped by; with `late`, the file is there before it is told.
    """
    half = desk.workspace / "half.txt"
    outcome = desk.work("Please begin.", **{limit: seconds})
    if half.name in outcome.message or (late and half.exists()):
        return seconds, outcome
    half.unlink(missing_ok=True)
    return 8 * seconds, desk.work("Please begin.", **{limit: 8 * seconds})


@pytest.mark.parametrize("jailed", [pytest.param(True, marks=JAILED), False])
@pytest.mark.parametrize("name", NAMES)
def test_cancelled_in_mid_command_it_leaves_no_process(name: str, jailed: bool, office: OpenOffice) -> None:
    command = make_nap()

    with play(Turn(calls=(Run(command=f"setsid {command} & {command}"),)), Turn(text="x")) as server:
        desk = office(name, server, jailed=jailed)

        async def cancel_in_mid_command() -> int:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.agent.work, assign(desk.workspace, desk.log))
                seen = await wait_for_processes(command, 2)
                tasks.cancel_scope.cancel()
            return seen

        seen = anyio.run(cancel_in_mid_command)

    assert seen >= 2
    assert count_processes(command) == 0
    assert count_processes(desk.executable, str(desk.workspace)) == 0


@JAILED
@pytest.mark.parametrize("name", NAMES)
def test_in_a_jail_nothing_can_be_written_outside(name: str, office: OpenOffice, tmp_path: Path) -> None:
    edited, written = tmp_path / "edited.txt", tmp_path / "written.txt"
    turns = (
        Turn(calls=(Write(path=str(edited), content="x\n"),)),
        Turn(calls=(Run(command=f"echo x > {written}; echo x > ../beside.txt; echo x > inside.txt"),)),
        Turn(text="Tried."),
    )
    with play(*turns) as server:
        desk = office(name, server)
        outcome = desk.work()

    assert (outcome.failure, outcome.message) == ("", "Tried.")
    assert (desk.workspace / "inside.txt").exists()
    assert not edited.exists()
    assert not written.exists()
    assert not (desk.workspace.parent / "beside.txt").exists()


@pytest.mark.parametrize("name", NAMES)
def test_without_a_jail_a_file_of_the_checkout_that_changed_is_told_or_was_not_let_through(
    name: str, office: OpenOffice, tmp_path: Path
) -> None:
    stray = tmp_path / "checkout" / "stray.txt"
    turns = (Turn(calls=(Run(command=f"echo x > {shlex.quote(str(stray))}"),)), Turn(text="Tried."))
    with play(*turns) as server:
        outcome = office(name, server, jailed=False).work()

    assert outcome.message == "Tried."
    found = [notice for notice in outcome.notices if str(stray) in notice and "was not allowed" not in notice]
    assert stray.exists() == bool(found)


@pytest.mark.parametrize("jailed", [pytest.param(True, marks=JAILED), False])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "goose"])
def test_who_may_only_read_changes_nothing(name: str, jailed: bool, office: OpenOffice) -> None:
    turns = (
        Turn(calls=(Run(command="cat kept.txt; echo x > shell.txt"),)),
        Turn(calls=(Run(command="rm kept.txt"),)),
        Turn(text="Looked."),
    )
    with play(*turns) as server:
        desk = office(name, server, jailed=jailed)
        (desk.workspace / "kept.txt").write_text("kept\n")
        outcome = desk.work(read_only=True)

    if jailed or not SUBJECTS[name].offers_no_shell:
        assert (outcome.failure, outcome.message) == ("", "Looked.")
    else:
        assert "needs one of the tools" in outcome.message
    assert (desk.workspace / "kept.txt").read_text() == "kept\n"
    assert not (desk.workspace / "shell.txt").exists()


@pytest.mark.parametrize("name", NAMES)
def test_commands_see_no_secret_of_ours(name: str, office: OpenOffice) -> None:
    with play(Turn(calls=(Run(command="env > env.txt"),)), Turn(text="x")) as server:
        desk = office(name, server)
        desk.work()

    seen = (desk.workspace / "env.txt").read_text()
    assert "PATH=" in seen
    assert "our-own-secret" not in seen
    assert ("sk-not-for-the-records" in seen) != SUBJECTS[name].hides_keys


@pytest.mark.parametrize("name", NAMES)
def test_what_it_is_asked_is_not_in_the_list_of_processes(name: str, office: OpenOffice) -> None:
    prompt, instructions = (uuid.uuid4().hex for _ in range(2))
    with play(Turn(fault=Hang())) as server:
        desk = office(name, server)
        seen: list[str] = []

        async def look_while_it_works() -> None:
            async with anyio.create_task_group() as tasks:
                asked = assign(desk.workspace, desk.log, prompt=prompt, instructions=instructions)
                tasks.start_soon(desk.agent.work, asked)
                await anyio.to_thread.run_sync(lambda: server.wait_for(lambda request: request.turn == 0))
                seen.extend(read_command_lines())
                tasks.cancel_scope.cancel()

        anyio.run(look_while_it_works)

    sent = json.dumps(server.turns[0].body)
    assert prompt in sent
    assert instructions in sent
    assert any(desk.executable in line for line in seen)
    assert not any(prompt in line or instructions in line for line in seen)


@pytest.mark.parametrize("name", NAMES)
def test_six_work_at_once(name: str, office: OpenOffice) -> None:
    outcomes: list[Outcome] = []

    with ModelServer([WORK]) as server:
        desk = office(name, server)

        async def work_in(folder: Path) -> None:
            outcomes.append(await desk.agent.work(assign(folder, folder.with_suffix(".log"))))

        async def work_everywhere() -> None:
            async with anyio.create_task_group() as tasks:
                for folder in desk.make_workspaces(6):
                    tasks.start_soon(work_in, folder)

        anyio.run(work_everywhere)

    assert [(outcome.failure, outcome.message) for outcome in outcomes] == [("", "All done.")] * 6
    assert len({outcome.session for outcome in outcomes}) == 6
    assert all((folder / "copy.txt").exists() for folder in desk.workspaces)


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


@pytest.mark.parametrize(("name", "jailed"), [row for row in EITHER_WAY if SUBJECTS[str(row.values[0])].serves])
def test_the_tools_of_a_server_can_be_used_and_its_secrets_stay_out_of_sight(
    name: str, jailed: bool, office: OpenOffice, tmp_path: Path
) -> None:
    script = tmp_path / "server.py"
    script.write_text(SERVER)
    tracker = McpServer(name="tracker", command=(sys.executable, str(script)), env={"TRACKER_TOKEN": "hush-1"})
    with play(Turn(calls=(Use(tool=SUBJECTS[name].tool, arguments={"number": 7}),)), Turn(text="Closed.")) as server:
        desk = office(name, server, jailed=jailed)
        agent = replace(desk.agent, servers={"tracker": tracker})
        asked = assign(desk.workspace, desk.log, mcp_servers=("tracker",), model=SUBJECTS[name].model)
        outcome = anyio.run(agent.work, asked)

    assert (outcome.failure, outcome.message) == ("", "Closed.")
    assert (desk.workspace / "closed.txt").read_text() == "7 hush-1"
    assert "hush-1" not in json.dumps(server.turns[0].body)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_nobody_knows_is_refused_before_anything_starts(name: str, office: OpenOffice) -> None:
    with play(Turn(text="x")) as server:
        outcome = office(name, server).work(mcp_servers=("nowhere",))

    assert (outcome.failure, len(server.requests)) == ("permanent", 0)
    assert "nowhere" in outcome.message


@pytest.mark.parametrize("name", ["claude"])
def test_a_budget_ends_it(name: str, office: OpenOffice) -> None:
    with play(Turn(calls=(Run(command="ls"),)), Turn(calls=(Run(command="ls"),)), Turn(text="x")) as server:
        outcome = office(name, server).work(budget=0.0007)

    assert outcome.failure == "quota"
    assert "budget" in outcome.message


@pytest.mark.parametrize("name", ["claude", "builtin"])
def test_it_takes_no_more_turns_than_it_may(name: str, office: OpenOffice) -> None:
    with play(*(Turn(calls=(Run(command=f"echo {number}"),)) for number in range(9))) as server:
        outcome = office(name, server).work(turns=2)

    assert outcome.failure == "turns"
    assert "turns" in outcome.message
    assert len(server.turns) == 2


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_stops_it_after_the_turns_that_it_may_take(name: str, office: OpenOffice) -> None:
    with play(*(Turn(calls=(Run(command=f"echo {number}; sleep 0.3"),)) for number in range(12))) as server:
        outcome = office(name, server).call(turns=3)

    assert (outcome.failure, outcome.session != "") == ("turns", True)
    assert "it took more turns than it may" in outcome.message
    assert 3 <= len(server.turns) <= 6


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_lets_it_finish_within_the_turns_that_it_may_take(name: str, office: OpenOffice) -> None:
    with play(*(Turn(calls=(Run(command=f"echo {number}"),)) for number in range(2)), Turn(text="Seen.")) as server:
        outcome = office(name, server).call(turns=4)

    assert (outcome.failure, outcome.message.strip()) == ("", "Seen.")


@JAILED
@pytest.mark.parametrize("name", ["goose"])
def test_in_a_jail_it_may_only_read_and_without_one_says_that_it_cannot(name: str, office: OpenOffice) -> None:
    with play(Turn(calls=(Run(command="cat kept.txt; echo x > shell.txt"),)), Turn(text="Looked.")) as server:
        desk = office(name, server)
        (desk.workspace / "kept.txt").write_text("kept\n")
        held = desk.work(read_only=True)
        refused = dataclasses.replace(desk, agent=replace(desk.agent, jail=None)).work(read_only=True)

    assert (held.failure, held.message) == ("", "Looked.")
    assert not (desk.workspace / "shell.txt").exists()
    assert refused.failure == "permanent"
    assert "bubblewrap" in refused.message
