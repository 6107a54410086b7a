"""How the events of a step's stream change its state, along the table in `life.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import dropwhile
from typing import Any

from drumline.core import events as ev
from drumline.core.attempts import Ending
from drumline.core.checkfailure import CheckFailure, is_work
from drumline.core.findings import Found, introduce
from drumline.core.flow.events import FlowStarted
from drumline.core.foul import tell_foul
from drumline.core.ids import NO_DRIVER
from drumline.core.leftovers import tell_check, tell_flaky
from drumline.core.life import WALKING, Phase, step_forward
from drumline.core.proof import Against
from drumline.core.spending import add_up, count_attempt
from drumline.core.stepstate import CheckResult, StepState
from drumline.core.strays import NOTHING
from drumline.core.tally import Tally, digest_command
from drumline.core.taxonomy import consumes_fix, goes_on
from drumline.record import replace

MOST_NOTICES = 20
FLAKY = CheckFailure.FLAKY.value
UNCHANGED = "You said that you were done, but no file had changed."


def fold_step(state: StepState, events: Iterable[ev.Event]) -> StepState:
    """Apply the step stream's events in order; returns the same object."""
    for event in events:
        kind = type(event)
        if kind in WALKING:  # by far the commonest; it says nothing about how far the work is
            state.version += 1
            continue
        if isinstance(event, _NUMBERED) and not event.attempt:
            continue  # of a visit, in an earlier journal, which tells of the step's attempt beside it
        before = state.phase
        state.phase = step_forward(before, kind)
        if kind in _ENDS:
            state.kills = 0
        _APPLY[kind](state, event, before)
        state.version += 1
    return state


def begins_walk(event: ev.Event) -> bool:
    """Whether a walk of its own follows the event."""
    return isinstance(event, ev.StepRestarted) or (isinstance(event, ev.StepRechecked) and event.anew)


def list_walked(events: Sequence[ev.Event]) -> list[ev.Event]:
    """What a step's stream tells of its latest walk, from the start of the flow.

    Attempts before that are of a time when steps walked no flow.
    """
    begun = max((n for n, event in enumerate(events) if begins_walk(event)), default=-1)
    since = dropwhile(lambda event: not isinstance(event, FlowStarted), events[begun + 1 :])
    return [event for event in since if type(event) in _WALKED]


def _claimed(state: StepState, event: ev.StepClaimed, _: Phase) -> None:
    state.driver = event.driver
    if state.refused is not None and state.refused.retry:
        state.refused = None
    state.come_due()  # nobody claims it earlier


def _released(state: StepState, event: ev.StepReleased, _: Phase) -> None:
    state.driver = NO_DRIVER
    if event.until is not None:
        state.set_timer(event.until)


def _restarted(state: StepState, event: ev.StepRestarted, before: Phase) -> None:
    if before is Phase.LANDED:  # done once more: its earlier landing is not to be found again
        state.landed = state.landing_head = state.candidate = None
    state.feedback = state.faults() or state.feedback
    state.learned, state.mending = (*state.learned, *state.settle_fix()), ()
    _begin_round(state, event.round)
    state.moved, state.joined, state.shown, state.clash, state.earlier = None, False, {}, None, ()
    state.strayed, state.sharing = NOTHING, ()
    state.change = state.origin = None
    state.base = state.tree = None  # a landing is looked for from the first head on, in every round
    state.refresh()
    state.last = state.asked = state.refused = None
    state.agent = state.session = state.cut_short = ""
    state.verdicts, state.unread = {}, {}
    if not event.keeps:
        state.reviewed, state.findings = None, {}
    state.swept = state.handed = None
    state.trouble = ""


def _rechecked(state: StepState, event: ev.StepRechecked, _: Phase) -> None:
    _begin_round(state, event.round)
    state.verdicts = {}


def _begin_round(state: StepState, number: int) -> None:
    """Budgets are fresh; figures go on."""
    state.round = number
    _refresh(state)
    state.kills = 0


def _refresh(state: StepState) -> None:
    state.fixes_before = state.all_fixes
    state.fixes = state.waits = state.crashes = state.timers = state.integrations = state.timeouts = state.reviews = 0
    state.warned = state.doubted = state.overstepped = state.superseding = False


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
    if event.reads:
        state.asked, state.metered, state.read_in = event, None, before
        state.reached = max(state.reached, event.attempt)
        state.readings[event.attempt] = event.node
        return
    state.learned, state.mending, state.given = (*state.learned, *state.settle_fix()), (), event.lessons
    if before is Phase.WORKED and (event.doubts or event.oversteps or event.reviewed):
        state.complaint, state.feedback = introduce(event.complaint, reviewed=event.reviewed), ()
        state.doubted, state.overstepped = state.doubted or event.doubts, state.overstepped or event.oversteps
        state.reviews += event.reviewed
    elif before is Phase.WORKED and event.supersedes:
        state.complaint, state.feedback, state.superseding = event.complaint, state.faults(), True
    elif before is Phase.WORKED:
        _spend(state, event.complaint)
    if event.revises:
        _refresh(state)
    if not event.by_visit:
        state.begin(event.agent)
    state.asked = event
    state.reached = max(state.reached, event.attempt)
    state.metered = None
    state.last = state.refused = state.mutants = None
    state.joined = False
    state.change = state.origin = None
    state.verdicts = {}
    state.compared = {against: found for against, found in state.compared.items() if against is Against.BASE}


