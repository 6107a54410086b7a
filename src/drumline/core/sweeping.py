"""What a sweep for edge cases says: about the step itself, for later steps, and what in the plan should be otherwise.

The rule: an answer is cut and on one line each before it is kept; a later step that there is not, or that is over, gets
nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence

from drumline.core.flow.model import Json
from drumline.core.ids import StepId
from drumline.core.needs import settled
from drumline.core.plaintext import strip_controls
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.state import Gate, RunState
from drumline.core.stepstate import StepState
from drumline.core.sweeps import Annotation, EdgeCase, Proposal, Sweep
from drumline.core.vocabulary import FULL, STANDARD
from drumline.record import replace

MOST_CASES, MOST_ANNOTATIONS, MOST_PROPOSALS = 20, 10, 5
MOST_LINE, MOST_TEXT = 500, 4_000
"""Characters of a line that is kept, and of a text of the plan that is to be replaced."""
APPLY = "apply"
"""What a person says who wants proposals applied."""
HANDLED, DEFERRED = "handled", "deferred"


def is_due(run: RunState, step: Step, state: StepState) -> bool:
    """Whether the work on a step is to be swept for edge cases: with rigor full, with standard if its plan flags it."""
    if step.id in RUN_WALKS:
        return False
    wanted = run.begun.rigor == FULL or (run.begun.rigor == STANDARD and bool(step.review))
    return wanted and (state.swept is None or state.swept.tree != state.tree)


def list_later(run: RunState, step: StepId) -> list[Step]:
    """The steps of the plan behind this one that are not over."""
    ids = [other.id for other in run.plan.steps]
    behind = run.plan.steps[ids.index(step) + 1 :] if step in ids else ()
    return [other for other in behind if not settled(run, other.id)]


def read_sweep(answer: Json, *, later: Collection[str], origin: StepId, by: str) -> Sweep:
    """What an answer means; of two annotations for one step the first counts."""
    said = answer if isinstance(answer, Mapping) else {}
    annotations: dict[StepId, Annotation] = {}
    for entry in _list(said.get("annotations")):
        step, text = StepId(_line(entry.get("step"))), _line(entry.get("text"))
        if step in later and text and len(annotations) < MOST_ANNOTATIONS:
            annotations.setdefault(step, Annotation(step=step, text=text))
    cases = [_read_case(entry) for entry in _list(said.get("edge_cases"))]
    proposals = [_read_proposal(entry) for entry in _list(said.get("proposals"))]
    known = [p for p in proposals if p is not None and p.step in later][:MOST_PROPOSALS]
    return Sweep(
        by=by,
        cases=tuple(case for case in cases if case is not None)[:MOST_CASES],
        annotations=tuple(annotations.values()),
        proposals=tuple(replace(one, id=f"{origin}-P{n}") for n, one in enumerate(known, 1)),
    )


def describe_sweep(sweep: Sweep | None) -> Mapping[str, Json]:
    """The fields of `sweep` for the conditions and texts of a flow."""
    found = sweep or Sweep()
    open_ones = [one for one in found.proposals if not one.fault]
    return {
        "cases": len(found.cases),
        "annotations": len(found.annotations),
        "proposals": len(open_ones),
        "shown": "\n\n".join(tell_proposal(one) for one in open_ones),
    }


def tell_proposal(proposal: Proposal) -> str:
    """A proposal as a person decides about it: with exactly what would be changed."""
    why = f": {proposal.why}" if proposal.why else ""
    return f"{proposal.id} for {proposal.step}: {proposal.title}{why}\n{proposal.diff}"


def tell_cases(sweep: Sweep) -> list[str]:
    """The edge cases, a line each; that it was not run, if so."""
    if sweep.failure:
        return [f"not run: {_line(sweep.failure)}"]
    return [
        f"{HANDLED if case.handled else DEFERRED}: {case.title} ({case.kind})"
        f"{f': {case.reason}' if case.reason else ''}"
        for case in sweep.cases
    ]


def tell_updates(sweep: Sweep) -> list[str]:
    """What it leaves for later steps, a line each."""
    unwritten = {one.step: f" (not written: {one.fault})" for one in sweep.annotations if one.fault}
    noted = [f"{one.step}: {one.text}{unwritten.get(one.step, '')}" for one in sweep.annotations]
    return [*noted, *map(tell_outcome, sweep.proposals)]


def tell_outcome(proposal: Proposal) -> str:
    """A proposal and what became of it, on one line."""
    why = f"cannot be applied: {proposal.fault}" if proposal.fault else "proposed, not applied"
    return f"{proposal.id} for {proposal.step}: {proposal.title} ({'applied' if proposal.applied else why})"


def split_diff(diff: str) -> tuple[list[str], list[str]]:
    """The lines that a diff takes away, and those that it adds, wherever they stand."""
    lines = diff.splitlines()
    lines = lines[2:] if diff.startswith("--- ") else lines
    return [one[1:] for one in lines if one.startswith("-")], [one[1:] for one in lines if one.startswith("+")]


def list_shown(sweep: Sweep, question: str) -> tuple[str, ...]:
    """The digests of the proposals of which a question shows every word."""
    return tuple(_digest(one) for one in sweep.proposals if one.diff and tell_proposal(one) in question)


def _digest(proposal: Proposal) -> str:
    return hashlib.blake2b(tell_proposal(proposal).encode(), digest_size=16).hexdigest()


def find_yes(run: RunState, origin: StepId, proposal: Proposal) -> Gate | None:
    """Where a person was shown exactly this change and wants it; None without such a gate."""
    asked = (gate for gate in reversed(run.gates.values()) if gate.opened.step == origin)
    shown = (gate for gate in asked if _digest(proposal) in gate.opened.shown)
    return next((gate for gate in shown if gate.answer is not None and gate.answer.choice == APPLY), None)


def _read_case(entry: Mapping[str, Json]) -> EdgeCase | None:
    title = _line(entry.get("title"))
    handled = _line(entry.get("status")).casefold() == HANDLED
    reason = _line(entry.get("reason")) or ("" if handled else "no reason given")
    kind = _line(entry.get("kind")) or "other"
    return EdgeCase(kind=kind, title=title, handled=handled, reason=reason) if title else None


def _read_proposal(entry: Mapping[str, Json]) -> Proposal | None:
    old, new = _text(entry.get("replace")), _text(entry.get("with"))
    title = _line(entry.get("title"))
    if not old or not title or old == new:
        return None
    step = StepId(_line(entry.get("step")))
    return Proposal(id="", step=step, title=title, why=_line(entry.get("why")), old=old, new=new)


def _list(value: Json) -> Sequence[Mapping[str, Json]]:
    entries = value if isinstance(value, list | tuple) else ()
    return [entry for entry in entries[:100] if isinstance(entry, Mapping)]


def _line(value: Json) -> str:
    """One line, in which nothing is markup that a reader of plans takes for a field, a box or a command."""
    text = " ".join(strip_controls(value).replace("`", "'").replace("**", "").split()) if isinstance(value, str) else ""
    return text if len(text) <= MOST_LINE else f"{text[: MOST_LINE - 1]}…"


def _text(value: Json) -> str:
    text = strip_controls(value) if isinstance(value, str) else ""
    return text if len(text) <= MOST_TEXT else ""
