"""Real programs driven over the Agent Client Protocol, against a scripted model.

Gemini CLI stands for all of them in the conformance suite; here is what must hold for the others.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.agents.agent_fixture import (
    assign,
    count_processes,
    isolate,
    make_checkout,
    make_nap,
    wait_for_processes,
)
from tests.modelserver import ModelServer, Refuse, Run, Scenario, Turn, Write
from tests.supervision import supervise

from drumline.agents import open_agent
from drumline.agents.jail import find_jail
from drumline.ports.agents import Agent, Assignment, Happening, Outcome

JAILED = pytest.mark.skipif(
    find_jail() is None, reason="bubblewrap does not work here: install it, see drumline doctor"
)
COMMANDS = {
    "opencode": "opencode acp",
    "qwen": "qwen --acp --auth-type openai",
    "goose": "goose acp",
}
NAMES = tuple(COMMANDS)
# Gemini CLI shows the same in the conformance suite; of these, one that starts quickly is tried each time.
SELDOM = [pytest.param(name, marks=pytest.mark.long) if name in ("opencode", "qwen") else name for name in NAMES]
WORK = Scenario(
    turns=(
        Turn(text="I begin.", calls=(Write(path="hello.txt", content="hello\n"),)),
        Turn(calls=(Run(command="cat hello.txt > copy.txt"),)),
        Turn(text="All done."),
    )
)


class Place:
    """A worktree for a program, and what it told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.workspace = folder / "trees" / "one"
        self.told: list[Happening] = []
        self._monkeypatch = monkeypatch
        make_checkout(folder / "checkout", self.workspace)

    def open(self, name: str, server: ModelServer) -> Agent:
        isolate(self.folder, self._monkeypatch, name, server)
        return open_agent(f"acp:{COMMANDS[name]}", processes=supervise(self.folder), base=self.folder)

    def assign(self, **fields: Any) -> Assignment:
        async def note(happening: Happening) -> None:
            self.told.append(happening)

        return assign(self.workspace, self.folder / "logs" / "work.log", report=note, **fields)

    def work(self, name: str, server: ModelServer, **fields: Any) -> Outcome:
        return anyio.run(self.open(name, server).work, self.assign(**fields))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", NAMES)
def test_edits_land_commands_run_and_it_is_told(name: str, place: Place) -> None:
    with ModelServer([WORK]) as server:
        outcome = place.work(name, server)

    assert (outcome.failure, outcome.message) == ("", "All done.")
    assert (place.workspace / "hello.txt").read_text() == "hello\n"
    assert (place.workspace / "copy.txt").read_text() == "hello\n"
    told = {(happening.kind, happening.text) for happening in place.told}
    assert told >= {("session", outcome.session), ("text", "I begin."), ("text", "All done.")}
    assert any(kind in ("edit", "tool") and "hello.txt" in text for kind, text in told)


@pytest.mark.parametrize("name", ["opencode", "goose"])
def test_a_session_goes_on_where_it_was(name: str, place: Place) -> None:
    second = Scenario(when="SECOND", turns=(Turn(text="And more."),))
    with ModelServer([second, WORK]) as server:
        first = place.work(name, server)

        outcome = place.work(name, server, prompt="Do the SECOND thing.", session=first.session)

    assert (outcome.failure, outcome.message, outcome.session) == ("", "And more.", first.session)
    assert "Please do the work." in repr(server.turns[-1].body)


@pytest.mark.parametrize("name", SELDOM)
def test_a_key_that_is_refused_is_a_failure_to_get_in(name: str, place: Place) -> None:
    with ModelServer(
        [Scenario(turns=(Turn(fault=Refuse(status=401, message="Incorrect API key provided: invalid api key")),))]
    ) as server:
        outcome = place.work(name, server)

    assert outcome.failure == "auth", outcome.message


@JAILED
@pytest.mark.parametrize("name", SELDOM)
def test_in_a_jail_nothing_can_be_written_outside(name: str, place: Place) -> None:
    outside = place.folder / "outside.txt"
    turns = (Turn(calls=(Run(command=f"echo x > {outside}; echo x > inside.txt"),)), Turn(text="Tried."))
    with ModelServer([Scenario(turns=turns)]) as server:
        place.work(name, server)

    assert (place.workspace / "inside.txt").exists()
    assert not outside.exists()


@pytest.mark.parametrize("name", SELDOM)
def test_cancelled_in_mid_command_it_leaves_no_process(name: str, place: Place) -> None:
    nap = make_nap()
    turns = (Turn(calls=(Run(command=f"setsid {nap} & {nap}"),)), Turn(text="x"))
    with ModelServer([Scenario(turns=turns)]) as server:
        agent = place.open(name, server)

        async def cancel_in_mid_command() -> int:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(agent.work, place.assign())
                seen = await wait_for_processes(nap, 2)
                tasks.cancel_scope.cancel()
            return seen

        seen = anyio.run(cancel_in_mid_command)

    assert seen >= 2
    assert count_processes(nap) == 0
