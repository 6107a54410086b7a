"""The local driver on fakes: what people say and do in mid-run, several drivers at once, and drivers that die."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from tests.integration.harness import RUN, Died, Harness, WritingAgent, small_plan, step

from drumline.core import events as ev
from drumline.core.ids import Commit, DriverId, GateId, RunId, StepId, Stream, Token, Tree
from drumline.core.plan import RUN_WALKS, Marks, Problem, Reading, Status, Step
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.engine import wakeup
from drumline.engine.driver import Driver
from drumline.engine.upkeep import Upkeep
from drumline.errors import GitError
from drumline.ports.agents import Assignment, Outcome
from drumline.ports.journal import Addition, Claim, Message
from drumline.ports.processes import Ended, Job
from drumline.ports.workspaces import Landing, Meant
from drumline.record import replace
from drumline.testing.planfiles import FakePlanFiles
from drumline.testing.roster import FakeRoster
from drumline.testing.workspaces import FakeWorkspaces
from drumline.walltimes import parse_iso, write_iso

Hook = Callable[[Assignment], Awaitable[None]]
A, B, C = StepId("a"), StepId("b"), StepId("c")
PAIR = (step("a"), step("b"))
CHAIN = (step("a"), step("b", "a"))
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def _without_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "POLL", 0.01)
    monkeypatch.setattr(wakeup, "LOOK_ROUND", 0.05)


class HookedAgent(WritingAgent):
    """Calls a hook at the beginning of each attempt, named as `a1` for the first at step a."""

    def __init__(self, hooks: dict[str, Hook] | None = None, slips: dict[str, int] | None = None) -> None:
        super().__init__(slips)
        self.hooks = hooks or {}

    async def work(self, assignment: Assignment) -> Outcome:
        hook = self.hooks.get(f"{assignment.step}{assignment.attempt}")
        if hook is not None:
            await hook(assignment)
        return await super().work(assignment)


def harness_of(folder: Path, *steps: Step, mode: str = "sequential", autonomy: str = "autopilot") -> Harness:
    """A harness whose agent can be made to do things."""
    return Harness(folder=folder, plan=small_plan(*steps), agent=HookedAgent(), mode=mode, autonomy=autonomy)


def hooked(harness: Harness) -> dict[str, Hook]:
    """The hooks of the harness's agent."""
    assert isinstance(harness.agent, HookedAgent)
    return harness.agent.hooks


async def wait_on(_: Assignment) -> None:
    """Work until somebody stops it."""
    await anyio.sleep(PATIENCE)
    raise AssertionError("nobody stopped the agent")


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something the driver does beside the agent."""
    for _ in range(int(PATIENCE / 0.01)):
        if holds():
            return
        await anyio.sleep(0.01)
    raise AssertionError("it never came to that")


def attempts(harness: Harness) -> list[str]:
    """The attempts agents were asked for, in order."""
    assert isinstance(harness.agent, WritingAgent)
    return [f"{a.step}{a.attempt}" for a in harness.agent.assignments]


def events_of(harness: Harness, kind: type[ev.Event]) -> list[ev.Event]:
    """Everything of one kind in the journal."""
    return [r.event for r in harness.store.tail(RUN) if isinstance(r.event, kind)]


def statuses(harness: Harness) -> dict[str, Status]:
    """What the plan's files say."""
    reading = harness.planfiles.read()
    return {str(s.id): reading.marks[s.id].status for s in reading.plan.steps}


def state_of(run: RunState) -> str:
    """How the run ended."""
    return run.ended.state if run.ended else ("parked" if run.parked else "open")


def finished(run: RunState) -> dict[str, str]:
    """How each step ended."""
    return {str(s): f.state for s, f in run.finished.items() if s not in RUN_WALKS}


def saying(harness: Harness, kind: str, subject: str = "", value: str = "") -> Hook:
    """An agent in whose time a person says something and which then works until it is stopped."""

    async def hook(assignment: Assignment) -> None:
        harness.send(Message(kind=kind, subject=subject, value=value, comment="why"))
        await wait_on(assignment)

    return hook


def pausing(harness: Harness) -> Hook:
    """Let a person pause the run during an attempt, and a driver hear it before that ends."""

    async def hook(assignment: Assignment) -> None:
        harness.send(Message(kind="pause", by="ann"))
        await until(lambda: any(isinstance(r.event, ev.PauseRequested) for r in harness.store.tail(RUN)))

    return hook


async def drive_all(harness: Harness, *drivers: Driver) -> list[RunState]:
    """Let these drivers drive at once; deaths stay their own."""
    ended: list[RunState] = []

    async def drive(driver: Driver) -> None:
        try:
            ended.append(await driver.drive())
        except Died:
            pass
        except BaseExceptionGroup as group:
            if group.subgroup(Died) is None:
                raise

    with anyio.fail_after(PATIENCE):
        await harness.begin()
        async with anyio.create_task_group() as tasks:
            for driver in drivers:
                tasks.start_soon(drive, driver)
    return ended


def driver_of(
    harness: Harness, *, jobs: int = 2, complain: Callable[[Sequence[Problem]], None] | None = None
) -> Driver:
    """A driver of its own process."""
    return Driver(
        upkeep=Upkeep(services=harness.services(), complain=complain or (lambda problems: None)), run_id=RUN, jobs=jobs
    )


