"""`drumline runs`: one row per run, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.flow.events import FlowEnded, NodeEnded
from drumline.core.ids import RunId
from drumline.core.needs import is_skipped, satisfied
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.record import Record
from drumline.views.cells import fit, flatten, width
from drumline.views.duration import age
from drumline.views.states import name_state

UNREADABLE = "unreadable"
"""The state of a run that another version has written."""
STRANGE = "an unreadable run was written by another version of Drumline: finish it with that one; its branch stays"
_HEADINGS = ("RUN", "STATE", "DONE", "STARTED", "PLAN", "BRANCH")


class RunRow(Record):
    """A run in the list. `plan` is the path of what it does: a plan, or a flow, which nobody knows the length of.

    A task has no path; it is listed by its name.
    """

    run: RunId
    plan: str
    state: str
    started_at: float
    done: int
    total: int | None
    branch: str
    flow: str = ""
    skipped: int = 0


def run_row(run: RunState, *, live: bool, started_at: float, visits: int | None = None) -> RunRow:
    """The row of one run; of a run of a flow `visits` are done, and nobody knows of how many."""
    steps = run.selected()
    done = sum(1 for step in steps if satisfied(run, step.id) and not is_skipped(run, step.id))
    return RunRow(
        run=run.id,
        plan=run.begun.plan or run.begun.plan_name,
        state=name_state(run, live=live),
        started_at=started_at,
        done=done if visits is None else visits,
        total=len(steps) if visits is None else None,
        skipped=sum(1 for step in steps if is_skipped(run, step.id)),
        branch=run.begun.branch,
        flow="" if visits is None else run.plan.title,
    )


def strange_row(run: RunState, *, started_at: float) -> RunRow:
    """The row of a run of which no more can be read than, perhaps, how it began."""
    begun = run.started
    return RunRow(
        run=run.id,
        plan=(begun.plan or begun.plan_name) if begun else "",
        state=UNREADABLE,
        started_at=started_at,
        done=0,
        total=None,
        branch=begun.branch if begun else "",
    )


def count_visits(entries: Sequence[Recorded]) -> int:
    """How many visits ended, with those of end nodes, which are the ends of their flows."""
    return sum(1 for entry in entries if isinstance(entry.event, NodeEnded | FlowEnded) and entry.event.node)


def runs_lines(rows: Sequence[RunRow], *, now: float) -> list[str]:
    """An aligned table, newest first; a sentence if there is nothing to list."""
    if not rows:
        return ["no runs yet; start one with: drumline run PLAN"]
    table = [_HEADINGS, *(_cells(row, now) for row in _newest_first(rows))]
    widths = [max(width(line[column]) for line in table) for column in range(len(_HEADINGS))]
    lines = ["  ".join(fit(cell, cells) for cell, cells in zip(line, widths, strict=True)).rstrip() for line in table]
    return [*lines, STRANGE] if any(row.state == UNREADABLE for row in rows) else lines


def runs_json(rows: Sequence[RunRow]) -> dict[str, object]:
    """The list for programs, newest first."""
    return {
        "schema_version": 1,
        "runs": [
            {
                "run": row.run,
                "plan": row.plan,
                "state": row.state,
                "started_at": row.started_at,
                "done": row.done,
                "total": row.total,
                "skipped": row.skipped,
                "branch": row.branch,
                "flow": row.flow or None,
            }
            for row in _newest_first(rows)
        ],
    }


def _newest_first(rows: Sequence[RunRow]) -> list[RunRow]:
    return sorted(rows, key=lambda row: row.started_at, reverse=True)


def _cells(row: RunRow, now: float) -> tuple[str, ...]:
    done = f"{row.done:,}/{'-' if row.total is None else f'{row.total:,}'}"
    return row.run, row.state, done, age(row.started_at, now), flatten(row.plan), flatten(row.branch)
