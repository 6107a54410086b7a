"""Why a step is as it is: the nearest cause, and the command to type next.

Every unfinished step has a live owner, a timer or a named blocker; `cause` never answers without one of them. It looks
at the step and its needs only, so that a table of ten thousand steps stays linear; `why.py` follows it to the root.
"""

from __future__ import annotations

import shlex
from math import inf
from typing import assert_never

from drumline.core.acceptance import list_red_steps, tell_red
from drumline.core.corrections import find_sent_back
from drumline.core.events import StepFinished
from drumline.core.ids import FINAL, FLOW, DriverId, GateId, StepId
from drumline.core.needs import STUCK
from drumline.core.plaintext import name_some
from drumline.core.plan import RUN_WALKS, Marks, Step
from drumline.core.proof import Level, Proof, Reason
from drumline.core.schedule import Obstacle, obstacle
from drumline.core.state import RunState
from drumline.core.task import is_task
from drumline.core.vocabulary import STUCK as ASKED_AFTER
from drumline.core.vocabulary import Hindrance, Mode, PlanCause, RunStanding, StepEnd
from drumline.record import Record, replace
from drumline.views.activity import activity
from drumline.views.cells import flatten
from drumline.views.duration import duration
from drumline.views.findings import tell_review
from drumline.views.gates import answer_command, list_asking, retry_command
from drumline.views.places import list_timers, visit_name
from drumline.views.snapshot import Snapshot
from drumline.views.states import run_state, step_state

OWNER, TIMER, BLOCKER, FINISHED = "owner", "timer", "blocker", "finished"
SHORT_COMMIT = 9
MOST_TESTS = 5


DOUBTS = {
    Reason.RED_BEFORE: "a configured check fails as it did before the work",
    Reason.GREEN_BEFORE: "its checks pass without the work, too",
    Reason.TESTS_CHANGED: "its checks pass only with the tests that it changed",
    Reason.SUPERSEDED: "a check of it fails on what the run leaves behind",
    Reason.BASE_UNKNOWN: "it is not known whether its checks failed before the work",
    Reason.SURVIVORS: "its checks do not notice changes to its work",
}
"""Why a step that broke nothing is not proved."""


class Cause(Record):
    """One reason: a kind, a clause for people, and who, what question, until when. `steps` are the unmet needs."""

    kind: str
    text: str
    hint: str
    owner: DriverId | None = None
    gate: GateId | None = None
    until: float | None = None
    steps: tuple[StepId, ...] = ()


def cause(snapshot: Snapshot, step: Step) -> Cause:
    """The nearest reason why the step is as it is."""
    return (
        _settled(snapshot, step)
        or _owned(snapshot, step)
        or _outside(snapshot, step)
        or _cancelled(snapshot)
        or _pausing(snapshot)
        or _obstructed(snapshot, step)
        or _idle(snapshot)
    )


def explain_doubt(finished: StepFinished) -> str:
    """Why a landed step is not proved; empty if it is."""
    proof = finished.proof
    if proof is None or proof.is_proved:
        return ""
    if finished.step == FLOW:
        return "walked to its end, which proves nothing by itself"
    if proof.level is Level.READ_ONLY:
        return "changed no file, as its role may only read"
    if proof.level is Level.DECLARED:
        return "its work changed no file; a person said that it was done already"
    if finished.unchanged and finished.files:
        return f"landed only {name_some(map(flatten, finished.files))}, no product of its own: its checks prove nothing"
    if finished.unchanged:
        return "its work changed no file, so its checks prove nothing"
    if finished.links:
        named = name_some(map(flatten, finished.links))
        return f"landed {named} as a link to a file outside of the repository: its checks prove nothing"
    if finished.hidden:
        named = name_some(map(flatten, finished.hidden))
        why = "only a check makes" if finished.removed == finished.hidden else "git ignores"
        return f"landed without {named}, which the plan asks for and {why}: its checks prove nothing"
    if proof.level is Level.KEPT:
        return f"kept, not proved: {'; '.join(DOUBTS[reason] for reason in proof.why)}{_show_tests(finished, proof)}"
    if not finished.checks_total:
        return finished.reason or "landed, but it has no checks that could prove it"
    if finished.checks_passed < finished.checks_total:
        void = f" ({name_some(map(flatten, finished.void))} changes the tree)" if finished.void else ""
        if finished.outside:
            void = f" ({name_some(map(flatten, finished.outside))} loaded code of your checkout: configure setup)"
        some = f"only {finished.checks_passed}" if finished.checks_passed else "none"
        return f"landed, but {some} of its {finished.checks_total} checks could be run{void}"
    return "landed with another tree than the one that its checks ran on"


