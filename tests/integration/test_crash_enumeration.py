"""Whichever append the process dies at, a run that is taken up again ends as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest
from tests.integration.worlds import RUN, World, WritingAgent, judge, small_plan, step

from drumline.core.events import (
    CheckEnded,
    ComparisonEnded,
    MutantsEnded,
    MutantsStarted,
    MutantsTried,
    PauseRequested,
    StepFinished,
    StepLanded,
)
from drumline.core.ids import FINAL, DriverId, StepId
from drumline.core.mutants import Mutation
from drumline.core.plan import Status
from drumline.core.proof import Against
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.words import Mutants
from drumline.errors import GitError
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.ports.processes import Ended, Job
from drumline.testing.workspaces import FakeWorkspaces


def build(folder: Path, *, mode: str = "parallel", autonomy: str = "autopilot") -> World:
    """Four steps in a diamond; one fails its check first, one waits for an approval in verbose autonomy."""
    plan = small_plan(step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"))
    return World(folder=folder, plan=plan, agent=WritingAgent({"b": 1}), mode=mode, autonomy=autonomy)


def count_appends(folder: Path, mode: str) -> int:
    """How many appends a run takes that nothing interrupts."""
    world = build(folder, mode=mode)
    world.drive()
    return world.store.appends


def assert_as_if_nothing_happened(world: World, run: RunState) -> None:
    """Every step landed once, the tree is right, the files say done, and nobody holds a claim."""
    assert run.ended is not None
    assert run.ended.state == "done"
    landed = [name for _, name in world.workspaces.log()]
    assert sorted(landed) == ["a", "b", "c", "d"]
    tip = world.workspaces.log()[-1][0]
    assert world.workspaces.files(tip) == {"README": "hello\n"} | {f"{n}.txt": f"{n}\n" for n in "abcd"}
    events = [r.event for r in world.store.tail(RUN)]
    assert sum(isinstance(e, StepLanded) for e in events) == 4
    assert sum(isinstance(e, StepFinished) and e.step != FINAL for e in events) == 4
    assert {m.status for m in (world.planfiles.marks(s) for s in world.plan.steps)} == {Status.DONE}
    assert not world.store.held(RUN)


SEQUENTIAL, PARALLEL = 37, 40


def list_deaths(appends: int) -> list[object]:
    """Both sides of every append. Long is one of each two that leave the same journal: after one, before the next."""
    sides = [(nth, when) for nth in range(1, appends + 1) for when in ("before", "after")]
    marks = {side: () if side[0] % 2 == (side[1] == "after") else (pytest.mark.long,) for side in sides}
    return [pytest.param(*side, marks=marks[side]) for side in sides]


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    assert count_appends(tmp_path / "s", "sequential") == SEQUENTIAL
    assert count_appends(tmp_path / "p", "parallel") == PARALLEL


@pytest.mark.parametrize(("nth", "when"), list_deaths(SEQUENTIAL))
def test_a_sequential_run_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    world = build(tmp_path, mode="sequential")
    world.die_at(nth, when=when)

    run = world.drive_through()

    assert_as_if_nothing_happened(world, run)


@pytest.mark.parametrize(("nth", "when"), list_deaths(PARALLEL))
def test_a_parallel_run_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    world = build(tmp_path)
    world.die_at(nth, when=when)

    run = world.drive_through()

    assert_as_if_nothing_happened(world, run)


PAUSED = 42
"""With the pause, the park, the resume, and what giving a step back and claiming it again take."""


def is_heard(world: World) -> bool:
    return any(isinstance(recorded.event, PauseRequested) for recorded in world.store.tail(RUN))


def build_paused(folder: Path) -> World:
    """The four steps one after the other, paused by a person while the second is worked on for the first time."""
    world = build(folder, mode="sequential")

    class Pausing(WritingAgent):
        async def work(self, assignment: Assignment) -> Outcome:
            if assignment.step == "b" and assignment.attempt == 1 and not is_heard(world):
                if not world.store.unread(RUN):
                    world.say(Message(kind="pause", by="ann"))
                while not is_heard(world):  # noqa: ASYNC110 - a journal tells no event
                    await anyio.sleep(0.001)
            return await WritingAgent.work(self, assignment)

    world.agent = Pausing({"b": 1})
    return world


def test_the_enumeration_covers_the_appends_of_a_pause(tmp_path: Path) -> None:
    world = build_paused(tmp_path)

    parked = world.drive().parked
    run = world.drive()

    assert parked
    assert_as_if_nothing_happened(world, run)
    assert world.store.appends == PAUSED


@pytest.mark.parametrize(("nth", "when"), list_deaths(PAUSED))
def test_a_run_that_was_paused_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    world = build_paused(tmp_path)
    world.die_at(nth, when=when)

    for _ in range(3):
        run = world.drive_through()
        if run.ended is not None:
            break

    assert_as_if_nothing_happened(world, run)


GATED = 10


def build_gated(folder: Path) -> World:
    """One step, of whose work mutants are tried before it lands."""
    return World(folder=folder, plan=small_plan(step("a")), mode="sequential", mutants=Mutants.GATE)


def test_the_enumeration_covers_the_appends_about_mutants(tmp_path: Path) -> None:
    world = build_gated(tmp_path)

    world.drive()

    kinds = [type(recorded.event) for recorded in world.store.tail(RUN)]
    assert (world.store.appends, kinds.count(MutantsStarted), kinds.count(MutantsEnded)) == (GATED, 1, 1)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, GATED + 1))
def test_a_run_with_mutants_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    world = build_gated(tmp_path)
    world.die_at(nth, when=when)

    run = world.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert [name for _, name in world.workspaces.log()] == ["a"]
    assert run.finished[StepId("a")].mutants == Mutation()
    assert not world.store.held(RUN)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_ends_the_same_when_driver_after_driver_dies(tmp_path: Path, seed: int) -> None:
    world = build(tmp_path)
    dice = random.Random(seed)
    world.store.after = lambda number: world.life.end() if dice.random() < 0.2 else None

    run = world.drive_through(deaths=500)

    assert_as_if_nothing_happened(world, run)
    assert len(world.joined) > 1


def test_a_lost_attempt_counts_as_no_attempt(tmp_path: Path) -> None:
    world = build(tmp_path, mode="sequential")
    world.die_at(4, when="before")

    run = world.drive_through()

    assert run.finished[world.plan.steps[0].id].attempts == 1
    assert run.finished[world.plan.steps[1].id].attempts == 2


def test_an_answer_given_between_two_drivers_is_found(tmp_path: Path) -> None:
    world = build(tmp_path, mode="sequential", autonomy="verbose")

    parked = world.drive()
    gates = [gate.opened.gate for gate in parked.open_gates]
    for _ in range(4):
        for gate in [g.opened.gate for g in parked.open_gates]:
            world.say(Message(kind="answer", subject=gate, value="approve"))
        parked = world.drive()

    assert gates == ["approve-a"]
    assert_as_if_nothing_happened(world, parked)


def drive_approving(world: World) -> RunState:
    """Drive, and approve whatever is asked, until the run has ended."""
    for _ in range(20):
        run = world.drive_through()
        if run.ended is not None:
            return run
        for gate in run.open_gates:
            world.say(Message(kind="answer", subject=gate.opened.gate, value="approve"))
    raise AssertionError("the run does not end")


ASKING = 61


def test_the_enumeration_with_gates_covers_every_append(tmp_path: Path) -> None:
    world = build(tmp_path, autonomy="verbose")

    drive_approving(world)

    assert world.store.appends == ASKING


@pytest.mark.parametrize(("nth", "when"), list_deaths(ASKING))
def test_a_run_that_asks_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    world = build(tmp_path, autonomy="verbose")
    world.die_at(nth, when=when)

    run = drive_approving(world)

    assert_as_if_nothing_happened(world, run)
    assert len(run.gates) == 4


def test_without_recovery_a_killed_run_does_not_come_back(tmp_path: Path) -> None:
    def forget(state: StepState, driver: DriverId) -> list[CheckEnded]:
        return []

    failures = 0
    for nth in range(1, SEQUENTIAL + 1):
        world = build(tmp_path / str(nth), mode="sequential")
        world.recover = forget  # type: ignore[assignment]
        world.die_at(nth, when="after")
        try:
            assert_as_if_nothing_happened(world, world.drive_through())
        except (AssertionError, BaseExceptionGroup):
            failures += 1

    assert failures >= 10


class StickyWorkspaces(FakeWorkspaces):
    """Workspaces that will not go away."""

    async def remove(self, step: StepId) -> None:
        raise GitError(f"the workspace of {step} cannot be removed", hint="git worktree prune")


def test_a_step_that_landed_stays_done_though_its_workspace_will_not_go(tmp_path: Path) -> None:
    world = build(tmp_path)
    world.workspaces = StickyWorkspaces(tmp_path / "work", files={"README": "hello\n"}, plan_paths=["plan"])

    run = world.drive()

    assert_as_if_nothing_happened(world, run)


class Reconfiguring:
    """Writes the step's file, code of which there are mutants, and configuration of a test runner."""

    async def work(self, assignment: Assignment) -> Outcome:
        (assignment.workspace / f"{assignment.step}.txt").write_text(f"{assignment.step}\n")
        (assignment.workspace / "code.py").write_text("def more(number):\n    return number + 1\n")
        (assignment.workspace / "conftest.py").write_text("")
        return Outcome()


