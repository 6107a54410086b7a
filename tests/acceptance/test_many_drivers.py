"""Several processes at one run: each step is driven by exactly one of them, a run is joined only on its terms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.durability import Harness, PlanStep, Rule, make_harness, wait_until
from tests.warm import Started

from drumline.core.events import StepClaimed
from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="looks for processes in /proc")


def make_contended(number: int) -> tuple[list[PlanStep], list[Rule]]:
    """Steps that do not need each other, and an agent that has next to nothing to do."""
    ids = [f"step-{n}" for n in range(1, number + 1)]
    steps = [PlanStep(id=step, checks=(f"test -f out/{step}",)) for step in ids]
    rules: list[Rule] = [{"match": {"step": step}, "write": {f"out/{step}": f"{step}\n"}} for step in ids]
    return steps, rules


def start_together(harness: Harness, drivers: int) -> list[Started]:
    """Start the first driver, and the others as soon as its run can be seen, so that they join it."""
    first = harness.start(*harness.run_args("--jobs", "2"))
    wait_until(harness.read_runs, "the run to begin")
    return [first, *(harness.start(*harness.run_args("--jobs", "2")) for _ in range(drivers - 1))]


def assert_each_step_driven_once(harness: Harness, number: int) -> None:
    """Journal, branch, tree, files and claims all tell of every step exactly once."""
    once = {f"step-{n}": 1 for n in range(1, number + 1)}
    assert harness.count("StepClaimed") == once
    assert harness.count("AttemptStarted") == once
    assert harness.count("StepLanded") == once
    assert harness.count("StepFinished") == once
    assert len(set(harness.tokens())) == number
    assert harness.landed() == once
    assert harness.git("rev-list", "--count", f"HEAD..{harness.branch}") == str(number)
    assert harness.git("ls-tree", "--name-only", harness.branch, "out/").splitlines() == sorted(
        f"out/{s}" for s in once
    )
    assert harness.statuses() == dict.fromkeys(once, "done")
    assert harness.list_claims() == {}
    assert harness.worktrees() == []
    assert harness.wait_alone() == []


def check_contention(folder: Path, number: int, *, drivers: int) -> None:
    """Drive `number` contended steps with all drivers at once."""
    with make_harness(folder, *make_contended(number)) as harness:
        started = start_together(harness, drivers)

        # A step costs about a second of processor time, whoever drives it; a stuck run is found, if late.
        codes = [harness.wait(driver, patience=10.0 * number) for driver in started]

        assert codes == [0] * drivers, [harness.said(driver) for driver in started]
        assert len(harness.read_runs()) == 1
        assert len({r.event.driver for r in harness.journal() if isinstance(r.event, StepClaimed)}) > 1
        assert_each_step_driven_once(harness, number)


def test_four_processes_drive_each_of_a_dozen_contended_steps_exactly_once(tmp_path: Path) -> None:
    check_contention(tmp_path, 12, drivers=4)


@pytest.mark.long
@pytest.mark.timeout(2_400)
def test_eight_processes_drive_each_of_two_hundred_contended_steps_exactly_once(tmp_path: Path) -> None:
    check_contention(tmp_path, 200, drivers=8)


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Harness]:
    """A world whose only step is worked on until the file `go` appears beside the repository."""
    wait = f"until [ -e '{tmp_path}/go' ]; do sleep 0.05; done; echo done > out"
    rules: list[Rule] = [{"match": {"step": "step-1"}, "run": wait}]
    with make_harness(tmp_path, [PlanStep(id="step-1", checks=("test -f out",))], rules) as harness:
        yield harness


def let_go(harness: Harness) -> None:
    """Let the agent of a held world finish."""
    (harness.repo.parent / "go").touch()


@pytest.mark.parametrize(
    ("flag", "value", "difference"),
    [
        ("--agent", "command:true", "agent is 'scripted:agent.yaml', not 'command:true'"),
        ("--mode", "sequential", "mode is 'parallel', not 'sequential'"),
        ("--autonomy", "verbose", "autonomy is 'autopilot', not 'verbose'"),
    ],
)
def test_a_run_on_other_terms_than_the_live_one_is_refused_and_told_the_difference(
    held: Harness, flag: str, value: str, difference: str
) -> None:
    live = held.start(*held.run_args())
    wait_until(lambda: held.store.exists() and held.agents(), "an agent at work")

    code, said = held.call(*held.run_args(flag, value))

    let_go(held)
    assert code == 3
    assert difference in said
    assert held.wait(live) == 0
    assert len(held.read_runs()) == 1


def test_a_run_on_the_terms_of_the_live_one_joins_it_and_ends_with_it(held: Harness) -> None:
    live = held.start(*held.run_args())
    wait_until(lambda: held.store.exists() and held.agents(), "an agent at work")

    second = held.start(*held.run_args())

    wait_until(lambda: "joining run" in held.said(second), "the second to join")
    let_go(held)
    assert [held.wait(live), held.wait(second)] == [0, 0]
    assert len(held.read_runs()) == 1
    assert held.count("StepClaimed") == {"step-1": 1}
    assert held.landed() == {"step-1": 1}
    assert held.wait_alone() == []
