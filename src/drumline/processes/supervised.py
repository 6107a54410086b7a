"""Commands under a supervisor each. Whatever happens to us, the supervisor ends what it started.

The driver holds the writing end of each supervisor's control pipe and nothing else does; it closes with the driver.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path

import anyio
from anyio.abc import Process

from drumline.core.ids import DriverId
from drumline.core.signals import is_sent
from drumline.ports.processes import Conversation, Ended, Job
from drumline.processes import census, locks, wire
from drumline.processes.conversation import Pipes, SupervisedConversation
from drumline.processes.inherited import number_mark
from drumline.processes.kill import sweep
from drumline.record import replace

log = logging.getLogger(__name__)
LOG_HEAD = 4 * 1024 * 1024
LOG_TAIL = 1024 * 1024
OUTPUT_TAIL = 8 * 1024
GRACE = 2.0
# A supervisor told to stop needs milliseconds; longer means that something below it cannot be killed.
STOP_WAIT = 15.0
# A supervisor ends its command when its time is over; one that says nothing for so much longer is stopped or hangs.
REPORT_WAIT = 30.0

SOURCES = Path(__file__).resolve().parents[2]
# Isolated and without site: a supervisor starts in a fraction of the time and cannot be led astray by the environment.
# It ends without tidying up its memory, which the kernel does faster.
PROGRAM = (
    "import os, sys; sys.path.append(sys.argv[1]); from drumline.processes.supervisor import main; main(); os._exit(0)",
    str(SOURCES),
)
# Git's own variables would point the commands at the repository of a hook that started us.
KEPT_GIT_VARIABLES = frozenset({"GIT_SSH_COMMAND", "GIT_SSH"})

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device strings
    r"|\x1b[ -/]*[0-~]?"  # everything else
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class SupervisedProcesses:
    """Runs the commands of one driver; `driver_dir` takes the lock files of its supervisors."""

    def __init__(self, driver_dir: Path, driver: DriverId, *, report_wait: float = REPORT_WAIT) -> None:
        self._dir = driver_dir
        self._driver = driver
        self._numbers = itertools.count(1)
        self._report_wait = report_wait

    async def run(self, job: Job) -> Ended:
        """Run to the end. When this returns, is cancelled, or our process dies, no process of the job is left."""
        began = time.monotonic()
        try:
            for path in (job.log, job.printed or job.log):
                path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock() as (number, lock):
                mark = f"{self._driver}/{number}"
                said = await self._supervise(job, mark, lock)
        except OSError as error:
            return Ended(
                exit_code=None, seconds=time.monotonic() - began, message=f"cannot start a supervisor: {error}"
            )
        return _conclude(said, job, mark, began=began)

    @asynccontextmanager
    async def open(self, job: Job) -> AsyncIterator[Conversation]:
        """Run a command to talk with. Once the block is left or our process dies, no process of the job is left."""
        began = time.monotonic()
        job.log.parent.mkdir(parents=True, exist_ok=True)
        with self._lock() as (number, lock):
            mark = f"{self._driver}/{number}"
            pipes = Pipes()
            try:
                with anyio.CancelScope(shield=True):
                    process = await _start(lock, pipes.theirs)
            except BaseException:
                pipes.close()
                raise

            async def listen() -> Ended:
                return _conclude(await self._hear(process, job), job, mark, began=began)

            conversation = SupervisedConversation(pipes, listen)
            try:
                pipes.hand_over()
                await _tell(process, _write_request(replace(job, stdin="", printed=None), mark))
                yield conversation
            finally:
                pipes.close()
                with anyio.CancelScope(shield=True):
                    await _stop(process, mark)
                conversation.left = census.name_processes(census.marked(mark))

    async def _hear(self, process: Process, job: Job, request: bytes = b"") -> bytes | None:
        """What a supervisor says after it was told this; None if it is stopped or hangs and was killed."""
        limit = None if job.timeout is None else job.timeout + GRACE + self._report_wait
        with anyio.move_on_after(limit):
            await _tell(process, request)
            return await _listen(process)
        process.kill()
        return None

    async def _supervise(self, job: Job, mark: str, lock: int) -> bytes | None:
        # Shielded: a start that is cancelled half-way would leave a supervisor that nobody waits for.
        with anyio.CancelScope(shield=True):
            process = await _start(lock)
        try:
            return await self._hear(process, job, _write_request(job, mark))
        finally:
            with anyio.CancelScope(shield=True):
                await _stop(process, mark)

    @contextmanager
    def _lock(self) -> Iterator[tuple[int, int]]:
        """A locked file for the next supervisor, removed once nobody holds it any more."""
        self._dir.mkdir(parents=True, exist_ok=True)
        number = next(n for n in self._numbers if not (self._dir / f"sup-{n}").exists())
        path = self._dir / f"sup-{number}"
        lock = locks.hold(path)
        try:
            yield number, lock
        finally:
            os.close(lock)
            if not locks.is_held(path):
                path.unlink(missing_ok=True)


def build_environment(
    extra: Mapping[str, str], mark: str, *, unset: Sequence[str] = (), keep: Sequence[str] | None = None
) -> dict[str, str]:
    """Our environment without git's own variables, plus the job's, plus the mark by which its processes are found."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    ours |= {name: os.environ[name] for name in KEPT_GIT_VARIABLES if name in os.environ}
    if keep is not None:
        ours = {name: value for name, value in ours.items() if any(fnmatchcase(name, kept) for kept in keep)}
    for name in unset:
        ours.pop(name, None)
    return ours | dict(extra) | {census.MARK: mark}


