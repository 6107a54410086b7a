"""Named progress events: the journal told as it happens, one line each, for people and as JSON.

A table maps each kind of event to its line; others are silent. Feed the run's stream from its beginning: entries up to
`after` are only learnt from, so that a driver that joins late counts right. Nothing is told twice.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from drumline.core import events as ev
from drumline.core.checkfailure import CHECK_RULES, CheckFailure, is_work
from drumline.core.flow.state import Key
from drumline.core.gitdeeds import tell_culprit
from drumline.core.ids import FLOW, StepId
from drumline.core.leftovers import tell_check, tell_flaky
from drumline.core.needs import is_skipped
from drumline.core.plaintext import name_some
from drumline.core.plan import RUN_WALKS, Marks, Plan, Status
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.core.vocabulary import STUCK, Resettled, StepEnd, StepStanding
from drumline.views.attemptprogress import tell_end, tell_start
from drumline.views.causes import SHORT_COMMIT, explain_doubt, round_hint, tell_reason
from drumline.views.cells import count, flatten
from drumline.views.duration import duration
from drumline.views.gates import tell_gate
from drumline.views.mutants import tell_tried
from drumline.views.planprogress import (
    tell_cancel,
    tell_change,
    tell_document,
    tell_pause,
    tell_refusal,
    tell_unrevised,
)
from drumline.views.proofs import proof_json
from drumline.views.states import is_rejected
from drumline.views.told import LONGEST_NOTICE, Line, Told, Track
from drumline.views.walkprogress import WALKED, WalkScene, tell_run_walk

LONGEST_COMMAND = 80
REJECTED = StepStanding.REJECTED.value


@dataclass(kw_only=True)
class Progress:
    """Follows one run."""

    after: int = 0
    seen: int = 0
    over: set[StepId] = dataclasses.field(default_factory=set)
    skipped: set[StepId] = dataclasses.field(default_factory=set)
    tracks: dict[StepId, Track] = dataclasses.field(default_factory=dict)
    named: set[str] = dataclasses.field(default_factory=set)
    began: dict[StepId, dict[Key, float]] = dataclasses.field(default_factory=dict)
    _plan: Plan | None = dataclasses.field(default=None, repr=False)
    _chosen: frozenset[StepId] = dataclasses.field(default=frozenset(), repr=False)
    _primed: bool = dataclasses.field(default=False, repr=False)

    def chosen(self, run: RunState) -> frozenset[StepId]:
        """The steps the run is about; worked out once per plan, as a long history asks for it at every step."""
        if self._plan is not run.plan:
            self._plan = run.plan
            self._chosen = frozenset(step.id for step in run.selected())
            self.over &= self._chosen
            self.skipped &= self._chosen
        return self._chosen

    def _prime(self, entries: Sequence[Recorded], run: RunState) -> None:
        """Count what was over before the first entry, if the history begins with a checkpoint."""
        if self._primed or not entries:
            return
        self._primed = True
        told = {entry.event.step for entry in entries if isinstance(entry.event, ev.StepFinished)}
        over = {step for step, finished in run.finished.items() if finished.state == StepEnd.DONE} | run.declared
        skipped = {step for step in run.finished if is_skipped(run, step)}
        if not any(isinstance(entry.event, ev.RunStarted) for entry in entries):
            self.over |= (over - told) & self.chosen(run)
            self.skipped |= (skipped - told) & self.chosen(run)

    def feed(self, entries: Iterable[Recorded], run: RunState) -> list[Line]:
        """The lines for entries in journal order; `run` has them folded in already."""
        lines: list[Line] = []
        entries = list(entries)
        self._prime(entries, run)
        for entry in entries:
            if entry.seq <= self.seen:
                continue
            self.seen = entry.seq
            told = self._tell(entry, run)
            if told is not None and entry.seq > self.after:
                data = {"event": told.event, "run": entry.stream.run, "seq": entry.seq, "at": entry.at, **told.data}
                lines.append(Line(event=told.event, text=told.text, data={**data, "text": told.text}))
        return lines

    def _tell(self, entry: Recorded, run: RunState) -> Told | None:
        step, kind = entry.stream.step, type(entry.event)
        if kind in WALKED and run.names_flow(step) and step not in RUN_WALKS:
            over = run.cancel is not None or run.ended is not None
            began = self.began.setdefault(step, {})
            scene = WalkScene(began=began, at=entry.at, over=over, lead="" if step == FLOW else f"{step}: ")
            told = WALKED[kind](scene, entry.event)
            if told is not None or kind not in ev.ATTEMPTS or step == FLOW:
                return told
        if isinstance(entry.event, ev.StepStarted | ev.StepFinished) and entry.event.step in RUN_WALKS:
            return tell_run_walk(entry.event)
        if kind not in _TELL or (kind in _OF_STEPS and not run.lands):
            return None
        return _TELL[kind](_Scene(self, run, step, entry.at), entry.event)


@dataclass(slots=True)
class _Scene:
    """Where an event happened: what is remembered, the run, the step of its stream, and when."""

    progress: Progress
    run: RunState
    step: StepId
    at: float

    @property
    def track(self) -> Track:
        return self.progress.tracks.setdefault(self.step, Track())

    def title(self, step: StepId) -> str:
        found = self.run.find_step(step)
        return flatten(found.title) if found else ""

    def settle(self, steps: Iterable[StepId]) -> tuple[int, int]:
        """Count the steps as done; how many of how many are now."""
        chosen = self.progress.chosen(self.run)
        done = chosen.intersection(steps)
        self.progress.over |= done
        self.progress.skipped -= done
        return len(self.progress.over), len(chosen)

    def skip(self, step: StepId) -> None:
        """Count a step as left out."""
        self.progress.skipped |= self.progress.chosen(self.run) & {step}


# --- the run ----------------------------------------------------------------------------------------------------


def _pinned(scene: _Scene, event: ev.PlanPinned) -> Told:
    begun = scene.run.begun
    here = [step for step in event.steps if not step.elsewhere]
    chosen = here if begun.selection is None else [s for s in here if s.id in set(begun.selection)]
    pending = sum(1 for step in chosen if event.marks.get(step.id, Marks()).status is not Status.DONE)
    data = {"steps": len(chosen), "pending": pending, "branch": begun.branch, "mode": begun.mode, "agent": begun.agent}
    data |= {"lessons": len(begun.lessons)}
    steps = count(len(chosen), "step")
    text = f"run {scene.run.id}: {steps}, {pending:,} pending, branch {begun.branch}, {begun.mode}, agent {begun.agent}"
    text += f", {count(len(begun.lessons), 'lesson')} loaded" if begun.lessons else ""
    return Told(event="start", text=text, data={**data, "plan": begun.plan, "title": event.title})


def _declared(scene: _Scene, event: ev.StepsDeclared) -> Told:
    over, total = scene.settle(event.steps)
    steps = count(len(event.steps), "step")
    text = f"{steps} already done in the plan, not proved by this run: {name_some(event.steps)}"
    return Told(event="declared", text=text, data={"steps": list(event.steps), "done": over, "total": total})


def _branch_settled(scene: _Scene, event: ev.BranchSettled) -> Told:
    named = f": {'; '.join(event.commits)}" if event.commits else ""
    who = tell_culprit(event.culprit, event.beside)
    data: dict[str, object] = {"how": event.how, "commit": event.new, "steps": list(event.steps)}
    data |= {"commits": list(event.commits), "culprit": event.culprit or None, "beside": list(event.beside)}
    if event.how == Resettled.KEPT:
        text = f"the run branch has commits of somebody else; they are its head now{named}"
    else:
        missing = f"; missing on it: {', '.join(event.steps)}" if event.steps else ""
        kept = f"; commits of somebody else stay reachable by a ref{named}" if named else ""
        text = f"the run branch was moved or deleted; it is back at {event.new[:SHORT_COMMIT]}{missing}{kept}"
    return Told(event="branch_settled", text=f"{text}. {who}" if who else text, data=data)


def _branch_misplaced(scene: _Scene, event: ev.BranchMisplaced) -> Told:
    where = f"at {event.tip[:SHORT_COMMIT]}" if event.tip else "gone"
    text = f"the run branch is {where}, where no landing left it. {tell_culprit(event.step, event.beside)}"
    data = {"step": event.step, "commit": event.tip, "beside": list(event.beside)}
    return Told(event="branch_misplaced", text=text, data=data)


def _mode(scene: _Scene, event: ev.ModeChanged) -> Told:
    return Told(event="mode_changed", text=f"mode is {event.mode} from here on", data={"mode": event.mode})


def _repinned(scene: _Scene, event: ev.ConfigRepinned) -> Told:
    text = f"the run takes the present configuration: {', '.join(event.changed)}"
    return Told(event="config_repinned", text=text, data={"changed": list(event.changed), "by": event.by})


def _gate(scene: _Scene, event: ev.GateOpened) -> Told:
    text, data = tell_gate(event)
    return Told(event="gate", text=text, data=data)


def _answered(scene: _Scene, event: ev.GateAnswered) -> Told:
    who = f" by {flatten(event.by)}" if event.by else ""
    comment = f": {flatten(event.comment)}" if event.comment else ""
    data = {"gate": event.gate, "choice": event.choice, "comment": event.comment, "by": event.by}
    text = f"gate {event.gate} answered {flatten(event.choice, LONGEST_COMMAND)}{who}{comment}"
    return Told(event="answered", text=text, data={**data, "channel": event.channel})


def _parked(scene: _Scene, event: ev.RunParked) -> Told:
    waits = [_tell_answers(event.gates)] if event.gates else []
    waits += ["a quota resets"] if event.until is not None else []
    text = f"parked: {event.reason or 'nothing can go on until ' + ' or '.join(waits)}"
    data = {"gates": list(event.gates), "until": event.until, "reason": event.reason}
    return Told(event="parked", text=text, data=data)


def _tell_answers(gates: Sequence[str]) -> str:
    if len(gates) == 2:
        return f"{' and '.join(gates)} are answered"
    return f"{name_some(gates)} {'is' if len(gates) == 1 else 'are'} answered"


def _resumed(scene: _Scene, event: ev.RunResumed) -> Told:
    return Told(event="resumed", text=f"resumed by driver {event.driver}", data={"driver": event.driver})


def _ended(scene: _Scene, event: ev.RunEnded) -> Told:
    over, total = scene.settle(())
    told = event.step in scene.run.finished  # as that step was finished
    why = f": {flatten(event.reason)}" if event.reason and not told else ""
    skipped = len(scene.progress.skipped)
    state = REJECTED if is_rejected(scene.run, event) else event.state
    data = {"state": state, "reason": event.reason, "done": over, "total": total, "skipped": skipped}
    how_far = f"{over:,} of {count(total, 'step')} done{f', {skipped:,} skipped' if skipped else ''}"
    text = f"run {state}, {how_far}{why}; see drumline status {scene.run.id}"
    return Told(event="summary", text=text, data={**data, "branch": scene.run.begun.branch})


# --- a step, in the run's stream --------------------------------------------------------------------------------


def _step_started(scene: _Scene, event: ev.StepStarted) -> Told:
    title = scene.title(event.step)
    again = f" (round {event.round + 1})" if event.round else ""
    scene.progress.tracks.pop(event.step, None)
    data = {"step": event.step, "title": title, "round": event.round}
    return Told(event="step_started", text=f"{event.step} started{again}: {title}", data=data)


def _finished(scene: _Scene, event: ev.StepFinished) -> Told:
    title = scene.title(event.step)
    over, total = scene.settle([event.step] if event.state == StepEnd.DONE else [])
    if event.state == StepEnd.SKIPPED:
        scene.skip(event.step)
    scene.progress.tracks.pop(event.step, None)
    data: dict[str, object] = {
        "step": event.step,
        "title": title,
        "done": over,
        "total": total,
        "reason": event.reason,
        "commit": event.commit,
        "proved": event.is_proved,
        "proof": proof_json(event.proof),
        "attempts": event.attempts,
        "checks": {"passed": event.checks_passed, "total": event.checks_total},
    }
    if event.state != StepEnd.DONE:
        state = REJECTED if event.rejected else event.state
        return Told(event=state, text=_not_done(event, state, scene.run), data=data)
    healed = f"landed by {event.landed_by}" if event.landed_by else "no commit"
    commit = event.commit[:SHORT_COMMIT] if event.commit else healed
    checks = f"checks {event.checks_passed}/{event.checks_total}"
    proof = explain_doubt(event) or "proved"
    text = f"step {over:,} of {total:,} done: {event.step} {title} ({commit}, {checks}, {proof})"
    return Told(event="step_done", text=text, data=data)


def _not_done(event: ev.StepFinished, state: str, run: RunState) -> str:
    # The question about it follows, with its own command.
    asks = any(gate.opened.step == event.step and gate.opened.kind in STUCK for gate in run.open_gates)
    hint = "" if event.state == StepEnd.SKIPPED or (asks and not event.login) else f" → {round_hint(event, run)}"
    return f"{event.step} {state}: {flatten(tell_reason(event)) or 'no reason given'}{hint}"


def _deferred(scene: _Scene, event: ev.StepDeferred) -> Told:
    why = f": {flatten(event.reason, 200)}" if event.reason else ""
    waits = f"an answer to {', '.join(event.gates)}" if event.until is None else duration(event.until - scene.at)
    text = f"{event.step} waits for {waits}{why}"
    return Told(event="deferred", text=text, data={"step": event.step, "until": event.until, "reason": event.reason})


def _reopened(scene: _Scene, event: ev.StepReopened) -> Told:
    scene.progress.over.discard(event.step)
    scene.progress.skipped.discard(event.step)
    why = f": {flatten(event.reason)}" if event.reason else ""
    data = {"step": event.step, "reason": event.reason, "by": event.by}
    return Told(event="reopened", text=f"{event.step} gets another round{why}", data=data)


# --- a step's own stream ----------------------------------------------------------------------------------------


def _attempt_started(scene: _Scene, event: ev.AttemptStarted) -> Told | None:
    return tell_start(scene.track, scene.step, scene.run, event)


def _check_ended(scene: _Scene, event: ev.CheckEnded) -> Told | None:
    if not event.failed:
        return _left_behind(scene, event)
    command = flatten(event.command, LONGEST_COMMAND)
    data: dict[str, object] = {"step": scene.step, "check": event.check + 1, "command": event.command}
    data |= {"exit_code": event.exit_code, "failure": event.failure, "log": event.log}
    if is_work(event.failure):
        scene.track.failing.append(command)
        how = f"failed with exit code {event.exit_code}: {command}"
    else:
        shown = f" ({flatten(event.evidence, LONGEST_NOTICE)})" if event.evidence else ""
        how = f"could not be run: {command}: {CHECK_RULES[CheckFailure(event.failure)].means}{shown}"
    return Told(event="check_failed", text=f"{scene.step}: check {event.check + 1} {how}", data=data)


def _left_behind(scene: _Scene, event: ev.CheckEnded) -> Told | None:
    """What a check that did not fail did to the tree; it says each name once in a run."""
    created = [name for name in event.created if name not in scene.progress.named]
    scene.progress.named.update(created)
    changed = {"altered": event.altered, "restored": event.restored, "outside": event.outside}
    told = tell_check(event.command, created=created, **changed, left=event.left)
    if event.flaky:
        told.append(tell_flaky(event.command))
        scene.track.failing = [each for each in scene.track.failing if each != flatten(event.command, LONGEST_COMMAND)]
    if not told:
        return None
    data = {"step": scene.step, "check": event.check + 1, "notices": told}
    return Told(event="notice", text=f"{scene.step}: {flatten('; '.join(told))}", data=data)


def _ready(scene: _Scene, event: ev.WorkspaceReady) -> Told | None:
    """What the setup command made and git does not ignore; each name is said once in a run."""
    new = [name for name in event.left if name not in scene.progress.named]
    scene.progress.named.update(new)
    if not new:
        return None
    files = count(sum(event.left[name] for name in new), "file")
    told = f"setup made {files} that git does not ignore ({name_some(map(flatten, new))}): that lands with the work"
    data = {"step": scene.step, "notices": [told]}
    return Told(event="notice", text=f"{scene.step}: {told}; put them into a .gitignore and commit it", data=data)


def _lost(scene: _Scene, event: ev.WorkLost) -> Told:
    data = {"step": scene.step, "what": event.what, "driver": event.driver or None, "killed": event.killed or None}
    killed = f" ({flatten(event.killed, LONGEST_NOTICE)})" if event.killed else ""
    text = f"{scene.step}: cut short while {event.what}{killed}; it is taken up again and counts as no attempt"
    return Told(event="lost", text=text, data=data)


def _restarted(scene: _Scene, event: ev.StepRestarted | ev.StepRechecked) -> None:
    scene.progress.tracks.pop(scene.step, None)


_TELL: Mapping[type[ev.Event], Callable[[_Scene, Any], Told | None]] = MappingProxyType(
    {
        ev.PlanPinned: _pinned,
        ev.ConfigRepinned: _repinned,
        ev.StepsDeclared: _declared,
        ev.PlanChanged: lambda scene, event: tell_change(event, scene.settle([])[1]),
        ev.CorrectionRefused: lambda scene, event: tell_refusal(event),
        ev.RevisionRefused: lambda scene, event: tell_unrevised(event),
        ev.DocumentWritten: lambda scene, event: tell_document(event),
        ev.BranchMisplaced: _branch_misplaced,
        ev.BranchSettled: _branch_settled,
        ev.ModeChanged: _mode,
        ev.GateOpened: _gate,
        ev.GateAnswered: _answered,
        ev.RunParked: _parked,
        ev.RunResumed: _resumed,
        ev.CancelRequested: lambda scene, event: tell_cancel(event),
        ev.PauseRequested: lambda scene, event: tell_pause(event),
        ev.RunEnded: _ended,
        ev.StepStarted: _step_started,
        ev.StepFinished: _finished,
        ev.MutantsTried: lambda scene, event: tell_tried(event),
        ev.StepDeferred: _deferred,
        ev.StepReopened: _reopened,
        ev.AttemptStarted: _attempt_started,
        ev.AttemptEnded: lambda scene, event: tell_end(scene.track, scene.step, event),
        ev.WorkRebased: lambda scene, event: scene.track.join(event),
        ev.CheckEnded: _check_ended,
        ev.StepRestarted: _restarted,
        ev.StepRechecked: _restarted,
        ev.WorkspaceReady: _ready,
        ev.WorkLost: _lost,
    }
)
_OF_STEPS = (ev.StepStarted, ev.StepFinished, ev.StepDeferred, ev.StepReopened, ev.RunEnded)
"""Not told in a run of a flow: its walk says the same."""
