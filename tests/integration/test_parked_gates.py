"""Many questions at once: a parked run is rows in a store and nothing else, and one poll serves all open questions."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import anyio
import psutil
import pytest
from tests.acceptance.cli_user import User, gates_of, leaving_nothing, make_user, processes_of, wait_for
from tests.integration.flow_harness import FlowHarness
from tests.integration.harness import RUN
from tests.integration.test_flow_driver import act, ask, call, plain
from tests.unit.flows import end, script

from drumline.app.begin import Terms
from drumline.app.catalog import read_run
from drumline.app.flowrun import Order, begin_flow_run
from drumline.core.flow.model import FlowSettings
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.walk import RunNode
from drumline.core.ids import Commit, RunId
from drumline.core.vocabulary import Mode
from drumline.engine import wakeup
from drumline.engine.driver import Driver
from drumline.engine.nodes.visit import Visit
from drumline.engine.upkeep import Upkeep
from drumline.ports.journal import Message, Store
from drumline.record import replace
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Project, open_project
from drumline.wiring.flows import open_library
from drumline.wiring.services import open_services

MANY = 1_000
WATCHED = 3.0
"""Seconds over which the processor time of an idle driver is added up."""
MOST_BUSY = 0.1
"""The share of one core that counts as noticeable; an idle driver uses about a hundredth."""
ASK = """\
name: ask
start: review
nodes:
  review: {type: approval, question: Ship it?, options: [ship, drop], routes: {ship: a, drop: b}, on_other: b}
  a: {type: end, output: shipped}
  b: {type: end, output: dropped}
"""
LIVE = """\
name: live
start: begin
nodes:
  begin: {type: set, values: {n: 1}, next: [asks, works]}
  asks: {type: agent, agent: asker, prompt: it, state_updates: {got: "{{output}}"}, next: done}
  works: {type: script, script: work.sh, timeout: 600, state_updates: {}, next: done}
  done: {type: end, output: "{{got}}"}
"""
ASKER = """\
name: asker
start: sure
nodes:
  sure: {type: approval, question: Sure?, options: [sure], routes: {sure: after}, on_other: after}
  after: {type: script, script: after.sh, next: good}
  good: {type: end, output: good}
"""
FILES = {
    "ask/graph.yaml": ASK,
    "live/graph.yaml": LIVE,
    "live/work.sh": "while [ ! -e $HOME/go ]; do sleep 0.1; done; touch $HOME/over; echo '{}'\n",
    "asker/graph.yaml": ASKER,
    "asker/after.sh": "touch $HOME/after; echo '{}'\n",
}
TERMS = Terms(agent="", mode=Mode.SEQUENTIAL, autonomy="critical", retries=0)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Somebody with flows in sibling folders."""
    found = make_user(tmp_path)
    for name, text in FILES.items():
        path = found.repo / "flows" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    with leaving_nothing(tmp_path):
        yield found
        (tmp_path / "home" / "go").touch()


async def park(project: Project, store: SqliteStore, count: int) -> list[RunId]:
    """Walk a flow to its question this many times, each in a run of its own."""
    library = open_library(project, project.state_dir / "kept")
    flow = library.load(project.repository.top / "flows" / "ask" / "graph.yaml")
    runs = [RunId(f"parked-{number:04}") for number in range(count)]
    for run in runs:
        order = Order(
            run=run, flow=flow, folder=project.here, place="flows/ask/graph.yaml", base=Commit(""), terms=TERMS
        )
        await begin_flow_run(store, order)
    # Built once: but for the logs nothing in it is of one run, and it takes longer than the walk.
    services = open_services(project, store, read_run(store, runs[0]), started_at=0.0)
    flow_services = replace(services.open_flows(), library=library)
    services = replace(services, open_flows=lambda: flow_services)
    for run in runs:
        state = await Driver(upkeep=Upkeep(services=replace(services, logs=project.logs(run))), run_id=run).drive()
        assert state.parked
    return runs


def seconds_of(process: psutil.Process) -> float:
    """The processor time a process has used by itself."""
    times = process.cpu_times()
    return float(times.user + times.system)


