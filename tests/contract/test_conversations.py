"""What every implementation of the processes port promises about commands that one talks with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from tests.supervision import supervise

from drumline.core.redaction import Redaction
from drumline.engine.redacted import RedactedProcesses
from drumline.ports.processes import Conversation, Ended, Job, Processes
from drumline.testing.processes import FakePartner, FakeProcesses

GRUMBLE = ("bash", "-c", "echo out; echo err >&2; exit 4")
T = bytes | Ended | str


async def play(job: Job, partner: FakePartner) -> Ended:
    """Answer for the commands of this suite as a machine would."""
    if job.argv[0] == "no-such-program":
        return Ended(exit_code=None, seconds=0.0, message="cannot start 'no-such-program'")
    if tuple(job.argv) == GRUMBLE:
        await partner.print(b"out\n")
        return Ended(exit_code=4, seconds=0.0, output="err\n", errors="err\n")
    while job.argv[0] == "cat" and (heard := await partner.read()):
        await partner.print(heard)
    return Ended(exit_code=0, seconds=0.0)


def refuse(job: Job) -> Ended:
    raise AssertionError(job)


@pytest.fixture(params=["fake", "supervised", "redacted"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Processes:
    if request.param == "fake":
        return FakeProcesses(refuse, play)
    supervised = supervise(tmp_path)
    return RedactedProcesses(processes=supervised, redaction=Redaction()) if request.param == "redacted" else supervised


def talk(
    processes: Processes, folder: Path, *argv: str, to: Callable[[Conversation], Awaitable[tuple[T, ...]]]
) -> tuple[T, ...]:
    """Talk with a command, and leave."""

    async def converse() -> tuple[T, ...]:
        async with processes.open(Job(argv=argv, cwd=folder, log=folder / "logs" / "job.log")) as conversation:
            return await to(conversation)

    return anyio.run(converse)


async def read_all(conversation: Conversation) -> bytes:
    said = b""
    while piece := await conversation.receive():
        said += piece
    return said


def test_each_side_hears_the_other_while_the_command_runs(processes: Processes, tmp_path: Path) -> None:
    async def exchange(cat: Conversation) -> tuple[T, ...]:
        await cat.send(b"one\n")
        first = await cat.receive()
        await cat.send("zwei ü\n".encode())
        second = await cat.receive()
        cat.hang_up()
        return first, second, await cat.receive(), await cat.wait()

    first, second, rest, ended = talk(processes, tmp_path, "cat", to=exchange)

    assert (first, second, rest) == (b"one\n", "zwei ü\n".encode(), b"")
    assert isinstance(ended, Ended)
    assert ended.exit_code == 0


def test_much_gets_through_in_both_directions(processes: Processes, tmp_path: Path) -> None:
    much = bytes(range(256)) * 4096

    async def exchange(cat: Conversation) -> tuple[T, ...]:
        async def say() -> None:
            await cat.send(much)
            cat.hang_up()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say)
            said = await read_all(cat)
        return (said,)

    assert talk(processes, tmp_path, "cat", to=exchange) == (much,)


def test_complaints_are_kept_apart(processes: Processes, tmp_path: Path) -> None:
    async def listen(command: Conversation) -> tuple[T, ...]:
        return await read_all(command), await command.wait()

    said, ended = talk(processes, tmp_path, *GRUMBLE, to=listen)

    assert said == b"out\n"
    assert isinstance(ended, Ended)
    assert (ended.exit_code, ended.errors, ended.output) == (4, "err\n", "err\n")


def test_a_program_that_is_missing_says_nothing_and_it_is_told_why(processes: Processes, tmp_path: Path) -> None:
    async def listen(command: Conversation) -> tuple[T, ...]:
        return await read_all(command), await command.wait(), await command.wait()

    said, ended, again = talk(processes, tmp_path, "no-such-program", to=listen)

    assert said == b""
    assert isinstance(ended, Ended)
    assert ended.exit_code is None
    assert "cannot start 'no-such-program'" in ended.message
    assert again == ended


def test_what_is_said_to_a_command_that_has_ended_is_refused(processes: Processes, tmp_path: Path) -> None:
    async def call_after(command: Conversation) -> tuple[T, ...]:
        await command.wait()
        with pytest.raises(BrokenPipeError):
            await command.send(b"hello?\n")
        command.hang_up()
        with pytest.raises(BrokenPipeError):
            await command.send(b"hello?\n")
        return ()

    talk(processes, tmp_path, "true", to=call_after)


def test_leaving_ends_a_command_that_would_go_on(processes: Processes, tmp_path: Path) -> None:
    async def leave(cat: Conversation) -> tuple[T, ...]:
        await cat.send(b"one\n")
        return (await cat.receive(),)

    assert talk(processes, tmp_path, "cat", to=leave) == (b"one\n",)


def test_cancellation_gets_through(processes: Processes, tmp_path: Path) -> None:
    async def cancel_soon() -> bool:
        with anyio.move_on_after(0.2) as scope:
            async with processes.open(Job(argv=("cat",), cwd=tmp_path, log=tmp_path / "log")) as cat:
                await cat.receive()
        return scope.cancelled_caught

    assert anyio.run(cancel_soon)
