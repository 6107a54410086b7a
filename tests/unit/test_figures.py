"""Figures never shrink and never lie, whatever happens in whatever order: totals are the sums of their parts."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.unit.builders import step_of

from drumline.core import events as ev
from drumline.core.findings import Finding
from drumline.core.handoffwords import HandoffWords
from drumline.core.ids import Commit, DriverId, GateId, RunId, StepId, Tree
from drumline.core.life import TRANSITIONS, Phase
from drumline.core.mutants import Mutation
from drumline.core.proof import Against
from drumline.core.runfold import fold_run
from drumline.core.spending import ATTEMPTS, COST, UNPRICED, add_up, sum_agents, sum_run, sum_step
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.sweeps import Sweep
from drumline.core.vocabulary import Mode, RunEnd, Settlement, Severity
from drumline.views.stopwatch import Stopwatch

TREE = Tree("t" * 40)
COMMIT = Commit("c" * 40)
FINDING = Finding(id="a-F1", severity=Severity.BLOCKER, step=StepId("a"), title="t")
COUNTS = st.integers(0, 1000).map(float)
USAGES: st.SearchStrategy[Mapping[str, float]] = st.dictionaries(st.sampled_from(["input", "output", COST]), COUNTS)
FAILURES = st.sampled_from(["", "validation", "transient", "crash", "quota"])


def happen(draw: st.DrawFn, kind: type[ev.Event], state: StepState) -> ev.Event:
    """An event of this kind as it may follow in this state."""
    number = state.attempts + 1
    agent = draw(st.sampled_from(["", "other"]))
    made: dict[type[ev.Event], ev.Event] = {
        ev.WorkspaceAssigned: ev.WorkspaceAssigned(path="/w", base=COMMIT),
        ev.WorkspaceReady: ev.WorkspaceReady(tree=TREE),
        ev.WorkspaceFailed: ev.WorkspaceFailed(reason="no"),
        ev.AttemptStarted: ev.AttemptStarted(node="implement", attempt=number, tree=TREE, agent=agent),
        ev.SessionOpened: ev.SessionOpened(session="s"),
        ev.AttemptUsed: ev.AttemptUsed(usage=draw(USAGES), seconds=draw(COUNTS)),
        ev.AttemptEnded: ev.AttemptEnded(
            node="implement",
            attempt=number,
            tree=TREE,
            failure=draw(FAILURES),
            seconds=draw(COUNTS),
            usage=draw(USAGES),
        ),
        ev.CheckStarted: ev.CheckStarted(check=0, command="c", tree=TREE),
        ev.CheckEnded: ev.CheckEnded(
            check=0, command="c", tree=TREE, tree_after=TREE, exit_code=draw(st.sampled_from([0, 1]))
        ),
        ev.ComparisonStarted: ev.ComparisonStarted(against=Against.BASE),
        ev.ComparisonEnded: ev.ComparisonEnded(against=Against.BASE, tree=TREE, found=()),
        ev.MutantsStarted: ev.MutantsStarted(tree=TREE),
        ev.MutantsEnded: ev.MutantsEnded(found=Mutation(), seconds=draw(COUNTS)),
        ev.LandingStarted: ev.LandingStarted(commit=COMMIT, tree=TREE, head=COMMIT),
        ev.LandingRefused: ev.LandingRefused(reason="no", retry=True),
        ev.StepLanded: ev.StepLanded(commit=COMMIT, tree=TREE),
        ev.WorkLost: ev.WorkLost(what=state.phase.value),
        ev.StepRestarted: ev.StepRestarted(round=state.round + 1),
        ev.StepRechecked: ev.StepRechecked(round=state.round + 1),
        ev.WorkReviewed: ev.WorkReviewed(tree=TREE),
        ev.WorkSwept: ev.WorkSwept(sweep=Sweep(by="a"), tree=TREE),
        ev.HandoffWritten: ev.HandoffWritten(words=HandoffWords(by="a"), tree=TREE),
        ev.FindingRecorded: ev.FindingRecorded(finding=FINDING),
        ev.FindingConfirmed: ev.FindingConfirmed(finding="a-F1", by="r"),
        ev.FindingSettled: ev.FindingSettled(finding="a-F1", how=Settlement.FIXED, by="r"),
        ev.WorkChanged: ev.WorkChanged(tree=TREE),
        ev.WorkRebased: ev.WorkRebased(base=COMMIT, ready=TREE, tree=TREE),
        ev.StepClaimed: ev.StepClaimed(driver=DriverId("d"), token=1),
        ev.StepReleased: ev.StepReleased(reason="stopped"),
    }
    return made[kind]


def count(state: StepState) -> dict[str, float]:
    """Everything that is shown of a step as a number."""
    figures = {"attempts": state.reached, "fixes": state.all_fixes, "lost": state.lost, "seconds": state.seconds}
    return {**figures, **{f"used {name}": amount for name, amount in state.usage.items()}}


@settings(max_examples=some(20), deadline=None)
@given(data=st.data())
def test_the_figures_of_a_step_never_shrink_and_its_agents_add_up_to_it(data: st.DataObject) -> None:
    state = StepState()
    begun = ended = 0

    for _ in range(data.draw(st.integers(0, 60))):
        anywhere: list[type[ev.Event]] = [
            ev.StepClaimed,
            ev.StepReleased,
            *([ev.StepRestarted] if state.phase is Phase.WORKED else []),
        ]
        kind = data.draw(st.sampled_from([*TRANSITIONS[state.phase], *anywhere]))
        before = count(state)
        fold_step(state, [data.draw(st.composite(happen)(kind, state))])
        begun += kind is ev.AttemptStarted
        ended += kind is ev.AttemptEnded

        after = count(state)
        assert all(after[name] >= amount for name, amount in before.items())
        total = add_up(state.spent.values())
        assert {name: amount for name, amount in total.items() if name not in (ATTEMPTS, UNPRICED)} == state.usage
        assert total.get(ATTEMPTS, 0) == ended + state.lost
        assert begun == ended + state.lost + (state.phase is Phase.WORKING)
        assert state.reached == state.attempts + (state.reached > state.attempts)


@settings(max_examples=some(20), deadline=None)
@given(
    counts=st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", "other"]), USAGES),
        max_size=12,
    )
)
def test_what_a_run_has_used_never_shrinks_and_is_the_sum_of_its_steps_and_of_its_agents(
    counts: list[tuple[str, str, Mapping[str, float]]],
) -> None:
    run = RunState(id=RunId("r"))
    started = ev.RunStarted(
        plan="p",
        plan_name="p",
        plan_digest="",
        branch="b",
        base=COMMIT,
        agent="own",
        mode=Mode.SEQUENTIAL,
        autonomy="autopilot",
        retries=2,
    )
    pinned = ev.PlanPinned(format="dag", title="", steps=(step_of("a"), step_of("b")), digests={})
    fold_run(run, [started, pinned])

    for step, agent, usage in counts:
        before = sum_run(run)
        fold_run(run, [ev.UsageCounted(step=StepId(step), agent=agent, usage=usage)])

        total = sum_run(run)
        assert all(total[name] >= amount for name, amount in before.items())
        assert total == add_up(sum_step(run, StepId(name)) for name in "ab")
        assert total == add_up(sum_agents(run).values())


def test_an_attempt_that_is_cut_short_costs_what_its_agent_had_used() -> None:
    state = StepState()

    fold_step(
        state,
        [
            ev.WorkspaceAssigned(path="/w", base=COMMIT),
            ev.WorkspaceReady(tree=TREE),
            ev.AttemptStarted(node="implement", attempt=1, tree=TREE),
            ev.AttemptUsed(usage={"input": 10.0}, seconds=1.0),
            ev.AttemptUsed(usage={"input": 30.0, COST: 0.25}, seconds=3.0),
            ev.WorkLost(what="working"),
        ],
    )

    assert state.usage == {"input": 30.0, COST: 0.25}
    assert state.spent == {"": {"input": 30.0, COST: 0.25, ATTEMPTS: 1.0}}
    assert (state.reached, state.attempts, state.lost, state.seconds) == (1, 0, 1, 3.0)


@pytest.mark.parametrize("again", [ev.StepRestarted(round=1), ev.StepRechecked(round=1)])
def test_a_further_round_has_fresh_budgets_and_goes_on_counting_fixes(again: ev.Event) -> None:
    check = ev.CheckEnded(check=0, command="c", tree=TREE, tree_after=TREE, exit_code=1)
    state = StepState()
    fold_step(
        state,
        [
            ev.WorkspaceAssigned(path="/w", base=COMMIT),
            ev.WorkspaceReady(tree=TREE),
            ev.AttemptStarted(node="implement", attempt=1, tree=TREE),
            ev.AttemptEnded(node="implement", attempt=1, tree=TREE),
            ev.CheckStarted(check=0, command="c", tree=TREE),
            check,
            ev.AttemptStarted(node="implement", attempt=2, tree=TREE),
            ev.AttemptEnded(node="implement", attempt=2, tree=TREE),
        ],
    )

    fold_step(state, [again])

    assert (state.fixes, state.all_fixes, state.reached) == (0, 1, 2)


PARKED = ev.RunParked(gates=(GateId("g"),))
RESUMED = ev.RunResumed(driver=DriverId("d"))
ENDED = ev.RunEnded(state=RunEnd.DONE)
BEGUN = ev.RunStarted(
    plan="p",
    plan_name="p",
    plan_digest="",
    branch="b",
    base=COMMIT,
    agent="a",
    mode=Mode.SEQUENTIAL,
    autonomy="autopilot",
    retries=2,
)
OTHER = ev.ModeChanged(mode=Mode.PARALLEL)


@pytest.mark.parametrize(
    ("told", "end", "seconds"),
    [
        ([(0, BEGUN)], 10, 10),
        ([(0, BEGUN), (5, PARKED)], 100, 5),
        ([(0, BEGUN), (5, PARKED), (90, OTHER), (95, RESUMED)], 100, 10),
        ([(0, BEGUN), (5, OTHER), (90, RESUMED), (97, ENDED)], 200, 12),
        ([(0, BEGUN), (5, ENDED), (90, RESUMED), (97, PARKED), (99, RESUMED)], 100, 13),
    ],
)
def test_only_the_time_in_which_a_run_was_driven_counts(
    told: list[tuple[float, ev.Event]], end: float, seconds: float
) -> None:
    watch, before = Stopwatch(), 0.0

    for at, event in told:
        watch.note(event, at, before=before)
        before = at

    assert watch.read(end) == seconds
