"""What real programs say that they used: each attempt counts once, also where a program counts its whole session."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.agent_fixture import open_office
from tests.modelserver import ModelServer, Scenario, Turn, Usage, Write

NAMES = ("claude", "codex", "gemini", "opencode", "qwen", "goose", "builtin")
WORK = Scenario(
    turns=(
        Turn(text="I begin.", calls=(Write(path="hello.txt", content="hello\n"),), usage=Usage(sent=100, received=20)),
        Turn(text="All done.", usage=Usage(sent=150, received=10)),
    ),
)
DEAR = Scenario(turns=(Turn(text="All done.", usage=Usage(sent=100_000, received=2_000)),))
TOKENS = {"input": 250.0, "output": 30.0}


@pytest.mark.parametrize("name", NAMES)
def test_a_resumed_session_counts_only_what_is_new(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([WORK]) as server:
        office = open_office(tmp_path, monkeypatch, name, server)
        first = office.work("Please do the work.")
        second = office.work("Please do it once more.", session=first.session)

    counted = [{kind: outcome.usage[kind] for kind in TOKENS} for outcome in (first, second)]
    assert (first.failure, second.failure, second.session) == ("", "", first.session)
    assert counted == [TOKENS, TOKENS]
    assert second.source == name


@pytest.mark.parametrize("name", ["codex"])
def test_the_model_is_known_where_nobody_has_named_one(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([WORK]) as server:
        outcome = open_office(tmp_path, monkeypatch, name, server).work()

    assert outcome.model == "gpt-5.5"


def test_a_resumed_session_of_claude_costs_what_this_process_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([DEAR]) as server:
        office = open_office(tmp_path, monkeypatch, "claude", server)
        first = office.work("Please do the work.")
        second = office.work("Please do it once more.", session=first.session)
        third = office.work("And again.", session=first.session)

    costs = [outcome.usage["cost_usd"] for outcome in (first, second, third)]
    assert costs[0] > 0
    assert costs == [pytest.approx(costs[0])] * 3
