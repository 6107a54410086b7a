"""What becomes of a step when its agent cannot go on: others take over, quotas are waited for, questions are asked."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from tests.integration.harness import RUN, Harness, WritingAgent, small_plan, step

from drumline.core import events as ev
from drumline.core.ids import StepId
from drumline.core.plan import Status
from drumline.core.routing import BACKOFF, MOST_TIMERS
from drumline.core.state import RunState
from drumline.engine import wakeup
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.journal import Message
from drumline.record import replace

E = TypeVar("E", bound=ev.Event)
A, B = StepId("a"), StepId("b")


@pytest.fixture(autouse=True)
def _without_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wakeup, "POLL", 0.01)
    monkeypatch.setattr(wakeup, "LOOK_ROUND", 0.05)


def failing(kind: str, *, resets_at: float | None = None, message: str = "no more") -> Outcome:
    """An attempt that failed."""
    return Outcome(failure=kind, message=message, resets_at=resets_at)


def agent_of(slips: dict[str, int] | None = None, **outcomes: Outcome) -> WritingAgent:
    """An agent; `a2=` is how attempt 2 at step a ends."""
    return WritingAgent(slips, outcomes)


def harness_of(folder: Path, agent: WritingAgent, *names: str, **others: WritingAgent) -> Harness:
    """A run of these steps, or of one, by one agent, with others that take over in order."""
    plan = small_plan(*(step(name) for name in names or ("a",)))
    return Harness(
        folder=folder, plan=plan, agent=agent, others=dict(others), fallback=tuple(others), mode="sequential"
    )


def events_of(harness: Harness, kind: type[E]) -> list[E]:
    """Everything of one kind in the journal."""
    return [r.event for r in harness.store.tail(RUN) if isinstance(r.event, kind)]


def asked(*agents: WritingAgent) -> list[list[str]]:
    """The attempts that each agent was asked for."""
    return [[f"{a.step}{a.attempt}" for a in agent.assignments] for agent in agents]


def answer(harness: Harness, gate: str, text: str) -> None:
    """A person answers."""
    harness.send(Message(kind="answer", subject=gate, value=text))


def retry(harness: Harness, step: str) -> None:
    """A person wants a step tried again."""
    harness.send(Message(kind="retry", subject=step))


def state_of(run: RunState) -> str:
    """How the run is."""
    return run.ended.state if run.ended else "parked" if run.parked else "open"


# --- who works --------------------------------------------------------------------------------------------------


def test_a_step_is_done_by_its_own_agent_and_the_others_by_that_of_the_run(tmp_path: Path) -> None:
    mine, other = agent_of(), agent_of()
    steps = (step("a"), replace(step("b"), agent="special"))
    harness = Harness(folder=tmp_path, plan=small_plan(*steps), agent=mine, others={"special": other})

    run = harness.drive()

    assert state_of(run) == "done"
    assert asked(mine, other) == [["a1"], ["b1"]]
    assert {e.agent for e in events_of(harness, ev.AttemptStarted)} == {"", "special"}


@pytest.mark.parametrize("kind", ["quota", "auth", "billing"])
def test_the_next_agent_takes_over_and_no_fix_is_used_up(tmp_path: Path, kind: str) -> None:
    first, second = agent_of(a1=failing(kind)), agent_of()
    harness = harness_of(tmp_path, first, second=second)

    run = harness.drive()

    assert asked(first, second) == [["a1"], ["a2"]]
    assert (run.finished[A].state, run.finished[A].fixes, run.finished[A].attempts) == ("done", 0, 2)
    assert [e.agent for e in events_of(harness, ev.AttemptStarted)] == ["", "second"]


def test_an_agent_that_takes_over_is_told_what_happened_and_finds_the_work(tmp_path: Path) -> None:
    first, second = agent_of({"a": 1}, a2=failing("quota", message="limit reached")), agent_of({"a": 9})
    harness = harness_of(tmp_path, first, second=second)
    found: list[str] = []

    async def look(assignment: Assignment) -> Outcome:
        found.append((assignment.workspace / "a.txt").read_text())
        (assignment.workspace / "a.txt").write_text("a\n")
        second.assignments.append(assignment)
        return Outcome()

    second.work = look  # type: ignore[method-assign]

    harness.drive()

    [given] = second.assignments
    assert found == ["a\n"]
    assert "limit reached" in given.prompt
    assert "`check a` (exit code 1)" in given.prompt


def test_an_agent_that_breaks_down_is_tried_once_more_before_another_takes_over(tmp_path: Path) -> None:
    first, second = agent_of(a1=failing("crash"), a2=failing("crash")), agent_of()
    harness = harness_of(tmp_path, first, second=second)

    run = harness.drive()

    assert asked(first, second) == [["a1", "a2"], ["a3"]]
    assert run.finished[A].state == "done"


def test_the_agent_that_took_over_keeps_the_step(tmp_path: Path) -> None:
    first, second = agent_of(a1=failing("auth")), agent_of({"a": 2})
    harness = harness_of(tmp_path, first, second=second)

    run = harness.drive()

    assert asked(first, second) == [["a1"], ["a2", "a3"]]
    assert (run.finished[A].state, run.finished[A].fixes) == ("done", 1)


def test_when_no_agent_is_left_the_step_is_blocked_as_the_last_one_failed(tmp_path: Path) -> None:
    first, second = agent_of(a1=failing("auth")), agent_of(a2=failing("billing", message="pay first"))
    harness = harness_of(tmp_path, first, "a", "b", second=second)

    run = harness.drive()

    assert (run.finished[A].state, run.finished[B].state) == ("blocked", "done")
    assert run.finished[A].reason == "the agent's account has no credit: pay first"


def test_an_agent_that_cannot_be_opened_is_passed_over(tmp_path: Path) -> None:
    second = agent_of()
    steps = (replace(step("a"), agent="nobody"),)
    harness = Harness(folder=tmp_path, plan=small_plan(*steps), others={"second": second}, fallback=("second",))

    run = harness.drive()

    assert run.finished[A].state == "done"
    assert events_of(harness, ev.AttemptEnded)[0].failure == "missing"


def test_a_new_round_begins_with_the_first_agent_again(tmp_path: Path) -> None:
    first, second = agent_of(a1=failing("auth")), agent_of(a2=failing("auth"))
    harness = harness_of(tmp_path, first, second=second)
    harness.drive()
    harness.send(Message(kind="retry", subject="a"))

    run = harness.drive()

    assert asked(first, second) == [["a1", "a3"], ["a2"]]
    assert run.finished[A].state == "done"


# --- quotas -----------------------------------------------------------------------------------------------------


def test_a_step_out_of_quota_waits_for_the_reset_and_goes_on(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(), "a", "b")
    reset = harness.clock.now() + 300
    harness.agent = first = agent_of(a1=failing("quota", resets_at=reset))

    run = harness.drive()

    assert state_of(run) == "done"
    assert asked(first) == [["a1", "b1", "a2"]]
    assert harness.clock.now() == reset
    assert [e.until for e in events_of(harness, ev.StepDeferred)] == [reset]
    assert (run.finished[A].fixes, run.deferred) == (0, {})


def test_a_step_that_waits_for_a_quota_is_held_by_nobody(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(), "a", "b")
    harness.agent = first = agent_of(a1=failing("quota", resets_at=harness.clock.now() + 300))
    held: list[set[StepId]] = []
    marks: list[Status] = []
    work = first.work

    async def look(assignment: Assignment) -> Outcome:
        held.append({*harness.store.list_claims(RUN)})
        marks.append(harness.planfiles.marks(harness.plan.steps[0]).status)
        return await work(assignment)

    first.work = look  # type: ignore[method-assign]

    harness.drive()

    assert held == [{A}, {B}, {A}]
    assert marks[1] is Status.BLOCKED


def test_a_run_that_could_only_wait_long_for_a_quota_parks_and_is_resumed_later(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of())
    reset = harness.clock.now() + 3_600
    harness.agent = first = agent_of(a1=failing("quota", resets_at=reset))

    parked = harness.drive()
    still = harness.drive()
    times = [run.parked_until for run in (parked, still)]
    harness.clock.time = reset
    done = harness.drive()

    assert [state_of(run) for run in (parked, still, done)] == ["parked", "parked", "done"]
    assert times == [reset, reset]
    assert asked(first) == [["a1", "a2"]]


def test_a_step_that_waits_for_a_quota_starts_at_once_if_a_person_wants_that(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of())
    began = harness.clock.now()
    harness.agent = first = agent_of(a1=failing("quota", resets_at=began + 3_600))
    harness.drive()

    retry(harness, "a")
    done = harness.drive()

    assert (state_of(done), harness.clock.now() - began < 3_600) == ("done", True)
    assert asked(first) == [["a1", "a2"]]


def test_without_a_reset_time_an_agent_out_of_quota_is_asked_again_soon(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(a1=failing("quota"), a2=failing("quota")))
    began = harness.clock.now()

    run = harness.drive()

    assert (run.finished[A].state, run.finished[A].attempts, run.finished[A].fixes) == ("done", 3, 0)
    assert harness.clock.now() == began + 2.0 + 4.0


def test_the_first_quota_that_is_there_again_decides_who_goes_on(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(), second=agent_of())
    late, soon = harness.clock.now() + 800, harness.clock.now() + 400
    first, second = agent_of(a1=failing("quota", resets_at=late)), agent_of(a2=failing("quota", resets_at=soon))
    harness.agent, harness.others = first, {"second": second}

    harness.drive()

    assert asked(first, second) == [["a1"], ["a2", "a3"]]
    assert harness.clock.now() == soon


@pytest.mark.parametrize("named", [None, 1.0])
def test_a_quota_that_does_not_come_back_parks_the_run_and_blocks_the_step_in_the_end(
    named: float | None, tmp_path: Path
) -> None:
    harness = harness_of(tmp_path, agent_of())
    harness.agent = WritingAgent(None, {f"a{n}": failing("quota", resets_at=named) for n in range(1, 100)})

    run = harness.drive()
    parked = run.parked, len(asked(harness.agent)[0])
    while run.parked and run.parked_until is not None:
        anyio.run(harness.clock.sleep, run.parked_until - harness.clock.now())
        run = harness.drive()

    assert parked == (True, len(BACKOFF) + 1)
    assert run.finished[A].state == "blocked"
    assert run.finished[A].attempts == MOST_TIMERS + 1


def test_a_cancelled_run_does_not_wait_for_a_quota(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of())
    harness.agent = agent_of(a1=failing("quota", resets_at=harness.clock.now() + 3_600))
    harness.drive()
    harness.send(Message(kind="cancel"))

    assert state_of(harness.drive()) == "cancelled"


# --- sessions ---------------------------------------------------------------------------------------------------


def sessions(*agents: WritingAgent) -> list[str]:
    """The sessions that assignments were to continue with."""
    return [assignment.session for agent in agents for assignment in agent.assignments]


def test_a_fix_goes_on_with_the_session_of_the_author(tmp_path: Path) -> None:
    agent = agent_of({"a": 2}, a1=Outcome(session="s-1"), a2=Outcome(session="s-2"))
    harness = harness_of(tmp_path, agent)

    harness.drive()

    assert sessions(agent) == ["", "s-1", "s-2"]
    started = events_of(harness, ev.AttemptStarted)
    assert [e.session for e in started] == ["", "s-1", "s-2"]
    assert [bool(e.new_session) for e in started] == [True, False, False]
    assert agent.assignments[0].new_session == started[0].new_session


@pytest.mark.parametrize("kind", ["crash", "auth"])
def test_a_session_is_not_gone_on_with_after_a_crash_or_by_another_agent(tmp_path: Path, kind: str) -> None:
    first, second = agent_of(a1=Outcome(failure=kind, session="s-1")), agent_of()
    harness = harness_of(tmp_path, first, second=second)

    harness.drive()

    assert set(sessions(first, second)) == {""}


def test_a_session_whose_attempt_was_lost_is_discarded_with_its_work(tmp_path: Path) -> None:
    agent = agent_of({"a": 1}, a1=Outcome(session="s-1"))
    harness = harness_of(tmp_path, agent)
    harness.store.after = lambda _: harness.life.end() if len(events_of(harness, ev.AttemptStarted)) == 2 else None

    def revive() -> None:
        harness.store.after = None

    harness.store.before = lambda _: revive() if len(harness.joined) == 2 else None

    run = harness.drive_through()

    assert run.finished[A].state == "done"
    assert [e.session for e in events_of(harness, ev.AttemptStarted)] == ["", "s-1", ""]


def test_a_new_round_begins_a_new_session(tmp_path: Path) -> None:
    agent = agent_of(a1=Outcome(failure="auth", session="s-1"))
    harness = harness_of(tmp_path, agent)
    harness.drive()
    harness.send(Message(kind="retry", subject="a"))

    harness.drive()

    assert sessions(agent) == ["", ""]


def test_a_session_is_journaled_as_soon_as_it_is_reported(tmp_path: Path) -> None:
    agent = agent_of()
    work = agent.work

    async def report(assignment: Assignment) -> Outcome:
        for text in (assignment.new_session, "own", "own"):
            await assignment.report(Happening(kind="session", text=text))
        assert [e.session for e in events_of(harness, ev.SessionOpened)] == ["own"]
        return await work(assignment)

    agent.work = report  # type: ignore[method-assign]
    harness = harness_of(tmp_path, agent)

    assert state_of(harness.drive()) == "done"


# --- money ------------------------------------------------------------------------------------------------------


def test_usage_is_counted_per_step_and_agent_with_what_has_no_price(tmp_path: Path) -> None:
    first = agent_of({"a": 1}, a1=Outcome(usage={"input": 10.0, "cost_usd": 0.5}), a2=Outcome(usage={"input": 5.0}))
    harness = harness_of(tmp_path, first)

    run = harness.drive()

    assert run.usage == {A: {"": {"input": 15.0, "cost_usd": 0.5, "attempts": 2.0, "unpriced": 1.0}}}
    assert run.finished[A].usage == {"input": 15.0, "cost_usd": 0.5}


def priced(dollars: float) -> Outcome:
    """An attempt that cost something."""
    return Outcome(usage={"cost_usd": dollars})


def test_a_spent_budget_asks_a_person_before_the_next_launch(tmp_path: Path) -> None:
    agent = agent_of(a1=priced(0.75), b1=priced(0.5))
    harness = harness_of(tmp_path, agent, "a", "b", "c")
    harness.budget = 1.0

    parked = harness.drive()
    asked_for = [gate.opened for gate in parked.open_gates]
    answer(harness, "budget-1", "yes")
    done = harness.drive()

    assert [(g.gate, g.person_only) for g in asked_for] == [("budget-1", True)]
    assert state_of(done) == "done"
    assert asked(agent) == [["a1", "b1", "c1"]]
    assert [a.budget for a in agent.assignments] == [1.0, 0.25, 1.0]


def test_a_person_who_does_not_proceed_blocks_what_is_left(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(a1=priced(2.0)), "a", "b")
    harness.budget = 1.0
    harness.drive()
    answer(harness, "budget-1", "no")

    run = harness.drive()

    assert (state_of(run), run.finished[A].state, run.finished[B].state) == ("blocked", "done", "blocked")


def test_a_step_that_money_blocked_goes_on_once_it_is_tried_again_and_paid_for(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(a1=priced(1.5)), "a", "b")
    harness.budget = 1.0
    harness.drive()
    answer(harness, "budget-1", "no")
    harness.drive()

    retry(harness, "b")
    parked = harness.drive()
    questions = [gate.opened.gate for gate in parked.open_gates]
    answer(harness, "budget-2", "yes")
    done = harness.drive()

    assert questions == ["budget-2"]
    assert (state_of(done), done.finished[B].state) == ("done", "done")


def test_an_agent_that_spent_what_it_was_given_goes_on_once_a_person_allows_it(tmp_path: Path) -> None:
    dry = Outcome(failure="quota", message="the budget is used up", usage={"cost_usd": 1.01}, session="s-1")
    agent = agent_of(a1=dry)
    harness = harness_of(tmp_path, agent)
    harness.budget = 1.0

    parked = harness.drive()
    answer(harness, "budget-1", "yes")
    done = harness.drive()

    assert (state_of(parked), state_of(done)) == ("parked", "done")
    assert sessions(agent) == ["", "s-1"]


def test_a_question_about_money_does_not_outlive_the_last_step(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, agent_of(a1=priced(2.0)), "a", "b")
    harness.budget = 1.0
    harness.drive()
    harness.send(Message(kind="skip", subject="b"))

    assert state_of(harness.drive()) == "done"


# --- roles ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "limits"), [("coder", (600.0, 25)), ("copywriter", (480.0, 20)), ("", (86400.0, None))]
)
def test_a_role_limits_the_time_and_the_turns_of_its_agent(
    tmp_path: Path, role: str, limits: tuple[float | None, int | None]
) -> None:
    agent = agent_of()
    plan = small_plan(replace(step("a"), role=role))

    Harness(folder=tmp_path, plan=plan, agent=agent, mode="sequential").drive()

    assert [(given.timeout, given.turns) for given in agent.assignments] == [limits]


# --- questions --------------------------------------------------------------------------------------------------


def test_a_question_parks_the_step_and_its_answer_goes_into_the_next_prompt(tmp_path: Path) -> None:
    agent = agent_of(a1=Outcome(question="Tabs or spaces?", session="s-1"))
    harness = harness_of(tmp_path, agent, "a", "b")

    parked = harness.drive()
    [gate] = [gate.opened for gate in parked.open_gates]
    held = {*harness.store.list_claims(RUN)}
    answer(harness, gate.gate, "spaces, of course")
    done = harness.drive()

    assert (gate.gate, gate.kind, gate.free, held) == ("question-a", "question", True, set())
    assert parked.finished[B].state == "done"
    assert (done.finished[A].state, done.finished[A].fixes) == ("done", 0)
    told = agent.assignments[-1]
    assert ("Tabs or spaces?" in told.prompt, "spaces, of course" in told.prompt) == (True, True)
    assert told.session == "s-1"


def test_an_agent_may_ask_again_and_earlier_answers_still_hold(tmp_path: Path) -> None:
    agent = agent_of(a1=Outcome(question="One?"), a2=Outcome(question="Two?"))
    harness = harness_of(tmp_path, agent)
    harness.drive()
    answer(harness, "question-a", "first answer")
    harness.drive()
    answer(harness, "question-a.2", "second answer")

    run = harness.drive()

    assert run.finished[A].state == "done"
    assert "first answer" in agent.assignments[-1].prompt
    assert "second answer" in agent.assignments[-1].prompt


def test_a_question_in_a_fix_leaves_the_failed_check_in_the_prompt(tmp_path: Path) -> None:
    agent = agent_of({"a": 2}, a2=Outcome(question="How?"))
    harness = harness_of(tmp_path, agent)
    harness.drive()
    answer(harness, "question-a", "so")

    run = harness.drive()

    assert "`check a` (exit code 1)" in agent.assignments[-1].prompt
    assert run.finished[A].fixes == 1


# --- silence ----------------------------------------------------------------------------------------------------


def test_what_an_agent_did_when_it_was_stopped_is_told_to_the_next_attempt(tmp_path: Path) -> None:
    agent = agent_of(a1=failing("crash", message="said nothing for 600 s; the last thing it did: command make"))
    harness = harness_of(tmp_path, agent)

    harness.drive()

    assert "the last thing it did: command make" in agent.assignments[1].prompt


def test_done_with_nothing_written_is_noted_and_told_if_the_checks_fail(tmp_path: Path) -> None:
    agent = agent_of()
    work = agent.work

    async def idle_first(assignment: Assignment) -> Outcome:
        if assignment.attempt > 1:
            return await work(assignment)
        agent.assignments.append(assignment)
        return Outcome(message="all done")

    agent.work = idle_first  # type: ignore[method-assign]
    harness = harness_of(tmp_path, agent)

    harness.drive()

    assert [e.unchanged for e in events_of(harness, ev.AttemptEnded)] == [True, False]
    assert "no file had changed" in agent.assignments[1].prompt


# --- wherever the process dies ----------------------------------------------------------------------------------


def build_troubled(folder: Path) -> Harness:
    """Everything at once: one agent breaks down, another runs out of quota, a fix is needed, a question is asked."""
    harness = Harness(
        folder=folder,
        plan=small_plan(step("a"), step("b", "a"), step("c", "a")),
        mode="sequential",
        others={"second": agent_of()},
        fallback=("second",),
        budget=10.0,
    )
    reset = harness.clock.now() + 300
    harness.agent = agent_of({"b": 1}, a1=failing("auth"), b1=priced(0.5), c1=failing("quota", resets_at=reset))
    harness.others["second"] = agent_of(
        a2=Outcome(question="Which?", session="s"), c2=failing("quota", resets_at=reset + 100)
    )
    return harness


def drive_answering(harness: Harness) -> RunState:
    """Drive, and answer whatever is asked, until the run has ended."""
    for _ in range(20):
        run = harness.drive_through()
        if run.ended is not None:
            return run
        for gate in run.open_gates:
            answer(harness, gate.opened.gate, "this")
    raise AssertionError("the run does not end")


def count_appends(folder: Path) -> int:
    """How many appends the troubled run takes if nothing interrupts it."""
    harness = build_troubled(folder)
    drive_answering(harness)
    return harness.store.appends


TROUBLED = 41


def test_the_enumeration_of_trouble_covers_every_append(tmp_path: Path) -> None:
    assert count_appends(tmp_path) == TROUBLED


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, TROUBLED + 1))
def test_a_run_in_trouble_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build_troubled(tmp_path)
    harness.die_at(nth, when=when)

    run = drive_answering(harness)

    assert state_of(run) == "done"
    assert sorted(name for _, name in harness.workspaces.log()) == ["a", "b", "c"]
    assert {name: run.finished[StepId(name)].fixes for name in "abc"} == {"a": 0, "b": 1, "c": 0}
    assert {name: run.finished[StepId(name)].attempts for name in "abc"} == {"a": 3, "b": 2, "c": 3}
    assert len(run.gates) == 1
    assert not harness.store.list_claims(RUN)
