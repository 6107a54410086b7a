"""Steps that are ready at the same time land through the queue: judged side by side, each on what it lands on."""

from __future__ import annotations

import contextlib
from collections import Counter
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from tests.integration.harness import RUN, Died, Harness, WritingAgent, judge, small_plan, step

from drumline.core import events as ev
from drumline.core.ids import StepId, Stream
from drumline.core.state import RunState
from drumline.core.vocabulary import DropCause
from drumline.engine.driver import Driver
from drumline.engine.upkeep import Upkeep
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.processes import Ended, Job

NAMES = ("a", "b", "c", "d")


class MeetingAgent(WritingAgent):
    """Lets all steps be at work at once; a second attempt writes what the checks of the whole miss."""

    def __init__(self, names: tuple[str, ...] = NAMES) -> None:
        WritingAgent.__init__(self)
        self._names, self._there = {*names}, set[str]()

    async def work(self, assignment: Assignment) -> Outcome:
        self._there.add(assignment.step)
        while assignment.attempt == 1 and self._there != self._names:  # noqa: ASYNC110 - it outlives event loops
            await anyio.sleep(0.005)
        if assignment.attempt > 1:
            (assignment.workspace / "fixed.txt").write_text("fixed\n")
        return await WritingAgent.work(self, assignment)


class Checks:
    """`check STEP` looks at the step's file; `whole` fails where b is together with others and nothing is fixed."""

    def __init__(self) -> None:
        self.busy = self.most = 0
        self.harness: Harness | None = None

    async def wait_for_others(self, job: Job) -> None:
        """On a tree of several steps, wait until all but the first have a candidate."""
        joined = sum((job.cwd / f"{name}.txt").exists() for name in NAMES) > 1
        with anyio.move_on_after(10):
            while self.harness and joined and count_formed(self.harness) < len(NAMES) - 1:  # noqa: ASYNC110 - no event
                await anyio.sleep(0.005)

    async def __call__(self, job: Job) -> Ended:
        self.busy += 1
        self.most = max(self.most, self.busy)
        await anyio.sleep(0.01)
        await self.wait_for_others(job)
        self.busy -= 1
        if job.argv[-1] != "whole":
            return judge(job)
        there = {name for name in NAMES if (job.cwd / f"{name}.txt").exists()}
        good = "b" not in there or len(there) == 1 or (job.cwd / "fixed.txt").exists()
        return Ended(exit_code=0 if good else 1, seconds=0.0, output="" if good else "b does not fit")


def build(folder: Path, *, configured: tuple[str, ...] = ()) -> Harness:
    plan = small_plan(*map(step, NAMES))
    checks = Checks()
    return Harness(folder=folder, plan=plan, agent=MeetingAgent(), jobs=4, configured=configured, script=checks)  # type: ignore[arg-type]


def read_events(harness: Harness, name: str = "") -> list[ev.Event]:
    return [recorded.event for recorded in harness.store.read(Stream(RUN, StepId(name)))]


def count_formed(harness: Harness) -> int:
    """How many steps have had a candidate."""
    return len({event.step for event in read_events(harness) if isinstance(event, ev.CandidateFormed)})


def find_landed(harness: Harness, name: str) -> ev.StepLanded:
    return next(event for event in read_events(harness, name) if isinstance(event, ev.StepLanded))


def assert_proved_where_it_landed(harness: Harness, run: RunState) -> None:
    """Every step landed once, with its checks green on exactly the tree that landed; nobody is left in the queue."""
    assert run.ended is not None
    assert run.ended.state == "done"
    assert sorted(name for _, name in harness.workspaces.log()) == [*NAMES]
    assert run.queue.tickets == ()
    assert not harness.store.list_claims(RUN)
    for name in NAMES:
        landed = find_landed(harness, name)
        ended = [event for event in read_events(harness, name) if isinstance(event, ev.CheckEnded)]
        assert {event.exit_code for event in ended if event.tree == landed.tree} == {0}, name


def test_steps_that_are_ready_at_once_are_judged_side_by_side_and_land_as_they_were_judged(tmp_path: Path) -> None:
    harness = build(tmp_path)
    assert isinstance(harness.script, Checks)
    harness.script.harness = harness

    run = harness.drive()

    formed = [event for event in read_events(harness) if isinstance(event, ev.CandidateFormed)]
    landed = {name: find_landed(harness, name).commit for name in NAMES}
    moved = [event for event in read_events(harness) if isinstance(event, ev.BranchMoved)]
    assert_proved_where_it_landed(harness, run)
    assert sum(event.commit == landed[event.step] for event in formed) == len(NAMES) - 1
    assert any(event.ahead for event in formed)
    assert all(earlier.new == later.old for earlier, later in pairwise(moved))
    assert harness.script.most > 1


