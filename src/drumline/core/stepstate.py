"""The state of one step, folded from its stream along the table in `life.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from drumline.core import events as ev
from drumline.core.attempts import Attempts, Ending
from drumline.core.checkfailure import is_work
from drumline.core.ids import NO_DRIVER, Commit, DriverId, Tree
from drumline.core.judge import Touched, is_doubtful, is_grave, list_reverted
from drumline.core.leftovers import tell_check
from drumline.core.life import WALKING, Phase, step_forward
from drumline.core.proof import Against, Colour, Compared
from drumline.core.silence import tell_silence
from drumline.core.spending import COST, add_up, count_attempt
from drumline.core.taxonomy import Failure, consumes_fix

MOST_NOTICES = 20
UNCHANGED = "You said that you were done, but no file had changed."


@dataclass(kw_only=True, slots=True)
class Verdict:
    """The latest result of one check since the last attempt, and how often it ran."""

    ended: ev.CheckEnded
    runs: int = 1


@dataclass(kw_only=True, slots=True)
class StepState(Attempts):
    """Everything a step's stream says, with the attempts of the present round.

    `asked` is the latest attempt. `notices` are what was remarkable about its attempts, `ignored` files that git
    ignores and that were there before them, `fingerprints` of those that the plan names.

    Figures of all rounds never shrink: `reached` is the highest number of an attempt that began, `lost` counts those
    that were cut short, `usage` and `spent` (by agent) what all of them used; `fixes` are of this round,
    `fixes_before` of those before. `kills` counts work lost in a row because something was killed, `killed` says what
    that was last. `metered` is what the attempt under way has used so far.

    `touched` are the files of the judge that the work has changed, `warned` says that its agent was told so, and
    `compared` is what checks, by their numbers, say about other trees.
    """

    version: int = 0
    phase: Phase = Phase.WAITING
    round: int = 0
    driver: DriverId = NO_DRIVER
    base: Commit | None = None
    workspace: str = ""
    tree: Tree | None = None
    ready: Tree | None = None
    ignored: tuple[str, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = True
    attempts: int = 0
    reached: int = 0
    lost: int = 0
    fixes: int = 0
    fixes_before: int = 0
    kills: int = 0
    killed: str = ""
    asked: ev.AttemptStarted | None = None
    last: ev.AttemptEnded | None = None
    verdicts: dict[int, Verdict] = field(default_factory=dict)
    touched: tuple[Touched, ...] = ()
    warned: bool = False
    compared: dict[Against, dict[int, Compared]] = field(default_factory=dict)
    feedback: tuple[ev.CheckEnded, ...] = ()
    complaint: str = ""
    trouble: str = ""
    landing_head: Commit | None = None
    candidate: Commit | None = None
    refused: ev.LandingRefused | None = None
    landed: ev.StepLanded | None = None
    seconds: float = 0.0
    usage: dict[str, float] = field(default_factory=dict)
    spent: dict[str, dict[str, float]] = field(default_factory=dict)
    metered: ev.AttemptUsed | None = None
    notices: tuple[str, ...] = ()

    @property
    def all_fixes(self) -> int:
        """Fixes of this round and of those before."""
        return self.fixes_before + self.fixes

    @property
    def failure(self) -> Failure | None:
        """The class of failure the last attempt ended with, if it failed."""
        return Failure(self.last.failure) if self.last and self.last.failure else None

    @property
    def ran_dry(self) -> bool:
        """Whether the last attempt ended because it had spent what it was given: its agent could go on with more."""
        given = self.asked.budget if self.asked else None
        if self.last is None or self.failure is not Failure.QUOTA or given is None:
            return False
        return self.last.usage.get(COST, 0.0) >= given

    def failing(self) -> tuple[ev.CheckEnded, ...]:
        """Checks that did not pass on the tree as it is, in order."""
        return tuple(v.ended for _, v in sorted(self.verdicts.items()) if v.ended.exit_code != 0)

    def faults(self) -> tuple[ev.CheckEnded, ...]:
        """Failing checks that say something about the work: those that go back to the agent."""
        return tuple(ended for ended in self.failing() if is_work(ended.failure))

    @property
    def hindered(self) -> ev.CheckEnded | None:
        """The first check that could not be run for a reason that is not the work's, where no other one fails."""
        failing = self.failing()
        return failing[0] if failing and not self.faults() else None

    def void(self) -> tuple[ev.CheckEnded, ...]:
        """Checks that passed and changed the tree: they count as tried and prove nothing."""
        return tuple(v.ended for _, v in sorted(self.verdicts.items()) if v.ended.exit_code == 0 and v.ended.altered)

    def proves(self, check: int) -> bool:
        """Whether the check passed on exactly the tree as it is now, and left it alone."""
        found = self.verdicts.get(check)
        if found is None or found.ended.exit_code != 0 or found.ended.altered:
            return False
        return found.ended.tree == found.ended.tree_after == self.tree


