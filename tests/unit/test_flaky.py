"""Checks that pass and fail on the same tree: when a red one is tried again, and what is counted. Pure."""

from __future__ import annotations

import pytest
from tests.unit.builders import TREE, TREE_2, attempted, prepared, step_of
from tests.unit.test_advance import next_command
from tests.unit.test_advance import run_of as begin_run

from drumline.core import events as ev
from drumline.core.commands import Attempt, Finish, RunCheck
from drumline.core.flaky import contradicts, list_flaky
from drumline.core.ids import StepId, Tree
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.tally import Tally, add_tallies, digest_command
from drumline.core.vocabulary import StepEnd
from drumline.record import replace

ONE = step_of("a")
CHECK = ONE.checks[0].command
AGAIN = RunCheck(number=0, check=ONE.checks[0])
WORK = [*prepared(), *attempted(1)]


def run_of(*flaky: str) -> RunState:
    """A run that knows these flaky checks from earlier ones."""
    run = begin_run(ONE)
    run.started = replace(run.begun, flaky=flaky)
    return run


def judged(
    code: int, *, output: str = "", tree: Tree = TREE_2, flaky: bool = False, failure: str = ""
) -> list[ev.Event]:
    """The only check of the step on a tree."""
    started = ev.CheckStarted(check=0, command=CHECK, tree=tree)
    ended = ev.CheckEnded(check=0, command=CHECK, tree=tree, tree_after=tree, exit_code=code, output=output)
    return [started, replace(ended, flaky=flaky, failure=failure)]


def test_an_honest_failure_goes_back_at_once() -> None:
    assert isinstance(next_command(ONE, [*WORK, *judged(1, output="1 failed: assert 2 == 3")]), Attempt)


@pytest.mark.parametrize(
    "output", ["E TimeoutError", "Error: read ECONNRESET", "sqlite3: database is locked", "timed out"]
)
def test_a_failure_that_speaks_of_time_or_of_the_machine_is_tried_once_more(output: str) -> None:
    once = [*WORK, *judged(1, output=output)]

    assert next_command(ONE, once) == AGAIN
    assert isinstance(next_command(ONE, [*once, *judged(1, output=output)]), Attempt)


def test_a_check_that_then_passes_burns_no_fix_and_is_counted() -> None:
    events = [*WORK, *judged(1, output="timed out"), *judged(0, flaky=True)]

    state = fold_step(StepState(), events)

    assert not isinstance(next_command(ONE, events), Attempt)
    assert (state.fixes, state.faults()) == (0, ())
    assert state.tallies == {digest_command(CHECK): Tally(check=digest_command(CHECK), runs=2, changed=1)}
    assert state.notices == (f"the check `{CHECK}` is flaky: it failed and passed on the same tree",)


def test_a_check_that_flaked_in_an_earlier_run_is_tried_once_more() -> None:
    red = [*WORK, *judged(1)]

    assert next_command(ONE, red, run_of(digest_command(CHECK))) == AGAIN
    assert isinstance(next_command(ONE, red, run_of("another")), Attempt)


def test_a_check_that_fails_twice_where_it_had_passed_blocks_the_step_as_flaky() -> None:
    green = [*WORK, *judged(0), ev.StepRechecked(round=1)]
    once = [*green, *judged(1, flaky=True)]
    twice = [*once, *judged(1, failure="flaky")]

    stopped = next_command(ONE, twice)

    assert next_command(ONE, once) == AGAIN
    assert isinstance(stopped, Finish)
    assert (stopped.state, stopped.failure) == (StepEnd.BLOCKED, "flaky")
    assert stopped.reason.startswith(
        f"check is flaky: {CHECK}: the check failed twice on a tree on which it had passed"
    )


def test_only_another_verdict_on_the_same_tree_contradicts() -> None:
    state = fold_step(StepState(), [*WORK, *judged(1)])

    assert contradicts(state, CHECK, TREE_2, passed=True)
    assert not contradicts(state, CHECK, TREE_2, passed=False)
    assert not contradicts(state, CHECK, TREE, passed=True)
    assert not contradicts(state, "another", TREE_2, passed=True)


def test_a_run_knows_the_flaky_checks_of_its_own_steps_and_of_earlier_runs() -> None:
    run = run_of("old")
    tallies = (Tally(check="new", runs=3, changed=1), Tally(check="steady", runs=3))
    run.finished[StepId("a")] = ev.StepFinished(step=StepId("a"), state=StepEnd.DONE, tallies=tallies)

    assert list_flaky(run) == {"old", "new"}
    assert add_tallies([*tallies, *tallies])["new"] == Tally(check="new", runs=6, changed=2)
    assert Tally(check="x", runs=6, changed=2).in_words() == "flaky: 2 of 6 runs changed the verdict on the same tree"
