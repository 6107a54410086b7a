"""What follows an attempt that failed: one table, played by the events of a step and by those of a visit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.unit.builders import begun_attempt, waiting_attempt

from drumline.core import events as ev
from drumline.core.attempts import Again, Attempts, Over, Timer, count_for_agent, follow_up
from drumline.core.flow.model import NodeId
from drumline.core.flow.visitattempts import VisitAttempts, begin_attempt, end_attempt
from drumline.core.ids import Commit, DriverId, Tree
from drumline.core.routing import Candidate, choose
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure

TREE = Tree("t")
NODE = NodeId("work")
ALONE = (Candidate(name=""),)
BOTH = (Candidate(name=""), Candidate(name="bob"))
Tries = Sequence[tuple[str, float | None]]
"""The failures of attempts one after the other, each with the time at which its quota resets."""


def play_step(tries: Tries, agents: Sequence[Candidate]) -> Attempts:
    """A step whose attempts failed so, each with whoever was next."""
    state = StepState()
    claimed = ev.StepClaimed(driver=DriverId("d"), token=1)
    fold_step(state, [claimed, ev.WorkspaceAssigned(path="w", base=Commit("b")), ev.WorkspaceReady(tree=TREE)])
    for number, (failure, resets_at) in enumerate(tries, 1):
        agent = choose(agents, state).name
        fold_step(state, [ev.AttemptStarted(node="implement", attempt=number, tree=TREE, agent=agent)])
        ended = ev.AttemptEnded(
            node="implement",
            attempt=number,
            tree=TREE,
            failure=failure,
            message="why",
            session="s",
            resets_at=resets_at,
        )
        fold_step(state, [ended])
    return state


def play_visit(tries: Tries, agents: Sequence[Candidate]) -> Attempts:
    """A visit whose attempts failed so, each with whoever was next."""
    attempts = VisitAttempts()
    for failure, resets_at in tries:
        begin_attempt(attempts, begun_attempt(node=NODE, visit=1, agent=choose(agents, attempts).name))
        ended = waiting_attempt(node=NODE, visit=1, failure=failure, message="why", session="s", resets_at=resets_at)
        end_attempt(attempts, ended)
    return attempts


@pytest.mark.parametrize("play", [play_step, play_visit])
@pytest.mark.parametrize(
    ("tries", "agents", "expected"),
    [
        ([("transient", None)], ALONE, Again(delay=2.0)),
        ([("transient", None)] * 2, ALONE, Again(delay=4.0)),
        ([("transient", None)] * 3, BOTH, Over()),
        ([("quota", None)], BOTH, Again()),
        ([("quota", 50.0)], ALONE, Timer(until=50.0)),
        ([("quota", None)], ALONE, Over()),
        ([("quota", 80.0), ("billing", None)], BOTH, Timer(until=80.0)),
        ([("auth", None), ("missing", None)], BOTH, Over()),
        ([("crash", None)], BOTH, Again(delay=2.0)),
        ([("crash", None)] * 2, BOTH, Again()),
        ([("crash", None)] * 3, ALONE, Over()),
        ([("validation", None)], BOTH, Over()),
        ([("permanent", None)], BOTH, Over()),
        ([("transient", None), ("validation", None), ("transient", None)], ALONE, Again(delay=2.0)),
    ],
)
def test_what_follows_a_failure_is_the_same_for_a_step_and_for_a_visit(
    play: Callable[[Tries, Sequence[Candidate]], Attempts],
    tries: Tries,
    agents: Sequence[Candidate],
    expected: Again | Timer | Over,
) -> None:
    tried = play(tries, agents)

    assert follow_up(agents, tried, Failure(tries[-1][0])) == expected


@pytest.mark.parametrize("play", [play_step, play_visit])
@pytest.mark.parametrize(
    ("failure", "session", "told"),
    [("transient", "s", "why"), ("crash", "", "why"), ("quota", "s", "why"), ("validation", "s", "")],
)
def test_the_next_attempt_continues_the_session_and_knows_what_cut_the_last_one_short(
    play: Callable[[Tries, Sequence[Candidate]], Attempts], failure: str, session: str, told: str
) -> None:
    tried = play([(failure, None)], ALONE)

    assert (tried.session, tried.cut_short) == (session, told)


@pytest.mark.parametrize("play", [play_step, play_visit])
def test_another_agent_begins_with_counts_of_its_own(
    play: Callable[[Tries, Sequence[Candidate]], Attempts],
) -> None:
    tried = play([("crash", None), ("crash", None), ("crash", None)], BOTH)

    assert (tried.agent, tried.crashes, tried.waits) == ("bob", 1, 1)


def test_an_agent_counts_the_attempts_at_the_work_and_who_reads_those_of_its_node() -> None:
    readings = {1: "orient", 2: "analyse", 4: "inspect", 6: "orient"}

    assert [count_for_agent(readings, number, node="implement") for number in (3, 5, 7)] == [1, 2, 3]
    assert [count_for_agent(readings, number, node=node) for number, node in readings.items()] == [1, 1, 1, 2]