def fold_step(state: StepState, events: Iterable[ev.Event]) -> StepState:
    """Apply the step stream's events in order; returns the same object."""
    for event in events:
        before = state.phase
        state.phase = step_forward(before, type(event))
        if type(event) in _ENDS:
            state.kills = 0
        _APPLY[type(event)](state, event, before)
        state.version += 1
    return state


def _claimed(state: StepState, event: ev.StepClaimed, _: Phase) -> None:
    state.driver = event.driver
    if state.refused is not None and state.refused.retry:
        state.refused = None
    state.come_due()  # nobody claims it earlier


def _released(state: StepState, event: ev.StepReleased, _: Phase) -> None:
    state.driver = NO_DRIVER
    if event.until is not None:
        state.rest(event.until)


def _restarted(state: StepState, event: ev.StepRestarted, before: Phase) -> None:
    if before is Phase.LANDED:  # done once more: its earlier landing is not to be found again
        state.landed = state.landing_head = state.candidate = None
    state.feedback = state.faults() or state.feedback
    _begin_round(state, event.round)
    state.base = state.tree = None  # a landing is looked for from the first head on, in every round
    state.refresh()
    state.last = state.asked = state.refused = None
    state.agent = state.session = state.cut_short = ""
    state.verdicts = {}
    state.trouble = ""


def _rechecked(state: StepState, event: ev.StepRechecked, _: Phase) -> None:
    _begin_round(state, event.round)
    state.verdicts = {}


def _begin_round(state: StepState, number: int) -> None:
    """Budgets are fresh; figures go on."""
    state.round = number
    state.fixes_before = state.all_fixes
    state.fixes = state.waits = state.crashes = state.rests = state.kills = 0
    state.warned = False


def _assigned(state: StepState, event: ev.WorkspaceAssigned, _: Phase) -> None:
    state.workspace = event.path
    state.base = event.base
    state.trouble = ""


def _ready(state: StepState, event: ev.WorkspaceReady, _: Phase) -> None:
    if event.tree != state.ready:
        state.compared = {}
    state.tree = state.ready = event.tree
    state.ignored = event.ignored
    state.fingerprints = event.fingerprints
    state.fresh = True
    state.session = ""


def _unready(state: StepState, event: ev.WorkspaceFailed, _: Phase) -> None:
    state.trouble = event.reason


def _attempt_started(state: StepState, event: ev.AttemptStarted, before: Phase) -> None:
    if before is Phase.WORKED:
        _spend(state)
    if not event.relayed:
        state.begin(event.agent)
    state.asked = event
    state.reached = max(state.reached, event.attempt)
    state.metered = None
    state.last = state.refused = None
    state.verdicts = {}
    state.compared = {against: found for against, found in state.compared.items() if against is Against.BASE}


def _spend(state: StepState) -> None:
    """Charge the attempt that just begins to a budget, and keep what its agent has to be told."""
    failure, last = state.failure, state.last
    if failure and not consumes_fix(failure):  # nobody judged the work: what was told before still holds
        return
    if last and last.question and not failure:
        return
    state.feedback = state.faults()
    foul = "" if failure or state.feedback else tell_foul(state)
    state.complaint = foul or _complain(last, failing=bool(state.feedback))
    state.warned = state.warned or bool(foul)
    if failure or state.feedback or foul:
        state.fixes += 1


def tell_foul(state: StepState) -> str:
    """What is wrong with work that passes only because of what it did to its judge; empty if it is not so."""
    return _tell_changed_judge(state) or list_silenced(state)


def list_silenced(state: StepState) -> str:
    """The checks that pass without running their tests."""
    trees = (Against.BASE, Against.BASE_SOURCE)
    told = []
    for number, verdict in sorted(state.verdicts.items()):
        before = [state.compared[tree][number] for tree in trees if number in state.compared.get(tree, {})]
        told.append(tell_silence(verdict.ended, before, touched=is_doubtful(state.touched)))
    silent = "; ".join(filter(None, told))
    return f"the checks pass without their tests: {silent}." if silent else ""


def _tell_changed_judge(state: StepState) -> str:
    """What is wrong with work that passes only with the judge that it changed itself; empty if it is not so.

    A check that failed before the work cannot have been weakened: a target, a program or tests that it needs are new.
    """
    before = state.compared.get(Against.BASE, {})
    asked = state.compared.get(Against.BASE_JUDGE, {}).values()
    passed = {found.check for found in before.values() if found.colour is Colour.GREEN}
    red = [found.command for found in asked if found.colour is Colour.RED and found.check in passed]
    if not red or not is_grave(state.touched):
        return ""
    files = ", ".join(list_reverted(state.touched))
    return (
        f"the checks pass only because the work changed what judges it ({files}): "
        f"with these files as they were before, this fails: {', '.join(red)}."
    )


