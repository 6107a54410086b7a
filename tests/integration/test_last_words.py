"""Who says something while a driver is on the roster is told that it will be folded in: that holds at every moment.

The rule: a person speaks just before each single call that a driver makes to its store or its roster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from tests.integration.flow_harness import FlowHarness
from tests.integration.harness import RUN, Harness, small_plan, step
from tests.integration.test_flow_driver import act, ask, plain
from tests.unit.flows import end, script

from drumline.core import events as ev
from drumline.core.ids import Stream
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.engine import wakeup
from drumline.engine.driver import Driver
from drumline.engine.upkeep import Upkeep
from drumline.ports.journal import Message, Store
from drumline.ports.roster import Roster
from drumline.record import replace
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _without_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "POLL", 0.01)
    monkeypatch.setattr(wakeup, "LOOK_ROUND", 0.05)


Moment = Callable[[int, str], bool]
"""Whether to speak before the call with this number and name; calls count from when there is something to say."""


class Bystander:
    """Somebody who speaks once, at the given moment."""

    def __init__(self, moment: Moment, message: Message, store: MemoryStore, roster: FakeRoster) -> None:
        self.driven: bool | None = None
        self._calls = 0
        self._moment = moment
        self._message = message
        self._store = store
        self._roster = roster

    def notice(self, name: str) -> None:
        """The driver is about to make this call: count it, and speak if it is time."""
        if self.driven is not None or not self._may_speak():
            return
        self._calls += 1
        if self._moment(self._calls, name):
            self._store.put(RUN, self._message)
            self.driven = bool(self._roster.drivers(RUN))

    def _may_speak(self) -> bool:
        """The gate is open, or the run has come to an end that can be spoken about."""
        run = read(self._store)
        return self._message.subject in run.unanswered or run.ended is not None


class Overheard:
    """A port at which somebody stands by."""

    def __init__(self, thing: object, bystander: Bystander) -> None:
        self._thing = thing
        self._bystander = bystander

    def __getattr__(self, name: str) -> Any:
        self._bystander.notice(name)
        return getattr(self._thing, name)


@dataclass(kw_only=True)
class Case:
    """A run that stops for a person, and what the person says."""

    store: MemoryStore
    roster: FakeRoster
    message: Message
    drive: Callable[[Bystander], RunState]
    heard: type[ev.Event]

    def play(self, moment: Moment) -> bool | None:
        """Drive while somebody speaks at this moment; what they were told, None if it did not come."""
        bystander = Bystander(moment, self.message, self.store, self.roster)
        self.drive(bystander)
        return bystander.driven

    @property
    def is_heard(self) -> bool:
        """Whether what was said is in the journal."""
        return any(isinstance(entry.event, self.heard) for entry in self.store.tail(RUN))


def read(store: MemoryStore) -> RunState:
    """The run as the journal has it."""
    return fold_run(RunState(id=RUN), [entry.event for entry in store.read(Stream(RUN))])


def plan_case(folder: Path, message: Message, heard: type[ev.Event], *, autonomy: str, slips: bool = False) -> Case:
    """One step that asks before it lands, or that never passes its check."""
    harness = Harness(folder=folder, plan=small_plan(step("a", checks=("fail",) if slips else ("check",))))
    harness.autonomy, harness.retries = autonomy, 0
    if slips:
        judge = harness.script
        harness.script = lambda job: replace(judge(job), exit_code=1)

    def drive(bystander: Bystander) -> RunState:
        async def session() -> RunState:
            await harness.begin()
            store, roster = Overheard(harness.store, bystander), Overheard(harness.roster, bystander)
            services = replace(harness.services(), store=cast(Store, store), roster=cast(Roster, roster))
            with anyio.fail_after(PATIENCE):
                return await Driver(upkeep=Upkeep(services=services), run_id=RUN).drive()

        return anyio.run(session)

    return Case(store=harness.store, roster=harness.roster, message=message, drive=drive, heard=heard)


def flow_case(folder: Path) -> Case:
    """A script, then a question."""
    flow = plain(script("first", "sure"), ask("sure", yes="end"), end())
    harness = FlowHarness(folder=folder, flows={"main": flow}, act=act)

    def drive(bystander: Bystander) -> RunState:
        async def session() -> RunState:
            await harness.begin()
            store, roster = Overheard(harness.store, bystander), Overheard(harness.roster, bystander)
            services = replace(harness.services(), store=cast(Store, store), roster=cast(Roster, roster))
            with anyio.fail_after(PATIENCE):
                return await Driver(upkeep=Upkeep(services=services, perform=harness.performing()), run_id=RUN).drive()

        return anyio.run(session)

    message = Message(kind="answer", subject="sure", value="yes")
    return Case(store=harness.store, roster=harness.roster, message=message, drive=drive, heard=ev.GateAnswered)


def build(kind: str, folder: Path) -> Case:
    """A fresh run of the given kind."""
    answer = Message(kind="answer", subject="approve-a", value="approve")
    retry = Message(kind="retry", subject="a")
    match kind:
        case "plan":
            return plan_case(folder, answer, ev.GateAnswered, autonomy="verbose")
        case "blocked plan":
            return plan_case(folder, retry, ev.StepReopened, autonomy="autopilot", slips=True)
        case _:
            return flow_case(folder)


def before_call(nth: int) -> Moment:
    """The moment before the n-th call."""
    return lambda count, name: count == nth


KINDS = ["plan", "blocked plan", "flow"]


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_is_told_that_a_driver_is_there_is_heard_by_it(tmp_path: Path, kind: str) -> None:
    told: list[bool | None] = []
    unheard: list[int] = []

    while None not in told:
        nth = len(told) + 1
        case = build(kind, tmp_path / str(nth))
        told.append(case.play(before_call(nth)))
        if told[-1] and not case.is_heard:
            unheard.append(nth)

    assert unheard == []
    assert told.count(True) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_speaks_while_the_driver_leaves_is_heard(tmp_path: Path, kind: str) -> None:
    case = build(kind, tmp_path)

    told = case.play(lambda count, name: name == "leave")

    assert told is True
    assert case.is_heard


def test_a_driver_that_comes_after_the_end_of_a_flow_leaves_it_as_it_is(tmp_path: Path) -> None:
    harness = FlowHarness(folder=tmp_path, flows={"main": plain(script("first", "end"), end())}, act=act)
    harness.drive()
    before = [entry.seq for entry in harness.store.tail(RUN)]

    late = harness.drive()

    assert late.ended is not None
    assert [entry.seq for entry in harness.store.tail(RUN)] == before
