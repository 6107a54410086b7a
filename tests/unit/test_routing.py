"""Who works on a step, who takes over, and when a quota is worth waiting for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.builders import TREE, TREE_2, Scene, checked, prepared, run_started, step_of
from tests.unit.stepping import advance

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.blocked import Reply
from drumline.core.codec import decode
from drumline.core.commands import Attempt, Command, Defer, Finish, Park
from drumline.core.ids import GateId, StepId
from drumline.core.orders import orders_for
from drumline.core.plan import Marks, Status
from drumline.core.routing import Candidate, choose, find_timer, list_workers, plan_timer, raise_tier
from drumline.core.spending import count_left, sum_agents, sum_run
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import StepEnd
from drumline.record import replace

STEP = step_of("a")
OWN = "scripted:demo.yaml"


def begin(
    *fallback: str, budget: float | None = None, profiles: Mapping[str, Mapping[str, str]] | None = None
) -> ev.RunStarted:
    """The beginning of a run with agents that take over."""
    started = run_started(autonomy="autopilot")
    return replace(started, fallback=tuple(fallback), budget=budget, profiles=profiles or {})


def run_of(started: ev.RunStarted, *events: ev.Event) -> RunState:
    """A run of two steps, of which the first is looked at."""
    return Scene(steps=[STEP, step_of("b")], started=started, events=events).run()


def tried(number: int, agent: str = "", *, failure: str = "", **more: object) -> list[ev.Event]:
    """An attempt by an agent, and how it ended."""
    started = ev.AttemptStarted(node="implement", attempt=number, tree=TREE, agent=agent)
    ended = ev.AttemptEnded(
        node="implement",
        attempt=number,
        tree=TREE_2,
        failure=failure,
        message="so",
        **more,  # type: ignore[arg-type]
    )
    return [started, ended]


def state_of(*events: Sequence[ev.Event]) -> StepState:
    """A step's state after its workspace and these events."""
    return fold_step(StepState(), [*prepared(), *(event for group in events for event in group)])


def follow(state: StepState, run: RunState) -> Command:
    """What comes next."""
    return advance(orders_for(run, STEP), state, run)


def names(candidates: Sequence[Candidate]) -> list[str]:
    """Their names."""
    return [candidate.name for candidate in candidates]


def test_a_profile_of_the_name_of_a_steps_role_works_on_it() -> None:
    table = {"code-reviewer": {"agent": "codex", "tier": "standard"}, "own": {}}
    run = run_of(begin("x", profiles=table))
    reviews = replace(STEP, role="code-reviewer", tier="strong")

    assert list_workers(run, reviews)[0] == Candidate(name="code-reviewer", tier="standard")
    assert names(list_workers(run, replace(reviews, agent="own"))) == ["own", "x"]
    assert list_workers(run, replace(reviews, tier="fast"))[0].tier == "fast"
    assert names(list_workers(run, replace(STEP, role="coder"))) == ["", "x"]


def test_who_wants_another_round_may_name_its_agent_and_tier() -> None:
    run = run_of(begin("x"), ev.StepReopened(step=STEP.id, agent="y", tier="strong"))

    workers = list_workers(run, STEP)

    assert names(workers) == ["y", "x"]
    assert {worker.tier for worker in workers} == {"strong"}
    assert names(list_workers(run_of(begin("x"), ev.StepReopened(step=STEP.id)), STEP)) == ["", "x"]


@pytest.mark.parametrize(("fix", "tier"), [(0, "standard"), (1, "standard"), (2, "strong"), (3, "strong")])
def test_the_first_fix_is_done_with_the_same_tier_and_the_second_one_tier_up(fix: int, tier: str) -> None:
    assert raise_tier("standard", fix=fix) == tier
    assert raise_tier("strong", fix=fix) == "strong"


def test_the_run_s_own_agent_has_no_name_and_none_is_listed_twice() -> None:
    run = run_of(begin("x", OWN, "y", "x"))

    assert names(list_workers(run, STEP)) == ["", "x", "y"]
    assert names(list_workers(run, replace(STEP, agent="y"))) == ["y", "x", ""]


@pytest.mark.parametrize(("tier", "expected"), [("standard", "strong"), ("fast", "fast")])
def test_a_tier_of_the_step_overrules_that_of_a_profile(tier: str, expected: str) -> None:
    run = run_of(begin(profiles={"wise": {"tier": "strong"}}))

    [found] = list_workers(run, replace(STEP, tier=tier, agent="wise"))[:1]

    assert found == Candidate(name="wise", tier=expected)


def test_without_others_a_quota_blocks_or_waits_as_its_time_says() -> None:
    run = run_of(begin())

    blocked = follow(state_of(tried(1, failure="quota")), run)
    waits = follow(state_of(tried(1, failure="quota", resets_at=50.0)), run)

    assert blocked == Finish(state=StepEnd.BLOCKED, reason="the agent's quota is used up: so")
    assert waits == Defer(until=50.0, reason="the agent's quota is used up: so")