def _complain(last: ev.AttemptEnded | None, *, failing: bool) -> str:
    if last is None:
        return ""
    return last.message if last.failure else UNCHANGED if last.unchanged and failing else ""


def _attempt_ended(state: StepState, event: ev.AttemptEnded, _: Phase) -> None:
    state.last = event
    state.attempts = event.attempt
    state.fresh = False
    state.tree = event.tree
    state.touched = event.touched
    state.notices = tuple(dict.fromkeys((*state.notices, *event.told)))[-MOST_NOTICES:]
    _charge(state, event.usage, event.seconds)
    if state.asked is not None and state.asked.relayed:
        return
    state.conclude(
        Ending(
            failure=state.failure,
            message=event.message,
            session=event.session,
            resets_at=event.resets_at,
            ran_dry=state.ran_dry,
        )
    )


def _charge(state: StepState, usage: Mapping[str, float], seconds: float) -> None:
    """Add what one attempt has used to the sums."""
    state.metered = None
    state.seconds += seconds
    if state.asked is not None and state.asked.relayed:
        return
    state.usage = add_up((state.usage, usage))
    state.spent[state.agent] = add_up((state.spent.get(state.agent, {}), count_attempt(usage)))


def _attempt_used(state: StepState, event: ev.AttemptUsed, _: Phase) -> None:
    state.metered = event


def _work_changed(state: StepState, event: ev.WorkChanged, _: Phase) -> None:
    state.tree = event.tree
    state.fresh = False
    state.verdicts = {}
    state.compared = {against: found for against, found in state.compared.items() if against is Against.BASE}


def _work_lost(state: StepState, event: ev.WorkLost, before: Phase) -> None:
    if before is Phase.WORKING:
        used = state.metered or ev.AttemptUsed(usage={})
        state.lost += 1
        _charge(state, used.usage, used.seconds)
    if event.killed:
        state.kills += 1
        state.killed = event.killed


def _check_ended(state: StepState, event: ev.CheckEnded, _: Phase) -> None:
    known = state.verdicts.get(event.check)
    state.verdicts[event.check] = Verdict(ended=event, runs=known.runs + 1 if known else 1)
    state.tree = event.tree_after
    state.seconds += event.seconds
    told = tell_check(event.command, created=event.created, altered=event.altered, left=event.left)
    state.notices = tuple(dict.fromkeys((*state.notices, *told)))[-MOST_NOTICES:]


def _comparison_ended(state: StepState, event: ev.ComparisonEnded, _: Phase) -> None:
    state.compared.setdefault(event.against, {}).update({found.check: found for found in event.found})
    state.seconds += sum(found.seconds for found in event.found)


def _landing_started(state: StepState, event: ev.LandingStarted, _: Phase) -> None:
    state.landing_head = state.landing_head or event.head
    state.candidate = event.commit


def _refused(state: StepState, event: ev.LandingRefused, _: Phase) -> None:
    state.refused = event


def _landed(state: StepState, event: ev.StepLanded, _: Phase) -> None:
    state.landed = event


def _nothing(state: StepState, event: ev.Event, _: Phase) -> None:
    """The phase says it all."""


_ENDS = frozenset({ev.WorkspaceReady, ev.AttemptEnded, ev.CheckEnded, ev.LandingRefused, ev.StepLanded})
"""Work that came to its end, whatever it came to: nothing was killed in it."""

_APPLY: dict[type[ev.Event], Callable[[StepState, Any, Phase], None]] = {
    ev.StepClaimed: _claimed,
    ev.StepReleased: _released,
    ev.StepRestarted: _restarted,
    ev.StepRechecked: _rechecked,
    ev.WorkspaceAssigned: _assigned,
    ev.WorkspaceReady: _ready,
    ev.WorkspaceFailed: _unready,
    ev.AttemptStarted: _attempt_started,
    ev.SessionOpened: _nothing,
    ev.AttemptUsed: _attempt_used,
    ev.AttemptEnded: _attempt_ended,
    ev.CheckStarted: _nothing,
    ev.CheckEnded: _check_ended,
    ev.ComparisonStarted: _nothing,
    ev.ComparisonEnded: _comparison_ended,
    ev.LandingStarted: _landing_started,
    ev.LandingRefused: _refused,
    ev.StepLanded: _landed,
    ev.WorkChanged: _work_changed,
    ev.WorkLost: _work_lost,
    **dict.fromkeys(WALKING, _nothing),
}
