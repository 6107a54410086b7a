"""What runs that are over keep in git: their branch, and a ref for each attempt. They go only if a person says so."""

from __future__ import annotations

from pathlib import Path

from drumline.app.catalog import list_runs
from drumline.app.leftovers import Cleanup, Leftover
from drumline.core.vocabulary import RunEnd
from drumline.workspace.runrefs import OURS, RunRef, find_run_refs, remove_refs
from drumline.workspace.worktrees import file_name

OVER = (RunEnd.DONE, RunEnd.CANCELLED)
"""How runs end that nobody drives on."""


def find_overruns(cleanup: Cleanup) -> list[RunRef]:
    """The branches and refs of runs that are done or cancelled and that no driver is at work on."""
    if cleanup.store is None:
        return []
    found: list[RunRef] = []
    for brief in list_runs(cleanup.store):
        run, state = brief.run, brief.state
        over = state.ended is not None and state.ended.state in OVER and state.started is not None
        if over and not cleanup.roster.drivers(run):
            branch = "" if state.begun.checkout else state.begun.branch  # the person's own
            found += find_run_refs(cleanup.top, file_name(run), branch, state.begun.base)
    return found


def clear_overruns(cleanup: Cleanup, found: list[RunRef], *, discard: bool) -> list[Leftover]:
    """Remove those that nothing is lost with; with `discard` the others, too, unless they are checked out."""
    gone = [one for one in found if not one.kept or (discard and not one.used)]
    why = "" if cleanup.dry else remove_refs(cleanup.top, gone)
    return [
        Leftover(
            kind="branch" if one.ref.startswith(OURS) else "ref",
            path=Path(one.ref),
            left=why if one in gone else one.kept,
        )
        for one in found
    ]
