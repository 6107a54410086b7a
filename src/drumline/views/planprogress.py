"""What becomes of the plan and its files while a run goes on, and what people want of the run, told as it happens."""

from __future__ import annotations

from drumline.core.events import (
    CancelRequested,
    CorrectionRefused,
    DocumentWritten,
    PauseRequested,
    PlanChanged,
    RevisionRefused,
)
from drumline.core.plaintext import name_some
from drumline.core.vocabulary import PlanCause
from drumline.views.cells import flatten
from drumline.views.told import LONGEST_NOTICE, Told


def tell_change(event: PlanChanged, total: int) -> Told:
    """That the plan is another one: a person edited it, or a walk asked for a further step; `total` are its steps."""
    changed = [step.id for step in event.changed]
    data: dict[str, object] = {"changed": changed, "removed": list(event.removed), "cause": event.cause}
    if event.revision:
        says = f"what {changed[0]} says" if changed else "the notes of the plan"
        text = f"{event.origin} changes {says} ({event.cause})"
        return Told(event="plan_changed", text=text, data={**data, "origin": event.origin, "total": total})
    if event.cause is not PlanCause.EDIT:
        added = changed[:1]
        text = f"{event.origin} adds to the plan ({event.cause}): {name_some(added)}, {total:,} steps now"
        return Told(
            event="plan_changed",
            text=text,
            data={**data, "origin": event.origin, "added": added, "after": event.origin, "total": total},
        )
    words = [f"changed {name_some(changed)}"] if changed else []
    words += [f"removed {name_some(event.removed)}"] if event.removed else []
    words += ["what it says as a whole"] if event.preamble is not None else []
    words += ["its pre-flight commands"] if event.preflight is not None else []
    words += ["what is run after its last step"] if event.final is not None else []
    text = f"the plan was edited: {'; '.join(words) or 'order only'}"
    return Told(event="plan_changed", text=text, data={**data, "total": total})


def tell_refusal(event: CorrectionRefused) -> Told:
    """That the plan's files do not take a corrective step."""
    text = f"{event.step} could not be added to the plan: {flatten(event.reason, LONGEST_NOTICE)}"
    return Told(event="correction_refused", text=text, data={"step": event.step, "reason": event.reason})


def tell_unrevised(event: RevisionRefused) -> Told:
    """That the plan's files do not take what a step wants a later one to say."""
    text = f"what {event.step} says could not be changed: {flatten(event.reason, LONGEST_NOTICE)}"
    return Told(event="revision_refused", text=text, data={"step": event.step, "reason": event.reason})


def tell_document(event: DocumentWritten) -> Told:
    """That a step left a document; its text is not for a line."""
    where = f" for {event.path.partition('#')[0]}" if event.path else ""
    data = {"step": event.step, "kind": event.kind, "path": event.path or None, "digest": event.digest}
    return Told(event="document", text=f"{event.step}: {event.kind} written{where}", data=data)


def tell_cancel(event: CancelRequested) -> Told:
    """That a person stopped the run."""
    text = f"cancelled{_sign(event)}; steps in work are being stopped"
    return Told(event="cancelled", text=text, data={"by": event.by, "reason": event.reason})


def tell_pause(event: PauseRequested) -> Told:
    """That a person paused the run."""
    text = f"pausing{_sign(event)}; what is at work ends its node"
    return Told(event="pausing", text=text, data={"by": event.by, "reason": event.reason})


def _sign(event: CancelRequested | PauseRequested) -> str:
    who = f" by {flatten(event.by)}" if event.by else ""
    return f"{who}: {flatten(event.reason)}" if event.reason else who