def read_tail(log: Path) -> str:
    """The end of a log as plain text; empty if there is none."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - OUTPUT_TAIL))
            return strip_controls(file.read(OUTPUT_TAIL).decode("utf-8", "replace"))
    except OSError:
        return ""


def strip_controls(text: str) -> str:
    """Text that cannot move a cursor: without escapes and control characters, each carriage return a line end."""
    lines = ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return CONTROLS.sub("", lines)


def _write_request(job: Job, mark: str) -> bytes:
    env = build_environment(job.env, mark, unset=job.unset, keep=job.keep)
    fields: list[tuple[str, object]] = [
        *(("argv", word) for word in job.argv),
        *(("env", f"{name}={value}") for name, value in env.items()),
        *(("handed", data.hex()) for data in job.handed),
        ("cwd", job.cwd.absolute()),
        ("stdin", job.stdin),
        ("log", job.log.absolute()),
        ("grace", GRACE),
        ("head", LOG_HEAD),
        ("tail", LOG_TAIL),
        ("printed_limit", job.printed_limit),
        ("scoped", job.scoped),
        ("limit", number_mark(mark)),
    ]
    if job.timeout is not None:
        fields.append(("timeout", job.timeout))
    if job.printed is not None:
        fields.append(("printed", job.printed.absolute()))
    return wire.write_request((name, str(value)) for name, value in fields)


async def _start(lock: int, pipes: tuple[int, ...] = ()) -> Process:
    return await anyio.open_process(
        [sys.executable, "-I", "-S", "-E", "-X", "utf8", "-c", *PROGRAM, ",".join(map(str, pipes)), str(lock)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Its own session: Ctrl-C at the terminal is for the driver, which decides what to stop.
        start_new_session=True,
        pass_fds=(lock, *pipes),
    )


async def _tell(process: Process, request: bytes) -> None:
    """Hand over the job."""
    if process.stdin is not None and request:
        # If it died, the missing report says so.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await process.stdin.send(request)


async def _listen(process: Process) -> bytes:
    """Everything until the supervisor has nothing more to say."""
    said = b""
    if process.stdout is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for piece in process.stdout:
                said += piece
    return said


def _conclude(said: bytes | None, job: Job, mark: str, *, began: float) -> Ended:
    ended = _read_report(said or b"", job.log) or _bury(said, job, mark, began=began)
    facts = {"exit_code": ended.exit_code, "seconds": f"{ended.seconds:.3f}", "log": job.log}
    log.debug("%s ended", " ".join(job.argv[:1]) or "an empty command", extra=facts)
    return ended


def _bury(said: bytes | None, job: Job, mark: str, *, began: float) -> Ended:
    # Its supervisor is gone without a word, so nobody but us ends what it had started.
    sweep(mark)
    seconds = time.monotonic() - began
    return Ended(
        left=census.name_processes(census.marked(mark)),
        exit_code=None,
        seconds=seconds,
        output=read_tail(job.log),
        message=_explain_silence(said),
        killed=not (said or b"").strip(),  # one that breaks down by itself leaves a traceback
    )


async def _stop(process: Process, mark: str) -> None:
    """Close the control pipe, which ends everything, and wait until the supervisor is gone."""
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(STOP_WAIT):
        await process.wait()
    if process.returncode is None:
        process.kill()
    if process.returncode != 0:
        sweep(mark)
    await process.aclose()


def _read_report(said: bytes, log: Path) -> Ended | None:
    lines = said.splitlines()
    try:
        report = json.loads(lines[-1]) if lines else None
        if not isinstance(report, dict):
            return None
        return Ended(
            exit_code=report["exit_code"],
            seconds=report["seconds"],
            timed_out=report["timed_out"],
            output=read_tail(log),
            message=report["message"],
            cut=report["cut"],
            errors=strip_controls(report["errors"]),
            killed=is_sent(report["signal"]) and not report["timed_out"],
            left=report["left"],
        )
    except (ValueError, KeyError):
        return None


def _explain_silence(said: bytes | None) -> str:
    if said is None:
        return "the supervisor of this command did not end with it (it was stopped, or hangs) and was killed"
    text = strip_controls(said.decode("utf-8", "replace")).strip()
    return "the supervisor of this command died without a report" + (f": {text[-500:]}" if text else "")
