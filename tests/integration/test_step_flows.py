"""Steps that name a flow: the shipped one by its name ends the same, and no flow lands what its checks refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step
from tests.integration.test_crash_enumeration import assert_as_if_nothing_happened

from drumline.core.events import AttemptStarted, StepFinished, StepLanded
from drumline.core.flow.events import FlowStarted
from drumline.core.ids import DriverId, StepId, Stream, Token
from drumline.core.life import WALKING
from drumline.core.plan import Plan, Problem
from drumline.core.state import RunState
from drumline.engine.loading import load_run
from drumline.engine.upkeep import Upkeep
from drumline.ports.agents import Outcome
from drumline.ports.journal import Addition, Message
from drumline.ports.processes import Ended, Job
from drumline.record import replace
from drumline.testing.store import MemoryStore

DIAMOND = (step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"))
A = StepId("a")


def build(folder: Path, flow: str, *, plan: Plan | None = None, **options: Any) -> Harness:
    """Four steps in a diamond, of which one fails its check first, unless another plan is given."""
    options = {"agent": WritingAgent({"b": 1}), "mode": "sequential", **options}
    return Harness(folder=folder, plan=plan or small_plan(*DIAMOND), flow=flow, **options)


def answer_all(harness: Harness, choice: str) -> RunState:
    """Drive, and answer so whatever is asked, until the run has ended."""
    for _ in range(20):
        run = harness.drive_through()
        if run.ended is not None:
            return run
        for gate in run.open_gates:
            harness.send(Message(kind="answer", subject=gate.opened.gate, value=choice))
    raise AssertionError("the run does not end")


def summarize(harness: Harness, run: RunState) -> object:
    """What users can see of a run that has ended."""
    assert run.ended is not None
    steps = {
        name: (f.state, f.level, f.why, f.attempts, f.fixes, f.checks_passed, f.checks_total, f.files, f.tree)
        for name, f in run.finished.items()
    }
    marks = {one.id: harness.planfiles.marks(one).status for one in harness.plan.steps}
    files = harness.workspaces.files(harness.workspaces.log()[-1][0]) if harness.workspaces.log() else {}
    return run.ended.state, steps, marks, files, [name for _, name in harness.workspaces.log()]


SCENES: dict[str, tuple[dict[str, Any], str]] = {
    "a fix": ({}, ""),
    "approvals": ({"autonomy": "verbose"}, "approve"),
    "rejections": ({"autonomy": "verbose"}, "reject"),
    "no fix left": ({"agent": WritingAgent({"a": 9})}, ""),
    "an agent that gives up": ({"agent": WritingAgent(outcomes={"a1": Outcome(failure="auth", message="log in")})}, ""),
    "a question": ({"agent": WritingAgent(outcomes={"a1": Outcome(question="Which?")})}, "blue"),
    "no checks": ({"plan": small_plan(step("a", checks=()))}, "yes"),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_step_that_names_the_shipped_flow_ends_as_one_that_names_none(tmp_path: Path, scene: str) -> None:
    options, choice = SCENES[scene]
    usual, walked = build(tmp_path / "usual", "", **options), build(tmp_path / "walked", "step", **options)

    ended = [answer_all(harness, choice) for harness in (usual, walked)]

    assert summarize(walked, ended[1]) == summarize(usual, ended[0])


def test_a_warning_of_a_walk_is_not_told_as_an_edit_of_the_plan(tmp_path: Path) -> None:
    harness, told, problems = build(tmp_path, ""), list[str](), list[Problem]()
    anyio.run(harness.begin)
    run = load_run(harness.store, RUN).state
    upkeep = Upkeep(services=harness.services(), complain=problems.extend, warn=told.append)
    upkeep.equip(DriverId("d-1"))

    upkeep.open_walk(run, run.define(A), Token(1)).warn("a check has left files")

    assert (told, problems) == (["a check has left files"], [])


def count_appends(folder: Path, **options: Any) -> int:
    harness = build(folder, "step", **options)
    answer_all(harness, "approve")
    return harness.store.appends


APPENDS, ASKING = 37, 61


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    assert count_appends(tmp_path / "plain") == APPENDS
    assert count_appends(tmp_path / "asking", autonomy="verbose") == ASKING


def die_once(folder: Path, nth: int, when: str, **options: Any) -> None:
    harness = build(folder, "step", **options)
    harness.die_at(nth, when=when)

    run = answer_all(harness, "approve")

    assert_as_if_nothing_happened(harness, run)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, APPENDS + 1, 7))
def test_a_walk_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    die_once(tmp_path, nth, when)


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("autonomy", ["autopilot", "verbose"])
def test_a_walk_ends_the_same_at_every_append(tmp_path: Path, autonomy: str, when: str) -> None:
    for nth in range(1, (ASKING if autonomy == "verbose" else APPENDS) + 1):
        die_once(tmp_path / str(nth), nth, when, autonomy=autonomy)
        die_once(tmp_path / f"{nth}-parallel", nth, when, autonomy=autonomy, mode="parallel")


async def forget_walks(store: MemoryStore) -> MemoryStore:
    """What a version without flows of steps would have recorded."""
    kept = MemoryStore()
    for entry in store.tail(RUN):
        if type(entry.event) not in WALKING:
            await kept.append({entry.stream: Addition(events=[entry.event])})
    return kept


def test_a_step_that_was_begun_before_steps_walked_flows_is_walked_from_the_start(tmp_path: Path) -> None:
    harness = build(tmp_path, "", plan=small_plan(step("a")), autonomy="verbose")
    parked = harness.drive_through()
    harness.store = anyio.run(forget_walks, harness.store)

    run = answer_all(harness, "approve")

    assert list(parked.open_gates) != []
    assert run.ended is not None
    assert run.ended.state == "done"
    assert run.finished[A].attempts == 2


def test_without_recovery_a_killed_walk_does_not_come_back(tmp_path: Path) -> None:
    failures = 0
    for nth in range(1, APPENDS + 1, 4):
        harness = build(tmp_path / str(nth), "step")
        harness.recover = lambda state, driver: []
        harness.die_at(nth, when="after")
        try:
            assert_as_if_nothing_happened(harness, harness.drive_through())
        except (AssertionError, BaseExceptionGroup):
            failures += 1

    assert failures >= 5


# --- flows of a repository's own ----------------------------------------------------------------------------------

AROUND = """
name: around
start: workspace
nodes:
  workspace: {type: workspace, next: work}
  work: {type: agent, agent: default, prompt: "{{initial_prompt}}", next: FIRST}
  checks: {type: check, on_pass: SECOND, on_fail: stuck}
  touch: {type: agent, agent: other, prompt: "Tidy up.", next: land}
  land: {type: land, next: done}
  done: {type: end, status: done}
  stuck: {type: end, status: blocked, output: "{{check.failed}} fails"}
