"""Runs of a flow whose nodes do nothing, by the real driver on the real store: what is left is what a node costs.

One commit per node: that it is over and that the next begins go to the disk together.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import cast

from bench.flow import CHAIN, choose_outcome, make_chain
from bench.idle import NOWHERE
from drumline.core import codec
from drumline.core.events import Event, FlowPinned, RunStarted
from drumline.core.flow.model import Flow
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.walk import RunNode
from drumline.core.ids import FLOW, Commit, RunId, Stream
from drumline.core.plan import Plan
from drumline.core.vocabulary import Mode
from drumline.engine.driver import Driver
from drumline.engine.nodes.visit import Visit
from drumline.engine.services import FlowServices, Services, Tools
from drumline.engine.upkeep import Upkeep
from drumline.expressions.evaluation import SafeExpressions
from drumline.planfiles.task import TaskFiles
from drumline.ports.journal import Addition
from drumline.ports.library import Callee
from drumline.ports.schemas import Schemas
from drumline.ports.skills import Skills
from drumline.ports.workspaces import Workspaces
from drumline.store.sqlite import SqliteStore
from drumline.testing.clock import FakeClock
from drumline.testing.roster import FakeRoster

AROUND = 5
"""Commits of a run beside one for each node: it is pinned, claimed, begun, released and ended."""
MEGABYTE = "x" * 1_000_000
_SIZES = ("SELECT sum(length(body)) FROM events", "SELECT sum(length(body)) FROM blobs")


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """Seconds for one node: `whole` with its share of all that a run does once, `per_node` without."""

    whole: float
    per_node: float


class FlowRuns:
    """Runs of the chain, one after the other, in one store."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._flow = make_chain().flow
        self._store = SqliteStore.open(path)
        self._services = idle_flow_services(self._store, self._flow)
        self._numbers = count(1)
        self._loop = asyncio.Runner()

    def walk(self, visits: int = CHAIN, *, prompt: str = "") -> Spent:
        """Let one run make so many visits; AssertionError unless each of them was one commit."""
        run = RunId(f"run-{next(self._numbers)}")
        before = self._store.commits
        spent = self._loop.run(self._walk(run, visits, f"{run} {prompt}"))
        if self._store.commits - before != visits + AROUND:
            raise AssertionError(f"{visits} nodes took {self._store.commits - before} commits")
        return spent

    async def _walk(self, run: RunId, visits: int, prompt: str) -> Spent:
        acts = IdleNodes(visits)
        driver = Driver(upkeep=Upkeep(services=self._services, perform=acts.perform), run_id=run)
        began = time.perf_counter()
        await self._store.append({Stream(run): Addition(events=pin(self._flow, prompt), expected=0)})
        ended = await driver.drive()
        whole = time.perf_counter() - began
        if ended.ended is None or ended.ended.state != "done":
            raise AssertionError(f"{run} came to {ended.ended}")
        return Spent(whole=whole / visits, per_node=(acts.last - acts.first) / visits)

    def bytes_per_node(self) -> int:
        """How many bytes of bodies one node wrote, on average over the first run."""
        bodies = [codec.encode(recorded.event) for recorded in self._store.read(Stream(RunId("run-1"), FLOW))]
        return round(sum(map(len, bodies)) / CHAIN)

    def grow(self, prompt: str) -> int:
        """By how many bytes of bodies one run with this prompt makes the store larger."""
        before = self._size()
        self.walk(prompt=prompt)
        return self._size() - before

    def _size(self) -> int:
        connection = sqlite3.connect(self._path)
        try:
            sums = [connection.execute(statement).fetchone() for statement in _SIZES]
        finally:
            connection.close()
        return sum(found or 0 for (found,) in sums)

    def close(self) -> None:
        """Let go of the file."""
        self._loop.close()
        self._store.close()


class IdleNodes:
    """Nodes that do nothing; the last of the chain leads back to the start until there were enough visits."""

    def __init__(self, visits: int) -> None:
        self._visits = visits
        self._done = 0
        self.first = self.last = 0.0

    async def perform(self, command: RunNode, visit: Visit) -> Outcome:
        """The outcome alone."""
        self._done += 1
        self.last = time.perf_counter()
        self.first = self.first or self.last
        return choose_outcome(command.key.node, self._done, self._visits)


class OneFlow:
    """A library with a single flow, which is at hand; what nodes call is not asked for."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def find_callee(self, name: str, *, around: Path) -> Callee:
        """No node of the chain calls anything."""
        raise AssertionError(f"{name!r} was called")

    def locate(self, name: str) -> Path:
        """No step names a flow."""
        raise AssertionError(f"{name!r} was looked for")

    def load(self, path: Path) -> Flow:
        """The flow."""
        return self._flow

    def recall(self, path: str, digest: str) -> Flow:
        """The flow."""
        return self._flow


def pin(flow: Flow, prompt: str) -> list[Event]:
    """What a run's stream begins with: the run, and the flow it walks."""
    started = RunStarted(
        plan=flow.path,
        plan_name=flow.name,
        plan_digest=flow.digest,
        branch="",
        base=Commit(""),
        agent="",
        mode=Mode.SEQUENTIAL,
        autonomy="critical",
        retries=0,
    )
    pinned = FlowPinned(flow=flow.name, path=flow.path, digest=flow.digest, folder=str(NOWHERE), prompt=prompt)
    return [started, pinned]


def idle_flow_services(store: SqliteStore, flow: Flow) -> Services:
    """Services of which a driver uses the store, the roster and the library only."""
    nothing: object = None
    flow_services = FlowServices(
        library=OneFlow(flow),
        expressions=SafeExpressions(),
        schemas=cast(Schemas, nothing),
        skills=cast(Skills, nothing),
    )
    return Services(
        store=store,
        roster=FakeRoster(),
        clock=FakeClock(),
        workspaces=cast(Workspaces, nothing),
        planfiles=TaskFiles(Plan(name="bench", path="")),
        logs=NOWHERE,
        equip=lambda driver: cast(Tools, nothing),
        open_flows=lambda: flow_services,
    )
