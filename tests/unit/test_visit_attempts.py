"""The agents of one visit: who is next, what is waited for, and when the visit is over."""

from __future__ import annotations

import pytest
from tests.unit.builders import begun_attempt, waiting_attempt
from tests.unit.flows import begin, end, flow, script

from drumline.core.events import AttemptEnded, AttemptStarted
from drumline.core.flow.events import NodeEnded, NodeLost, NodeStarted, SessionKept
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import NodeId
from drumline.core.flow.visitattempts import VisitAttempts, begin_attempt, choose_agent, end_attempt, suspend
from drumline.core.routing import MOST_TIMERS, SHORTEST_TIMER, Candidate
from drumline.core.taxonomy import WAITS

NODE = NodeId("work")
NOW = 1_000.0
ALONE = (Candidate(name=""),)
BOTH = (Candidate(name=""), Candidate(name="bob"))


def ended(failure: str = "", *, question: str = "", resets_at: float | None = None) -> AttemptEnded:
    """How an attempt ended."""
    return waiting_attempt(
        node=NODE, visit=1, failure=failure, message="why", question=question, session="s", resets_at=resets_at
    )


def asked(agent: str = "") -> AttemptStarted:
    """An agent is asked."""
    return begun_attempt(node=NODE, visit=1, agent=agent)


def after(*failures: AttemptEnded, agents: tuple[Candidate, ...] = BOTH) -> VisitAttempts:
    """A visit in which attempts ended so, each with whoever was next."""
    attempts = VisitAttempts()
    for one in failures:
        begin_attempt(attempts, asked(choose_agent(agents, attempts).name))
        end_attempt(attempts, suspend(agents, attempts, one, now=NOW) or one)
    return attempts


def test_the_first_agent_is_the_nodes_own() -> None:
    assert choose_agent(BOTH, None).name == ""
    assert choose_agent(BOTH, VisitAttempts()).name == ""


def test_a_question_suspends_and_the_same_agent_goes_on_in_its_session() -> None:
    attempts = after(ended(question="Which?"))

    assert (attempts.asks, attempts.questions, attempts.session, attempts.is_held) == ("Which?", 1, "s", True)
    assert choose_agent(BOTH, attempts).name == ""


@pytest.mark.parametrize("failure", ["quota", "auth", "billing", "missing"])
def test_who_cannot_go_on_is_stood_in_for_at_once(failure: str) -> None:
    attempts = after(ended(failure))

    assert not attempts.is_held
    assert choose_agent(BOTH, attempts).name == "bob"


@pytest.mark.parametrize("failure", ["validation", "permanent", "odd", ""])
def test_a_failure_of_the_work_ends_the_visit(failure: str) -> None:
    attempts = VisitAttempts(asked=asked())

    assert suspend(BOTH, attempts, ended(failure), now=NOW) is None


def test_a_quota_without_a_time_is_waited_for_a_little() -> None:
    found = suspend(ALONE, VisitAttempts(asked=asked()), ended("quota"), now=NOW)

    assert found is not None
    assert found.until == NOW + 2.0


@pytest.mark.parametrize("failure", ["auth", "billing", "missing"])
def test_nobody_left_ends_the_visit(failure: str) -> None:
    assert suspend(ALONE, VisitAttempts(asked=asked()), ended(failure), now=NOW) is None


def test_a_failure_that_passes_is_waited_for_as_often_as_there_are_waits() -> None:
    attempts = VisitAttempts()
    times: list[float | None] = []
    for _ in range(len(WAITS) + 1):
        begin_attempt(attempts, asked())
        found = suspend(ALONE, attempts, ended("transient"), now=NOW)
        times.append(found.until if found else None)
        end_attempt(attempts, found or ended("transient"))

    assert times == [NOW + WAITS[0], NOW + WAITS[1], None]


def test_the_first_of_several_quotas_is_waited_for_and_that_agent_asked() -> None:
    attempts = after(ended("quota", resets_at=NOW + 900), ended("quota", resets_at=NOW + 500))

    assert attempts.until == NOW + 500
    assert choose_agent(BOTH, attempts).name == "bob"


def test_a_time_that_is_over_already_is_not_asked_about_without_end() -> None:
    found = suspend(ALONE, VisitAttempts(asked=asked()), ended("quota", resets_at=NOW - 5), now=NOW)

    assert found is not None
    assert found.until == NOW + SHORTEST_TIMER


def test_a_quota_is_not_waited_for_without_end() -> None:
    attempts = VisitAttempts(asked=asked(), timers=MOST_TIMERS)

    assert suspend(ALONE, attempts, ended("quota", resets_at=NOW + 50), now=NOW) is None


def test_an_attempt_that_begins_ends_the_waiting_and_forgets_the_session() -> None:
    attempts = after(ended("quota", resets_at=NOW + 50), agents=ALONE)

    begin_attempt(attempts, asked())

    assert (attempts.is_held, attempts.session, attempts.exhausted) == (False, "", {})


def test_deciding_does_not_change_what_was_recorded() -> None:
    attempts = VisitAttempts(asked=asked())

    suspend(BOTH, attempts, ended("quota"), now=NOW)

    assert (attempts.attempts, attempts.exhausted) == (0, {})


def test_a_session_that_was_gone_on_with_counts_again_only_once_the_visit_has_kept_it() -> None:
    state = begin(flow(script("work", "work"), end()))
    kept = SessionKept(node=NODE, visit=1, session="s-1", agent="ann")
    fold_flow(state, [kept, NodeEnded(node=NODE, visit=1, next=(NODE,))])
    before = dict(state.sessions)

    again = begun_attempt(node=NODE, visit=2, session="s-1")
    fold_flow(state, [NodeStarted(node=NODE, visit=2), again, NodeLost(node=NODE, visit=2)])

    assert before == {NODE: kept}
    assert state.sessions == {}
