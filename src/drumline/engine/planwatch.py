"""Watches the plan's files for a driver. The rule: a plan that is not valid changes nothing, and that is said once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from drumline.core import events as ev
from drumline.core.edits import compare
from drumline.core.ids import StepId
from drumline.core.needs import settled
from drumline.core.plan import Marks, Problem, Reading, Status
from drumline.core.state import RunState
from drumline.core.task import has_files
from drumline.engine.branchwatch import know_landings
from drumline.engine.loading import load_run
from drumline.engine.refusals import explain_refusal
from drumline.ports.journal import Claim, Store
from drumline.ports.planfiles import PlanFiles
from drumline.ports.roster import Roster
from drumline.ports.workspaces import Workspaces
from drumline.record import Record, replace


@dataclass(kw_only=True)
class PlanWatch:
    """What one driver knows of the plan's files: the last reading that was valid, and since when they are `gone`."""

    planfiles: PlanFiles
    complain: Callable[[Sequence[Problem]], None]
    _reading: Reading | None = None
    gone: float | None = None
    _complained: tuple[Problem, ...] = ()

    @property
    def has_read(self) -> bool:
        """Whether there is a reading."""
        return self._reading is not None

    def known(self, run: RunState) -> Reading:
        """The last reading that was valid, or the plan as the journal knows it."""
        return self._reading or run.reading()

    def look(self, run: RunState, claimed: Mapping[StepId, Claim], *, now: float) -> Sequence[ev.Event]:
        """Read what has changed; the events that follow from it. Nothing follows from a plan that is gone.

        Of a plan without files, what the journal says is always the last word.
        """
        if not has_files(run.plan):
            return ()
        try:
            reading = self.planfiles.read(self.known(run))
        except OSError as error:
            return self._refuse(error)
        is_gone = bool(run.plan.steps) and not reading.plan.steps and not reading.digests
        self.gone = (self.gone or now) if is_gone else None
        if is_gone:
            self._reading = _add_own_marks(self._reading, run)
            return ()
        edits = compare(run, reading, claimed=claimed)
        if edits.problems:
            if edits.problems != self._complained:
                self.complain(edits.problems)
            self._complained = edits.problems
            self._reading = _add_own_marks(self._reading, run)
            return ()
        self._complained = ()
        self._reading = reading
        return edits.events

    def _refuse(self, error: OSError) -> Sequence[ev.Event]:
        """The files cannot be read for now: what was read last still holds."""
        problems = (Problem(code="refused", message=explain_refusal(error), where=str(error.filename or "plan")),)
        if problems != self._complained:
            self.complain(problems)
        self._complained = problems
        return ()


def _add_own_marks(reading: Reading | None, run: RunState) -> Reading | None:
    """The last good reading with what we have written since: while the plan is not valid, no other comes."""
    if reading is None:
        return None
    written = {step: last.marks for step, last in run.mirrored.items()}
    return replace(reading, marks={**reading.marks, **written})


class OtherRuns(Record):
    """Live runs of the same plan beside ours: a step that one of them landed is done there, not here."""

    store: Store
    roster: Roster
    workspaces: Workspaces

    async def find_unmerged(self, run: RunState, reading: Reading) -> Mapping[StepId, str]:
        """Steps that the files call done because another live run landed them on a branch that ours does not contain.

        Each with the name of that branch.
        """
        marked = {
            step.id
            for step in run.plan.steps
            if not settled(run, step.id)
            and reading.marks.get(step.id, Marks()).status is Status.DONE
            and step.id not in run.working
        }
        found: dict[StepId, str] = {}
        if not marked:
            return found
        head = await self.workspaces.head(run.left, know_landings(self.store, run))
        for other in self._list_live(run):
            for step in marked & other.finished.keys():
                commit = other.finished[step].commit
                if commit is not None and not await self.workspaces.contains(head, commit):
                    found[step] = other.begun.branch
        return found

    def _list_live(self, run: RunState) -> list[RunState]:
        live = [other for other in self.store.runs() if other != run.id and self.roster.drivers(other)]
        states = [load_run(self.store, other).state for other in live]
        return [state for state in states if state.begun.plan == run.begun.plan]
