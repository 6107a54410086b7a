"""What real programs had used when they were stopped: it counts, and in a resumed session only what is new."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.seats import Office, open_office

from drumline.ports.agents import Outcome
from drumline.testing.modelserver import Hang, ModelServer, Scenario, Turn, Usage, Write

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
