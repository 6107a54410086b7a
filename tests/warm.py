"""Our command line without its start-up: a warm interpreter forks once for each command.

The rule: what is forked is a real process with its own pid, folder, environment and descriptors; it can be killed, hold
locks and leave children, and `/proc/PID/environ` shows its environment. Only `/proc/PID/cmdline` shows that of the warm
interpreter: a test that looks there, or that is about start-up itself, starts `python -m drumline`.
"""

from __future__ import annotations

import atexit
import ctypes
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
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from io import FileIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
CLI = "drumline.cli.main"
RIGGED = "tests.acceptance.rigged"
REHEARSAL = "tests.acceptance.rehearsal"
FORK = b"fork"
KEPT = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
"""The variables of the tests that commands have as well."""
LOADED = ("cli", "app", "agents", "planfiles", "flowfiles", "expressions", "schemas", "skills")
"""Packages of ours that commands import sooner or later; what loads an SDK is left to the command that needs it."""
BESIDES = (
    "anyio._backends._asyncio",
    "anyio._core._signals",
    "anyio._core._subprocesses",
    "encodings.ascii",
    "encodings.utf_8_sig",
    "jsonschema",
    "simpleeval",
    RIGGED,
)
PATIENCE = 120.0
"""Seconds until a command that does not end counts as one that never will."""
ROOM = 1 << 16
"""Bytes that a variable of the warm interpreter takes up where the kernel looks for the environment of a command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """What is to run: `main(argv)` of a module, in this folder and with this environment."""

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    module: str = CLI
    session: bool = False
    """Whether it leads a session and a process group of its own, as a shell gives it one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """A command that has ended; the code of one that was killed is the negative number of its signal."""

    code: int
    out: str
    err: str


def run_warm(command: Command, *, timeout: float) -> Ended:
    """Run a command in a process of its own, without input, and wait for its end; kill it when the time is up."""
    started = start_warm(command)
    out, err = started.communicate(timeout)
    return Ended(code=started.returncode, out=out, err=err)


def start_warm(command: Command, *, said: int | None = None) -> Started:
    """Start a command in a process of its own, without input; `said` is a descriptor for stdout and stderr alike."""
    return _find_server(os.getpid()).start(command, said)


class Words:
    """What a command says on one of its streams. Nothing is read ahead, so that lines and the rest can be read."""

    def __init__(self, end: int) -> None:
        self._file = FileIO(end)

    def fileno(self) -> int:
        """The descriptor to wait for."""
        return self._file.fileno()

    def readline(self) -> str:
        """The next line; empty at the end."""
        return self._file.readline().decode()

    def read(self) -> bytes:
        """Some of what is there; closed at the end."""
        piece = self._file.read(1 << 16)
        if not piece:
            self._file.close()
        return piece or b""


