"""What an agent does is kept beside its log: while it works, without secrets, and set aside with a lost attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import RunId, StepId
from drumline.core.redaction import Redaction, Secrets
from drumline.engine.agent_call import AgentCall
from drumline.engine.redacted import RedactedAgent
from drumline.isolation.happenings import MOST_DETAIL, keep_happenings
from drumline.isolation.transcripts import begin_log, name_happenings
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.record import Record

SECRET = "hunter2-hunter2"  # noqa: S105 - no secret of anybody
SEEN: list[int] = []


class Talker(Record):
    """Says something, runs something, and notes how much of that is on disk by then."""

    async def work(self, assignment: Assignment) -> Outcome:
        await assignment.report(Happening(kind="session", text="s"))
        await assignment.report(Happening(kind="text", text=f"I know {SECRET}"))
        SEEN.append(len(read(assignment.log)))
        await assignment.report(Happening(kind="command", text="make", call="a"))
        await assignment.report(Happening(kind="result", call="a", failed=True, detail="x" * 9_000))
        return Outcome(message="done")


def read(log: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in name_happenings(log).read_text().splitlines()]


async def _keep(usage: Mapping[str, float], seconds: float) -> None:
    pass


def work(log: Path) -> None:
    assignment = Assignment(
        run=RunId("r1"),
        step=StepId("s1"),
        node="implement",
        attempt=1,
        prompt="do it",
        prompt_file=log.with_name("prompt-1.md"),
        workspace=log.parent,
        log=log,
    )
    agent = RedactedAgent(agent=Talker(), redaction=Redaction(secrets=Secrets(values=(SECRET,))))
    call = AgentCall(agent=agent, model="", price=lambda model, usage: None, now=lambda: 12.3456, keep=_keep)
    anyio.run(call.make, assignment)


def test_what_an_agent_does_is_there_while_it_works_and_without_secrets_afterwards(tmp_path: Path) -> None:
    log = begin_log(tmp_path / "logs" / "attempt-1.log")

    work(log)

    assert SEEN.pop() == 1
    assert read(log) == [
        {"at": 12.346, "kind": "text", "text": "I know [secret]"},
        {"at": 12.346, "kind": "command", "text": "make", "call": "a"},
        {"at": 12.346, "kind": "result", "call": "a", "failed": True, "detail": "x" * MOST_DETAIL},
    ]


def test_a_lost_attempts_happenings_are_set_aside_with_its_log(tmp_path: Path) -> None:
    log = tmp_path / "attempt-1.log"
    for number in (1, 2, 3):
        begin_log(log).write_text(str(number))
        name_happenings(log).write_text(f"told {number}")

    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "attempt-1.log",
        "attempt-1.log.happenings",
        "attempt-1.lost-1.log",
        "attempt-1.lost-1.log.happenings",
        "attempt-1.lost-2.log",
        "attempt-1.lost-2.log.happenings",
    ]
    assert name_happenings(tmp_path / "attempt-1.lost-2.log").read_text() == "told 2"


@pytest.mark.parametrize("place", ["missing/attempt-1.log", "taken"])
def test_what_cannot_be_written_stops_no_work(tmp_path: Path, place: str) -> None:
    name_happenings(tmp_path / "taken").mkdir()

    with keep_happenings(tmp_path / place, tmp_path, lambda: 1.0) as keep:
        keep(Happening(kind="text", text="x"))


def test_files_of_the_workspace_are_named_as_they_are_from_there(tmp_path: Path) -> None:
    log, work = tmp_path / "attempt-1.log", tmp_path / "work@1"
    told = [
        Happening(kind="edit", text=f"{work}/src/a.py"),
        Happening(kind="command", text=f"cd {work} && cat {work}/b /etc/c"),
        Happening(kind="text", text=f"in {work}/a"),
    ]

    with keep_happenings(log, work, lambda: 1.0) as keep:
        for happening in told:
            keep(happening)

    assert [one["text"] for one in read(log)] == ["src/a.py", "cd . && cat b /etc/c", f"in {work}/a"]
