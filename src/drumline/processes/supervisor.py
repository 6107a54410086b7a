"""The program between a driver and one command: when it ends, nothing that the command started is left.

It reads one job as a JSON line from its control pipe (stdin), runs it, writes one JSON line of report to stdout and
ends. The control pipe closing means that the driver died or gave up: everything is killed at once. As a subreaper it
becomes the parent of every orphaned descendant, so "no children" proves "no descendants", daemons included.

Its lock file comes locked from the driver, as a descriptor named on the command line: there is no moment in which the
supervisor lives and the lock is free. Without subreapers (macOS) this is best effort: descendants that `ps` shows, the
command's process group, and whatever shows the mark in its environment.
"""

from __future__ import annotations

import binascii
import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from drumline.processes import census, command
from drumline.processes.boundedlog import BoundedLog, Tail

CONTROL = 0
REPORT = 1
# How long helpers of a finished command (`> >(tee log)`) may go on writing what it said.
LINGER = 0.5
# How much of stderr alone the report repeats; with its escapes it still fits into an empty pipe.
ERRORS_TAIL = 4096
# How long processes of another user are waited for, which cannot be killed.
REFUSED_WAIT = 2.0


def main() -> None:
    """Run the job of the control pipe under the lock whose descriptor is the last argument."""
    lock = int(sys.argv[-1])
    os.set_inheritable(lock, False)
    talk = _take_over(sys.argv[-2])
    identity = {"pid": os.getpid(), "start": census.read_start(os.getpid()), "boot": census.read_boot()}
    os.pwrite(lock, json.dumps(identity).encode() + b"\n", 0)
    command.adopt_orphans()
    line = read_line(CONTROL)
    if not line or _hung_up():
        return
    report = supervise(json.loads(line), talk)
    with contextlib.suppress(BrokenPipeError):
        os.write(REPORT, json.dumps(report).encode() + b"\n")


def _take_over(pipes: str) -> tuple[int, int] | None:
    """The pipes for the command's stdin and stdout, if the driver wants to talk with it; ours alone until it starts."""
    if not pipes:
        return None
    stdin, stdout = map(int, pipes.split(","))
    for pipe in (stdin, stdout):
        os.set_inheritable(pipe, False)
    return stdin, stdout


def read_line(fd: int) -> bytes:
    """Everything up to the first line end; empty if the writer left before it."""
    pieces: list[bytes] = []
    while not (pieces and pieces[-1].endswith(b"\n")):
        piece = os.read(fd, 1 << 16)
        if not piece:
            return b""
        pieces.append(piece)
    return b"".join(pieces)


def _hung_up() -> bool:
    return bool(select.select([CONTROL], [], [], 0)[0])


def supervise(job: dict[str, object], talk: tuple[int, int] | None = None) -> dict[str, object]:
    """Run the job to its end and return the report; `talk` are pipes for its stdin and stdout that are not ours."""
    began = time.monotonic()
    try:
        sinks = Sinks(job, apart=talk is not None)
    except OSError as error:
        return _refused(f"cannot write the log {error.filename!r}: {error.strerror}", began)
    try:
        watch = Watch(job, sinks, talk)
    except command.NotStarted as refusal:
        sinks.close()
        return _refused(str(refusal), began)
    watch.wait_end()
    left = watch.kill_family()
    watch.drain()
    remarks = sinks.close()
    return {
        "exit_code": watch.exit_code,
        "timed_out": watch.timed_out,
        "seconds": time.monotonic() - began,
        "message": "; ".join(remarks),
        "cut": sinks.printed is not None and sinks.printed.cut,
        "errors": sinks.errors.read().decode("utf-8", "replace"),
        "signal": watch.signal,
        "left": census.name_processes(left),
    }


def _refused(message: str, began: float) -> dict[str, object]:
    seconds = time.monotonic() - began
    return {
        "exit_code": None,
        "timed_out": False,
        "seconds": seconds,
        "message": message,
        "cut": False,
        "errors": "",
        "signal": 0,
        "left": "",
    }


def _whole(value: object) -> int:
    return int(str(value))


class Sinks:
    """Where the output of one command goes: all of it to the log, and where stdout is kept apart, each to its own.

    With `apart` stdout does not come through here at all.
    """

    def __init__(self, job: dict[str, object], *, apart: bool) -> None:
        self.log = BoundedLog(str(job["log"]), head=_whole(job["head"]), tail=_whole(job["tail"]))
        path = job["printed"]
        self._apart = apart or path is not None
        self.printed = None if path is None else BoundedLog(str(path), head=_whole(job["printed_limit"]))
        self.errors = Tail(ERRORS_TAIL)

    def take(self, data: bytes, *, printed: bool) -> None:
        """Keep the next piece of output; `printed` if it came through the pipe that stdout has of its own."""
        self.log.add(data)
        if printed and self.printed is not None:
            self.printed.add(data)
        elif self._apart:
            self.errors.add(data)

    def close(self) -> list[str]:
        """Finish the files and return what went wrong with them."""
        files = [self.log] if self.printed is None else [self.log, self.printed]
        for file in files:
            file.close()
        return [file.trouble for file in files if file.trouble]


