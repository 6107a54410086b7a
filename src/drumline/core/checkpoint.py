"""A fold kept as a cache, so that taking up a long run does not mean reading all of its history again.

A checkpoint is never the truth: one that cannot be read, or was written by another version, is as good as none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from drumline.core import events as ev
from drumline.core.codec import from_plain
from drumline.core.ids import GateId, RunId, StepId
from drumline.core.plan import Check, Marks, Plan, Status, Step
from drumline.core.queue import Queue
from drumline.core.runfold import survey
from drumline.core.state import Gate, RunState
from drumline.core.vocabulary import CheckKind, Mode
from drumline.errors import StoreError
from drumline.record import replace, to_plain

FORMAT = 12
DONE = Marks(status=Status.DONE)
_PACKED = ("id", "title", "path", "line", "text_digest", "needs", "checks")
_PLAN_WORDS = ("name", "path", "format", "title", "autonomy", "ticket", "complexity", "express", "preamble")

_SINGLE: Mapping[str, type[ev.Event]] = MappingProxyType(
    {
        "flow": ev.FlowPinned,
        "cancel": ev.CancelRequested,
        "pause": ev.PauseRequested,
        "ended": ev.RunEnded,
        "lessons": ev.LessonsChanged,
        "misplaced": ev.BranchMisplaced,
        "final_before": ev.StepFinished,
    }
)
"""Events of which the fold keeps the last one, by its name for it."""
_AROUND = ("preflight", "final")
"""Commands of the plan itself."""


def dump(state: RunState) -> str:
    """The fold as JSON."""
    kept = {step: marks for step, marks in state.marks.items() if not _is_mirrored(state, step)}
    written = {event.path: event.digest for event in state.mirrored.values()}
    found = {
        "format": FORMAT,
        "version": state.version,
        "started": to_plain(state.begun),
        "plan": {word: getattr(state.plan, word) for word in _PLAN_WORDS},
        "around": {name: [to_plain(check) for check in getattr(state.plan, name)] for name in _AROUND},
        "not_run": state.plan.not_run,
        "steps": [_pack(step) for step in state.plan.steps],
        "depth": [state.depth.get(step.id) for step in state.plan.steps],
        "digests": {path: digest for path, digest in state.digests.items() if written.get(path) != digest},
        "marks": {step: to_plain(marks) for step, marks in kept.items()},
        "inherited": sorted(state.inherited),
        "removed": sorted(state.removed),
        "working": state.working,
        "finished": [to_plain(finished) for finished in state.finished.values()],
        "declared": sorted(state.declared),
        "rounds": state.rounds,
        "rewritten": state.rewritten,
        "redone": state.redone,
        **_list_corrections(state),
        "unwritten": [to_plain(wanted) for wanted in state.unwritten.values()],
        "documents": state.documents,
        "gates": [[to_plain(g.opened), to_plain(g.answer) if g.answer else None] for g in state.gates.values()],
        "unanswered": list(state.unanswered),
        "asked": state.asked,
        "mirrored": [_shorten(state, mirrored) for mirrored in state.mirrored.values()],
        "deferred": [to_plain(deferred) for deferred in state.deferred.values()],
        "usage": state.usage,
        "resettled": [to_plain(settled) for settled in state.resettled],
        "queue": to_plain(state.queue),
        "mode": state.mode,
        "parked": [state.parked, state.parked_until, state.parked_for],
        "quiet": state.quiet,
        **{name: to_plain(event) if (event := getattr(state, name)) else None for name in _SINGLE},
    }
    return json.dumps(found, separators=(",", ":"), ensure_ascii=False)


def _list_corrections(state: RunState) -> dict[str, object]:
    return {
        "reopened": [to_plain(reopened) for reopened in state.reopened.values()],
        "corrections": [to_plain(planned) for planned in state.corrections.values()],
        "unfiled": sorted(state.unfiled),
        "revisions": [to_plain(planned) for planned in state.revisions.values()],
        "unrevised": sorted(state.unrevised),
    }


def load(run: RunId, text: str) -> RunState | None:
    """The fold that `dump` wrote; None if it is of another format or holds what this version does not know."""
    try:
        raw = json.loads(text)
        return _build(run, raw) if raw["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError, AttributeError, StoreError):
        return None


def _build(run: RunId, raw: dict[str, Any]) -> RunState:
    state = RunState(id=run, version=raw["version"], mode=Mode(raw["mode"]))
    state.started = from_plain(ev.RunStarted, raw["started"])
    steps = tuple([_unpack(packed) for packed in raw["steps"]])
    state.plan = _build_plan(raw, steps)
    state.inherited = {StepId(step) for step in raw["inherited"]}
    state.removed = {StepId(step) for step in raw["removed"]}
    state.working = raw["working"]
    state.declared = {StepId(step) for step in raw["declared"]}
    state.rounds = raw["rounds"]
    state.rewritten = raw["rewritten"]
    state.redone = raw["redone"]
    state.reopened = {one["step"]: from_plain(ev.StepReopened, one) for one in raw["reopened"]}
    planned = [from_plain(ev.CorrectionPlanned, one) for one in raw["corrections"]]
    state.corrections = {one.correction.id: one for one in planned}
    state.unfiled = {StepId(step) for step in raw["unfiled"]}
    revised = [from_plain(ev.RevisionPlanned, one) for one in raw["revisions"]]
    state.revisions, state.unrevised = {one.id: one for one in revised}, set(raw["unrevised"])
    wanted = [from_plain(ev.DocumentWritten, one) for one in raw["unwritten"]]
    state.unwritten = {one.path: one for one in wanted}
    state.documents = raw["documents"]
    state.deferred = {d["step"]: from_plain(ev.StepDeferred, d) for d in raw["deferred"]}
    state.usage = raw["usage"]
    state.asked = raw["asked"]
    state.resettled = tuple([from_plain(ev.BranchSettled, settled) for settled in raw["resettled"]])
    state.parked, state.parked_until, state.parked_for = raw["parked"]
    state.quiet = raw["quiet"]
    state.queue = from_plain(Queue, raw["queue"])
    state.finished = {f["step"]: from_plain(ev.StepFinished, f) for f in raw["finished"]}
    mirrored = [_lengthen(state, entry) for entry in raw["mirrored"]]
    state.mirrored = {event.step: event for event in mirrored}
    state.digests = {event.path: event.digest for event in mirrored} | raw["digests"]
    state.marks = {StepId(step): from_plain(Marks, marks) for step, marks in raw["marks"].items()}
    state.marks.update({step: event.marks for step, event in state.mirrored.items() if step not in state.marks})
    for name, kind in _SINGLE.items():
        setattr(state, name, from_plain(kind, raw[name]) if raw[name] is not None else None)
    _add_gates(state, raw)
    depth = {step.id: level for step, level in zip(steps, raw["depth"], strict=True) if level is not None}
    survey(state, depth)
    return state


def _build_plan(raw: dict[str, Any], steps: tuple[Step, ...]) -> Plan:
    preflight, final = [tuple(from_plain(Check, check) for check in raw["around"][name]) for name in _AROUND]
    words = Plan(**raw["plan"], steps=steps)
    return replace(words, preflight=preflight, final=final, not_run=tuple(raw["not_run"]))


def _pack(step: Step) -> list[object]:
    """A step as a list: what every step has without names, the rest by name."""
    rest = to_plain(step)
    for name in _PACKED:
        rest.pop(name, None)
    checks = [part for c in step.checks for part in (c.command, c.line, c.source, c.red_first, c.kind)]
    return [step.id, step.title, step.path, step.line, step.text_digest, step.needs, checks, *([rest] if rest else [])]


def _unpack(packed: list[Any]) -> Step:
    step_id, title, path, line, digest, needs, checks, *rest = packed
    named: dict[str, Any] = rest[0] if rest else {}
    more: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in named.items()}
    return Step(
        id=step_id,
        title=title,
        path=path,
        line=line,
        text_digest=digest,
        needs=tuple(needs),
        checks=tuple(
            [
                Check(command=command, line=line, source=source, red_first=red, kind=CheckKind(kind))
                for command, line, source, red, kind in zip(*[iter(checks)] * 5, strict=True)
            ]
        ),
        **more,
    )


def _shorten(state: RunState, event: ev.PlanMirrored) -> list[object] | dict[str, Any]:
    """What was written into a step's file; nearly always it is that the step is done."""
    step = state.plan.by_id.get(event.step)
    if event.marks == DONE and step is not None and step.path == event.path:
        return [event.step, event.digest, *event.ticked]
    return to_plain(event)


def _lengthen(state: RunState, entry: list[Any] | dict[str, Any]) -> ev.PlanMirrored:
    if isinstance(entry, dict):
        return from_plain(ev.PlanMirrored, entry)
    step, digest, *ticked = entry
    path = state.plan.by_id[step].path
    return ev.PlanMirrored(step=step, marks=DONE, path=path, digest=digest, ticked=tuple(ticked))


def _add_gates(state: RunState, raw: dict[str, Any]) -> None:
    for opened, answer in raw["gates"]:
        event = from_plain(ev.GateOpened, opened)
        said = from_plain(ev.GateAnswered, answer) if answer is not None else None
        state.gates[event.gate] = Gate(opened=event, answer=said)
    state.unanswered = {GateId(gate): state.gates[GateId(gate)] for gate in raw["unanswered"]}


def _is_mirrored(state: RunState, step: StepId) -> bool:
    last = state.mirrored.get(step)
    return last is not None and last.marks == state.marks[step]