def judge_lines(job: Job) -> Ended:
    """As `judge`, and code.py is executed."""
    if "DRUMLINE_LINES" in job.env:
        Path(job.env["DRUMLINE_LINES"], "1.lines").write_text(f"{job.cwd.resolve() / 'code.py'}:2\n", encoding="utf-8")
    return judge(job)


REJUDGED = 11


def build_rejudged(folder: Path) -> World:
    """One step whose checks run with the judge of the base, too, and of which mutants are tried once it has landed."""
    plan = small_plan(step("a"))
    return World(folder=folder, plan=plan, agent=Reconfiguring(), mode="sequential", script=judge_lines)


def test_the_enumeration_covers_the_appends_about_judges_and_mutants_afterwards(tmp_path: Path) -> None:
    world = build_rejudged(tmp_path)

    world.drive()

    events = [recorded.event for recorded in world.store.tail(RUN)]
    compared = [event.against for event in events if isinstance(event, ComparisonEnded)]
    assert (world.store.appends, compared) == (REJUDGED, [Against.BASE_JUDGE, Against.BASE_SOURCE])
    assert [event.found.tried > 0 for event in events if isinstance(event, MutantsTried)] == [True]


@pytest.mark.parametrize(("nth", "when"), list_deaths(REJUDGED))
def test_a_judge_is_asked_and_mutants_are_told_once_wherever_the_process_dies(
    tmp_path: Path, nth: int, when: str
) -> None:
    world = build_rejudged(tmp_path)
    world.die_at(nth, when=when)

    run = world.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert [name for _, name in world.workspaces.log()] == ["a"]
    assert sum(isinstance(recorded.event, MutantsTried) for recorded in world.store.tail(RUN)) <= 1
    assert not world.store.held(RUN)
