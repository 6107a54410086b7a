"""What real programs had used when they were stopped: it counts, and in a resumed session only what is new."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from tests.agents.agent_fixture import Office, assign, open_office
from tests.modelserver import Hang, ModelServer, Scenario, Turn, Usage, Write

from drumline.ports.agents import Happening, Outcome

NAMES = ("claude", "codex")
SILENCE = 5.0
STUCK = Scenario(
    turns=(
        Turn(calls=(Write(path="half.txt", content="half\n"),), usage=Usage(sent=100, received=20)),
        Turn(fault=Hang()),
    ),
)


def stop_at_work(office: Office, session: str = "") -> Outcome:
    """Let it work until it is silent; longer where the machine was too busy for it to come to its work."""
    for seconds in (SILENCE, 8 * SILENCE):
        outcome = office.work(idle=seconds, session=session)
        if "half.txt" in outcome.message:
            break
    return outcome


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_was_stopped_has_cost_its_tokens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([STUCK]) as server:
        office = open_office(tmp_path, monkeypatch, name, server)
        first = stop_at_work(office)
        (office.workspace / "half.txt").unlink()
        second = stop_at_work(office, first.session)

    stopped = [(outcome.failure, outcome.session, outcome.source) for outcome in (first, second)]
    assert stopped == [("crash", first.session, name)] * 2
    assert [outcome.usage for outcome in (first, second)] == [{"input": 100, "output": 20, "cached": 0}] * 2


async def cancel_at_work(office: Office) -> list[Mapping[str, float]]:
    """Let it work until it has written its file, and stop it from outside; what it was said to have used by then."""
    told: list[Mapping[str, float]] = []
    written = anyio.Event()

    async def hear(happening: Happening) -> None:
        if happening.kind == "usage":
            told.append(happening.usage)
        if happening.kind == "edit":
            written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(office.agent.work, assign(office.workspace, office.log, report=hear))
        with anyio.fail_after(90):
            await written.wait()
        await anyio.sleep(1.0)
        tasks.cancel_scope.cancel()
    return told


@pytest.mark.parametrize("name", NAMES)
def test_a_program_that_was_cancelled_has_cost_its_tokens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([STUCK]) as server:
        office = open_office(tmp_path, monkeypatch, name, server)

        told = anyio.run(cancel_at_work, office)

    assert told[-1] == {"input": 100, "output": 20, "cached": 0}