class Watch:
    """One running command: its pipes, its time and its family."""

    def __init__(self, job: dict[str, object], sinks: Sinks, talk: tuple[int, int] | None) -> None:
        argv, env, handed = job["argv"], job["env"], job["handed"]
        if not isinstance(argv, list) or not isinstance(env, dict) or not isinstance(handed, list):
            raise command.NotStarted("the job has no argv, no environment or no list of what is handed to it")
        self.exit_code: int | None = None
        self.signal = 0
        self.timed_out = False
        self._stopped = False
        self._sinks = sinks
        self._mark = str(env.get(census.MARK, ""))
        self._stdin = memoryview(str(job["stdin"]).encode("utf-8", "replace"))
        self._grace = float(str(job["grace"]))
        self._wake = self._listen_signals()
        apart = sinks.printed is not None
        beforehand = command.Beforehand(
            [binascii.a2b_base64(data) for data in handed], scoped=bool(job["scoped"]), limit=_whole(job["limit"])
        )
        self._command = command.start(argv, cwd=str(job["cwd"]), env=env, apart=apart, talk=talk, beforehand=beforehand)
        timeout = job["timeout"]
        self._deadline = None if timeout is None else time.monotonic() + float(str(timeout))
        self._poll = select.poll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._attend(CONTROL, select.POLLIN, self._read_control)
        self._attend(self._wake, select.POLLIN, self._read_wake)
        self._speaking = list(self._command.outputs)
        for pipe in self._speaking:
            self._attend(pipe, select.POLLIN, partial(self._read_output, pipe))
        if self._command.stdin is not None:
            self._attend(self._command.stdin, select.POLLOUT, partial(self._write_stdin, self._command.stdin))

    def wait_end(self) -> None:
        """Return when the command ended, ran out of time and grace, or is to be stopped."""
        while not self._stopped:
            alone = not self._reap()
            now = time.monotonic()
            if self.exit_code is not None and (alone or self.timed_out or not self._speaking):
                return
            if self._deadline is not None and now >= self._deadline and not self._pass_deadline(now):
                return
            self._turn(None if self._deadline is None else self._deadline - now)

    def kill_family(self) -> list[int]:
        """Kill until no child is left; return those that may not be killed and would not end."""
        refused: set[int] = set()
        give_up = time.monotonic() + REFUSED_WAIT
        while self._reap() or not census.LINUX:
            family = self._family()
            # Only where children can be adopted does having none prove anything, and an empty look nothing.
            if not family and not census.LINUX:
                break
            # Stopped first, so that none can fork faster than it is killed.
            refused.update(_signal_all(family, signal.SIGSTOP))
            _signal_all(family, signal.SIGKILL)
            if family and refused.issuperset(family) and time.monotonic() > give_up:
                return family
            time.sleep(0.002)
        return []

    def drain(self) -> None:
        """Take what is still in the output pipes; everybody who could write there is gone."""
        log, before = self._sinks.log, -1
        while self._speaking and log.seen > before:
            before = log.seen
            for pipe in tuple(self._speaking):
                self._read_output(pipe)

    def _family(self) -> list[int]:
        family = census.descendants(os.getpid())
        if census.LINUX:
            return family
        # `ps` was a child of ours while it looked, and what it started under another parent shows by its mark.
        return sorted(pid for pid in {*family, *census.marked(self._mark)} if census.read_start(pid))

    def _pass_deadline(self, now: float) -> bool:
        """Move on from the time to the grace, or from a linger to the end; False when nothing is left to wait for."""
        if self.timed_out or self.exit_code is not None:
            return False
        self.timed_out = True
        self._deadline = now + self._grace
        _signal_all(census.descendants(os.getpid()), signal.SIGTERM)
        return True

    def _reap(self) -> bool:
        """Collect whoever ended; False when no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._command.pid:
                code = os.waitstatus_to_exitcode(status)
                self.exit_code = code if code >= 0 else 128 - code
                # Also by us, if somebody ended this supervisor: the driver hangs up and hears no report.
                self.signal = max(0, -code)
                self._deadline = time.monotonic() + LINGER

    def _turn(self, patience: float | None) -> None:
        milliseconds = None if patience is None else max(0, int(patience * 1000) + 1)
        for fd, _ in self._poll.poll(milliseconds):
            if fd in self._ready:
                self._ready[fd]()

    def _attend(self, fd: int, event: int, react: Callable[[], None]) -> None:
        self._poll.register(fd, event)
        self._ready[fd] = react

    def _drop(self, fd: int) -> None:
        self._poll.unregister(fd)
        del self._ready[fd]
        os.close(fd)

    def _read_control(self) -> None:
        self._stopped = not os.read(CONTROL, 4096)

    def _read_wake(self) -> None:
        numbers = os.read(self._wake, 4096)
        self._stopped = self._stopped or any(number != signal.SIGCHLD for number in numbers)

    def _read_output(self, pipe: int) -> None:
        try:
            data = os.read(pipe, 1 << 16)
        except BlockingIOError:
            return
        if data:
            self._sinks.take(data, printed=pipe == self._command.printed)
        else:
            self._speaking.remove(pipe)
            self._drop(pipe)

    def _write_stdin(self, pipe: int) -> None:
        try:
            if self._stdin:
                self._stdin = self._stdin[os.write(pipe, self._stdin[: 1 << 16]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._stdin = memoryview(b"")
        if not self._stdin:
            self._drop(pipe)

    def _listen_signals(self) -> int:
        out, into = os.pipe()
        os.set_blocking(into, False)
        signal.set_wakeup_fd(into, warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        return out


def _signal_all(pids: list[int], number: int) -> list[int]:
    """Signal each process and return those that belong to somebody else."""
    refused: list[int] = []
    for pid in pids:
        try:
            os.kill(pid, number)
        except PermissionError:
            refused.append(pid)
        except ProcessLookupError:
            continue
    return refused
