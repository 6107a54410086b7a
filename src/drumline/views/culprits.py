"""Who changed the files of a step although they are not theirs, for the step whose files they are."""

from __future__ import annotations

from drumline.core.overstep import Culprit, list_culprits
from drumline.core.plan import Step
from drumline.views.cells import flatten, name_some
from drumline.views.snapshot import Snapshot

SHORT = 9


def note_culprits(snapshot: Snapshot, victim: Step) -> tuple[str, ...]:
    """A sentence for each step that changed files of this one; nothing for a step that names no files."""
    if not victim.files:
        return ()
    told = [_tell(culprit) for culprit in list_culprits(snapshot.run, victim)]
    for step, state in snapshot.steps.items():
        theirs = [file.path for file in (*state.strayed.foreign, *state.strayed.noted) if file.owner == victim.id]
        if step not in snapshot.run.finished and theirs:
            told.append(f"{step} has changed its {name_some(map(flatten, theirs))} in a workspace of its own")
    return tuple(told)


def _tell(culprit: Culprit) -> str:
    named = name_some(map(flatten, culprit.paths))
    if culprit.commit:
        return f"{culprit.step} has changed its {named} (git show {culprit.commit[:SHORT]})"
    return f"{culprit.step} wants to change its {named}: gate {culprit.gate} asks whether it may"