def _show_tests(finished: StepFinished, proof: Proof) -> str:
    """The command that shows how the judge was changed, if that is the doubt."""
    if Reason.TESTS_CHANGED not in proof.why or not finished.tests or finished.commit is None:
        return ""
    return f" (git show {finished.commit[:SHORT_COMMIT]} -- {shlex.join(finished.tests[:MOST_TESTS])})"


def round_hint(finished: StepFinished, run: RunState) -> str:
    """The command that gives a step another round: the answer to a question about it, or a retry after a login.

    Of a step and its corrective step, it is the other one that is to be looked at while that is not over, or stuck.
    """
    planned = run.corrections.get(finished.step)
    if planned is not None and planned.cause is PlanCause.HEAL:
        return f"drumline why {planned.helps}"
    helpers = (name for name, other in run.corrections.items() if other.helps == finished.step)
    helper = next((name for name in helpers if name not in run.finished), None)
    if helper is not None:
        return f"drumline why {helper}"
    asked = (gate.opened for gate in run.unanswered.values() if gate.opened.step == finished.step)
    opened = next((one for one in asked if one.kind not in ASKED_AFTER and one.options), None)
    if opened is not None:
        return answer_command(opened, driven=False)
    retry = f"drumline retry {finished.step}"
    return f"{finished.login} && {retry}" if finished.login else retry


def list_rounds(run: RunState) -> list[str]:
    """The commands that give another round to the steps that are stuck in a run that nobody drives.

    Left out are steps about which list_asking has the question, those that a person rejected, and walks of the run.
    """
    asked = {gate.opened.step for gate in list_asking(run)}
    stuck = [
        finished
        for finished in run.finished.values()
        if finished.state in (StepEnd.BLOCKED, StepEnd.FAILED) and not (finished.rejected or finished.login)
        if finished.step not in asked and finished.step not in RUN_WALKS and finished.step not in run.corrections
    ]
    hints = [(finished.step, round_hint(finished, run)) for finished in stuck]
    return [retry_command(step) if hint.startswith("drumline retry ") else hint for step, hint in hints]


def _settled(snapshot: Snapshot, step: Step) -> Cause | None:
    run = snapshot.run
    finished = run.finished.get(step.id)
    if finished is not None:
        return _finished(finished, snapshot)
    if step.id in run.declared:
        text = f"{step.path or 'its file'} says so; this run has no proof of it"
        return Cause(kind=FINISHED, text=text, hint="drumline status")
    return None


def tell_reason(finished: StepFinished) -> str:
    """Why a step is not done, beside its state."""
    return finished.said or finished.reason


def _finished(finished: StepFinished, snapshot: Snapshot) -> Cause:
    match finished.state:
        case StepEnd.DONE if finished.step in RUN_WALKS:
            steps = list_red_steps(snapshot.run) if finished.step == FINAL else ()
            found = [f"{step.id}: {tell_red(snapshot.run, step)}" for step in steps]
            text = "; ".join(["walked to its end", *found])
            return Cause(kind=FINISHED, text=text, hint=f"drumline logs {finished.step}")
        case StepEnd.DONE:
            by = f"landed by {finished.landed_by}" if finished.landed_by else "landed"
            landed = f"landed as {finished.commit[:SHORT_COMMIT]}" if finished.commit else by
            proved = f"{landed}, proved by {finished.checks_passed} of {finished.checks_total} checks"
            hint = f"drumline why {finished.landed_by}" if finished.landed_by else f"drumline logs {finished.step}"
            red = tell_red(snapshot.run, snapshot.run.define(finished.step))
            back = _tell_sent_back(snapshot, finished.step)
            told = filter(None, (explain_doubt(finished) or proved, red, back, tell_review(finished)))
            return Cause(kind=FINISHED, text="; ".join(told), hint=hint)
        case StepEnd.SKIPPED:
            text = flatten(finished.reason) or "no reason given"
            return Cause(kind=FINISHED, text=text, hint=f"drumline retry {finished.step}")
        case StepEnd.BLOCKED | StepEnd.FAILED:
            kind = BLOCKER if finished.state is StepEnd.BLOCKED else FINISHED
            text = flatten(tell_reason(finished)) or "no reason was recorded"
            return _ask_about(finished, Cause(kind=kind, text=text, hint=round_hint(finished, snapshot.run)), snapshot)
        case _:
            assert_never(finished.state)


def _tell_sent_back(snapshot: Snapshot, step: StepId) -> str:
    """That a person called what landed not good, and which corrective step puts it right; empty if nobody did."""
    name = find_sent_back(snapshot.run, step)
    if name is None:
        return ""
    known = name in snapshot.run.plan.by_id
    state = step_state(snapshot, name).value if known else "not in the plan"
    if known and state == StepEnd.DONE.value:
        return f"a person called it not good; {name} has landed to put it right"
    return f"a person called it not good; {name} is to put it right ({state})"


