"""What a step does whose run branch has moved while it was worked on."""

from __future__ import annotations

from tests.unit.builders import (
    BASE,
    COMMIT,
    TREE,
    TREE_2,
    Scene,
    attempted,
    checked,
    finish,
    prepared,
    run_started,
    step_of,
)
from tests.unit.test_advance import next_command, run_of, verdict

from drumline.core import events as ev
from drumline.core.baseline import look_up
from drumline.core.commands import Attempt, Command, Finish, Land, Park, Rebase, RunCheck, TakeTicket
from drumline.core.examination import Verdict
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.landing import land, list_repeatable, tell_integration
from drumline.core.orders import orders_for
from drumline.core.proof import Against, Colour, Compared
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import CheckResult, Clash, StepState
from drumline.core.vocabulary import OnConflict, StepEnd
from drumline.record import replace

ONE = step_of("a")
NEW = Commit("n" * 40)
LANDING = ev.LandingStarted(commit=COMMIT, tree=TREE_2, head=BASE)
RED = Compared(check=0, command="check 1", colour=Colour.RED)
PROVED = [
    *prepared(),
    *attempted(1),
    *checked(),
    ev.ComparisonStarted(against=Against.BASE),
    ev.ComparisonEnded(against=Against.BASE, tree=TREE, found=(RED,)),
]
BEHIND = [*PROVED, LANDING, ev.LandingRefused(reason="others have landed", behind=NEW)]
TOGETHER = Tree("together")


def joined(*conflicts: str) -> list[ev.Event]:
    """Work that was put on a head on which another step had landed."""
    moved = ev.WorkRebased(base=NEW, ready=Tree("new"), tree=TOGETHER, conflicts=conflicts, since=(StepId("step-2"),))
    return [*BEHIND, moved]


def judged(code: int) -> list[ev.Event]:
    """The only check, on the work together with what landed."""
    return verdict(0, TOGETHER, TOGETHER, exit_code=code)


def worked(number: int) -> list[ev.Event]:
    """An attempt that leaves work on the new head."""
    started, ended = attempted(number)
    assert isinstance(ended, ev.AttemptEnded)
    return [started, replace(ended, tree=TOGETHER)]


def test_work_whose_head_has_moved_lines_up_and_is_put_on_the_new_head() -> None:
    run = run_of(ONE)
    first = next_command(ONE, BEHIND, run)
    fold_run(run, [ev.TicketTaken(step=ONE.id, head=NEW)])

    assert first == TakeTicket(head=NEW)
    assert next_command(ONE, BEHIND, run) == Rebase(onto=NEW, head=NEW)


def test_work_on_a_new_head_is_judged_there_and_lands_only_if_it_passes() -> None:
    assert next_command(ONE, joined()) == RunCheck(number=0, check=ONE.checks[0])
    assert next_command(ONE, [*joined(), *judged(0)]) == Land()


def test_work_that_fails_together_with_others_goes_back_twice_and_uses_up_no_fix() -> None:
    red = [*judged(1), *judged(1)]  # on a tree of several steps a check that fails is tried twice
    once = [*joined(), *red]
    twice = [*once, *worked(2), *judged(0), LANDING, *joined()[len(PROVED) + 1 :], *red]
    thrice = [*twice, *worked(3), *judged(0), LANDING, *joined()[len(PROVED) + 1 :], *red]

    again = next_command(ONE, once)
    state = fold_step(StepState(), [*once, *worked(2)])

    assert isinstance(again, Attempt)
    assert (again.attempt, again.tier) == (2, "standard")
    assert (state.fixes, state.integrations) == (0, 1)
    assert state.clash == Clash(since=(StepId("step-2"),))
    assert isinstance(next_command(ONE, twice), Attempt)
    assert next_command(ONE, thrice) == Finish(
        state=StepEnd.BLOCKED,
        reason="its checks pass alone and fail together with what landed since its base (step-2): check 1",
    )


def test_work_that_conflicts_goes_back_before_anything_is_run() -> None:
    events = joined("a.py")

    again = next_command(ONE, events)
    state = fold_step(StepState(), [*events, worked(2)[0]])

    assert isinstance(again, Attempt)
    assert state.clash == Clash(since=(StepId("step-2"),), conflicts=("a.py",))


def test_markers_that_are_left_go_back_like_the_conflict_itself() -> None:
    left = ev.LandingRefused(reason="unresolved conflicts are left in a.py", conflicts=("a.py",))
    events = [*joined("a.py"), *worked(2), *judged(0), LANDING, left]

    state = fold_step(StepState(), [*events, worked(3)[0]])

    assert isinstance(next_command(ONE, events), Attempt)
    assert (state.integrations, state.clash) == (2, Clash(since=(StepId("step-2"),), conflicts=("a.py",)))


