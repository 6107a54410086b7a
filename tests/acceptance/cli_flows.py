"""A user's machine with flows on it: the real command line, also killed at any write to the journal and taken up again.

The rule is that of `cli_user.py`: nothing outside the test's folder is read or written, and nothing is left running.
"""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_user import Ran, User, init_repository, leaving_nothing, processes_of
from tests.acceptance.durability import send

from drumline.core.events import Event
from drumline.core.flow.events import NodeEnded
from drumline.core.ids import FLOW, Stream
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.store.sqlite import SqliteStore

KILLED = -9
MOST_COMMANDS = 12

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="the scripts of the graph need jq")


@contextmanager
def flow_user(folder: Path, files: Mapping[str, str] | None = None) -> Iterator[User]:
    """Somebody with these files in a repository, committed; afterwards nothing of theirs may run any more."""
    user = User(folder=folder, repo=folder / "repo")
    (folder / "home").mkdir()
    user.repo.mkdir(exist_ok=True)
    write_files(user, files or {})
    init_repository(user)
    user.git("add", "-A")
    user.git("-c", "user.name=Kim", "-c", "user.email=kim@example.org", "commit", "-q", "--allow-empty", "-m", "start")
    try:
        with leaving_nothing(folder):
            yield user
    finally:
        for pid in processes_of(folder):
            send(pid, signal.SIGKILL)


def write_files(user: User, files: Mapping[str, str]) -> None:
    """Write files below the repository."""
    for name, text in files.items():
        path = user.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def flow_text(start: str, nodes: Mapping[str, object], **more: object) -> str:
    """A flow's file; every flow here is called `f` unless it says otherwise."""
    return yaml.safe_dump({"name": "f", "start": start, "nodes": dict(nodes)} | more, sort_keys=False)


def run_flow(user: User, flow: str, *args: str, env: Mapping[str, str] | None = None) -> Ran:
    """Walk a flow, every agent and model of which plays `play.yaml`."""
    return user.drumline("flow", "run", flow, "--agent", "scripted:play.yaml", *args, env=env)


def work_files(user: User) -> dict[str, str]:
    """Every file of the user's checkout, by name."""
    found = (path for path in user.repo.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(user.repo)): path.read_text(encoding="utf-8") for path in sorted(found)}


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowJournal:
    """What the journal holds of the newest run; `run` is None if there is none."""

    run: RunState | None
    events: Sequence[Event]

    @property
    def concluded(self) -> Counter[tuple[str, str, int]]:
        """How often each visit was concluded, by scope, node and number."""
        return Counter((e.scope, str(e.node), e.visit) for e in self.events if isinstance(e, NodeEnded))

    def count(self, kind: type[Event], node: str) -> int:
        """How many events of this kind are about a node, in any scope."""
        return sum(1 for event in self.events if isinstance(event, kind) and getattr(event, "node", "") == node)


def read_journal(user: User) -> FlowJournal:
    """The newest run as the journal has it, read without a command."""
    path = user.repo / ".git" / "drumline" / "state.db"
    if not path.exists():
        return FlowJournal(run=None, events=())
    store = SqliteStore.open(path, read_only=True)
    try:
        runs = store.runs()
        if not runs:
            return FlowJournal(run=None, events=())
        own = [recorded.event for recorded in store.read(Stream(runs[-1]))]
        walked = [recorded.event for recorded in store.read(Stream(runs[-1], FLOW))]
        return FlowJournal(run=fold_run(RunState(id=runs[-1]), own), events=walked)
    finally:
        store.close()


@dataclass(frozen=True, kw_only=True, slots=True)
class Strike:
    """Where the process is killed: at the n-th write of all commands together, before it or after it; 0 is never."""

    nth: int = 0
    when: str = "before"

    def env(self, tally: Path) -> dict[str, str]:
        """What the rigged program is told."""
        return {"TALLY": str(tally), "STRIKE": "SIGKILL", "STRIKE_NTH": str(self.nth), "STRIKE_WHEN": self.when}


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """Every command that it took to bring a flow to its end, and how many writes they made."""

    ran: Sequence[Ran]
    writes: int

    @property
    def kills(self) -> int:
        """How many of the commands were killed."""
        return sum(1 for ran in self.ran if ran.code == KILLED)


def walk_to_end(user: User, begin: Sequence[str], answers: Mapping[str, str], strike: Strike) -> Walk:
    """Begin, resume and answer as a person would who only looks at the state of the run, until it has ended."""
    tally = user.folder / "tally"
    tally.touch()
    ran: list[Ran] = []
    while command := _next_command(read_journal(user).run, begin, answers):
        assert len(ran) < MOST_COMMANDS, ran[-1].err
        ran.append(user.rigged(*command, env=strike.env(tally)))
    return Walk(ran=ran, writes=tally.stat().st_size)


def _next_command(run: RunState | None, begin: Sequence[str], answers: Mapping[str, str]) -> Sequence[str]:
    if run is None:
        return begin
    if run.ended is not None:
        return ()
    if run.parked and run.open_gates:
        gate = run.open_gates[0].opened.gate
        return ("answer", gate, answers[gate], "--resume")
    return ("resume",)