def _spend(state: StepState, told: str) -> None:
    """Charge the attempt that just begins to a budget, and keep what its agent has to be told."""
    failure, last = state.failure, state.last
    if goes_on(failure) and state.verdicts:  # only what the checks miss is left to do
        state.feedback = state.faults()
        state.passing = tuple(v.ended.command for _, v in sorted(state.verdicts.items()) if v.ended.exit_code == 0)
        return
    state.passing = ()
    if failure and not consumes_fix(failure):  # nobody judged the work: what was told before still holds
        return
    if last and last.question and not failure:
        return
    state.feedback = state.faults()
    foul = "" if failure or state.feedback else tell_foul(state.judged)
    state.complaint = foul or told or _complain(last, nothing=bool(state.feedback) or state.tree == state.ready)
    state.warned = state.warned or bool(foul)
    state.clash = None if failure else state.find_clash()
    if state.clash is not None:
        state.integrations += 1
    elif failure or state.feedback or foul or told:
        state.fixes += 1
        state.mending = state.feedback


def _complain(last: ev.AttemptEnded | None, *, nothing: bool) -> str:
    """What is told about the attempt itself; `nothing` says that it counts if it changed nothing."""
    if last is None:
        return ""
    denied = f"You reported yourself that the work is not done:\n\n{last.denial}" if last.denial else ""
    return last.message if last.failure else denied or (UNCHANGED if last.unchanged and nothing else "")


def _attempt_ended(state: StepState, event: ev.AttemptEnded, _: Phase) -> None:
    if state.asked is not None and state.asked.reads:
        state.phase = state.read_in
        state.note_answer(event)
        state.attempts = event.attempt
        state.notices = tuple(dict.fromkeys((*state.notices, *event.told)))[-MOST_NOTICES:]
        _charge(state, event.usage, event.seconds)
        return
    state.last = event
    state.attempts = event.attempt
    state.fresh = False
    state.tree = event.tree
    state.touched = event.touched
    state.strayed, state.sharing = event.strayed, event.sharing
    state.coming = tuple(dict.fromkeys((*state.coming, *event.coming)))[-MOST_NOTICES:]
    state.notices = tuple(dict.fromkeys((*state.notices, *event.told)))[-MOST_NOTICES:]
    _charge(state, event.usage, event.seconds)
    if state.asked is not None and state.asked.by_visit:
        return
    state.timeouts += goes_on(state.failure)
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
    if state.asked is not None and state.asked.by_visit:
        return
    state.usage = add_up((state.usage, usage))
    state.spent[state.agent] = add_up((state.spent.get(state.agent, {}), count_attempt(usage)))


def _attempt_used(state: StepState, event: ev.AttemptUsed, _: Phase) -> None:
    state.metered = event


def _work_changed(state: StepState, event: ev.WorkChanged, _: Phase) -> None:
    state.tree = event.tree
    state.strayed, state.sharing = event.strayed, event.sharing
    undone = [f"put back as they were before the work: {', '.join(event.undone)}"] if event.undone else []
    state.notices = tuple(dict.fromkeys((*state.notices, *undone)))[-MOST_NOTICES:]
    state.change = state.origin = None
    state.mutants = None
    state.fresh = False
    state.verdicts = {}
    state.compared = {against: found for against, found in state.compared.items() if against is Against.BASE}


def _work_rebased(state: StepState, event: ev.WorkRebased, _: Phase) -> None:
    if event.tree != state.tree or event.sharing[: len(state.sharing)] != state.sharing:
        state.verdicts = {}  # else what is proved of it stays so
    state.sharing = event.sharing
    if state.change is None:
        state.change, state.origin = event.change, state.base
    state.base, state.ready, state.tree = event.base, event.ready, event.tree
    state.moved, state.joined = event, True
    state.learned, state.mending = (*state.learned, *state.settle_fix()), ()
    state.fresh = False
    state.refused = None
    # What failed before the work began still shows what the work did; what fails on the new base is another question.
    state.shown = {**state.compared.pop(Against.BASE, {}), **state.shown}


