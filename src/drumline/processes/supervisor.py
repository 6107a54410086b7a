"""The program between a driver and one command: when it ends, nothing that the command started is left.

It reads one job from its control pipe (stdin), runs it, writes one line of report to stdout (`wire.py`) and ends. The
control pipe closing means that the driver died or gave up: everything is killed at once. As a subreaper it becomes the
parent of every orphaned descendant, so "no children" proves "no descendants", daemons included.

Its lock file comes locked from the driver, as a descriptor named on the command line: there is no moment in which the
supervisor lives and the lock is free. Without subreapers (macOS) this is best effort: descendants that `ps` shows, the
command's process group, and whatever shows the mark in its environment.
"""

from __future__ import annotations

import os
import select
import sys
import time

from drumline.processes import census, command, wire
from drumline.processes.boundedlog import BoundedLog, Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Sequence
else:
    # The half of `signal` that is written in C: the other builds enumerations, which takes as long as Python starts.
    import _signal as signal

CONTROL = 0
REPORT = 1
# How long helpers of a finished command (`> >(tee log)`) may go on writing what it said.
LAST_WAIT = 0.5
# How much of stderr alone the report repeats; with its escapes it still fits into an empty pipe.
ERRORS_TAIL = 4096
# How long processes of another user are waited for, which cannot be killed.
REFUSED_WAIT = 2.0


def main() -> None:
    """Run the job of the control pipe under the lock whose descriptor is the last argument."""
    lock = int(sys.argv[-1])
    os.set_inheritable(lock, False)
    talk = _take_over(sys.argv[-2])
    pid = os.getpid()
    identity: dict[str, str | float | None] = {"pid": pid, "start": census.read_start(pid), "boot": census.read_boot()}
    os.pwrite(lock, wire.write_report(identity), 0)
    command.adopt_orphans()
    request = wire.read_request(lambda: os.read(CONTROL, 1 << 16))
    if not request or _hung_up():
        return
    report = wire.write_report(supervise(Job(request), talk))
    try:
        os.write(REPORT, report)
    except BrokenPipeError:
        return


def _take_over(pipes: str) -> tuple[int, int] | None:
    """The pipes for the command's stdin and stdout, if the driver wants to talk with it; ours alone until it starts."""
    if not pipes:
        return None
    stdin, stdout = map(int, pipes.split(","))
    for pipe in (stdin, stdout):
        os.set_inheritable(pipe, False)
    return stdin, stdout


def _hung_up() -> bool:
    return bool(select.select([CONTROL], [], [], 0)[0])


def supervise(job: Job, talk: tuple[int, int] | None = None) -> dict[str, str | float | None]:
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


def _refused(message: str, began: float) -> dict[str, str | float | None]:
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


class Job:
    """What to run and how, from the fields of a request."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        one = dict(fields)
        self.argv = [value for name, value in fields if name == "argv"]
        self.env = {name: value for name, _, value in (value.partition("=") for key, value in fields if key == "env")}
        self.handed = [bytes.fromhex(value) for name, value in fields if name == "handed"]
        self.cwd, self.log, self.printed = one["cwd"], one["log"], one.get("printed")
        self.stdin = one["stdin"].encode("utf-8", "replace")
        self.timeout = float(one["timeout"]) if "timeout" in one else None
        self.grace = float(one["grace"])
        self.scoped = one["scoped"] == "True"
        self.head, self.tail, self.printed_limit, self.limit = (
            int(one[name]) for name in ("head", "tail", "printed_limit", "limit")
        )


class Sinks:
    """Where the output of one command goes: all of it to the log, and where stdout is kept apart, each to its own.

    With `apart` stdout does not come through here at all.
    """

    def __init__(self, job: Job, *, apart: bool) -> None:
        self.log = BoundedLog(job.log, head=job.head, tail=job.tail)
        self._apart = apart or job.printed is not None
        self.printed = None if job.printed is None else BoundedLog(job.printed, head=job.printed_limit)
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

    def __init__(self, job: Job, sinks: Sinks, talk: tuple[int, int] | None) -> None:
        self.exit_code: int | None = None
        self.signal = 0
        self.timed_out = False
        self._stopped = False
        self._sinks = sinks
        self._mark = job.env.get(census.MARK, "")
        self._stdin = memoryview(job.stdin)
        self._grace = job.grace
        self._wake = self._listen_signals()
        beforehand = command.Beforehand(job.handed, scoped=job.scoped, limit=job.limit)
        self._command = command.start(
            job.argv, cwd=job.cwd, env=job.env, apart=sinks.printed is not None, talk=talk, beforehand=beforehand
        )
        self._deadline = None if job.timeout is None else time.monotonic() + job.timeout
        self._poll = select.poll()
        self._ready: dict[int, Callable[[], None]] = {}
        self._attend(CONTROL, select.POLLIN, self._read_control)
        self._attend(self._wake, select.POLLIN, self._read_wake)
        self._speaking = list(self._command.outputs)
        for pipe in self._speaking:
            self._attend(pipe, select.POLLIN, _bind(self._read_output, pipe))
        if self._command.stdin is not None:
            self._attend(self._command.stdin, select.POLLOUT, _bind(self._write_stdin, self._command.stdin))

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
        """Move on from the time to the grace, or from a wait to the end; False when nothing is left to wait for."""
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
                self._deadline = time.monotonic() + LAST_WAIT

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


def _bind(react: Callable[[int], None], pipe: int) -> Callable[[], None]:
    return lambda: react(pipe)


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
