"""What real programs do over the Agent Client Protocol when all is not well: no credit, half an answer, no jail."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from tests.agents.test_acp import NAMES, Place
from tests.modelserver import Cut, ModelServer, Refuse, Run, Scenario, Turn, Write

from drumline.agents.acp import AcpAgent
from drumline.ports.agents import Outcome
from drumline.record import replace

EDIT = Turn(text="I begin.", calls=(Write(path="hello.txt", content="hello\n"),))
SHELL = Turn(calls=(Run(command="echo x > shell.txt"),))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


def play(place: Place, name: str, *turns: Turn) -> Outcome:
    with ModelServer([Scenario(turns=turns)]) as server:
        return place.work(name, server)


@pytest.mark.parametrize("name", NAMES)
def test_an_account_without_credit_is_no_breakdown(name: str, place: Place) -> None:
    outcome = play(place, name, EDIT, Turn(fault=Refuse(status=402, message="Payment Required")))

    assert outcome.failure == "billing", outcome.message
    assert (place.workspace / "hello.txt").exists()


@pytest.mark.parametrize("name", ["goose"])
@pytest.mark.parametrize(("turn", "failure"), [(Turn(text="half of", fault=Cut()), "transient"), (Turn(), "crash")])
def test_an_answer_that_breaks_off_or_is_empty_is_no_success(name: str, turn: Turn, failure: str, place: Place) -> None:
    outcome = play(place, name, EDIT, turn)

    assert outcome.failure == failure, outcome.message
    assert (place.workspace / "hello.txt").exists()


@pytest.mark.parametrize("name", ["goose"])
def test_a_request_that_the_api_does_not_take_is_not_tried_again(name: str, place: Place) -> None:
    outcome = play(place, name, Turn(fault=Refuse(status=400, message="what is that")))

    assert outcome.failure == "permanent", outcome.message


@pytest.mark.parametrize("name", NAMES)
def test_without_a_jail_one_that_may_only_read_is_kept_from_writing(name: str, place: Place) -> None:
    with ModelServer([Scenario(turns=(EDIT, SHELL, Turn(text="Looked.")))]) as server:
        agent = place.open(name, server)
        assert isinstance(agent, AcpAgent)

        anyio.run(replace(agent, jail=None).work, place.assign(read_only=True))

    assert [path.name for path in place.workspace.iterdir()] == [".git"]