def _work_lost(state: StepState, event: ev.WorkLost, before: Phase) -> None:
    if before is Phase.WORKING and state.asked is not None and state.asked.reads:
        state.phase = state.read_in
    if before is Phase.WORKING:
        used = state.metered or ev.AttemptUsed(usage={})
        state.lost += 1
        _charge(state, used.usage, used.seconds)
    if event.killed:
        state.kills += 1
        state.killed = event.killed


def _check_ended(state: StepState, event: ev.CheckEnded, _: Phase) -> None:
    known = state.verdicts.get(event.check)
    flaky = event.flaky or bool(known and known.flaky)
    state.verdicts[event.check] = CheckResult(ended=event, runs=known.runs + 1 if known else 1, flaky=flaky)
    _count_run(state, event)
    if event.tree_after != state.tree:  # what was known is about another tree
        state.verdicts = {event.check: state.verdicts[event.check]}
        state.compared = {against: found for against, found in state.compared.items() if against is Against.BASE}
        state.mutants, state.fresh = None, False
    state.tree = event.tree_after
    state.seconds += event.seconds
    left = {"created": event.created, "altered": event.altered, "restored": event.restored, "outside": event.outside}
    told = tell_check(event.command, **left, left=event.left)
    told += [tell_flaky(event.command)] if event.flaky else []
    state.notices = tuple(dict.fromkeys((*state.notices, *told)))[-MOST_NOTICES:]


def _count_run(state: StepState, event: ev.CheckEnded) -> None:
    """Remember what a check said of a tree, if it said something."""
    passed = event.exit_code == 0
    said = passed or is_work(event.failure) or event.failure == FLAKY
    if event.exit_code is None or event.outside or not said:
        return
    state.seen[event.command] = event.tree, passed
    digest = digest_command(event.command)
    known = state.tallies.get(digest, Tally(check=digest))
    state.tallies[digest] = known.plus(runs=1, changed=int(event.flaky))


def _work_reviewed(state: StepState, event: ev.WorkReviewed, _: Phase) -> None:
    state.reviewed = event


def _work_swept(state: StepState, event: ev.WorkSwept, _: Phase) -> None:
    state.swept = event


def _handoff_written(state: StepState, event: ev.HandoffWritten, _: Phase) -> None:
    state.handed = event


def _finding_recorded(state: StepState, event: ev.FindingRecorded, _: Phase) -> None:
    state.findings[event.finding.id] = Found(finding=event.finding)
    state.numbered += 1


def _finding_confirmed(state: StepState, event: ev.FindingConfirmed, _: Phase) -> None:
    if (known := state.findings.get(event.finding)) is not None:
        state.findings[event.finding] = replace(known, confirmed=event.by, why=event.why)


def _finding_settled(state: StepState, event: ev.FindingSettled, _: Phase) -> None:
    if (known := state.findings.get(event.finding)) is not None:
        settled = replace(known, settled=event.how, settled_by=event.by, why=event.why)
        state.findings[event.finding] = settled


def _comparison_ended(state: StepState, event: ev.ComparisonEnded, _: Phase) -> None:
    state.compared.setdefault(event.against, {}).update({found.check: found for found in event.found})
    state.seconds += sum(found.seconds for found in event.found)


def _mutants_ended(state: StepState, event: ev.MutantsEnded, _: Phase) -> None:
    state.mutants = event.found
    state.seconds += event.seconds


def _landing_started(state: StepState, event: ev.LandingStarted, _: Phase) -> None:
    state.earlier, state.clash = state.since, None  # it passes
    state.landing_head = state.landing_head or event.head
    state.candidate = event.commit


def _refused(state: StepState, event: ev.LandingRefused, _: Phase) -> None:
    state.refused = event


def _landed(state: StepState, event: ev.StepLanded, _: Phase) -> None:
    state.landed = event


def _nothing(state: StepState, event: ev.Event, _: Phase) -> None:
    """The phase says it all."""


_NUMBERED = (ev.AttemptStarted, ev.AttemptEnded)
_WALKED = WALKING | {*ev.ATTEMPTS}
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
    ev.MutantsStarted: _nothing,
    ev.MutantsEnded: _mutants_ended,
    ev.LandingStarted: _landing_started,
    ev.LandingRefused: _refused,
    ev.StepLanded: _landed,
    ev.WorkReviewed: _work_reviewed,
    ev.WorkSwept: _work_swept,
    ev.HandoffWritten: _handoff_written,
    ev.FindingRecorded: _finding_recorded,
    ev.FindingConfirmed: _finding_confirmed,
    ev.FindingSettled: _finding_settled,
    ev.WorkChanged: _work_changed,
    ev.WorkRebased: _work_rebased,
    ev.WorkLost: _work_lost,
}
