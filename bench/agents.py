"""What our way of starting an agent costs: from the assignment to its first connection, beside the bare command.

The bare command has the same words, input and variables; what it lacks is the supervisor and the jail.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import anyio

from bench.figures import Figure, take_turns
from drumline.agents import load
from drumline.agents.cli import CliAgent, find_executable
from drumline.agents.jail import find_jail
from drumline.agents.program import Abilities, Launch, Program, Setting
from drumline.agents.verdicts import explain_end
from drumline.core.flow.model import Json
from drumline.core.ids import DriverId, RunId, StepId
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.processes.supervised import SupervisedProcesses

RATIO = 1.3
EXTRA = 150.0
"""Milliseconds that ours may take longer where the ratio is more: a tiny program starts in no time."""
PATIENCE = 60.0
REAL = ("claude", "codex")
PORT = "BENCH_PORT"


class Silent:
    """Reads nothing: the program is stopped before it says anything."""

    def __init__(self, assignment: Assignment) -> None:
        """Any assignment will do."""

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """Nothing happens."""
        return ()

    def conclude(self, ended: Ended) -> Outcome:
        """It was stopped."""
        return explain_end(ended, "anything")


def build_stand_in(assignment: Assignment, setting: Setting) -> Launch:
    """A shell that reads its prompt, connects, and waits."""
    line = f'cat > /dev/null; exec 3<>"/dev/tcp/127.0.0.1/${PORT}"; exec sleep 60'
    return Launch(argv=(str(setting.executable), "-c", line), stdin=assignment.prompt)


STAND_IN = Program(
    name="a program that only connects",
    executables=("bash",),
    build=build_stand_in,
    open_reader=Silent,
    abilities=Abilities(),
    keep=(PORT,),
)


def measure_agents(folder: Path, *, rounds: int) -> list[Figure]:
    """The stand-in, and the real programs that `make agents` has installed."""
    figures = [measure_stand_in(folder, rounds=4 * rounds)]
    with Doorbell() as door:
        for name in REAL:
            figures += _measure_real(name, folder / name, door, rounds)
    return figures


def measure_stand_in(folder: Path, *, rounds: int) -> Figure:
    """What is left when the program itself costs nothing."""
    with Doorbell() as door, _environment({PORT: str(door.port)}):
        return _compare(STAND_IN, folder / "stand-in", door, rounds=rounds)


def _measure_real(name: str, folder: Path, door: Doorbell, rounds: int) -> list[Figure]:
    """One figure, or none where the program is not installed; how it finds the server is what the tests know."""
    from tests.agents.programs import LAUNCHES, AgentFixture, find_entry

    entry, program = find_entry(name), load(name)
    if entry is None or not isinstance(program, Program):
        print(f"({name} is left out: make agents)", end=" ", file=sys.stderr)
        return []
    agent_home = AgentFixture(home=folder / "home", work=folder, temp=folder, url=f"http://127.0.0.1:{door.port}")
    agent_home.home.mkdir(parents=True)
    path = f"{entry.parent}{os.pathsep}{os.defpath}"
    with _environment({"PATH": path, "HOME": str(agent_home.home), **LAUNCHES[name](agent_home).env}):
        return [_compare(program, folder, door, rounds=2 * rounds)]


def _compare(program: Program, folder: Path, door: Doorbell, *, rounds: int) -> Figure:
    bench = Bench(program=program, folder=folder, door=door)
    (folder / "work").mkdir(parents=True)
    works: list[Callable[[], float]] = [bench.start_ours, bench.start_bare]
    for work in works:
        work()
    ours, bare = take_turns(rounds, *works)
    extra = median(one - other for one, other in zip(ours, bare, strict=True))
    jail = "supervisor and jail" if find_jail() else "supervisor, no jail"
    return Figure(
        name=f"agent: {program.name}, to its first connection",
        unit="ms",
        values=ours,
        reference="the bare command",
        references=bare,
        target=round(max(RATIO, 1 + EXTRA / median(bare)), 2),
        note=f"{extra:+.0f} ms for {jail}; {RATIO} times or +{EXTRA:.0f} ms are allowed",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Bench:
    """One program, started in both ways until it rings."""

    program: Program
    folder: Path
    door: Doorbell

    def start_ours(self) -> float:
        """Milliseconds from the assignment to the first connection."""
        return anyio.run(self._start_ours)

    async def _start_ours(self) -> float:
        processes = SupervisedProcesses(self.folder / "driver", DriverId("bench"))
        agent = CliAgent(program=self.program, executable=self._executable, processes=processes, jail=find_jail())
        began = self.door.listen()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.work, self._assignment)
            rang = await anyio.to_thread.run_sync(self.door.wait)
            tasks.cancel_scope.cancel()
        return (rang - began) * 1000

    def start_bare(self) -> float:
        """The same for the bare command."""
        setting = Setting(executable=self._executable, model="", scratch=self.folder, jailed=find_jail() is not None)
        began = self.door.listen()
        launch = self.program.build(self._assignment, setting)
        with subprocess.Popen(
            launch.argv,
            cwd=self.folder / "work",
            env={**os.environ, **launch.env},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        ) as process:
            assert process.stdin is not None
            process.stdin.write(launch.stdin.encode())
            process.stdin.close()
            rang = self.door.wait()
            os.killpg(process.pid, 9)
        return (rang - began) * 1000

    @property
    def _executable(self) -> Path:
        found = find_executable(self.program)
        assert found is not None
        return found

    @property
    def _assignment(self) -> Assignment:
        return Assignment(
            run=RunId("bench"),
            step=StepId("bench"),
            node="implement",
            attempt=1,
            prompt="Please do the work.",
            prompt_file=self.folder / "prompt.md",
            workspace=self.folder / "work",
            log=self.folder / "work.log",
        )


class Doorbell:
    """A port of our own; whoever connects has rung."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(PATIENCE)
        self.port = int(self._socket.getsockname()[1])

    def listen(self) -> float:
        """Forget who rang before; the time from now on counts."""
        self._socket.setblocking(False)
        while True:
            try:
                self._socket.accept()[0].close()
            except BlockingIOError:
                break
        self._socket.settimeout(PATIENCE)
        return time.perf_counter()

    def wait(self) -> float:
        """When somebody rang."""
        guest, _ = self._socket.accept()
        rang = time.perf_counter()
        guest.close()
        return rang

    def __enter__(self) -> Doorbell:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Our environment with these changes, for as long as it is entered."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
