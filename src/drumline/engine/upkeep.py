"""What a driver does for a run beside its steps: it watches the plan's files and the run's branch, and brings the files
up to date.

The rule: a run without files or without landings is not another kind of run; there is only less to look at.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from drumline.core import events as ev
from drumline.core.commands import SettleBranch
from drumline.core.ids import DriverId, RunId, StepId, Token
from drumline.core.orders import orders_for
from drumline.core.plan import RUN_WALKS, Marks, Problem, Status, Step
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.steprules import recover
from drumline.core.task import has_files
from drumline.core.taxonomy import WAITS
from drumline.core.vocabulary import DocumentKind, RunEnd, StepEnd
from drumline.engine.branchwatch import BranchWatch
from drumline.engine.closing import Recover
from drumline.engine.flow.course import Course, find_course
from drumline.engine.flow.performer import NodePerformer
from drumline.engine.flow.runwalks import RunWalks
from drumline.engine.flow.stepflow import USUAL_FLOW, open_step_walk
from drumline.engine.flow.walk import FlowWalk, Perform
from drumline.engine.kills import repeat_killed
from drumline.engine.landingline import LandingLine
from drumline.engine.learning import Learning
from drumline.engine.nodes.plan import file_correction
from drumline.engine.nodes.revise import file_revision
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.outbox import Outbox, block_unmarked
from drumline.engine.planwatch import OtherRuns, PlanWatch
from drumline.engine.progressreports import ProgressReports
from drumline.engine.services import FlowServices, Services, Tools
from drumline.engine.tidying import tidy_up
from drumline.engine.vetting import Vetting
from drumline.errors import GitError
from drumline.ports.journal import Claim, Recorded
from drumline.record import replace
from drumline.walltimes import parse_iso

Complain = Callable[[Sequence[Problem]], None]


@dataclass(kw_only=True)
class Upkeep:
    """What one driver knows and does beside the walks of its run.

    `perform` stands in for the acts of nodes where a run is one flow.
    """

    services: Services
    complain: Complain = lambda problems: None
    warn: Callable[[str], None] = lambda text: None
    recover: Recover = recover
    perform: Perform | None = None

    def __post_init__(self) -> None:
        services = self.services
        self.store, self.roster, self.clock = services.store, services.roster, services.clock
        self.reports_progress = services.planfiles.reports_progress
        self._plan = PlanWatch(planfiles=services.planfiles, complain=self.complain)
        self._others = OtherRuns(store=services.store, roster=services.roster, workspaces=services.workspaces)
        self._outbox = Outbox(services=services, tell=self.complain)
        self._progress, self._vetting = ProgressReports(), Vetting(trust=services.trust, base=services.base)
        self._branch = BranchWatch(workspaces=services.workspaces, store=services.store)
        self._learning = Learning(lessons=services.lessons, clock=services.clock)
        self._reported = 0
        self._flows: FlowServices | None = None
        self._run_walks = RunWalks(open_flows=self._open_flows)
        self._me: DriverId
        self._tools: Tools

    def equip(self, driver: DriverId) -> None:
        """Open agents and processes for this driver."""
        self._me = driver
        self._tools = self.services.equip(driver)

    def open_walk(self, run: RunState, step: Step, token: Token) -> FlowWalk:
        """The walk of the flow that a step names, or of the shipped one; that of a run which is one flow is pinned."""
        course = find_course(run)
        if course is not None:
            return self._open_pinned(run, course, token)
        line = LandingLine(store=self.services.store, roster=self.services.roster, run=run)
        work = StepWork(services=self.services, tools=self._tools, given=orders_for(run, step), run=run, line=line)
        flows, name = self._open_flows(), run.flow_of(step) or USUAL_FLOW
        return open_step_walk(work, flows, name, driver=self._me, token=token, warn=self.warn, recover=self.recover)

    def _open_pinned(self, run: RunState, course: Course, token: Token) -> FlowWalk:
        flows = self._open_flows()
        performer = NodePerformer(services=self.services, flows=flows, tools=self._tools, warn=self.warn)
        act = self.perform or performer.perform
        return FlowWalk(
            services=self.services,
            flows=flows,
            run=run,
            driver=self._me,
            token=token,
            act=act,
            course=course,
            warn=self.warn,
        )

    def _open_flows(self) -> FlowServices:
        self._flows = self._flows or self.services.open_flows()
        return self._flows

    def note(self, recorded: Sequence[Recorded]) -> None:
        """Note what the plan reports of its progress, if it does."""
        if self.reports_progress:
            self._progress.note(recorded)

    @property
    def has_read_plan(self) -> bool:
        """Whether this driver has read the plan's files."""
        return self._plan.has_read

    def watch(self, run: RunState, held: Mapping[StepId, Claim]) -> Sequence[ev.Event]:
        """What edits of the plan lead to."""
        return self._plan.look(run, held, now=self.clock.now())

    async def mirror(
        self, run: RunState, held: Mapping[StepId, Claim], walks: Iterable[StepId]
    ) -> AsyncGenerator[ev.Event]:
        """Bring the files of all steps up to date that no other driver is working on, unless the plan is gone."""
        if self._plan.gone is not None:
            return
        for planned in [run.corrections[name] for name in sorted(run.unfiled)]:
            if planned.origin not in held:  # who planned it has died, or was let go, before it was written
                yield await file_correction(self.services.planfiles, run, planned)
        for revised in [run.revisions[name] for name in sorted(run.unrevised)]:
            if revised.origin not in held:
                yield await file_revision(self.services.planfiles, run, revised)
        overdue = self._outbox.overdue(run, self._plan.known(run).marks, held) if has_files(run.plan) else ()
        for step in overdue:
            held = self.store.list_claims(run.id)  # the write before may have waited seconds for a git of the user's
            if step.id in held and not (step.id in walks and self._outbox.is_claimed(run, step.id)):
                continue  # another driver's, or just claimed: its walk records the mark together with the claim
            written = await self._outbox.mirror(run, step, claimed=step.id in held)
            if written is not None:
                yield written
        for wanted in [one for one in run.unwritten.values() if _is_due(run, one)]:
            if (delivered := await self._outbox.deliver(run, wanted)) is not None:
                yield delivered
        if (learned := await self._learning.note(run)) is not None:
            yield learned
        if self.reports_progress and self._reported != run.version:
            self._reported = run.version
            progress = self._progress.report_progress(run, self.clock.now())
            if told := await self._outbox.report_progress(replace(progress, archives=self.services.archives)):
                self.warn(told)

    async def look(self, run: RunState, claimed: frozenset[StepId]) -> Surroundings:
        """Files, branch, other runs, and the time."""
        await repeat_killed(partial(self._branch.look, run), self.clock)
        reading = self._plan.known(run)
        unmerged = await repeat_killed(partial(self._others.find_unmerged, run, reading), self.clock)
        now = self.clock.now()
        return Surroundings(
            claimed=claimed,
            marks=reading.marks,
            now=now,
            stale_after=self.services.stale_claim,
            claim_times={step: parse_iso(m.claimed_at) for step, m in reading.marks.items() if m.claimed_at},
            patience=max(self.services.quota_wait, *WAITS),
            gone=None if self._plan.gone is None else now - self._plan.gone,
            untrusted=self._vetting.look(run),
            unmerged=unmerged,
            branch=self._branch.branch,
            quiet=self._branch.quiet,
            pending=self._run_walks.find_pending(run) if run.lands else frozenset(),
            called=self._find_called(run),
        )

    def _find_called(self, run: RunState) -> frozenset[StepId]:
        """The steps whose walks a person wants to try a visit that waits: which one is known to the walk only."""
        if run.lands or not any(message.kind == "retry" for _, message in self.store.unread(run.id)):
            return frozenset()
        return frozenset(run.plan.by_id)

    def look_again(self, run: RunState, step: Step, around: Surroundings) -> Surroundings:
        """The same surroundings with what the step's file says now."""
        return self._outbox.look(step, around) if _is_marked(run, step) else around

    async def claim(self, run: RunState, step: Step, around: Surroundings) -> list[ev.Event] | None:
        """Mark the step as ours in its file; somebody else's mark in it wins. Without a file, the claim is enough."""
        if not _is_marked(run, step):
            return []
        mirrored = await self._outbox.claim(run, step, replacing=around.marks.get(step.id, Marks()))
        return None if mirrored is None else [mirrored]

    async def block(self, run: RunId, step: StepId, token: Token, error: OSError) -> None:
        """Block a step whose file cannot be marked."""
        await block_unmarked(self.services, run, step, token=token, error=error)

    async def settle_branch(self, run: RunState, command: SettleBranch) -> str:
        """Carry out a decision about the branch, and look at it again."""
        refusal = await self._branch.settle(command)
        await self._branch.look(run)
        return refusal if not self._branch.is_sound else ""

    def describe_branch(self, command: SettleBranch) -> ev.Event:
        """The decision about the branch as an event."""
        return self._branch.describe(command)

    async def confirm_end(self, run: RunState, ending: RunEnd | None = None) -> bool:
        """Whether what landed is on the branch, looked at once more; not before a run ends that was cancelled."""
        return ending is RunEnd.CANCELLED or await self._branch.confirm(run, self.clock)

    def is_quiet(self) -> bool:
        """Whether the branch is where we left it, and nothing that this driver started runs any more."""
        return self._branch.is_sound and self.roster.is_alone(self._me)

    def end_walk(self, walk: FlowWalk) -> None:
        """Look at the branch if a landing was refused."""
        self._branch.due = self._branch.due or walk.was_refused

    async def clear_away(self, run: RunState, step: StepId) -> None:
        """Leave the workspace of a step that is done to the next one."""
        finished = run.finished.get(step)
        if run.lands and finished is not None and finished.state is StepEnd.DONE:
            with contextlib.suppress(GitError, OSError):
                await self.services.workspaces.release(step)

    async def leave(self, run: RunState, driver: DriverId, ending: RunEnd | None = None) -> None:
        """Remove workspaces that nobody needs any more, or will need once the run has ended so."""
        await tidy_up(self.services, run, driver, ending)


def _is_due(run: RunState, wanted: ev.DocumentWritten) -> bool:
    """Whether a document may be put in its place: a handoff says that its step is done, so the mark comes first."""
    finished, last = run.finished.get(wanted.step), run.mirrored.get(wanted.step)
    if wanted.kind is not DocumentKind.HANDOFF or finished is None or finished.state is not StepEnd.DONE:
        return True
    return last is not None and last.marks.status is Status.DONE


def _is_marked(run: RunState, step: Step) -> bool:
    """Whether a step has a file that says who works on it; a walk of the run itself has none."""
    return has_files(run.plan) and step.id not in RUN_WALKS
