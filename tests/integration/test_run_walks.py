"""The walks of a run itself: `@preflight` before its first step, `@final` after its last, wherever the process dies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.integration.harness import RUN, Harness, judge, small_plan, step

from drumline.core.events import CheckStarted, StepClaimed, StepFinished, StepStarted
from drumline.core.ids import FINAL, PREFLIGHT, StepId, Stream
from drumline.core.plan import Status
from drumline.core.proof import Reason
from drumline.core.state import RunState
from drumline.ports.journal import Message
from drumline.ports.processes import Ended, Job
from drumline.record import replace

A = StepId("a")
CHECKING = """
name: x
start: workspace
nodes:
  workspace: {type: workspace, next: checks}
  checks: {type: check, on_pass: done, on_fail: red}
  done: {type: end, status: done}
  red: {type: end, status: blocked, output: "fails: {{check.failed}}"}
"""
EVERYTHING, OLD = "check everything", "check what is old"
COMMAND = CHECKING.replace("type: check,", 'type: check, checks: ["look around"],')


class Judge:
    """Runs checks: those of steps as the world does, those of the run itself as they are told to end.

    What is red fails on what the run has made; `OLD` fails everywhere, before the run as well.
    """

    def __init__(self, *, passes: bool = True, red: Sequence[str] = ()) -> None:
        self.passes = passes
        self.red = red
        self.ran: list[str] = []
        self.seen: list[set[str]] = []

    def __call__(self, job: Job) -> Ended:
        command = job.argv[-1]
        self.ran.append(command)
        self.seen.append({path.name for path in job.cwd.iterdir()})
        if command == OLD:
            return Ended(exit_code=1, seconds=0.0, output="as ever")
        if job.cwd.name in ("a", "b", "c"):
            return Ended(exit_code=0, seconds=0.0) if command == EVERYTHING else judge(job)
        fails = not self.passes and (not self.red or command in self.red) and self._is_new(job)
        return Ended(exit_code=1 if fails else 0, seconds=0.0, output="looked")

    def _is_new(self, job: Job) -> bool:
        return not self.red or "a.txt" in self.seen[-1]


def write_flow(folder: Path, name: str, text: str) -> None:
    place = folder / ".drumline" / "flows" / name / "graph.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")


def build(folder: Path, script: Callable[[Job], Ended], *, configured: tuple[str, ...] = (), **flows: str) -> Harness:
    """Two steps, one after the other, and what the run does around them."""
    for name, text in flows.items():
        write_flow(folder, name, text)
    plan = small_plan(step("a"), step("b", "a"))
    return Harness(folder=folder, plan=plan, script=script, mode="sequential", configured=configured)


def list_events(harness: Harness, kind: type, step: str = "") -> list[object]:
    return [r.event for r in harness.store.read(Stream(RUN, StepId(step))) if isinstance(r.event, kind)]


def find_order(harness: Harness) -> list[str]:
    """What was begun, in order."""
    return [event.step for event in list_events(harness, StepStarted) if isinstance(event, StepStarted)]


def end_of(run: RunState) -> str:
    assert run.ended is not None
    return run.ended.state


def test_the_last_walk_looks_at_the_head_of_the_run_branch(tmp_path: Path) -> None:
    checks = Judge()
    harness = build(tmp_path, checks, final=COMMAND)

    run = harness.drive()

    assert end_of(run) == "done"
    assert find_order(harness) == ["a", "b", FINAL]
    assert checks.ran[-1] == "look around"
    assert {"README", "a.txt", "b.txt"} <= checks.seen[-1]
    assert not harness.workspaces.path(FINAL).exists()


def list_run(harness: Harness) -> list[str]:
    """The checks that the last walk has run."""
    return [event.command for event in list_events(harness, CheckStarted, FINAL) if isinstance(event, CheckStarted)]


@pytest.mark.parametrize("flows", [{}, {"final": CHECKING}], ids=["shipped", "own"])
def test_without_commands_it_runs_each_check_that_has_not_passed_on_the_head(
    tmp_path: Path, flows: dict[str, str]
) -> None:
    harness = build(tmp_path, Judge(), configured=(EVERYTHING,), **flows)

    run = harness.drive()

    assert end_of(run) == "done"
    assert list_run(harness) == ["check a"]
    assert (run.finished[FINAL].checks_passed, run.finished[FINAL].checks_total) == (1, 1)
    assert run.finished[FINAL].proof is None or run.finished[FINAL].commit is None


def test_the_last_landing_proves_the_head_of_a_run_of_one_step(tmp_path: Path) -> None:
    harness = Harness(folder=tmp_path, plan=small_plan(step("a")), script=Judge(), configured=(EVERYTHING,))

    run = harness.drive()

    assert end_of(run) == "done"
    assert find_order(harness) == ["a"]


def test_a_step_whose_check_fails_on_the_head_is_for_a_person_to_accept(tmp_path: Path) -> None:
    harness = build(tmp_path, Judge(passes=False, red=("check a",)))

    parked = harness.drive()
    [gate] = parked.open_gates
    harness.send(Message(kind="answer", subject=gate.opened.gate, value="yes"))
    run = harness.drive()

    assert parked.parked
    assert parked.finished[FINAL].superseded == ("check a",)
    assert gate.opened.kind == "accept"
    [doubt] = gate.opened.doubts
    assert (doubt.step, doubt.why, doubt.by) == ("a", (Reason.SUPERSEDED,), ("b",))
    assert end_of(run) == "done"


def test_a_configured_check_that_failed_before_the_run_does_not_block_it(tmp_path: Path) -> None:
    harness = build(tmp_path, Judge(), configured=(OLD, EVERYTHING))

    run = harness.drive()

    assert end_of(run) == "done"
    assert list_run(harness) == ["check a", "check b", OLD, EVERYTHING, OLD]  # what fails on the head is tried twice
    assert run.finished[FINAL].superseded == ()


def build_red(folder: Path, checks: Judge, flow: str) -> Harness:
    """A run whose last walk has something of its own to run: a command, or a check that passed for each step alone."""
    if flow == CHECKING:
        checks.red = (EVERYTHING,)
    return build(folder, checks, configured=(OLD, EVERYTHING) if flow == CHECKING else (), final=flow)


@pytest.mark.parametrize("flow", [COMMAND, CHECKING], ids=["command", "checks"])
def test_a_red_one_blocks_the_run_and_touches_no_file(tmp_path: Path, flow: str) -> None:
    harness = build_red(tmp_path, Judge(passes=False), flow)

    run = harness.drive()

    assert end_of(run) == "blocked"
    assert run.ended is not None
    assert run.ended.reason.startswith("@final: fails: ")
    assert {harness.planfiles.marks(one).status for one in harness.plan.steps} == {Status.DONE}
    assert len(harness.workspaces.log()) == 2
    assert not harness.store.list_claims(RUN)


@pytest.mark.parametrize("flow", [COMMAND, CHECKING], ids=["command", "checks"])
def test_a_resume_walks_a_red_one_again(tmp_path: Path, flow: str) -> None:
    checks = Judge(passes=False)
    harness = build_red(tmp_path, checks, flow)
    harness.drive()
    checks.passes = True

    run = harness.drive()

    assert end_of(run) == "done"
    assert [type(e) for e in list_events(harness, StepFinished)].count(StepFinished) == 4
    assert find_order(harness) == ["a", "b", FINAL, FINAL]


def test_no_step_begins_before_the_first_walk_is_done(tmp_path: Path) -> None:
    checks = Judge(passes=False)
    harness = build(tmp_path, checks, preflight=COMMAND)

    blocked = harness.drive()
    checks.passes = True
    done = harness.drive()

    assert end_of(blocked) == "blocked"
    assert blocked.ended is not None
    assert blocked.ended.reason.startswith("@preflight: fails: ")
    assert A not in blocked.working
    assert not blocked.mirrored
    assert end_of(done) == "done"
    assert find_order(harness) == [PREFLIGHT, PREFLIGHT, "a", "b", FINAL]


def test_what_has_nothing_to_do_leaves_no_trace(tmp_path: Path) -> None:
    routed = """