"""


def write_flow(folder: Path, text: str) -> None:
    own = folder / ".drumline" / "flows" / "around.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(text, encoding="utf-8")


def drive_around(folder: Path, *, first: str, second: str, script: Callable[[Job], Ended] | None = None) -> Harness:
    write_flow(folder, AROUND.replace("FIRST", first).replace("SECOND", second))
    options: dict[str, Any] = {} if script is None else {"script": script}
    others = {"other": WritingAgent({"a": 9})}
    harness = build(folder, "around", plan=small_plan(step("a")), others=others, **options)
    harness.drive()
    return harness


def find_end(harness: Harness) -> StepFinished:
    [found] = [one.event for one in harness.store.tail(RUN) if isinstance(one.event, StepFinished)]
    return found


def test_a_flow_that_goes_around_the_checks_does_not_land(tmp_path: Path) -> None:
    harness = drive_around(tmp_path, first="land", second="land")

    assert harness.workspaces.log() == []
    assert find_end(harness).state == "blocked"
    assert "`check a` has not run since the work was changed last" in find_end(harness).reason


def test_what_is_changed_after_the_checks_does_not_land(tmp_path: Path) -> None:
    harness = drive_around(tmp_path, first="checks", second="touch")

    assert harness.workspaces.log() == []
    assert "has not run since" in find_end(harness).reason


def test_a_flow_that_checks_the_work_lands_it_proved(tmp_path: Path) -> None:
    harness = drive_around(tmp_path, first="checks", second="land")

    assert [name for _, name in harness.workspaces.log()] == ["a"]
    assert find_end(harness).is_proved


def test_a_flow_that_lands_what_fails_is_refused(tmp_path: Path) -> None:
    fails = lambda job: Ended(exit_code=1, seconds=0.0, output="no")  # noqa: E731
    write_flow(tmp_path, AROUND.replace("FIRST", "checks").replace("SECOND", "land").replace("stuck}", "land}"))
    harness = build(tmp_path, "around", plan=small_plan(step("a")), script=fails)

    harness.drive()

    assert harness.workspaces.log() == []
    assert "checks fail: check a" in find_end(harness).reason


def test_a_flow_without_a_landing_blocks_the_step(tmp_path: Path) -> None:
    write_flow(tmp_path, "name: x\nstart: a\nnodes:\n  a: {type: set, values: {b: 1}, next: z}\n  z: {type: end}\n")
    harness = build(tmp_path, "around", plan=small_plan(step("a")))

    harness.drive()

    assert find_end(harness).state == "blocked"
    assert "no `land` node" in find_end(harness).reason


def test_a_step_walks_its_own_flow_and_the_others_the_shipped_one(tmp_path: Path) -> None:
    write_flow(tmp_path, AROUND.replace("FIRST", "checks").replace("SECOND", "land"))
    plan = small_plan(step("a"), replace(step("b"), flow="around"))
    harness = build(tmp_path, "", plan=plan, agent=WritingAgent())

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "done"
    entries = harness.store.tail(RUN)
    walked = {str(r.stream.step): r.event.flow for r in entries if isinstance(r.event, FlowStarted)}
    assert walked == {"a": "step", "b": "around", "@final": "final"}


AFTER = """
name: around
start: workspace
nodes:
  workspace: {type: workspace, next: work}
  work: {type: agent, agent: default, prompt: "{{initial_prompt}}", next: checks}
  checks: {type: check, on_pass: land, on_fail: stuck}
  land: {type: land, next: tell}
  tell: {type: check, checks: ["check told"], on_pass: done, on_fail: done}
  done: {type: end, status: done}
  stuck: {type: end, status: blocked}