def _ask_about(finished: StepFinished, found: Cause, snapshot: Snapshot) -> Cause:
    """The same cause, with the question what is to become of a step that is stuck, if that is open."""
    asked = (gate.opened for gate in list_asking(snapshot.run) if gate.opened.step == finished.step)
    opened = next((one for one in asked if one.kind in ASKED_AFTER and one.gate not in snapshot.answers), None)
    if opened is None:
        return found
    first = flatten(opened.asks.partition("\n")[0]).rstrip(";")  # its question shows the other lines
    answer = answer_command(opened, driven=bool(snapshot.live))
    return replace(found, text=first or found.text, gate=opened.gate, hint=found.hint if finished.login else answer)


def _owned(snapshot: Snapshot, step: Step) -> Cause | None:
    doing = activity(snapshot, step.id)
    if doing is None:
        return None
    owner = snapshot.owners[step.id]
    hint = f"drumline logs {step.id}"
    if doing.until is not None:
        text = f"driver {owner} waits before the next try: {doing.text}"
        return Cause(kind=TIMER, text=text, hint=hint, owner=owner, until=doing.until)
    since = f", for {duration(snapshot.now - doing.since)}" if doing.since is not None else ""
    return Cause(kind=OWNER, text=f"driver {owner} has it: {doing.words}{since}", hint=hint, owner=owner)


def _outside(snapshot: Snapshot, step: Step) -> Cause | None:
    if step.id in snapshot.selected:
        return None
    if step.id in RUN_WALKS:
        return None if snapshot.run.has_begun(step.id) else _without_walk(snapshot, step)
    if step.elsewhere:
        text = f"it is for the repository {flatten(step.elsewhere)} and is not run here"
        status = snapshot.run.marks.get(step.id, Marks()).status
        stuck = f"; its file marks it {status.value}" if status in STUCK else ""
        return Cause(
            kind=BLOCKER, text=f"{text}{stuck}", hint=f"drumline validate {shlex.quote(snapshot.run.begun.plan)}"
        )
    hint = f"drumline run {shlex.quote(snapshot.run.begun.plan)} --step {step.id}"
    return Cause(kind=BLOCKER, text="not part of this run", hint=hint)


def _without_walk(snapshot: Snapshot, step: Step) -> Cause:
    """A walk of the run itself that nobody has begun: it may have nothing to do, and is shown only if it has."""
    text = f"this run has not come to it, or its flow {step.flow!r} has nothing to do"
    return Cause(kind=BLOCKER, text=text, hint=f"drumline flow graph {step.flow}")


def _cancelled(snapshot: Snapshot) -> Cause | None:
    cancel = snapshot.run.cancel
    if cancel is None:
        return None
    who = f" by {flatten(cancel.by)}" if cancel.by else ""
    why = f": {flatten(cancel.reason)}" if cancel.reason else ""
    return Cause(kind=BLOCKER, text=f"the run was cancelled{who}{why}", hint=_going_on(snapshot.run))


def _pausing(snapshot: Snapshot) -> Cause | None:
    """While what is at work ends its nodes; once the run is parked, that says why."""
    pause = snapshot.run.pause
    if pause is None or snapshot.run.parked or not snapshot.live:
        return None
    who = f" by {flatten(pause.by)}" if pause.by else ""
    text = f"the run is being paused{who}: nothing new begins"
    return Cause(kind=BLOCKER, text=text, hint=f"drumline wait {snapshot.run.id}, then drumline resume")


def _obstructed(snapshot: Snapshot, step: Step) -> Cause | None:
    found = obstacle(snapshot.run, step, snapshot.around, snapshot.horizon)
    if found is None:
        return None
    retry = f"drumline retry {step.id}"
    match found.kind:
        case Hindrance.GATE:
            return _gated(snapshot, found)
        case Hindrance.NEEDS:
            named = name_some(f"{need} ({_need_state(snapshot, need)})" for need in found.steps)
            return Cause(kind=BLOCKER, text=f"needs {named}", hint=f"drumline why {found.steps[0]}", steps=found.steps)
        case Hindrance.FOREIGN if found.until is not None:
            left = duration(found.until - snapshot.now)
            text = f"{flatten(found.text)}; the claim counts for another {left}"
            return Cause(kind=TIMER, text=text, hint=retry, until=found.until)
        case Hindrance.QUOTA if found.until is not None:
            return _without_quota(snapshot, step.id, found)
        case Hindrance.TURN:
            return Cause(kind=BLOCKER, text=found.text, hint=f"drumline why {found.steps[0]}", steps=found.steps)
        case Hindrance.UNOWNED:
            hint = "drumline status" if snapshot.live else "drumline resume"
            return Cause(kind=BLOCKER, text=f"{found.text}; a person will be asked about it", hint=hint)
        case (
            Hindrance.FOREIGN
            | Hindrance.QUOTA
            | Hindrance.AGENT
            | Hindrance.BESIDE
            | Hindrance.MARKED
            | Hindrance.REFUSED
            | Hindrance.UNMERGED
            | Hindrance.UNTRUSTED
            | Hindrance.WAVE
        ):
            return Cause(kind=BLOCKER, text=flatten(found.text), hint=retry)
        case _:
            assert_never(found.kind)


