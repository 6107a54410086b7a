"""How the answers of a model are counted, and how an agent is stopped that takes more turns than it may."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from tests.unit.test_agent_readers import assign

from drumline.agents import copilot, gemini, goose, opencode, qwen
from drumline.agents.program import Program
from drumline.core.turns import Turns
from drumline.engine.agent_call import AgentCall
from drumline.engine.services import know_no_price
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.record import Record

STREAMS = Path(__file__).parent / "streams"


def count(*told: tuple[str, str]) -> int:
    """The answers in what is told: kinds with the calls that they are about."""
    turns = Turns()
    for kind, call in told:
        turns.hear(kind, call=call)
    return turns.answers


def test_texts_and_calls_before_a_result_are_one_answer() -> None:
    assert count(("text", ""), ("tool", "a"), ("command", "b"), ("result", "a"), ("result", "b")) == 1


def test_what_follows_a_result_is_another_answer() -> None:
    assert count(("tool", "a"), ("result", "a"), ("text", ""), ("tool", "b"), ("result", "b"), ("text", "")) == 3


def test_an_edit_that_is_told_after_the_result_of_its_call_is_not_an_answer() -> None:
    assert count(("tool", "a"), ("result", "a"), ("edit", "a"), ("text", "")) == 2


def test_a_session_usage_and_notices_are_not_answers() -> None:
    assert count(("session", ""), ("usage", ""), ("notice", "")) == 0


@pytest.mark.parametrize(
    ("program", "answers"),
    [(copilot.PROGRAM, 3), (gemini.PROGRAM, 3), (goose.PROGRAM, 3), (opencode.PROGRAM, 3), (qwen.PROGRAM, 3)],
    ids=lambda found: getattr(found, "name", ""),
)
def test_the_answers_in_the_recorded_stream_of_a_program_are_counted(program: Program, answers: int) -> None:
    turns, reader = Turns(), program.open_reader(assign(Path("/nowhere")))

    for line in (STREAMS / f"{program.name}.work.jsonl").read_text().splitlines():
        for told in reader.read(json.loads(line)):
            turns.hear(told.kind, told.text, told.call)

    assert turns.answers == answers


class Busy(Record):
    """An agent that runs as many commands as it says, each after the result of the one before."""

    commands: int

    async def work(self, assignment: Assignment) -> Outcome:
        """Run them, then say so."""
        await assignment.report(Happening(kind="session", text="its-own"))
        for number in range(self.commands):
            await assignment.report(Happening(kind="usage", usage={"output": 10.0 * (number + 1)}))
            await assignment.report(Happening(kind="command", text=f"look {number}", call=f"c{number}"))
            await anyio.lowlevel.checkpoint()
            await assignment.report(Happening(kind="result", call=f"c{number}"))
        await assignment.report(Happening(kind="text", text="Seen."))
        return Outcome(message="Seen.")


def call_busy(folder: Path, *, commands: int, turns: int | None) -> tuple[Outcome, list[Mapping[str, float]]]:
    """What the call of such an agent comes to, and the usage that was kept."""
    kept: list[Mapping[str, float]] = []

    async def keep(usage: Mapping[str, float], seconds: float) -> None:
        kept.append(usage)

    call = AgentCall(agent=Busy(commands=commands), model="", price=know_no_price, now=lambda: 0.0, keep=keep)
    return anyio.run(call.make, assign(folder, turns=turns)), kept


def test_an_agent_is_stopped_when_its_model_answers_more_often_than_it_may(tmp_path: Path) -> None:
    outcome, kept = call_busy(tmp_path, commands=9, turns=3)

    assert (outcome.failure, outcome.session, outcome.usage) == ("turns", "its-own", {"output": 40.0})
    assert outcome.message == "it took more turns than it may (3); the last thing it did: command look 3"
    assert kept[-1] == {"output": 40.0}


@pytest.mark.parametrize("turns", [4, None])
def test_an_agent_that_ends_in_time_is_not_stopped(tmp_path: Path, turns: int | None) -> None:
    outcome, _ = call_busy(tmp_path, commands=3, turns=turns)

    assert (outcome.failure, outcome.message) == ("", "Seen.")
