"""The figures with which a step finishes. The rule: they are those of all its rounds, no matter who finishes it."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core import events as ev
from drumline.core.ids import RunId, Stream
from drumline.core.sharing import write_concerns
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.ports.journal import Journal
from drumline.record import replace


def add_figures(finished: ev.StepFinished, state: StepState) -> ev.StepFinished:
    """The end of a step with what its stream counted."""
    return replace(
        finished,
        attempts=state.tried,
        fixes=state.all_fixes,
        lost=state.lost,
        usage=state.usage,
        notices=state.notices,
        coming=state.coming,
        tallies=tuple(state.tallies.values()),
        findings=(*state.findings.values(), *write_concerns(finished.step, finished.supersedes)),
        swept=state.swept.sweep if state.swept else None,
        unread=state.list_unread(),
        reviews=state.reviews,
        reviewed=_tell_reviewer(state),
        unreviewed=state.reviewed.failure if state.reviewed else "",
    )


def _tell_reviewer(state: StepState) -> str:
    """Who looked at the work, and why it was that one."""
    seen = state.reviewed
    return f"{seen.by} ({seen.chosen})" if seen is not None and not seen.failure else ""


def complete(journal: Journal, run: RunId, events: Sequence[ev.Event]) -> list[ev.Event]:
    """The events for a run's stream, with the figures of steps that finish without having been driven to their end."""
    return [add_known(journal, run, event) if isinstance(event, ev.StepFinished) else event for event in events]


def add_known(journal: Journal, run: RunId, finished: ev.StepFinished) -> ev.StepFinished:
    """The end of a step that was not driven to it, with what its stream knows."""
    recorded = journal.read(Stream(run, finished.step))
    state = fold_step(StepState(), [entry.event for entry in recorded])
    return replace(add_figures(finished, state), learned=(*state.learned, *state.settle_fix()))