@pytest.mark.parametrize("failure", ["validation", "transient"])
def test_what_the_work_or_time_may_mend_is_not_handed_over(failure: str) -> None:
    found = follow(state_of(tried(1, failure=failure)), run_of(begin("x")))

    assert isinstance(found, Attempt)
    assert found.agent == ""


def test_a_permanent_failure_is_final_whoever_is_left() -> None:
    assert follow(state_of(tried(1, failure="permanent")), run_of(begin("x"))) == Finish(
        state=StepEnd.FAILED, reason="so"
    )


def test_a_quota_waited_for_makes_its_agent_able_again_and_others_not() -> None:
    state = state_of(tried(1, failure="quota", resets_at=50.0), tried(2, "x", failure="auth"))
    before = dict(state.exhausted)

    fold_step(state, [ev.StepReleased(reason="quota", until=50.0), prepared()[0]])

    assert before == {"": 50.0, "x": None}
    assert (state.exhausted, state.until) == ({"x": None}, None)
    assert choose(list_workers(run_of(begin("x")), STEP), state).name == ""


def test_whoever_had_the_step_last_keeps_it_if_several_are_able_again() -> None:
    state = state_of(tried(1, failure="quota", resets_at=40.0), tried(2, "x", failure="quota", resets_at=50.0))

    fold_step(state, [ev.StepReleased(reason="quota", until=50.0), prepared()[0]])

    assert choose(list_workers(run_of(begin("x")), STEP), state).name == "x"


def test_another_quota_of_the_step_may_be_the_one_to_wait_for() -> None:
    state = state_of(tried(1, failure="quota", resets_at=80.0), tried(2, "x", failure="billing"))

    assert follow(state, run_of(begin("x"))) == Defer(until=80.0, reason="the agent's account has no credit: so")
    assert find_timer([Candidate(name="x")], state) is None


@pytest.mark.parametrize(
    "event",
    [
        ev.PlanMirrored(step=STEP.id, marks=Marks(status=Status.CLAIMED), path="plan/a.md", digest="d"),
        ev.StepReopened(step=STEP.id),
        ev.StepFinished(step=STEP.id, state=StepEnd.SKIPPED),
        ev.PlanChanged(removed=(STEP.id,)),
    ],
)
def test_a_step_is_deferred_until_it_is_claimed_or_its_case_changes(event: ev.Event) -> None:
    deferred = ev.StepDeferred(step=STEP.id, until=50.0)
    waiting = ev.PlanMirrored(step=STEP.id, marks=Marks(status=Status.BLOCKED), path="plan/a.md", digest="d")

    before, after = run_of(begin(), deferred, waiting), run_of(begin(), deferred, waiting, event)

    assert before.deferred == {STEP.id: deferred}
    assert after.deferred == {}


def test_a_handover_is_no_fix_and_keeps_the_tier() -> None:
    run = run_of(begin("x"))
    fixing = [*tried(1), *checked(exit_code=1), *tried(2), *checked(exit_code=1)]

    handed = follow(state_of(fixing, tried(3, failure="quota")), run)
    state = state_of(fixing, tried(3, failure="quota"), tried(4, "x")[:1])

    assert isinstance(handed, Attempt)
    assert (handed.agent, handed.tier, handed.attempt) == ("x", "strong", 4)
    assert (state.fixes, [f.command for f in state.feedback], state.cut_short) == (2, ["check 1"], "so")


def test_a_session_is_for_its_own_agent_and_not_for_a_lost_attempt() -> None:
    run = run_of(begin("x"))
    failed = [*tried(1, session="s"), *checked(exit_code=1)]
    lost = [*tried(2)[:1], ev.WorkLost(what="working")]

    found = [follow(state_of(*events), run) for events in ([failed], [failed, lost], [tried(1, failure="auth")])]

    assert [c.session for c in found if isinstance(c, Attempt)] == ["s", "", ""]


def test_a_question_waits_for_its_answer_and_then_goes_on_with_it() -> None:
    state = state_of(tried(1, question="Which?"))
    asks = gates.question(STEP, 1, "Which?")
    said = ev.GateAnswered(gate=asks.gate, choice="this one")

    found = [follow(state, run_of(begin(), *events)) for events in ([], [asks], [asks, said])]

    assert found[:2] == [Park(gate=asks.gate, opens=asks), Park(gate=asks.gate)]
    assert isinstance(found[2], Attempt)
    assert found[2].answers == (Reply(asked="Which?", said="this one"),)
    assert found[2].tier == "standard"