class Started:
    """A command that was started, with the words of `subprocess.Popen`; its code is known once it has ended."""

    def __init__(self, command: Command, report: FileIO, streams: Sequence[Words]) -> None:
        self.args = command.argv
        self.returncode: int | Any = None
        self._report = report
        self._told = b""
        self.stdout: Words | None
        self.stderr: Words | None
        self.stdout, self.stderr = streams or (None, None)
        while b"\n" not in self._told:
            self._hear(None)
        self.pid = int(self._told.split()[0])

    def poll(self) -> int | None:
        """Its code if it has ended."""
        return self._await_code(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its code, once it has ended."""
        code = self._await_code(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
        return code

    def communicate(self, timeout: float = PATIENCE) -> tuple[str, str]:
        """What it still says on stdout and on stderr, once everybody who could write for it is gone."""
        assert self.stdout is not None
        assert self.stderr is not None
        deadline = time.monotonic() + timeout
        out, err = self._read_all([self.stdout, self.stderr], deadline)
        self.wait(deadline - time.monotonic())
        return out.decode(), err.decode()

    def _read_all(self, sources: Sequence[Words], deadline: float) -> list[bytes]:
        """Everything that comes out of these pipes until each is closed."""
        said = dict.fromkeys(sources, b"")
        with selectors.DefaultSelector() as selector:
            for source in sources:
                selector.register(source, selectors.EVENT_READ, source)
            while selector.get_map():
                ready = selector.select(deadline - time.monotonic())
                if not ready:
                    self.kill()
                    raise AssertionError(f"drumline {self.args} does not end; it said: {list(said.values())}")
                for key, _ in ready:
                    piece = key.data.read()
                    said[key.data] += piece
                    if not piece:
                        selector.unregister(key.fd)
        return list(said.values())

    def send_signal(self, number: int) -> None:
        """Signal it unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def _await_code(self, timeout: float | None) -> int | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.returncode is None:
            if not self._hear(None if deadline is None else max(0.0, deadline - time.monotonic())):
                return None
        return self.returncode

    def _hear(self, timeout: float | None) -> bool:
        """Take the next word of the report; False if none comes in time."""
        if not select.select([self._report], [], [], timeout)[0]:
            return False
        piece = self._report.read(1 << 10)
        assert piece, "the warm interpreter is gone"
        self._told += piece
        if self._told.count(b"\n") > 1:
            self.returncode = int(self._told.split()[1])
            self._report.close()
        return True


def keep_environment() -> dict[str, str]:
    """What commands under test know of this machine: its programs and its language.

    The warm interpreter has the same: what it has tried of the programs holds for the commands.
    """
    found = {key: os.environ[key] for key in KEPT if key in os.environ}
    # Our own Python first: a version manager's stand-in for `python3` is a dozen processes.
    found["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), found.get("PATH", os.defpath)))
    return found


@cache
def _find_server(owner: int) -> Server:
    """The server of this process."""
    return Server()


class Server:
    """The warm interpreter as the tests see it: one for each of their processes, gone with it."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__)), str(theirs.fileno())],
                cwd="/",
                env=keep_environment() | {"ROOM": "." * ROOM},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        atexit.register(self.close)

    def close(self) -> None:
        """End the warm interpreter; what it forked goes on."""
        self._socket.close()
        self._process.wait()

    def start(self, command: Command, said: int | None) -> Started:
        """Let it fork, and wait until the command is about to run."""
        reading, writing = os.pipe()
        pipes = [os.pipe() for _ in range(2)] if said is None else []
        self._ask(command, [*([said, said] if said is not None else [end for _, end in pipes]), writing])
        for end in (writing, *(end for _, end in pipes)):
            os.close(end)
        return Started(command, FileIO(reading), [Words(end) for end, _ in pipes])

    def _ask(self, command: Command, fds: Sequence[int]) -> None:
        """Send the command with the descriptors for stdout, stderr and the report."""
        with tempfile.TemporaryFile() as told:
            told.write(json.dumps(asdict(command)).encode())
            told.seek(0)
            socket.send_fds(self._socket, [FORK], [*fds, told.fileno()])


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
            if self._fork(fds, command):
                return command

    def _fork(self, pipes: Sequence[int], command: Command) -> bool:
        """Whether we are the new process, which holds nothing of the others and has told its number."""
        pid = os.fork()
        if pid:
            os.close(pipes[0])
            os.close(pipes[1])
            self.reports[pid] = pipes[2]
            return False
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(pipes[0], 1)
        os.dup2(pipes[1], 2)
        settle_in(command)
        os.write(pipes[2], f"{os.getpid()}\n".encode())
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


def settle_in(command: Command) -> None:
    """Be a process that was started in this folder with this environment."""
    if command.session:
        os.setsid()
    os.chdir(command.cwd)
    if command.env.get("PATH") != os.environ.get("PATH"):
        forget_programs()
    os.environ.clear()
    os.environ.update(command.env)
    show_environment(command.env)


def try_jail() -> None:
    """Try once for all commands which jail works here, as each of them would."""
    jail = import_module("drumline.agents.jail").find_jail()
    if jail is not None:
        import_module("drumline.agents.layers").find_way(jail.list_words())


def forget_programs() -> None:
    """Let a command that finds other programs try for itself."""
    import_module("drumline.planfiles.criterion").find_program.cache_clear()
    import_module("drumline.agents.jail").find_jail.cache_clear()
    import_module("drumline.agents.layers").find_way.cache_clear()


def show_environment(env: Mapping[str, str]) -> None:
    """Write the environment to where the kernel reads it for `/proc/PID/environ`; Python has its own copy."""
    stat = Path("/proc/self/stat")
    if not stat.exists():
        return
    begin, end = map(int, stat.read_text().rpartition(")")[2].split()[47:49])
    shown = b"".join(os.fsencode(f"{name}={value}\0") for name, value in env.items())
    assert len(shown) <= end - begin, f"an environment of {len(shown)} bytes is larger than {end - begin}"
    ctypes.memmove(begin, shown.ljust(end - begin, b"\0"), end - begin)


def leave(code: int) -> None:
    """End as Python does, but leave the memory to the kernel: freeing all that was imported means to copy it first."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()
    atexit._run_exitfuncs()
    with suppress(OSError, ValueError):  # what cannot be written is for Python to complain about
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)


def load_program() -> None:
    """Import what a command may need."""
    for package in LOADED:
        parent = import_module(f"drumline.{package}")
        for found in pkgutil.iter_modules(parent.__path__, f"{parent.__name__}."):
            if ".acp" not in found.name:
                import_module(found.name)
    for name in BESIDES:
        import_module(name)
    codec = import_module("drumline.core.codec")
    for kind in (*codec.KINDS, *codec.FLOW_KINDS):  # what reads an event is made with the first of its kind
        with suppress(codec.UnknownEvent):
            codec.decode(kind, codec.VERSION, "{}")


def main() -> int:
    """Fork until nobody wants more; each fork comes back here as the command that it is."""
    sys.path[0] = str(ROOT)
    load_program()
    try_jail()
    import_module(REHEARSAL).rehearse()
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
    sys.argv = ["drumline", *command.argv]
    code: int = import_module(command.module).main(list(command.argv))
    leave(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