def test_only_the_step_that_does_not_fit_goes_back_to_its_agent(tmp_path: Path) -> None:
    harness = build(tmp_path, configured=("whole",))
    assert isinstance(harness.agent, MeetingAgent)

    run = harness.drive()

    attempts = Counter(assignment.step for assignment in harness.agent.assignments)
    first = harness.workspaces.log()[0][1]
    assert_proved_where_it_landed(harness, run)
    if first != "b":  # else everybody has to fit to it
        assert attempts == {"a": 1, "b": 2, "c": 1, "d": 1}
    assert "fixed.txt" in harness.workspaces.files(harness.workspaces.log()[-1][0])


LEAST, MOST = 50, 70
"""How many appends such a run takes: that depends on who is ready first."""
DEATHS = [(nth, when) for nth in range(1, MOST + 1) for when in ("before", "after")]
SAMPLE = [pytest.param(*death, marks=() if n % 11 == 0 else pytest.mark.long) for n, death in enumerate(DEATHS)]


def test_the_enumeration_of_the_queue_covers_every_append(tmp_path: Path) -> None:
    harness = build(tmp_path, configured=("whole",))
    harness.drive()

    assert LEAST <= harness.store.appends <= MOST


@pytest.mark.parametrize(("nth", "when"), SAMPLE)
def test_a_run_with_a_queue_ends_well_wherever_its_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path, configured=("whole",))
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert_proved_where_it_landed(harness, run)
    assert "fixed.txt" in harness.workspaces.files(harness.workspaces.log()[-1][0])


@pytest.mark.parametrize("cannot_be_evicted", [False, pytest.param(True, id="and its processes cannot be ended")])
def test_a_step_whose_driver_died_does_not_hold_up_those_behind_it(tmp_path: Path, cannot_be_evicted: bool) -> None:
    names = ("o", "a", "b")
    harness = Harness(folder=tmp_path, plan=small_plan(*map(step, names)), agent=MeetingAgent(names), jobs=1)
    stuck = anyio.Event()

    async def check(job: Job) -> Ended:
        name, together = job.argv[-1][-1], (job.cwd / "o.txt").exists()
        if not together and name == "a":  # it is ready once the head has moved
            while not any(isinstance(event, ev.BranchMoved) for event in read_events(harness)):  # noqa: ASYNC110 - no event
                await anyio.sleep(0.005)
        elif not together and name == "b":  # and this one is behind it
            await stuck.wait()
        elif name == "a" and not stuck.is_set():
            stuck.set()
            await anyio.sleep_forever()
        return judge(job)

    harness.script = check  # type: ignore[assignment]

    run = anyio.run(drive_beside_dying, harness, stuck, cannot_be_evicted)

    dropped = [event for event in read_events(harness) if isinstance(event, ev.CandidateDropped)]
    assert run.ended is not None
    assert run.ended.state == "done"
    assert [(event.step, event.cause) for event in dropped] == [("a", DropCause.LOST)]
    assert [name for _, name in harness.workspaces.log()] == ["o", "b", "a"]


async def drive_beside_dying(harness: Harness, stuck: anyio.Event, cannot_be_evicted: bool) -> RunState:
    """Three drivers with one step each; the one whose check is stuck dies once another step is behind its own.

    The one that has nothing left to do is stopped before.
    """
    await harness.begin()
    drivers, lives = [], []
    for _ in range(3):
        drivers.append(Driver(upkeep=Upkeep(services=harness.services(), recover=harness.recover), run_id=RUN, jobs=1))
        lives.append(harness.life)
    scopes = [anyio.CancelScope() for _ in drivers]
    ended: list[RunState] = []

    async def drive(number: int) -> None:
        with scopes[number], contextlib.suppress(Died):
            ended.append(await drivers[number].drive())

    async with anyio.create_task_group() as tasks:
        for number in range(len(drivers)):
            tasks.start_soon(drive, number)
        await stuck.wait()
        while not any(isinstance(event, ev.TicketTaken) and event.step == "b" for event in read_events(harness)):  # noqa: ASYNC110 - a journal tells no event
            await anyio.sleep(0.005)
        idle = next(event.driver for event in read_events(harness, "o") if isinstance(event, ev.StepClaimed))
        next(driver for driver in drivers if driver._me == idle).stop()  # else it takes over
        owner = harness.store.list_claims(RUN)[StepId("a")].driver
        dying = next(n for n, driver in enumerate(drivers) if driver._me == owner)
        lives[dying].over = True
        scopes[dying].cancel()
        harness.roster.stuck |= {owner} if cannot_be_evicted else set()
        harness.roster.die(owner)
        while not any(isinstance(event, ev.BranchMoved) and event.step == "b" for event in read_events(harness)):  # noqa: ASYNC110 - a journal tells no event
            await anyio.sleep(0.005)
        harness.roster.stuck.clear()
    return ended[-1]
