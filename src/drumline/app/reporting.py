"""Collects what the report of a run is made of: the snapshot, the streams with their times, the diffs of its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from drumline.app.look import Watcher
from drumline.core.ids import Commit, StepId, Stream
from drumline.views.runreport import History, RunReport, run_report

MOST_LINES = 400
"""Lines of a step's diff that a report has."""


def make_report(
    watcher: Watcher, now: float, show: Callable[[Commit], Sequence[str]], *, logs: Path | None = None
) -> RunReport:
    """The report of a run as it is now; `show` gives the diff of a commit, `logs` has the texts that steps had."""
    snapshot = watcher.look(now)
    store, run = watcher.store, snapshot.run
    begun = [step.id for step in run.selected() if run.has_begun(step.id)]
    landed: dict[StepId, Commit] = {}
    for step in begun:
        commit = run.finished[step].commit if step in run.finished else None
        if commit is not None:
            landed[step] = commit
    # A corrective step may have been taken out of the plan since it landed.
    helpers = [run.finished[step].landed_by for step in begun if step in run.finished]
    history = History(
        own=store.read(Stream(run.id)),
        streams={step: store.read(Stream(run.id, step)) for step in dict.fromkeys((*begun, *helpers)) if step},
        diffs={step: _cut(show(commit)) for step, commit in landed.items()},
        texts={step: text for step in begun if logs is not None and (text := _read_text(logs / step))},
    )
    return run_report(snapshot, history)


def _read_text(folder: Path) -> str:
    """What the step was when work on it began last."""
    kept = sorted(folder.glob("step-*.md"), key=lambda file: file.stat().st_mtime)
    return kept[-1].read_text(encoding="utf-8", errors="replace") if kept else ""


def _cut(lines: Sequence[str]) -> list[str]:
    shown = list(lines[:MOST_LINES])
    return [*shown, f"… and {len(lines) - MOST_LINES:,} more lines"] if len(lines) > MOST_LINES else shown