name: x
start: look
nodes:
  look: {type: route, cases: [{when: "len(run.steps) > 5", to: workspace}], otherwise: done}
  workspace: {type: workspace, next: checks}
  checks: {type: check, on_pass: done, on_fail: done}
  done: {type: end, status: done}
"""
    nothing = "name: x\nstart: done\nnodes:\n  done: {type: end, status: done}\n"
    usual = build(tmp_path / "1", Judge(), final=nothing)
    harness = build(tmp_path / "2", Judge(), preflight=routed, final=routed)

    usual.drive()
    run = harness.drive()

    assert end_of(run) == "done"
    assert find_order(harness) == ["a", "b"]
    assert harness.store.appends == usual.store.appends


def test_a_flow_that_would_land_is_refused_by_name(tmp_path: Path) -> None:
    lands = CHECKING.replace("on_pass: done", "on_pass: land") + "  land: {type: land, next: done}\n"
    harness = build(tmp_path, Judge(), final=lands)

    run = harness.drive()

    assert end_of(run) == "blocked"
    assert run.ended is not None
    assert "final/graph.yaml" in run.ended.reason


def test_a_step_that_begins_after_the_last_walk_lets_it_be_walked_again(tmp_path: Path) -> None:
    checks = Judge(passes=False)
    harness = build(tmp_path, checks, final=COMMAND)
    harness.drive()
    checks.passes = True
    harness.planfiles.edit(replace(step("c", "b"), text_digest="new"))

    run = harness.drive()

    assert end_of(run) == "done"
    assert run.finished[FINAL].state == "done"
    order = find_order(harness)
    assert order[:4] == ["a", "b", FINAL, "c"] or order[:5] == ["a", "b", FINAL, FINAL, "c"]
    assert order[-1] == FINAL
    assert "c.txt" in checks.seen[-1]


def test_a_question_of_the_last_walk_parks_the_run(tmp_path: Path) -> None:
    asking = """