def test_money_is_counted_over_all_steps_and_each_yes_allows_as_much_again() -> None:
    spent = ev.UsageCounted(step=StepId("b"), agent="x", usage={"cost_usd": 1.5, "attempts": 1.0})
    asks = gates.budget(1, spent=1.5, allowed=1.0)
    yes = ev.GateAnswered(gate=GateId("budget-1"), choice="yes")
    free, broke, allowed = (
        run_of(begin(budget=b), spent, *more) for b, more in ((None, ()), (1.0, ()), (1.0, (asks, yes)))
    )

    left = [count_left(run, STEP.id, [{"cost_usd": 0.25}]) for run in (free, broke, allowed)]
    commands = [follow(state_of(), run) for run in (free, broke, allowed)]

    assert left == [None, -0.75, 0.75]
    assert commands[1] == Park(gate=GateId("budget-1"), opens=asks)
    assert [c.budget for c in commands if isinstance(c, Attempt)] == [None, 1.0]


def test_after_a_no_who_tries_a_step_again_is_asked_again_at_another_gate() -> None:
    spent = ev.UsageCounted(step=StepId("b"), agent="x", usage={"cost_usd": 1.5, "attempts": 1.0})
    no = ev.GateAnswered(gate=GateId("budget-1"), choice="no")
    yes = ev.GateAnswered(gate=GateId("budget-2"), choice="yes")
    asks = [gates.budget(number, spent=1.5, allowed=1.0) for number in (1, 2)]
    refused = (spent, asks[0], no)
    again = (*refused, ev.StepReopened(step=STEP.id))
    runs = [run_of(begin(budget=1.0), *events) for events in (refused, again, (*again, asks[1], yes))]

    blocked, parked, goes_on = (follow(state_of(), replace(run, rounds={})) for run in runs)

    assert isinstance(blocked, Finish)
    assert parked == Park(gate=GateId("budget-2"), opens=asks[1])
    assert isinstance(goes_on, Attempt)
    assert goes_on.budget == pytest.approx(1.0)


def test_a_yes_counts_from_what_was_spent_when_it_was_asked() -> None:
    spent = ev.UsageCounted(step=StepId("b"), agent="x", usage={"cost_usd": 0.03, "attempts": 1.0})
    poor = run_of(begin(budget=0.01), spent)
    parked = follow(state_of(), poor)
    assert isinstance(parked, Park)
    assert parked.opens is not None
    yes = ev.GateAnswered(gate=parked.gate, choice="yes")

    goes_on = follow(state_of(), run_of(begin(budget=0.01), spent, parked.opens, yes))

    assert parked.opens.spent == pytest.approx(0.03)
    assert isinstance(goes_on, Attempt)
    assert goes_on.budget == pytest.approx(0.01)


def test_a_yes_of_an_older_journal_allows_what_it_allowed_then() -> None:
    asked = decode(
        "GateOpened", 1, '{"gate":"budget-1","kind":"budget","question":"?","options":["yes","no"],"person_only":true}'
    )
    spent = ev.UsageCounted(step=StepId("b"), agent="x", usage={"cost_usd": 1.5, "attempts": 1.0})
    yes = ev.GateAnswered(gate=GateId("budget-1"), choice="yes")

    run = run_of(begin(budget=1.0), spent, asked, yes)

    assert count_left(run, STEP.id, []) == pytest.approx(0.5)


def test_a_count_replaces_the_one_before_it_and_agents_are_told_apart() -> None:
    counts = [("a", "", 1.0), ("a", "", 2.0), ("a", "x", 4.0), ("b", "x", 8.0)]

    run = run_of(begin(), *(ev.UsageCounted(step=StepId(s), agent=a, usage={"input": n}) for s, a, n in counts))

    assert sum_run(run) == {"input": 14.0}
    assert sum_agents(run) == {OWN: {"input": 2.0}, "x": {"input": 12.0}}


def test_events_from_before_there_were_several_agents_can_still_be_read() -> None:
    tree = '"tree":"t"'

    started = decode("AttemptStarted", 1, f'{{"node":"implement","attempt":1,{tree}}}')
    ended = decode("AttemptEnded", 1, f'{{"node":"implement","attempt":1,{tree},"failure":"quota","message":"x"}}')
    parked = decode("RunParked", 1, '{"gates":["g"]}')

    assert isinstance(started, ev.AttemptStarted)
    assert (started.agent, started.session) == ("", "")
    assert isinstance(ended, ev.AttemptEnded)
    assert follow(state_of([started, ended]), run_of(begin())) == Finish(
        state=StepEnd.BLOCKED, reason="the agent's quota is used up: x"
    )
    assert parked == ev.RunParked(gates=(GateId("g"),), until=None)


@pytest.mark.parametrize(
    ("named", "timers", "seconds"),
    [(None, 0, 2), (None, 1, 4), (None, 2, 8), (None, 3, 1800), (1.0, 0, 10), (1060.0, 2, 60), (1005.0, 5, 1800)],
)
def test_an_agent_out_of_quota_is_asked_again_later_and_later_and_then_left_alone(
    named: float | None, timers: int, seconds: float
) -> None:
    assert plan_timer(named, timers=timers, now=1000.0) == 1000.0 + seconds
