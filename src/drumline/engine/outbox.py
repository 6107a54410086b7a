"""Brings the plan's files to what the fold wants them to say, and records what was written.

A write may wait seconds for a git of the user's that changes the checkout, or for a disk: it is made in a thread, so
that agents, checks and landings of other steps go on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import anyio

from drumline.core.events import DocumentWritten, FileWritten, PlanMirrored, StepFinished
from drumline.core.ids import RunId, StepId, Stream, Token
from drumline.core.mirror import Wanted, expected_marks, outstanding, wanted
from drumline.core.plan import Marks, Problem, Status, Step
from drumline.core.schedule import Surroundings, assignee
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.engine.figures import complete
from drumline.engine.refusals import explain_refusal
from drumline.engine.services import Services
from drumline.errors import InvalidInput, NotNow
from drumline.ports.journal import Addition
from drumline.ports.planfiles import ProgressReport
from drumline.record import Record, field, replace
from drumline.walltimes import parse_iso, write_iso

DONE = Marks(status=Status.DONE)
REFUSED = "refused"
"""The code of a problem that is not the plan's: its files cannot be written."""
RENEWALS = 4
"""A held claim's time is renewed this many times before it could be taken for stale."""


class Outbox(Record):
    """Writes marks; the caller records the event it returns. What is refused is reported once and tried again."""

    services: Services
    tell: Callable[[Sequence[Problem]], None] = lambda problems: None
    _told: set[str] = field(default_factory=set)
    _over: dict[StepId, tuple[Step, StepFinished, PlanMirrored]] = field(default_factory=dict)

    def look(self, step: Step, around: Surroundings) -> Surroundings:
        """The same surroundings with what the step's file says at this moment, if it can be read."""
        found = self._marks(step)
        if found is None:
            return around
        times = {**around.claim_times, step.id: parse_iso(found.claimed_at)}
        return replace(around, marks={**around.marks, step.id: found}, claim_times=times)

    async def claim(self, run: RunState, step: Step, *, replacing: Marks) -> PlanMirrored | None:
        """Mark a step as ours in place of the given marks; None if others stand there by now."""
        marks = Marks(status=Status.CLAIMED, assignee=assignee(run), claimed_at=write_iso(self.services.clock.now()))
        return await self._write(step, Wanted(marks=marks), replacing=replacing)

    async def mirror(self, run: RunState, step: Step, *, claimed: bool) -> PlanMirrored | None:
        """Bring one step's file up to date; None if it is or cannot be, or if a person wrote something else there."""
        try:
            found = self._marks(step)
            want = self._wanted(run, step, found, claimed=claimed) if found else None
            if found is None or want is None or not outstanding(run, step, want):
                return None
            return await self._write(step, want, replacing=expected_marks(run, step.id, found))
        except OSError as error:
            self.complain(error)
            return None

    async def deliver(self, run: RunState, wanted: DocumentWritten) -> FileWritten | None:
        """Put a document in its place; None if that cannot be for now, or if somebody else's stands there."""
        put = partial(self.services.planfiles.put, wanted.path, wanted.text, before=run.documents.get(wanted.path, ""))
        try:
            if await anyio.to_thread.run_sync(put):
                return FileWritten(step=wanted.step, path=wanted.path, digest=wanted.digest)
            self._report("somebody else's file stands where a document belongs; it is left alone", where=wanted.path)
        except NotNow as late:
            self._report(f"{late}; the next start of the run writes it", where=wanted.path)
        except InvalidInput as error:
            self._report(str(error), where=wanted.path)
        except OSError as error:
            self.complain(error)
        return None

    async def report_progress(self, progress: ProgressReport) -> str:
        """Bring the plan's progress report up to date; what is refused for now follows with the next change."""
        try:
            return await anyio.to_thread.run_sync(self.services.planfiles.report_progress, progress)
        except InvalidInput:
            return ""
        except OSError as error:
            self.complain(error)
            return ""

    def complain(self, error: OSError) -> None:
        """Tell once that the machine refuses something of the plan's files."""
        message = f"a mark cannot be written: {explain_refusal(error)}; it is written once that works, or by a resume"
        self._report(message, where=str(error.filename or "plan"))

    def _report(self, message: str, *, where: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self.tell([Problem(code=REFUSED, message=message, where=where)])

    def overdue(self, run: RunState, marks: Mapping[StepId, Marks], held: Collection[StepId]) -> list[Step]:
        """Steps whose file does not say yet what it should, in plan order."""
        name = assignee(run)
        ours = {step for step, found in marks.items() if found.assignee == name}
        touched = {*run.finished, *run.working, *run.mirrored, *ours}
        return [
            step
            for step in run.plan.steps
            if step.id in touched
            and not self._is_over(run, step)
            and outstanding(run, step, self._wanted(run, step, marks.get(step.id, Marks()), claimed=step.id in held))
        ]

    def _is_over(self, run: RunState, step: Step) -> bool:
        """Whether a finished step's file says all it should: asked each round for all of them, worked out once."""
        finished, last = run.finished.get(step.id), run.mirrored.get(step.id)
        if finished is None or last is None or step.manual_lines:  # a person may verify it long after its end
            return False
        if self._over.get(step.id) == (step, finished, last):
            return True
        plain = finished.state is StepEnd.DONE and last.marks == DONE and not finished.reason
        if plain and last.ticked == tuple([check.line for check in step.checks if check.line]):
            return True  # nearly all of a long run, told apart without further ado
        over = not outstanding(run, step, wanted(run, step, last.marks, claimed_at=""))
        if over:
            self._over[step.id] = (step, finished, last)
        return over

    def is_claimed(self, run: RunState, step: StepId) -> bool:
        """Whether the journal knows the step's file to say that it is ours."""
        last = run.mirrored.get(step)
        return last is not None and last.marks.status is Status.CLAIMED and last.marks.assignee == assignee(run)

    def _wanted(self, run: RunState, step: Step, found: Marks, *, claimed: bool) -> Wanted | None:
        return wanted(run, step, found, claimed_at=self._claimed_at(run, step.id) if claimed else "")

    def _marks(self, step: Step) -> Marks | None:
        """The marks in the file; None while a person's edit has made it unreadable, or removed it."""
        try:
            return self.services.planfiles.marks(step)
        except InvalidInput:
            return None

    def _claimed_at(self, run: RunState, step: StepId) -> str:
        """The time to show for a held claim: the one we wrote, until it is due for renewal."""
        now = self.services.clock.now()
        if self.is_claimed(run, step):
            shown = run.mirrored[step].marks.claimed_at
            since = parse_iso(shown)
            if since is not None and now - since < self.services.stale_claim / RENEWALS:
                return shown
        return write_iso(now)

    async def _write(self, step: Step, want: Wanted, *, replacing: Marks) -> PlanMirrored | None:
        write = partial(self.services.planfiles.write, step, want.marks, ticked=want.ticked, unless=replacing)
        try:
            digest = await anyio.to_thread.run_sync(write)
        except NotNow as late:
            self._report(f"{late}; the next start of the run writes it", where=step.path)
            return None
        except InvalidInput:
            return None
        if not digest:
            return None
        return PlanMirrored(step=step.id, marks=want.marks, path=step.path, digest=digest, ticked=want.ticked)


async def block_unmarked(services: Services, run: RunId, step: StepId, *, token: Token, error: OSError) -> None:
    """Block a claimed step whose file the machine does not let us mark, and give its claim back."""
    reason = f"its file cannot be marked: {explain_refusal(error)}"
    finished = StepFinished(step=step, state=StepEnd.BLOCKED, reason=reason)
    try:
        await services.store.append({Stream(run): Addition(events=complete(services.store, run, [finished]))})
    finally:
        services.store.release(run, step, token)