"""


def drive_after(folder: Path, nth: int = 0, when: str = "after") -> tuple[Harness, list[str]]:
    """A step whose flow does something after the landing, with a death at one append; what its processes ran."""
    ran: list[str] = []

    def note(job: Job) -> Ended:
        ran.append(job.argv[-1])
        return Ended(exit_code=0, seconds=0.0, output="ok")

    write_flow(folder, AFTER)
    harness = build(folder, "around", plan=small_plan(step("a")), agent=WritingAgent(), script=note)
    if nth:
        harness.die_at(nth, when=when)
    harness.drive_through()
    return harness, ran


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_comes_after_the_landing_is_done_wherever_the_process_dies(tmp_path: Path, when: str) -> None:
    appends = drive_after(tmp_path / "whole")[0].store.appends

    for nth in range(1, appends + 1):
        harness, ran = drive_after(tmp_path / str(nth), nth, when)

        assert [name for _, name in harness.workspaces.log()] == ["a"], nth
        assert find_end(harness).state == "done", nth
        assert "check told" in ran, nth


def test_a_retried_walk_begins_from_nothing(tmp_path: Path) -> None:
    harness = build(tmp_path, "step", plan=small_plan(step("a")), agent=WritingAgent({"a": 3}))
    first = harness.drive()
    harness.send(Message(kind="retry", subject="a"))

    second = harness.drive()

    assert first.finished[A].state == "blocked"
    assert second.finished[A].state == "done"
    events = [one.event for one in harness.store.read(Stream(RUN, A))]
    assert sum(isinstance(event, StepLanded) for event in events) == 1
    assert [event.attempt for event in events if isinstance(event, AttemptStarted)] == [1, 2, 3, 4]
