"""Our command line without its start-up: a warm interpreter forks once for each command.

The rule: what is forked is a real process with its own pid, folder, environment and descriptors; it can be killed, hold
locks and leave children. Only `/proc/PID/environ` and `/proc/PID/cmdline` show those of the warm interpreter: a test
that looks there for a live command, or that is about start-up itself, starts `python -m drumline`.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLI = "drumline.cli.main"
FORK = b"fork"
LOADED = ("cli", "app", "agents", "planfiles", "flowfiles", "expressions", "schemas", "skills")
"""Packages of ours that commands import sooner or later; what loads an SDK is left to the command that needs it."""
BESIDES = ("anyio._backends._asyncio", "jsonschema", "simpleeval", "tests.acceptance.rigged")


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What is to run: `main(argv)` of a module, in this folder and with this environment."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    module: str = CLI


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A command that has ended; the code of one that was killed is the negative number of its signal."""

    code: int
    out: str
    err: str


def run_warm(command: Command, *, timeout: float) -> Ended:
    """Run a command in a process of its own, without input, and wait for its end; kill it when the time is up."""
    return _find_server(os.getpid()).run(command, timeout)


@cache
def _find_server(owner: int) -> Server:
    """The server of this process."""
    return Server()


class Server:
    """The warm interpreter as the tests see it: one for each of their processes, gone with it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG", "LC_ALL") if key in os.environ}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__)), str(theirs.fileno())],
                cwd="/",
                env=kept,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def close(self) -> None:
        """End the warm interpreter; what it forked goes on."""
        self._socket.close()
        self._process.wait()

    def run(self, command: Command, timeout: float) -> Ended:
        """Let it fork, and read until the command has ended and everybody who could write for it is gone."""
        pipes = [os.pipe() for _ in range(3)]
        with tempfile.TemporaryFile() as told:
            told.write(json.dumps(asdict(command)).encode())
            told.seek(0)
            socket.send_fds(self._socket, [FORK], [*(writing for _, writing in pipes), told.fileno()])
        for _, writing in pipes:
            os.close(writing)
        out, err, report = _read_all([reading for reading, _ in pipes], command, timeout)
        return Ended(code=int(report.split()[-1]), out=out.decode(), err=err.decode())


def _read_all(sources: Sequence[int], command: Command, timeout: float) -> list[bytes]:
    """Everything that comes out of these pipes until each is closed; the last one names the process first."""
    said = dict.fromkeys(sources, b"")
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(deadline - time.monotonic())
            if not ready:
                os.kill(int(said[sources[-1]].split()[0]), signal.SIGKILL)
                raise AssertionError(f"drumline {command.argv} does not end; it said: {list(said.values())[:2]}")
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                said[key.fd] += piece
                if not piece:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return list(said.values())


# --- the warm interpreter ---------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Nursery:
    """Where the commands are forked: tells each one's number at its start and its code at its end."""

    socket: socket.socket
    reports: dict[int, int]
    ended: tuple[int, int]
    """A pipe into which every signal of a child's end writes a byte: a handler alone may run too late."""

    def wait_command(self) -> Command | None:
        """In a forked process the command it is to run; None in the nursery itself, once nobody wants more."""
        while True:
            ready, _, _ = select.select([self.socket.fileno(), self.ended[0]], [], [])
            if self.ended[0] in ready:
                os.read(self.ended[0], 1 << 10)
                self._reap()
            if self.socket.fileno() not in ready:
                continue
            message, fds, _, _ = socket.recv_fds(self.socket, len(FORK), 4)
            if not message:
                return None
            with os.fdopen(fds.pop(), "rb") as told:
                command = Command(**json.load(told))
            if self._fork(fds):
                return command

    def _fork(self, pipes: Sequence[int]) -> bool:
        """Whether we are the new process, which holds nothing of the others."""
        pid = os.fork()
        if pid:
            os.write(pipes[2], f"{pid}\n".encode())
            os.close(pipes[0])
            os.close(pipes[1])
            self.reports[pid] = pipes[2]
            return False
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(pipes[0], 1)
        os.dup2(pipes[1], 2)
        for fd in (*pipes, *self.reports.values(), *self.ended):
            os.close(fd)
        self.socket.close()
        return True

    def _reap(self) -> None:
        """Report the end of every process that has ended."""
        for pid in list(self.reports):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                os.write(self.reports[pid], f"{os.waitstatus_to_exitcode(status)}\n".encode())
                os.close(self.reports.pop(pid))


def load_program() -> None:
    """Import what a command may need."""
    for package in LOADED:
        parent = import_module(f"drumline.{package}")
        for found in pkgutil.iter_modules(parent.__path__, f"{parent.__name__}."):
            if ".acp" not in found.name:
                import_module(found.name)
    for name in BESIDES:
        import_module(name)


def main() -> int:
    """Fork until nobody wants more; each fork comes back here as the command that it is."""
    sys.path[0] = str(ROOT)
    load_program()
    gc.collect()
    gc.freeze()
    ended = os.pipe()
    os.set_blocking(ended[1], False)
    signal.set_wakeup_fd(ended[1], warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    nursery = Nursery(socket=socket.socket(fileno=int(sys.argv[1])), reports={}, ended=ended)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    command = nursery.wait_command()
    if command is None:
        return 0
    os.chdir(command.cwd)
    os.environ.clear()
    os.environ.update(command.env)
    sys.argv = ["drumline", *command.argv]
    code: int = import_module(command.module).main(list(command.argv))
    return code


if __name__ == "__main__":
    sys.exit(main())
