"""Writes what a run's fixes teach into the repository's ledgers, and records which lessons came of it.

The rule: the ledgers are derived from the journal, so that a line that a dead driver did not write is written by the
next one. A disk that refuses them holds up nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from drumline.core import events as ev
from drumline.core.corrections import list_heals
from drumline.core.ids import StepId
from drumline.core.plan import RUN_WALKS
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.ports.clock import Clock
from drumline.ports.lessons import Change, FixRow, Lessons, RunRow
from drumline.walltimes import write_iso


@dataclass(kw_only=True)
class Learning:
    """One driver's hand in the ledgers."""

    lessons: Lessons
    clock: Clock
    _noted: dict[StepId, int] = field(default_factory=dict)
    _over: int = 0

    async def note(self, run: RunState) -> ev.LessonsChanged | None:
        """Write what is not written yet; returns what that changed about the lessons, if the journal does not know."""
        rows = self._list_rows(run)
        changed = None
        try:
            if rows:
                changed = await anyio.to_thread.run_sync(self.lessons.note, rows)
            if run.ended is not None and self._over != run.version:
                await anyio.to_thread.run_sync(self.lessons.note_run, self._describe(run))
                self._over = run.version
        except OSError:
            return None
        self._noted |= {step: len(finished.learned) for step, finished in run.finished.items()}
        return _compare(run, changed)

    def _list_rows(self, run: RunState) -> list[FixRow]:
        new = [done for step, done in run.finished.items() if len(done.learned) > self._noted.get(step, 0)]
        if not new:
            return []
        at, ticket = write_iso(self.clock.now()), find_ticket(run)
        return [
            FixRow(run=run.id, step=done.step, number=number, ticket=ticket, at=at, fix=fix)
            for done in new
            for number, fix in enumerate(done.learned, start=1)
        ]

    def _describe(self, run: RunState) -> RunRow:
        done = [f for step, f in run.finished.items() if step not in RUN_WALKS and f.state is StepEnd.DONE]
        fixes = [fix.success for finished in run.finished.values() for fix in finished.learned]
        healed = {finished.landed_by for finished in done if finished.landed_by in list_heals(run)}
        selected = run.selected()
        return RunRow(
            run=run.id,
            ticket=find_ticket(run),
            at=write_iso(self.clock.now()),
            state=run.ended.state.value if run.ended else "",
            total_steps=len(selected),
            steps_completed=len(done),
            fixes=(sum(fixes), len(fixes) - sum(fixes)),
            heals=(len(healed), len({*list_heals(run)} - healed)),
            step_titles=tuple(step.title for step in selected),
        )


def find_ticket(run: RunState) -> str:
    """What other tools know the plan by: its ticket, or its name."""
    return run.plan.ticket or run.plan.name


def _compare(run: RunState, change: Change | None) -> ev.LessonsChanged | None:
    if change is None:
        return None
    told = ev.LessonsChanged(promoted=change.promoted, demoted=change.demoted)
    known = run.lessons or ev.LessonsChanged()
    return None if told == known else told