def _without_quota(snapshot: Snapshot, step: StepId, found: Obstacle) -> Cause:
    """A timer of its own if somebody is there to see it run out; else only `retry` goes on before that."""
    until = found.until or 0.0
    left = duration(until - snapshot.now)
    hint = "drumline status" if snapshot.live else retry_command(step)
    return Cause(kind=TIMER, text=f"{flatten(found.text)}; it goes on in {left}", hint=hint, until=until)


def find_waiting(snapshot: Snapshot) -> str | None:
    """The step or visit whose quota resets first, if the run is parked for that and it has not reset yet."""
    run = snapshot.run
    timers = list_timers(snapshot.flow_walk) if snapshot.flow_walk is not None else []
    if timers:
        return visit_name(timers[0].key) if timers[0].until > snapshot.now else None
    if run.parked_until is None or run.parked_until <= snapshot.now or not run.deferred:
        return None
    return min(run.deferred.values(), key=lambda deferred: deferred.until or inf).step


def _gated(snapshot: Snapshot, found: Obstacle) -> Cause:
    gate = found.gate or GateId("")
    given = snapshot.answers.get(gate)
    driven = bool(snapshot.live)
    if given is None:
        hint = answer_command(snapshot.run.gates[gate].opened, driven=driven)
        return Cause(kind=BLOCKER, text=found.text, gate=gate, hint=hint)
    text = f"gate {gate} is answered with {flatten(given)!r}, which counts as soon as a driver looks"
    return Cause(kind=BLOCKER, text=text, gate=gate, hint="drumline status" if driven else "drumline resume")


def _need_state(snapshot: Snapshot, need: StepId) -> str:
    return step_state(snapshot, need) if snapshot.run.find_step(need) else "not in the plan"


def _idle(snapshot: Snapshot) -> Cause:
    """Nothing about the step itself keeps it back: the run is over or undriven, or others are in work."""
    run = snapshot.run
    match run_state(snapshot):
        case RunStanding.RUNNING:
            return _in_line(snapshot)
        case RunStanding.INTERRUPTED:
            text = "no driver is running: the run was interrupted"
            return Cause(kind=BLOCKER, text=text, hint="drumline resume")
        case RunStanding.PARKED if run.parked_for:
            return Cause(kind=BLOCKER, text=f"the run is parked: {run.parked_for}", hint="drumline resume")
        case RunStanding.PARKED:
            first = next(iter(run.unanswered.values()), None)
            waiting = find_waiting(snapshot)
            onward = retry_command(waiting) if waiting else "drumline resume"
            hint = answer_command(first.opened, driven=False) if first else onward
            return Cause(kind=BLOCKER, text=f"the run is parked at {_parked_at(run)}", hint=hint)
        case (
            RunStanding.DONE | RunStanding.FAILED | RunStanding.REJECTED | RunStanding.BLOCKED | RunStanding.CANCELLED
        ) as state:
            why = f": {flatten(run.ended.reason)}" if run.ended and run.ended.reason else ""
            return Cause(kind=BLOCKER, text=f"the run ended as {state}{why}", hint=_going_on(run))
        case state:
            assert_never(state)


def _parked_at(run: RunState) -> str:
    quota = "a quota" if run.parked_until is not None else "an answered gate"
    return name_some(run.unanswered) or quota


def _in_line(snapshot: Snapshot) -> Cause:
    busy = name_some(snapshot.owners)
    if not busy:
        owner = snapshot.live[0]
        text = f"driver {owner} is about to take the next ready step"
        return Cause(kind=OWNER, text=text, hint="drumline status", owner=owner)
    if snapshot.run.mode is Mode.SEQUENTIAL:
        return Cause(kind=BLOCKER, text=f"one step at a time, and {busy} is in work", hint="drumline status")
    return Cause(kind=BLOCKER, text=f"no free slot: {busy} in work", hint="drumline status")


def _going_on(run: RunState) -> str:
    """A run that a person cancelled is not driven on; any other is, and a task, which has no plan to run again."""
    return (
        f"drumline run {shlex.quote(run.begun.plan)} --new"
        if run.cancel and not is_task(run.plan)
        else "drumline resume"
    )
