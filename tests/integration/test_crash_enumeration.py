"""Whichever append the process dies at, a run that is taken up again ends as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, judge, small_plan, step

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
from drumline.core.vocabulary import Mutants
from drumline.errors import GitError
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Message
from drumline.ports.processes import Ended, Job
from drumline.testing.workspaces import FakeWorkspaces


def build(folder: Path, *, mode: str = "parallel", autonomy: str = "autopilot") -> Harness:
    """Four steps in a diamond; one fails its check first, one waits for an approval in verbose autonomy."""
    plan = small_plan(step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"))
    return Harness(folder=folder, plan=plan, agent=WritingAgent({"b": 1}), mode=mode, autonomy=autonomy)


def count_appends(folder: Path, mode: str) -> int:
    """How many appends a run takes that nothing interrupts."""
    harness = build(folder, mode=mode)
    harness.drive()
    return harness.store.appends


def assert_as_if_nothing_happened(harness: Harness, run: RunState) -> None:
    """Every step landed once, the tree is right, the files say done, and nobody holds a claim."""
    assert run.ended is not None
    assert run.ended.state == "done"
    landed = [name for _, name in harness.workspaces.log()]
    assert sorted(landed) == ["a", "b", "c", "d"]
    tip = harness.workspaces.log()[-1][0]
    assert harness.workspaces.files(tip) == {"README": "hello\n"} | {f"{n}.txt": f"{n}\n" for n in "abcd"}
    events = [r.event for r in harness.store.tail(RUN)]
    assert sum(isinstance(e, StepLanded) for e in events) == 4
    assert sum(isinstance(e, StepFinished) and e.step != FINAL for e in events) == 4
    assert {m.status for m in (harness.planfiles.marks(s) for s in harness.plan.steps)} == {Status.DONE}
    assert not harness.store.list_claims(RUN)


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
    harness = build(tmp_path, mode="sequential")
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert_as_if_nothing_happened(harness, run)


@pytest.mark.parametrize(("nth", "when"), list_deaths(PARALLEL))
def test_a_parallel_run_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert_as_if_nothing_happened(harness, run)


PAUSED = 42
"""With the pause, the park, the resume, and what giving a step back and claiming it again take."""


def is_heard(harness: Harness) -> bool:
    return any(isinstance(recorded.event, PauseRequested) for recorded in harness.store.tail(RUN))


def build_paused(folder: Path) -> Harness:
    """The four steps one after the other, paused by a person while the second is worked on for the first time."""
    harness = build(folder, mode="sequential")

    class Pausing(WritingAgent):
        async def work(self, assignment: Assignment) -> Outcome:
            if assignment.step == "b" and assignment.attempt == 1 and not is_heard(harness):
                if not harness.store.unread(RUN):
                    harness.send(Message(kind="pause", by="ann"))
                while not is_heard(harness):  # noqa: ASYNC110 - a journal tells no event
                    await anyio.sleep(0.001)
            return await WritingAgent.work(self, assignment)

    harness.agent = Pausing({"b": 1})
    return harness


def test_the_enumeration_covers_the_appends_of_a_pause(tmp_path: Path) -> None:
    harness = build_paused(tmp_path)

    parked = harness.drive().parked
    run = harness.drive()

    assert parked
    assert_as_if_nothing_happened(harness, run)
    assert harness.store.appends == PAUSED


@pytest.mark.parametrize(("nth", "when"), list_deaths(PAUSED))
def test_a_run_that_was_paused_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build_paused(tmp_path)
    harness.die_at(nth, when=when)

    for _ in range(3):
        run = harness.drive_through()
        if run.ended is not None:
            break

    assert_as_if_nothing_happened(harness, run)


GATED = 10


def build_gated(folder: Path) -> Harness:
    """One step, of whose work mutants are tried before it lands."""
    return Harness(folder=folder, plan=small_plan(step("a")), mode="sequential", mutants=Mutants.GATE)


def test_the_enumeration_covers_the_appends_about_mutants(tmp_path: Path) -> None:
    harness = build_gated(tmp_path)

    harness.drive()

    kinds = [type(recorded.event) for recorded in harness.store.tail(RUN)]
    assert (harness.store.appends, kinds.count(MutantsStarted), kinds.count(MutantsEnded)) == (GATED, 1, 1)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, GATED + 1))
def test_a_run_with_mutants_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build_gated(tmp_path)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert [name for _, name in harness.workspaces.log()] == ["a"]
    assert run.finished[StepId("a")].mutants == Mutation()
    assert not harness.store.list_claims(RUN)


@pytest.mark.parametrize("seed", range(5))
def test_a_run_ends_the_same_when_driver_after_driver_dies(tmp_path: Path, seed: int) -> None:
    harness = build(tmp_path)
    dice = random.Random(seed)
    harness.store.after = lambda number: harness.life.end() if dice.random() < 0.2 else None

    run = harness.drive_through(deaths=500)

    assert_as_if_nothing_happened(harness, run)
    assert len(harness.joined) > 1


def test_a_lost_attempt_counts_as_no_attempt(tmp_path: Path) -> None:
    harness = build(tmp_path, mode="sequential")
    harness.die_at(4, when="before")

    run = harness.drive_through()

    assert run.finished[harness.plan.steps[0].id].attempts == 1
    assert run.finished[harness.plan.steps[1].id].attempts == 2


def test_an_answer_given_between_two_drivers_is_found(tmp_path: Path) -> None:
    harness = build(tmp_path, mode="sequential", autonomy="verbose")

    parked = harness.drive()
    gates = [gate.opened.gate for gate in parked.open_gates]
    for _ in range(4):
        for gate in [g.opened.gate for g in parked.open_gates]:
            harness.send(Message(kind="answer", subject=gate, value="approve"))
        parked = harness.drive()

    assert gates == ["approve-a"]
    assert_as_if_nothing_happened(harness, parked)


def drive_approving(harness: Harness) -> RunState:
    """Drive, and approve whatever is asked, until the run has ended."""
    for _ in range(20):
        run = harness.drive_through()
        if run.ended is not None:
            return run
        for gate in run.open_gates:
            harness.send(Message(kind="answer", subject=gate.opened.gate, value="approve"))
    raise AssertionError("the run does not end")


ASKING = 61


def test_the_enumeration_with_gates_covers_every_append(tmp_path: Path) -> None:
    harness = build(tmp_path, autonomy="verbose")

    drive_approving(harness)

    assert harness.store.appends == ASKING


@pytest.mark.parametrize(("nth", "when"), list_deaths(ASKING))
def test_a_run_that_asks_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path, autonomy="verbose")
    harness.die_at(nth, when=when)

    run = drive_approving(harness)

    assert_as_if_nothing_happened(harness, run)
    assert len(run.gates) == 4


def test_without_recovery_a_killed_run_does_not_come_back(tmp_path: Path) -> None:
    def forget(state: StepState, driver: DriverId) -> list[CheckEnded]:
        return []

    failures = 0
    for nth in range(1, SEQUENTIAL + 1):
        harness = build(tmp_path / str(nth), mode="sequential")
        harness.recover = forget  # type: ignore[assignment]
        harness.die_at(nth, when="after")
        try:
            assert_as_if_nothing_happened(harness, harness.drive_through())
        except (AssertionError, BaseExceptionGroup):
            failures += 1

    assert failures >= 10


class StickyWorkspaces(FakeWorkspaces):
    """Workspaces that will not go away."""

    async def remove(self, step: StepId) -> None:
        raise GitError(f"the workspace of {step} cannot be removed", hint="git worktree prune")


def test_a_step_that_landed_stays_done_though_its_workspace_will_not_go(tmp_path: Path) -> None:
    harness = build(tmp_path)
    harness.workspaces = StickyWorkspaces(tmp_path / "work", files={"README": "hello\n"}, plan_paths=["plan"])

    run = harness.drive()

    assert_as_if_nothing_happened(harness, run)


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


def build_rejudged(folder: Path) -> Harness:
    """One step whose checks run with the judge of the base, too, and of which mutants are tried once it has landed."""
    plan = small_plan(step("a"))
    return Harness(folder=folder, plan=plan, agent=Reconfiguring(), mode="sequential", script=judge_lines)


def test_the_enumeration_covers_the_appends_about_judges_and_mutants_afterwards(tmp_path: Path) -> None:
    harness = build_rejudged(tmp_path)

    harness.drive()

    events = [recorded.event for recorded in harness.store.tail(RUN)]
    compared = [event.against for event in events if isinstance(event, ComparisonEnded)]
    assert (harness.store.appends, compared) == (REJUDGED, [Against.BASE_JUDGE, Against.BASE_SOURCE])
    assert [event.found.tried > 0 for event in events if isinstance(event, MutantsTried)] == [True]


@pytest.mark.parametrize(("nth", "when"), list_deaths(REJUDGED))
def test_a_judge_is_asked_and_mutants_are_told_once_wherever_the_process_dies(
    tmp_path: Path, nth: int, when: str
) -> None:
    harness = build_rejudged(tmp_path)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert [name for _, name in harness.workspaces.log()] == ["a"]
    assert sum(isinstance(recorded.event, MutantsTried) for recorded in harness.store.tail(RUN)) <= 1
    assert not harness.store.list_claims(RUN)