# --- what people say --------------------------------------------------------------------------------------------


def test_cancel_stops_agents_gives_steps_back_and_ends_the_run(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["a1"] = saying(harness, "cancel")

    run = harness.drive()

    assert state_of(run) == "cancelled"
    assert statuses(harness) == {"a": Status.READY, "b": Status.READY}
    assert not harness.store.list_claims(RUN)
    assert not harness.store.unread(RUN)
    assert harness.workspaces.log() == []


def test_a_pause_lets_the_node_at_work_end_and_begins_nothing_new_until_it_is_resumed(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["a1"] = pausing(harness)

    paused = harness.drive()
    kinds = [type(recorded.event) for recorded in harness.store.tail(RUN)]
    marks = statuses(harness)
    resumed = harness.drive()

    assert (paused.parked, paused.parked_for) == (True, "paused by ann")
    assert kinds.count(ev.AttemptEnded) == 1
    assert ev.CheckStarted not in kinds
    assert ev.WorkLost not in kinds
    assert marks == {"a": Status.READY, "b": Status.READY}
    assert state_of(resumed) == "done"
    assert attempts(harness) == ["a1", "b1"]
    assert [finished.lost for finished in resumed.finished.values()] == [0] * len(resumed.finished)


def test_an_answer_that_comes_while_a_run_is_paused_does_not_drive_it_on(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"), step("b"), autonomy="verbose")
    hooked(harness)["b1"] = pausing(harness)

    def answer(_: int) -> None:
        if any(isinstance(r.event, ev.RunParked) for r in harness.store.tail(RUN)):
            harness.store.after = None
            harness.send(Message(kind="answer", subject="approve-a", value="approve"))

    harness.store.after = answer

    paused = harness.drive()

    assert paused.parked
    assert paused.answer(GateId("approve-a")) == "approve"
    assert finished(paused) == {}
    assert not harness.store.unread(RUN)


def test_a_step_in_work_is_stopped_and_skipped_and_the_rest_goes_on(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["a1"] = saying(harness, "skip", "a")

    run = harness.drive()

    assert state_of(run) == "done"
    assert finished(run) == {"a": "skipped", "b": "done"}
    assert statuses(harness) == {"a": Status.SKIPPED, "b": Status.DONE}


def test_a_waiting_step_can_be_skipped(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN, step("c", "b"))
    harness.send(Message(kind="skip", subject="b", comment="why"))

    run = harness.drive()

    assert finished(run) == {"a": "done", "b": "skipped", "c": "done"}
    assert attempts(harness) == ["a1", "c1"]


def test_a_parked_step_that_is_skipped_takes_its_question_with_it(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"), autonomy="verbose")
    parked = harness.drive()
    harness.send(Message(kind="skip", subject="a", comment="why"))

    run = harness.drive()

    assert [g.opened.gate for g in parked.open_gates] == ["approve-a"]
    assert state_of(run) == "done"
    assert run.open_gates == []


def test_a_parked_step_says_in_its_file_what_it_waits_for(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"), autonomy="verbose")

    run = harness.drive()

    assert state_of(run) == "parked"
    assert harness.planfiles.marks(step("a")) == Marks(status=Status.BLOCKED, reason="waiting for gate approve-a")
    assert not harness.store.list_claims(RUN)


def test_an_answer_that_comes_while_the_run_parks_is_taken_up_at_once(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"), autonomy="verbose")

    def answer(_: int) -> None:
        if events_of(harness, ev.RunParked) and not events_of(harness, ev.GateAnswered):
            harness.store.after = None
            harness.send(Message(kind="answer", subject="approve-a", value="approve"))

    harness.store.after = answer

    run = harness.drive()

    assert state_of(run) == "done"


def test_a_blocked_step_is_retried_in_a_fresh_workspace_and_counts_on(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"))
    harness.agent = HookedAgent(slips={"a": 3})
    blocked = harness.drive()
    harness.send(Message(kind="retry", subject="a"))

    run = harness.drive()

    assert finished(blocked) == {"a": "blocked"}
    assert finished(run) == {"a": "done"}
    assert attempts(harness) == ["a1", "a2", "a3", "a4"]
    assert run.finished[A].attempts == 4


def test_a_change_to_sequential_mode_counts_for_steps_not_yet_started(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"), step("b"), step("c"), mode="parallel")
    harness.send(Message(kind="mode", value="sequential"))
    most = watch_claims(harness)

    run = harness.drive()

    assert (state_of(run), run.mode) == ("done", "sequential")
    assert max(most) == 1


def watch_claims(harness: Harness) -> list[int]:
    """How many steps were in hands at once, noted at every append."""
    most: list[int] = []
    harness.store.after = lambda _: most.append(len(harness.store.list_claims(RUN)))
    return most


def test_what_a_person_wants_revised_reaches_the_agent(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"), autonomy="verbose")
    harness.drive()
    harness.send(Message(kind="answer", subject="approve-a", value="revise", comment="shorter, please"))

    run = harness.drive()

    assert [g.opened.gate for g in run.open_gates] == ["approve-a.2"]
    assert isinstance(harness.agent, WritingAgent)
    assert "shorter, please" in harness.agent.assignments[-1].prompt


# --- edits of the plan ------------------------------------------------------------------------------------------


def edited(original: Step) -> Step:
    """The step as a person rewrote it."""
    return replace(original, title=f"{original.title} better", text_digest="")


def test_an_edit_of_a_step_not_in_work_counts(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)

    async def edit(_: Assignment) -> None:
        harness.planfiles.edit(edited(CHAIN[1]))

    hooked(harness)["a1"] = edit

    run = harness.drive()

    assert state_of(run) == "done"
    assert run.plan.by_id[B].title == "Do b better"
    assert isinstance(harness.agent, WritingAgent)
    assert "Do b better" in harness.agent.assignments[-1].prompt


def test_a_step_added_in_mid_run_is_done_too(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"))

    async def add(_: Assignment) -> None:
        harness.planfiles.edit(step("c", "a"))

    hooked(harness)["a1"] = add

    run = harness.drive()

    assert finished(run) == {"a": "done", "c": "done"}


@pytest.mark.parametrize(
    ("choice", "title", "tries"), [("restart", "Do a better", ["a1", "a2"]), ("continue", "Do a", ["a1"])]
)
def test_an_edit_of_a_step_in_work_goes_to_a_gate(tmp_path: Path, choice: str, title: str, tries: list[str]) -> None:
    harness = harness_of(tmp_path, step("a"))

    async def edit(_: Assignment) -> None:
        harness.planfiles.edit(edited(step("a")))
        await until(lambda: bool(events_of(harness, ev.GateOpened)))

    hooked(harness)["a1"] = edit
    parked = harness.drive()
    [gate] = parked.open_gates
    harness.send(Message(kind="answer", subject=gate.opened.gate, value=choice))

    run = harness.drive()

    assert (state_of(parked), gate.opened.kind) == ("parked", "edit")
    assert state_of(run) == "done"
    assert attempts(harness) == tries
    assert isinstance(harness.agent, WritingAgent)
    assert f"# Task: {title} (a)" in harness.agent.assignments[-1].prompt
    assert len(harness.workspaces.log()) == 1


def test_an_edit_that_breaks_the_plan_is_complained_of_once_and_does_not_stop_the_rest(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    complaints: list[list[str]] = []

    async def break_plan(_: Assignment) -> None:
        harness.planfiles.edit(replace(CHAIN[1], needs=(StepId("nowhere"),), text_digest=""))

    hooked(harness)["a1"] = break_plan
    driver = driver_of(harness, complain=lambda problems: complaints.append([p.code for p in problems]))

    [run] = anyio.run(drive_all, harness, driver)

    assert finished(run) == {"a": "done", "b": "done"}
    assert complaints == [["unknown_need"]]


def test_a_step_declared_done_by_hand_in_mid_run_is_not_driven(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)

    async def declare(_: Assignment) -> None:
        harness.planfiles.write(CHAIN[1], Marks(status=Status.DONE))

    hooked(harness)["a1"] = declare

    run = harness.drive()

    assert (state_of(run), run.declared, attempts(harness)) == ("done", {B}, ["a1"])


# --- marks of others --------------------------------------------------------------------------------------------


class RacingPlanFiles(FakePlanFiles):
    """Somebody else marks a step just after the plan was read and before its file is looked at for the claim."""

    def __init__(self, harness: Harness, rival: Marks) -> None:
        super().__init__(harness.plan)
        self.rival: Marks | None = rival

    def read(self, known: Reading | None = None) -> Reading:
        """The plan; right afterwards the rival strikes."""
        found = super().read(known)
        if self.rival is not None and known is not None:
            rival, self.rival = self.rival, None
            self.write(PAIR[1], rival)
        return found


def test_a_claim_that_somebody_else_writes_first_is_respected_until_it_is_stale(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    rival = Marks(status=Status.CLAIMED, assignee="mary", claimed_at=write_iso(harness.clock.now()))
    harness.planfiles = RacingPlanFiles(harness, rival)

    async def look(_: Assignment) -> None:
        assert harness.planfiles.marks(PAIR[1]) == rival
        harness.clock.time += 3_601

    hooked(harness)["a1"] = look

    run = harness.drive()

    assert finished(run) == {"a": "done", "b": "done"}
    assert attempts(harness) == ["a1", "b1"]


def test_a_step_that_somebody_finishes_just_before_the_claim_is_left_alone(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    harness.planfiles = RacingPlanFiles(harness, Marks(status=Status.DONE))

    run = harness.drive()

    assert (state_of(run), run.declared, attempts(harness)) == ("done", {B}, ["a1"])
    assert statuses(harness)["b"] is Status.DONE


def test_a_held_claim_is_renewed_before_it_could_be_taken_for_stale(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"))
    shown: list[str] = []

    async def wait(_: Assignment) -> None:
        shown.append(harness.planfiles.marks(step("a")).claimed_at)
        harness.clock.time += 1_000
        await until(lambda: harness.planfiles.marks(step("a")).claimed_at != shown[0])
        shown.append(harness.planfiles.marks(step("a")).claimed_at)

    hooked(harness)["a1"] = wait

    run = harness.drive()

    assert state_of(run) == "done"
    first, second = (parse_iso(text) for text in shown)
    assert first is not None
    assert second == first + 1_000


def test_a_mark_that_a_person_puts_over_ours_is_not_overwritten_while_the_step_works_on(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"))
    mine = Marks(status=Status.BLOCKED, reason="hands off")

    async def mark(_: Assignment) -> None:
        harness.planfiles.write(step("a"), mine)

    hooked(harness)["a1"] = mark

    run = harness.drive()

    assert finished(run) == {"a": "done"}
    assert harness.planfiles.marks(step("a")) == mine


# --- stopping ---------------------------------------------------------------------------------------------------


def test_stopping_gives_steps_back_and_marks_them_ready(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    driver = driver_of(harness)
    begun: list[StepId] = []

    async def stop_both(assignment: Assignment) -> None:
        begun.append(assignment.step)
        if len(begun) == len(PAIR):
            driver.stop()
        await wait_on(assignment)

    hooked(harness).update(a1=stop_both, b1=stop_both)

    [run] = anyio.run(drive_all, harness, driver)

    assert state_of(run) == "open"
    assert statuses(harness) == {"a": Status.READY, "b": Status.READY}
    assert not harness.store.list_claims(RUN)
    assert not harness.roster.drivers(RUN)
    assert len(events_of(harness, ev.WorkLost)) == 2


def test_stopping_while_a_claim_is_written_takes_it_back(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    stopped = threading.Event()

    class SlowFiles(FakePlanFiles):
        def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
            if step.id == B and marks.status is Status.CLAIMED:
                stopped.wait(timeout=PATIENCE)
            return super().write(step, marks, ticked=ticked, unless=unless)

    harness.planfiles = SlowFiles(harness.plan)
    driver = driver_of(harness)

    async def stop(assignment: Assignment) -> None:
        driver.stop()
        stopped.set()
        await wait_on(assignment)

    hooked(harness)["a1"] = stop

    anyio.run(drive_all, harness, driver)

    assert statuses(harness) == {"a": Status.READY, "b": Status.READY}
    assert not harness.store.list_claims(RUN)


@pytest.mark.parametrize("nth", range(1, 9))
def test_stopping_at_any_append_leaves_no_claim_in_the_files(tmp_path: Path, nth: int) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    driver = driver_of(harness)
    harness.store.before = lambda number: driver.stop() if number == nth else None

    [run] = anyio.run(drive_all, harness, driver)

    assert Status.CLAIMED not in statuses(harness).values()
    assert not harness.store.list_claims(RUN)
    hooked(harness).clear()
    assert state_of(harness.drive()) == "done"
    assert state_of(run) in ("open", "done")


def test_stopping_before_anything_of_a_claim_is_recorded_leaves_none_in_the_file(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR)
    drivers: list[Driver] = []

    class Stopping(FakeWorkspaces):
        def stands_at(self, left: Commit) -> bool:
            return False

        async def head(self, left: Commit | None = None, meant: Meant | None = None) -> Commit:
            drivers[0].stop()
            await anyio.sleep(PATIENCE)
            raise AssertionError("nobody stopped the walk")

    harness.workspaces = Stopping(tmp_path / "slow", files={"README": "hello\n"}, plan_paths=["plan"])
    drivers.append(driver_of(harness))

    anyio.run(drive_all, harness, *drivers)

    assert statuses(harness) == {"a": Status.READY, "b": Status.READY}


def test_a_stopped_run_is_taken_up_where_it_was(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    driver = driver_of(harness)

    async def stop(assignment: Assignment) -> None:
        driver.stop()
        await wait_on(assignment)

    hooked(harness)["b1"] = stop
    anyio.run(drive_all, harness, driver)
    hooked(harness).clear()

    run = harness.drive()

    assert state_of(run) == "done"
    assert attempts(harness) == ["a1", "b1"]
    assert [s for _, s in harness.workspaces.log()] == ["a", "b"]


def test_what_lands_while_a_person_skips_it_is_done_and_not_skipped(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR)

    class Slow(FakeWorkspaces):
        async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
            found = await super().land(step, commit, head=head)
            if step == A:
                harness.send(Message(kind="skip", subject="a"))
                for _ in range(10):
                    await anyio.sleep(0.02)
            return found

    harness.workspaces = Slow(tmp_path / "slow", files={"README": "hello\n"}, plan_paths=["plan"])

    run = harness.drive()

    assert finished(run) == {"a": "done", "b": "done"}
    assert [s for _, s in harness.workspaces.log()] == ["a", "b"]


# --- several drivers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_two_drivers_do_every_step_once(tmp_path: Path, mode: str) -> None:
    steps = [step(name) for name in "abcd"] + [step("e", "a", "b"), step("f", "e")]
    harness = harness_of(tmp_path, *steps, mode=mode)
    most = watch_claims(harness)

    runs = anyio.run(drive_all, harness, driver_of(harness), driver_of(harness))

    assert [state_of(run) for run in runs] == ["done", "done"]
    assert sorted(attempts(harness)) == [f"{name}1" for name in "abcdef"]
    assert sorted(s for _, s in harness.workspaces.log()) == list("abcdef")
    assert len(events_of(harness, ev.RunEnded)) == 1
    assert max(most) <= (1 if mode == "sequential" else 4)


def test_both_drivers_get_something_to_do(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *(step(name) for name in "abcdef"), mode="parallel")

    anyio.run(drive_all, harness, driver_of(harness, jobs=1), driver_of(harness, jobs=1))

    claimed = {r.event.driver for r in harness.store.tail(RUN) if isinstance(r.event, ev.StepClaimed)}
    assert claimed == {"d-1", "d-2"}


def test_two_drivers_may_resume_a_run_at_the_same_moment(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR)

    async def resume(driver: Driver) -> None:
        await driver.drive(resuming=True)

    async def both() -> None:
        await harness.begin()
        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as tasks:
                for driver in (driver_of(harness), driver_of(harness)):
                    tasks.start_soon(resume, driver)

    anyio.run(both)

    assert len(events_of(harness, ev.RunEnded)) >= 1
    assert [s for _, s in harness.workspaces.log()] == ["a", "b"]


def test_a_skip_reaches_the_driver_that_has_the_step(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    hooked(harness).update(a1=saying(harness, "skip", "a"))

    runs = anyio.run(drive_all, harness, driver_of(harness, jobs=1), driver_of(harness, jobs=1))

    assert [finished(run) for run in runs] == [{"b": "done", "a": "skipped"}] * 2


def test_a_step_whose_driver_dies_is_taken_over_by_one_that_lives(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    first = driver_of(harness)
    life = harness.life
    second = driver_of(harness)

    async def die(_: Assignment) -> None:
        hooked(harness).clear()
        harness.roster.die(DriverId("d-1"))
        life.end()

    hooked(harness)["a1"] = die

    runs = anyio.run(drive_all, harness, first, second)

    assert [state_of(run) for run in runs] == ["done"]
    assert attempts(harness) == ["a1", "b1"]
    assert events_of(harness, ev.WorkLost) == [ev.WorkLost(what="working", driver=DriverId("d-1"))]
    assert [s for _, s in harness.workspaces.log()] == ["a", "b"]


def test_a_driver_whose_claim_was_taken_over_stops_only_that_walk(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR, mode="parallel")

    async def lose_claim(_: Assignment) -> None:
        hooked(harness).clear()
        held = harness.store.list_claims(RUN)[A]
        thief = harness.roster.join(RUN)
        assert harness.store.take(RUN, A, thief, over=held.token) is not None
        harness.roster.die(thief)

    hooked(harness)["a1"] = lose_claim

    run = harness.drive()

    assert state_of(run) == "done"
    assert finished(run) == {"a": "done", "b": "done"}
    assert sorted(s for _, s in harness.workspaces.log()) == ["a", "b"]


def test_nothing_is_claimed_while_a_frozen_driver_cannot_be_evicted(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    stuck = harness.roster.join(RUN)
    token = harness.store.take(RUN, A, stuck)
    driver = driver_of(harness)
    looks: list[Claim] = []

    async def watch() -> None:
        for _ in range(10):
            await anyio.sleep(0.02)
            looks.append(harness.store.list_claims(RUN)[A])
        harness.roster.die(stuck)

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await drive_all(harness, driver)

    anyio.run(both)

    assert looks == [Claim(driver=stuck, token=Token(token or 0))] * 10
    assert state_of(driver.run) == "done"


# --- trouble ----------------------------------------------------------------------------------------------------


class BrokenGit(FakeWorkspaces):
    """Git refuses one kind of thing for step a."""

    broken = ""

    async def prepare(self, step: StepId, base: Commit, *, setup: str = "") -> Tree:
        """Refused if that is what is broken."""
        self._refuse("prepare", step)
        return await super().prepare(step, base, setup=setup)

    async def commit(self, step: StepId, tree: Tree, *, base: Commit, message: str, journal: str = "") -> Commit:
        """Refused if that is what is broken."""
        self._refuse("commit", step)
        return await super().commit(step, tree, base=base, message=message, journal=journal)

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Refused if that is what is broken."""
        self._refuse("land", step)
        return await super().land(step, commit, head=head)

    async def remove(self, step: StepId) -> None:
        """Refused if that is what is broken."""
        self._refuse("remove", step)
        await super().remove(step)

    def _refuse(self, what: str, step: StepId) -> None:
        if what == self.broken and step == A:
            raise GitError(f"cannot {what}", hint="drumline doctor")


@pytest.mark.parametrize("what", ["prepare", "commit", "land"])
def test_a_refusal_of_git_blocks_its_step_and_the_rest_goes_on(tmp_path: Path, what: str) -> None:
    harness = harness_of(tmp_path, *PAIR)
    harness.workspaces = broken = BrokenGit(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])
    broken.broken = what

    run = harness.drive()

    assert finished(run) == {"a": "blocked", "b": "done"}
    assert run.finished[A].reason == f"git: cannot {what}"
    assert statuses(harness) == {"a": Status.BLOCKED, "b": Status.DONE}
    assert not harness.store.list_claims(RUN)


def test_a_workspace_that_cannot_be_removed_does_not_undo_a_landing(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR)
    harness.workspaces = broken = BrokenGit(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])
    broken.broken = "remove"

    assert finished(harness.drive()) == {"a": "done", "b": "done"}


def test_a_workspace_left_by_a_dead_driver_that_cannot_be_removed_does_not_stop_the_next(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *PAIR)
    harness.workspaces = broken = BrokenGit(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])
    broken.broken = "remove"
    harness.store.after = lambda _: harness.life.end() if events_of(harness, ev.StepFinished) else None
    with suppress(Died, BaseExceptionGroup):
        harness.drive()
    harness.store.after = None

    assert finished(harness.drive()) == {"a": "done", "b": "done"}


def test_a_transient_failure_waits_by_the_clock_and_is_tried_again(tmp_path: Path) -> None:
    harness = Harness(
        folder=tmp_path,
        plan=small_plan(step("a")),
        agent=WritingAgent(outcomes={f"a{n}": Outcome(failure="transient", message="429") for n in (1, 2)}),
    )
    before = harness.clock.now()

    run = harness.drive()

    assert state_of(run) == "done"
    assert harness.clock.now() - before == 6.0


def test_the_model_that_an_agent_names_is_kept_with_its_attempt_and_none_where_it_names_none(tmp_path: Path) -> None:
    plan = small_plan(step("a"), step("b", "a"))
    harness = Harness(folder=tmp_path, plan=plan, agent=WritingAgent(outcomes={"a1": Outcome(model="opus")}))

    harness.drive()

    ends = [entry.event for step in "ab" for entry in harness.store.read(Stream(RUN, StepId(step)))]
    assert [end.model for end in ends if isinstance(end, ev.AttemptEnded)] == ["opus", ""]


def test_a_check_that_formats_the_tree_is_void_and_what_it_changed_is_restored(tmp_path: Path) -> None:
    def format_all(job: Job) -> Ended:
        for file in job.cwd.glob("*.txt") if "format" in job.argv[-1] else ():
            file.write_text("formatted\n")
        return Ended(exit_code=0, seconds=0.0)

    harness = Harness(folder=tmp_path, plan=small_plan(step("a", checks=("format", "check"))), script=format_all)

    run = harness.drive()

    finished = run.finished[A]
    assert (finished.state, finished.is_proved, finished.checks_passed, finished.checks_total) == ("done", False, 1, 2)
    assert finished.void == ("format a",)
    assert any("changes the tree" in notice for notice in finished.notices)
    [(landed, _)] = harness.workspaces.log()
    assert "formatted\n" not in harness.workspaces.files(landed).values()


def test_what_a_check_drops_is_neither_landed_nor_in_the_way(tmp_path: Path) -> None:
    def drop(job: Job) -> Ended:
        (job.cwd / "__pycache__").mkdir(exist_ok=True)
        (job.cwd / "__pycache__" / f"{job.argv[-1].split()[0]}.pyc").write_text("x")
        return Ended(exit_code=0 if (job.cwd / "a.txt").exists() else 1, seconds=0.0)

    harness = Harness(folder=tmp_path, plan=small_plan(step("a", checks=("one", "two"))), script=drop)

    run = harness.drive()

    assert run.finished[A].is_proved
    [(landed, _)] = harness.workspaces.log()
    assert not [path for path in harness.workspaces.files(landed) if "__pycache__" in path]


def test_a_driver_that_only_waits_says_once_what_for(tmp_path: Path) -> None:
    harness = Harness(folder=tmp_path, plan=small_plan(step("a")))
    taken = Marks(status=Status.CLAIMED, assignee="somebody", claimed_at=write_iso(harness.clock.now()))
    told: list[str] = []

    async def session() -> None:
        await harness.begin()
        harness.planfiles.write(harness.plan.steps[0], taken)
        heard = anyio.Event()

        def hear(reason: str) -> None:
            told.append(reason)
            heard.set()

        driver = Driver(upkeep=Upkeep(services=harness.services()), run_id=RUN, wait_told=hear)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(driver.drive)
            with anyio.fail_after(30):
                await heard.wait()
            await anyio.sleep(0.5)
            driver.stop()

    anyio.run(session)

    assert told == [f"claimed by somebody since {taken.claimed_at}"]


def test_steps_go_on_while_the_mark_of_another_waits_to_be_written(tmp_path: Path) -> None:
    at_work = threading.Event()
    waited: list[bool] = []

    class SlowFiles(FakePlanFiles):
        def write(self, step: Step, marks: Marks, *, ticked: Sequence[int] = (), unless: Marks | None = None) -> str:
            if step.id == B and not waited:
                waited.append(at_work.wait(timeout=5.0))
            return super().write(step, marks, ticked=ticked, unless=unless)

    async def begin(_: Assignment) -> None:
        at_work.set()

    harness = harness_of(tmp_path, *PAIR, mode="parallel")
    harness.planfiles = SlowFiles(harness.plan)
    hooked(harness)["a1"] = begin

    run = harness.drive()

    assert waited == [True]
    assert state_of(run) == "done"


# --- the run branch ---------------------------------------------------------------------------------------------


def moving(harness: Harness, move: Callable[[FakeWorkspaces], object]) -> Hook:
    """An agent in whose time somebody does something to the run branch."""

    async def work(_: Assignment) -> None:
        move(harness.workspaces)

    return work


def landed_steps(harness: Harness) -> list[StepId]:
    return [step for _, step in harness.workspaces.log()]


def test_a_branch_that_is_deleted_in_mid_run_is_restored_and_that_is_told(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["b1"] = moving(harness, lambda git: git.move_branch(None))

    run = harness.drive()

    assert state_of(run) == "done"
    assert landed_steps(harness) == [A, B]
    assert [(s.how, s.steps) for s in run.resettled] == [("restored", (A,))]


def test_a_step_that_begins_while_the_branch_is_set_back_has_what_landed_before_it(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    seen: list[str] = []

    class SetBack(FakeWorkspaces):
        async def remove(self, step: StepId) -> None:
            await super().remove(step)
            if step == A:
                self.move_branch(self.first)

    async def extend(assignment: Assignment) -> None:
        file = assignment.workspace / "README"
        seen.append(file.read_text(encoding="utf-8"))
        file.write_text(f"{seen[-1]}{assignment.step}", encoding="utf-8")

    harness.workspaces = SetBack(tmp_path / "git", files={"README": ""}, plan_paths=["plan"])
    hooked(harness).update(a1=extend, b1=extend)

    run = harness.drive()

    assert seen == ["", "a"]
    assert state_of(run) == "done"
    assert landed_steps(harness) == [A, B]


def test_a_branch_that_is_set_back_after_the_last_landing_is_restored_before_the_run_ends(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, step("a"))

    class SetBack(FakeWorkspaces):
        async def remove(self, step: StepId) -> None:
            await super().remove(step)
            self.move_branch(self.first)

    harness.workspaces = SetBack(tmp_path / "git", files={"README": "hello\n"}, plan_paths=["plan"])

    run = harness.drive()

    assert state_of(run) == "done"
    assert landed_steps(harness) == [A]


def test_commits_that_appear_while_steps_are_in_work_are_asked_about(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["b1"] = moving(harness, lambda git: git.commit_foreign("Mine"))

    run = harness.drive()

    assert state_of(run) == "parked"
    (gate,) = run.open_gates
    assert gate.opened.kind == "branch"
    assert gate.opened.person_only
    assert "Mine" in gate.opened.question
    assert landed_steps(harness) == [A]


@pytest.mark.parametrize(("choice", "kept"), [("keep", True), ("restore", False)])
def test_the_answer_about_foreign_commits_is_carried_out(tmp_path: Path, choice: str, kept: bool) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["b1"] = moving(harness, lambda git: git.commit_foreign("Mine"))
    (gate,) = harness.drive().open_gates
    harness.send(Message(kind="answer", subject=gate.opened.gate, value=choice))

    run = harness.drive()

    assert state_of(run) == "done"
    assert landed_steps(harness) == [A, B]
    line = [harness.workspaces.message(commit) for commit in harness.workspaces.history()]
    assert ("Mine" in line) is kept
    assert attempts(harness) == ["a1", "b1"]


def test_a_stop_at_the_question_about_the_branch_ends_the_run_as_blocked(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    hooked(harness)["b1"] = moving(harness, lambda git: git.commit_foreign("Mine"))
    (gate,) = harness.drive().open_gates
    harness.send(Message(kind="answer", subject=gate.opened.gate, value="stop"))

    run = harness.drive()

    assert state_of(run) == "blocked"
    assert landed_steps(harness) == [A]


def test_what_a_person_commits_while_nothing_is_at_work_becomes_the_head_and_is_named(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    anyio.run(harness.begin)
    harness.workspaces.commit_foreign("Mine")

    run = harness.drive()

    assert state_of(run) == "done"
    assert [(s.how, s.commits[0].split(" ", 1)[1]) for s in run.resettled] == [("kept", "Mine")]
    assert landed_steps(harness) == [A, B]


def test_what_a_person_commits_while_the_run_is_parked_becomes_the_head_and_is_named(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN, autonomy="verbose")
    harness.drive()
    harness.workspaces.commit_foreign("Mine")
    harness.send(Message(kind="answer", subject="approve-a", value="approve"))

    run = harness.drive()

    assert [(s.how, s.commits[0].split(" ", 1)[1]) for s in run.resettled] == [("kept", "Mine")]
    assert [g.opened.gate for g in run.open_gates] == ["approve-b"]
    assert landed_steps(harness) == [A]


def test_what_an_agent_commits_before_the_run_is_parked_is_asked_about(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN, autonomy="verbose")
    hooked(harness)["a1"] = moving(harness, lambda git: git.commit_foreign("Theirs"))

    run = harness.drive()

    assert {g.opened.kind for g in run.open_gates} == {"approve", "branch"}
    assert landed_steps(harness) == []


def test_what_is_committed_after_a_driver_died_at_work_is_asked_about(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN, autonomy="verbose")
    harness.drive()
    harness.send(Message(kind="answer", subject="approve-a", value="revise", comment="shorter"))

    async def die(_: Assignment) -> None:
        raise Died

    hooked(harness)["a2"] = die
    with suppress(Died, BaseExceptionGroup):
        harness.drive()
    harness.workspaces.commit_foreign("Mine")
    hooked(harness).clear()

    run = harness.drive()

    assert [g.opened.kind for g in run.open_gates] == ["branch"]


def test_landings_that_an_older_copy_of_the_journal_does_not_know_are_not_made_again(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    harness.drive()
    again = harness_of(tmp_path / "older", *CHAIN)
    again.workspaces = harness.workspaces

    run = again.drive()

    assert [gate.opened.kind for gate in run.open_gates] == ["accept"]  # what proved them is not known any more
    assert finished(run) == {"a": "done", "b": "done"}
    assert attempts(again) == []
    assert landed_steps(harness) == [A, B]


def die_before_recording_a_landing(harness: Harness) -> None:
    """The driver dies after git has moved the branch and before the journal says so."""
    appended = harness.store.before

    class Striking(FakeWorkspaces):
        async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
            landing = await super().land(step, commit, head=head)
            harness.store.before = lambda count: harness.life.end()
            return landing

    harness.workspaces = Striking(harness.folder / "git", files={"README": "hello\n"}, plan_paths=["plan"])
    with contextlib.suppress(Died, BaseExceptionGroup):
        harness.drive()
    harness.store.before = appended


@pytest.mark.parametrize("kind", ["skip", "cancel", "retry"])
def test_a_landing_that_only_git_knows_is_recorded_before_what_a_person_wants(tmp_path: Path, kind: str) -> None:
    harness = harness_of(tmp_path, step("a"))
    die_before_recording_a_landing(harness)
    assert landed_steps(harness) == [A]
    assert events_of(harness, ev.StepLanded) == []
    harness.send(Message(kind=kind, subject="" if kind == "cancel" else A))

    run = harness.drive()

    assert run.finished[A].state == "done"
    assert run.finished[A].commit == harness.workspaces.log()[0][0]
    assert landed_steps(harness) == [A]


# --- other runs of the plan -------------------------------------------------------------------------------------


def add_other_run(harness: Harness, *, live: bool) -> None:
    """Another run has landed step a on a branch of its own, and the plan's file says so."""
    other = RunId("run-2")
    anyio.run(harness.begin)
    begun = [r.event for r in harness.store.read(Stream(RUN))]
    landed = ev.StepFinished(step=A, state=StepEnd.DONE, commit=Commit("elsewhere"))
    anyio.run(harness.store.append, {Stream(other): Addition(events=[*begun, landed], expected=0)})
    harness.planfiles.write(harness.plan.by_id[A], Marks(status=Status.DONE))
    if live:
        harness.roster.join(other)


def test_a_step_that_another_live_run_has_landed_elsewhere_meets_no_need(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    add_other_run(harness, live=True)

    run = harness.drive()

    assert state_of(run) == "blocked"
    assert run.ended is not None
    assert "another run has landed it on drumline/demo-run-1" in run.ended.reason
    assert attempts(harness) == []
    assert not run.declared


def test_what_a_run_that_is_over_has_landed_counts_as_the_files_say(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, *CHAIN)
    add_other_run(harness, live=False)

    run = harness.drive()

    assert state_of(run) == "done"
    assert run.declared == {A}
    assert attempts(harness) == ["b1"]


def test_a_run_says_that_it_waits_for_what_a_dead_driver_started_and_that_cannot_be_ended(tmp_path: Path) -> None:
    class Stuck(FakeRoster):
        def evict(self, driver: DriverId) -> bool:
            """Something of it cannot be ended at first."""
            return len(told) > 0 and super().evict(driver)

    told: list[str] = []
    harness = Harness(folder=tmp_path, plan=small_plan(step("a")))
    harness.roster = Stuck()

    async def session() -> RunState:
        await harness.begin()
        dead = harness.roster.join(RUN)
        harness.store.take(RUN, StepId("a"), dead)
        harness.roster.die(dead)
        return await Driver(upkeep=Upkeep(services=harness.services()), run_id=RUN, wait_told=told.append).drive()

    run = anyio.run(session)

    assert told[0].endswith("is dead, but what it started still runs and could not be ended; drumline doctor names it")
    assert len(told) == 1
    assert run.finished[StepId("a")].state == "done"


def test_who_watches_an_agent_knows_what_changes_around_it(tmp_path: Path) -> None:
    idle: list[Path] = []

    async def look(assignment: Assignment) -> None:
        idle.extend(assignment.around.list_idle())

    agent = HookedAgent({"b1": look}, slips={"a": 9})
    harness = Harness(folder=tmp_path, plan=small_plan(*PAIR), agent=agent, mode="sequential")

    harness.drive()

    around = agent.assignments[-1].around
    assert (around.ours, around.branch) == (("plan/*.md",), "drumline/demo-run-1")
    assert idle == [harness.workspaces.path(A)]


@pytest.mark.parametrize(("jobs", "together"), [(0, 6), (2, 2)])
def test_without_a_limit_all_steps_that_are_free_are_worked_on_at_once(
    tmp_path: Path, jobs: int, together: int
) -> None:
    class Counting(WritingAgent):
        at_work = most = 0

        async def work(self, assignment: Assignment) -> Outcome:
            self.at_work += 1
            self.most = max(self.most, self.at_work)
            await anyio.sleep(0.3)
            self.at_work -= 1
            return await WritingAgent.work(self, assignment)

    agent = Counting()
    plan = small_plan(*(step(f"s{number}") for number in range(6)))
    harness = Harness(folder=tmp_path, plan=plan, agent=agent, jobs=jobs, mode="parallel")

    harness.drive()

    assert agent.most == together