@pytest.mark.long
def test_a_thousand_parked_runs_hold_nothing_and_a_live_driver_hardly_works_beside_them(user: User) -> None:
    project = open_project(user.repo)
    store = project.open_store()
    threads = threading.active_count()

    runs = anyio.run(park, project, store, MANY)

    assert [run for run in runs if store.list_claims(run)] == []
    assert project.roster.entered() == []
    # A thread of the loop that has ended may still be on its way out.
    wait_for(lambda: threading.active_count() == threads, "a parked run holds a thread")
    assert processes_of(user.folder) == []
    store.close()
    listed = user.drumline("runs")
    assert (listed.code, listed.out.count("parked-")) == (0, MANY)
    assert user.status("parked-0500")["state"] == "parked"

    driver = user.start("flow", "run", "flows/live")
    wait_for(lambda: gates_of(user.status()) == ["asks#1/sure"], "no gate")
    process = psutil.Process(driver.pid)
    before = seconds_of(process)
    time.sleep(WATCHED)
    used = seconds_of(process) - before
    answered = user.drumline("answer", "asks#1/sure", "sure", "--json")
    wait_for((user.folder / "home" / "after").exists, "the answer was not taken up")
    still_works = not (user.folder / "home" / "over").exists()
    (user.folder / "home" / "go").touch()
    out, _ = driver.communicate()

    assert used < MOST_BUSY * WATCHED
    assert answered.json["driven"] is True
    assert still_works
    assert (driver.returncode, out) == (0, "good\n")

    recorded = user.drumline("answer", "review", "ship", "--run", "parked-0007")
    resumed = user.drumline("resume", "parked-0007")
    at_once = user.drumline("answer", "review", "drop", "--run", "parked-0008", "--resume")

    assert (recorded.code, resumed.code, at_once.code) == (0, 0, 0)
    assert (resumed.out, at_once.out) == ("shipped\n", "dropped\n")
    assert gates_of(user.status("parked-0009")) == ["review"]


class Counted:
    """A store that counts what is asked of it."""

    def __init__(self, store: object) -> None:
        self.store = store
        self.calls: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.calls[name] += 1
        return getattr(self.store, name)


class Watched(FlowHarness):
    """A world in which one branch works while others wait for answers."""

    def watch(self, looks: int) -> tuple[Counter[str], float]:
        """Drive until the driver has looked so often; what it asked of the store meanwhile, and for how long."""
        own = self.services()
        counted = Counted(own.store)
        found: list[tuple[Counter[str], float]] = []

        async def perform(command: RunNode, visit: Visit) -> Outcome:
            if visit.key.node != "works":
                return self.act(command, visit)
            await _until(counted, looks=2)
            before, began = counted.calls.copy(), time.monotonic()
            await _until(counted, looks=looks)
            found.append((counted.calls - before, time.monotonic() - began))
            for gate in self._open_gates():
                self.send(Message(kind="answer", subject=gate, value="yes"))
            await _until(counted, looks=looks + 10)
            return self.act(command, visit)

        async def session() -> None:
            await self.begin()
            services = replace(own, store=cast(Store, counted))
            run = await Driver(upkeep=Upkeep(services=services, perform=perform), run_id=RUN).drive()
            assert run.ended is not None

        anyio.run(session)
        return found[0]

    def _open_gates(self) -> list[str]:
        return [str(gate.opened.gate) for gate in read_run(self.store, RUN).open_gates]


async def _until(counted: Counted, *, looks: int) -> None:
    for _ in range(100 * looks):
        if counted.calls["position"] >= looks:
            return
        await anyio.sleep(wakeup.POLL / 10)
    raise AssertionError("the driver does not look")


def watched_harness(folder: Path, gates: int) -> Watched:
    """A branch that works, and this many called flows that ask."""
    names = [f"q{number}" for number in range(gates)]
    asking = plain(ask("sure", yes="over"), end("over"))
    main = plain(
        script("begin", " ".join(["works", *names])),
        script("works", "done"),
        *(call(name, "asking", "done") for name in names),
        end("done"),
        settings=FlowSettings(max_concurrency=gates + 1),
    )
    return Watched(folder=folder, flows={"main": main, "asking": asking}, act=act)


@pytest.mark.parametrize("gates", [1, 30])
def test_a_driver_looks_at_one_number_however_many_questions_are_open(
    tmp_path: Path, gates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeup, "POLL", 0.02)
    looks = 40

    calls, seconds = watched_harness(tmp_path, gates).watch(looks)

    assert set(calls) == {"position"}
    assert calls["position"] <= seconds / wakeup.POLL + 2
