"""Collects what the steps left that a step needs: the plan's own handoff, or what their agents said at the end."""

from __future__ import annotations

from contextlib import suppress

from drumline.core import events as ev
from drumline.core.handoffs import SHORT, Handoff
from drumline.core.handoffwriting import find_notes
from drumline.core.ids import StepId, Stream
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.prompt import Header
from drumline.core.state import RunState
from drumline.core.taskreport import DOWNSTREAM
from drumline.core.vocabulary import DocumentKind, Mode, StepEnd
from drumline.engine.services import Services
from drumline.errors import DrumlineError
from drumline.record import replace


def list_handoffs(services: Services, run: RunState, step: Step) -> tuple[Handoff, ...]:
    """What is known of each step that this one needs, in the order of its needs."""
    return tuple(_collect(services, run, run.plan.by_id[need]) for need in step.needs if need in run.plan.by_id)


def _collect(services: Services, run: RunState, step: Step) -> Handoff:
    document = ""
    with suppress(DrumlineError, OSError):
        document = services.planfiles.read_document(DocumentKind.HANDOFF, step)
    ours = services.planfiles.place(DocumentKind.HANDOFF, step) in run.documents
    said, notes = _find_last_words(services, run, step.id) if ours or not document else ("", "")
    found = Handoff(step=step.id, title=step.title, words=said or document, claimed=bool(said), notes=notes)
    finished = find_landed(run, step.id)
    if finished is None or finished.commit is None:
        return found
    return replace(found, commit=finished.commit, files=finished.files)


def find_landed(run: RunState, step: StepId) -> ev.StepFinished | None:
    """How the work on a step ended that is there: that of its corrective step, if that landed for it."""
    finished = run.finished.get(step)
    return run.finished.get(finished.landed_by, finished) if finished is not None else None


def _find_last_words(services: Services, run: RunState, step: StepId) -> tuple[str, str]:
    """What the agent said at the end whose work landed, and what was written about that for the next steps."""
    finished = find_landed(run, step)
    if finished is None or finished.state is not StepEnd.DONE:
        return "", ""
    kinds = tuple(kind.__name__ for kind in (ev.AttemptStarted, ev.AttemptEnded, ev.HandoffWritten, ev.StepRestarted))
    told = [entry.event for entry in services.store.read(Stream(run.id, finished.step), kinds=kinds)]
    # Who only read has said something about the work, and nothing for the steps behind it.
    read = {one.attempt for one in told if isinstance(one, ev.AttemptStarted) and one.reads}
    said = [one for one in told if isinstance(one, ev.AttemptEnded) and not one.failure and one.attempt not in read]
    reported = (said[-1].report.get(DOWNSTREAM) or said[-1].message) if said else ""
    return reported, find_notes(told)


def list_earlier(run: RunState, step: Step) -> tuple[str, ...]:
    """The steps that are done and that this one needs only through others, the nearest first."""
    told = {step.id, *step.needs}
    waiting, found = [*step.needs], list[str]()
    for name in waiting:
        needs = run.plan.by_id[name].needs if name in run.plan.by_id else ()
        new = [need for need in dict.fromkeys(needs) if need not in told]
        told.update(new)
        waiting += new
        found += [_tell_earlier(run, run.plan.by_id[need]) for need in new if _is_done(run, need)]
    return tuple(found)


def _is_done(run: RunState, step: StepId) -> bool:
    finished = run.finished.get(step)
    return step in run.declared if finished is None else finished.state is StepEnd.DONE


def _tell_earlier(run: RunState, step: Step) -> str:
    finished = run.finished.get(step.id)
    commit = f", landed as {finished.commit[:SHORT]}" if finished is not None and finished.commit else ""
    return f"{step.id} ({step.title}){commit}"


def list_others(run: RunState, step: Step) -> tuple[str, ...]:
    """The steps that somebody else does and that are not done yet, those behind this one first."""
    ids = [other.id for other in run.plan.steps]
    if step.id not in ids:
        return ()
    place = ids.index(step.id)
    around = (*run.plan.steps[place + 1 :], *run.plan.steps[:place])
    return tuple(f"{other.id} ({other.title})" for other in around if other.id not in run.finished)


def number_step(run: RunState, step: Step, *, agent: str) -> Header | None:
    """Who works on which step of how many; nothing for a walk of the run itself."""
    ids = [other.id for other in run.plan.steps]
    if step.id in RUN_WALKS or step.id not in ids:
        return None
    depth = run.depth.get(step.id, 0)
    alone = run.mode is not Mode.PARALLEL or sum(other == depth for other in run.depth.values()) < 2
    return Header(
        agent=agent,
        session=run.id,
        number=ids.index(step.id) + 1,
        total=len(ids),
        batch="single" if alone else str(depth + 1),
    )