def test_what_landed_before_an_attempt_at_it_is_named_with_what_landed_after() -> None:
    left = ev.LandingRefused(reason="unresolved conflicts are left in a.py", conflicts=("a.py",))
    moved = ev.WorkRebased(base=NEW, ready=Tree("new"), tree=TOGETHER, since=(StepId("step-3"),))
    events = [*joined("a.py"), *worked(2), moved, *judged(0), LANDING, left]

    state = fold_step(StepState(), events)

    assert state.find_clash() == Clash(since=(StepId("step-2"), StepId("step-3")), conflicts=("a.py",))
    assert "what landed since its base (step-2, step-3)" in tell_integration(state)


def test_what_failed_before_the_work_began_still_shows_what_the_work_did() -> None:
    state = fold_step(StepState(), [*joined(), *judged(0)])

    assert look_up(0, ONE.checks[0], state, run_of(ONE)) is Colour.RED
    assert state.compared.get(Against.BASE, {}) == {}


def test_work_that_still_fails_after_an_attempt_at_it_goes_on_to_use_the_same_budget() -> None:
    once = [*joined(), *judged(1), *worked(2), *judged(1)]
    twice = [*once, *worked(3), *judged(1)]

    state = fold_step(StepState(), [*once, worked(3)[0]])

    assert isinstance(next_command(ONE, once), Attempt)
    assert (state.fixes, state.integrations) == (0, 2)
    reason = "still failing after 2 attempts to let it pass with what landed since its base (step-2): check 1"
    assert next_command(ONE, twice) == Finish(state=StepEnd.BLOCKED, reason=reason)


def asking(choice: str = "", comment: str = "") -> RunState:
    """A run whose setting says that a person is asked about conflicts, and what that person answered."""
    run = Scene(steps=[ONE, step_of("step-2")], started=replace(run_started(), on_conflict=OnConflict.ASK)).run()
    fold_run(run, [finish("step-2", commit="2" * 40)])
    if choice:
        parked = next_command(ONE, joined("a.py"), run)
        assert isinstance(parked, Park)
        assert parked.opens is not None
        fold_run(run, [parked.opens, ev.GateAnswered(gate=parked.gate, choice=choice, comment=comment)])
    return run


def test_a_person_is_asked_about_a_conflict_where_a_setting_says_so() -> None:
    parked = next_command(ONE, joined("a.py"), asking())

    assert isinstance(parked, Park)
    assert parked.gate == "conflict-a"
    assert parked.opens is not None
    assert parked.opens.options == ("retry", "reject")
    assert parked.opens.paths == ("a.py",)
    assert "its changes conflict with what landed since its base (step-2) in a.py" in parked.opens.question
    assert "step-2 is 222222222" in parked.opens.question


def test_the_answer_to_a_conflict_is_followed() -> None:
    again = next_command(ONE, joined("a.py"), asking(choice="retry"))
    rejected = next_command(ONE, joined("a.py"), asking(choice="reject", comment="no"))

    assert isinstance(again, Attempt)
    assert rejected == Finish(state=StepEnd.FAILED, reason="rejected: no", rejected=True, said="no")


def test_conflicts_of_maestro_plans_are_asked_about_unless_a_setting_says_otherwise() -> None:
    def decide(on_conflict: OnConflict | None) -> Command | Verdict | None:
        run = Scene(steps=[ONE], started=replace(run_started(), on_conflict=on_conflict)).run()
        run.plan = replace(run.plan, format="maestro")
        return land(orders_for(run, ONE), fold_step(StepState(), joined("a.py")), run)

    assert isinstance(decide(None), Park)
    assert decide(OnConflict.AGENT) is Verdict.FAILED


def test_in_autopilot_a_conflict_that_a_person_decides_blocks_the_step() -> None:
    started = replace(run_started(autonomy="autopilot"), on_conflict=OnConflict.ASK)
    run = Scene(steps=[ONE], started=started).run()

    blocked = next_command(ONE, joined("a.py"), run)

    assert isinstance(blocked, Finish)
    assert (blocked.state, blocked.opens is not None) == (StepEnd.BLOCKED, True)


def test_of_checks_that_fail_together_each_is_repeated_and_none_without_end() -> None:
    state = StepState()
    for number, runs in ((0, 3), (1, 2)):
        ended = ev.CheckEnded(check=number, command=f"check {number}", tree=TREE, tree_after=TREE, exit_code=1)
        state.verdicts[number] = CheckResult(ended=ended, runs=runs)

    assert list_repeatable(state) == [1]