name: x
start: ask
nodes:
  ask: {type: approval, question: "Fine?", options: [yes, no], routes: {yes: done, no: red}, on_other: red}
  done: {type: end, status: done}
  red: {type: end, status: rejected}
"""
    harness = build(tmp_path, Judge(), final=asking)

    parked = harness.drive()
    [gate] = parked.open_gates
    harness.send(Message(kind="answer", subject=gate.opened.gate, value="yes"))
    run = harness.drive()

    assert parked.parked
    assert gate.opened.gate == "@final:ask"
    assert end_of(run) == "done"


# --- deaths -------------------------------------------------------------------------------------------------------


def drive_mortal(folder: Path, nth: int, when: str, flow: str) -> tuple[Harness, Judge, RunState]:
    checks = Judge()
    harness = build(folder, checks, preflight=flow, final=flow)
    if nth:
        harness.die_at(nth, when=when)
    return harness, checks, harness.drive_through()


def assert_walked(harness: Harness, checks: Judge, run: RunState, context: object) -> None:
    assert end_of(run) == "done", context
    assert [name for _, name in harness.workspaces.log()] == ["a", "b"], context
    assert {name: run.finished[name].state for name in (PREFLIGHT, FINAL)} == dict.fromkeys((PREFLIGHT, FINAL), "done")
    assert not harness.store.list_claims(RUN), context
    finished = [e.step for e in list_events(harness, StepFinished) if isinstance(e, StepFinished)]
    assert finished == [PREFLIGHT, "a", "b", FINAL], context
    assert not harness.workspaces.path(FINAL).exists(), context


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("flow", [COMMAND, CHECKING], ids=["command", "checks"])
def test_a_walk_of_the_run_ends_the_same_wherever_the_process_dies(tmp_path: Path, flow: str, when: str) -> None:
    appends = drive_mortal(tmp_path / "whole", 0, when, flow)[0].store.appends

    for nth in range(1, appends + 1):
        harness, checks, run = drive_mortal(tmp_path / str(nth), nth, when, flow)

        assert_walked(harness, checks, run, nth)


def test_a_dead_drivers_walk_is_taken_over_in_its_place(tmp_path: Path) -> None:
    harness, _, _ = drive_mortal(tmp_path / "whole", 0, "after", CHECKING)
    claims = len(list_events(harness, StepClaimed, FINAL))
    appends = harness.store.appends

    again, _, _ = drive_mortal(tmp_path / "again", appends - 3, "after", CHECKING)

    assert claims == 1
    assert len(list_events(again, StepClaimed, FINAL)) == 2
