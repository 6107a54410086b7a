"""What every implementation of the processes port promises."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from tests.supervision import supervise

from drumline.core.redaction import Redaction
from drumline.engine.redacted import RedactedProcesses
from drumline.ports.processes import PRINTED_LIMIT, Ended, Job, Processes
from drumline.testing.processes import FakeProcesses

TABLE = {
    ("bash", "-c", "exit 0"): Ended(exit_code=0, seconds=0.0),
    ("bash", "-c", "exit 3"): Ended(exit_code=3, seconds=0.0),
    ("bash", "-c", "kill -9 $$"): Ended(exit_code=137, seconds=0.0),
    ("bash", "-c", "echo out; echo err >&2"): Ended(exit_code=0, seconds=0.0, output="out\nerr\n"),
    ("bash", "-c", "echo out; echo err >&2; exit 4"): Ended(
        exit_code=4, seconds=0.0, output="out\nerr\n", errors="err\n"
    ),
    ("bash", "-c", "true"): Ended(exit_code=0, seconds=0.0),
    ("head", "-c", str(PRINTED_LIMIT), "/dev/zero"): Ended(exit_code=0, seconds=0.0),
    ("head", "-c", str(PRINTED_LIMIT + 1), "/dev/zero"): Ended(exit_code=0, seconds=0.0),
    ("sleep", "60"): Ended(exit_code=143, seconds=0.1, timed_out=True),
    ("no-such-program",): Ended(exit_code=None, seconds=0.0, message="cannot start 'no-such-program'"),
}


def play(job: Job) -> Ended:
    """Answer for the commands of this suite as a machine would."""
    if job.printed is not None:
        job.printed.write_bytes(print_as(job.argv))
    return Ended(exit_code=0, seconds=0.0, output=job.stdin) if job.argv[0] == "cat" else TABLE[tuple(job.argv)]


def print_as(argv: Sequence[str]) -> bytes:
    """The stdout of the commands of this suite that hand it over."""
    if argv[0] == "head":
        return b"\0" * int(argv[2])
    return b"out\n" if argv[0] == "bash" and argv[2].startswith("echo out") else b""


@pytest.fixture(params=["fake", "supervised", "redacted"])
def processes(request: pytest.FixtureRequest, tmp_path: Path) -> Processes:
    if request.param == "fake":
        return FakeProcesses(play)
    supervised = supervise(tmp_path)
    return RedactedProcesses(processes=supervised, redaction=Redaction()) if request.param == "redacted" else supervised


def run(processes: Processes, tmp_path: Path, *argv: str, stdin: str = "", timeout: float | None = None) -> Ended:
    job = Job(argv=argv, cwd=tmp_path, log=tmp_path / "logs" / "job.log", stdin=stdin, timeout=timeout)
    return anyio.run(processes.run, job)


@pytest.mark.parametrize(("line", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)])
def test_the_exit_code_is_what_a_shell_would_say(processes: Processes, tmp_path: Path, line: str, code: int) -> None:
    ended = run(processes, tmp_path, "bash", "-c", line)

    assert ended.exit_code == code
    assert not ended.timed_out


def test_output_is_stdout_and_stderr_together(processes: Processes, tmp_path: Path) -> None:
    ended = run(processes, tmp_path, "bash", "-c", "echo out; echo err >&2")

    assert ended.output == "out\nerr\n"


def test_stdin_reaches_the_command(processes: Processes, tmp_path: Path) -> None:
    ended = run(processes, tmp_path, "cat", stdin="one\ntwo ü\n")

    assert ended.output == "one\ntwo ü\n"


def test_a_command_that_runs_out_of_time_is_said_to_have_timed_out(processes: Processes, tmp_path: Path) -> None:
    ended = run(processes, tmp_path, "sleep", "60", timeout=0.1)

    assert ended.timed_out
    assert ended.exit_code == 143


def test_a_program_that_is_missing_has_no_exit_code_but_a_reason(processes: Processes, tmp_path: Path) -> None:
    ended = run(processes, tmp_path, "no-such-program")

    assert ended.exit_code is None
    assert "cannot start 'no-such-program'" in ended.message


def run_apart(processes: Processes, tmp_path: Path, *argv: str) -> tuple[Ended, bytes]:
    """Run a command whose stdout is handed over on its own; how it ended, and that stdout."""
    printed = tmp_path / "apart" / "printed"
    job = Job(argv=argv, cwd=tmp_path, log=tmp_path / "logs" / "job.log", printed=printed)
    return anyio.run(processes.run, job), printed.read_bytes()


def test_stdout_alone_is_handed_over_where_that_is_asked(processes: Processes, tmp_path: Path) -> None:
    ended, printed = run_apart(processes, tmp_path, "bash", "-c", "echo out; echo err >&2; exit 4")

    assert ended.exit_code == 4
    assert printed == b"out\n"
    assert ended.errors == "err\n"
    assert sorted(ended.output.splitlines()) == ["err", "out"]
    assert not ended.cut


@pytest.mark.parametrize("argv", [("bash", "-c", "true"), ("no-such-program",)])
def test_the_file_for_stdout_is_there_even_if_nothing_was_said(
    processes: Processes, tmp_path: Path, argv: tuple[str, ...]
) -> None:
    ended, printed = run_apart(processes, tmp_path, *argv)

    assert printed == b""
    assert not ended.cut


@pytest.mark.parametrize(("size", "cut"), [(PRINTED_LIMIT, False), (PRINTED_LIMIT + 1, True)])
def test_stdout_that_is_handed_over_has_a_limit(processes: Processes, tmp_path: Path, size: int, cut: bool) -> None:
    ended, printed = run_apart(processes, tmp_path, "head", "-c", str(size), "/dev/zero")

    assert printed == b"\0" * PRINTED_LIMIT
    assert ended.cut is cut


def test_stderr_is_not_told_apart_where_nobody_asked(processes: Processes, tmp_path: Path) -> None:
    ended = run(processes, tmp_path, "bash", "-c", "echo out; echo err >&2")

    assert (ended.cut, ended.errors) == (False, "")


def test_jobs_may_run_at_the_same_time(processes: Processes, tmp_path: Path) -> None:
    codes: list[int | None] = []

    async def run_one(n: int) -> None:
        job = Job(argv=("bash", "-c", "exit 3"), cwd=tmp_path, log=tmp_path / f"{n}.log")
        codes.append((await processes.run(job)).exit_code)

    async def run_all() -> None:
        async with anyio.create_task_group() as group:
            for n in range(4):
                group.start_soon(run_one, n)

    anyio.run(run_all)

    assert codes == [3, 3, 3, 3]
