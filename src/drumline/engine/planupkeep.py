"""What a driver does for a run of a plan beside its steps: it watches the plan's files and the run's branch, and brings
the files up to date.
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
from drumline.core.plan import RUN_WALKS, Marks, Problem, Severity, Step
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.steprules import recover
from drumline.core.words import StepEnd
from drumline.engine.books import Books
from drumline.engine.branchwatch import BranchWatch
from drumline.engine.closing import Recover
from drumline.engine.driver import Driver
from drumline.engine.flow.runwalks import RunWalks
from drumline.engine.flow.stepflow import USUAL_FLOW, open_step_walk
from drumline.engine.kills import repeat_killed
from drumline.engine.kit import FlowServices, Kit, Observer, Tools
from drumline.engine.nodes.plan import file_correction
from drumline.engine.nodes.stepwork import StepWork
from drumline.engine.outbox import Outbox, block_unmarked
from drumline.engine.planwatch import OtherRuns, PlanWatch
from drumline.engine.tidying import tidy_up
from drumline.engine.upkeep import StepWalk
from drumline.engine.vetting import Vetting
from drumline.errors import GitError
from drumline.ports.journal import Claim, Recorded
from drumline.walltimes import parse_iso

Complain = Callable[[Sequence[Problem]], None]


@dataclass(kw_only=True)
class PlanUpkeep:
    """Keeps the promises of `Upkeep` for a plan."""

    kit: Kit
    complain: Complain
    recover: Recover

    def __post_init__(self) -> None:
        kit = self.kit
        self.store, self.roster, self.clock = kit.store, kit.roster, kit.clock
        self.keeps_books = kit.planfiles.keeps_books
        self._plan = PlanWatch(planfiles=kit.planfiles, complain=self.complain)
        self._others = OtherRuns(store=kit.store, roster=kit.roster, workspaces=kit.workspaces)
        self._outbox = Outbox(kit=kit, tell=self.complain)
        self._books, self._vetting = Books(), Vetting(trust=kit.trust, base=kit.base)
        self._branch = BranchWatch(workspaces=kit.workspaces)
        self._booked = 0
        self._flows: FlowServices | None = None
        self._run_walks = RunWalks(open_flows=self._open_flows)
        self._me: DriverId
        self._tools: Tools

    def equip(self, driver: DriverId) -> None:
        """Open agents and processes for this driver."""
        self._me = driver
        self._tools = self.kit.equip(driver)

    def open_walk(self, run: RunState, step: Step, token: Token) -> StepWalk:
        """The walk of the flow that a step names, or of the shipped one."""
        work = StepWork(kit=self.kit, tools=self._tools, orders=orders_for(run, step), run=run)
        flows, name = self._open_flows(), run.flow_of(step) or USUAL_FLOW
        return open_step_walk(work, flows, name, driver=self._me, token=token, warn=self._warn, recover=self.recover)

    def _open_flows(self) -> FlowServices:
        self._flows = self._flows or self.kit.open_flows()
        return self._flows

    def _warn(self, text: str) -> None:
        self.complain([Problem(code="flow", message=text, where="", severity=Severity.WARNING)])

    def note(self, recorded: Sequence[Recorded]) -> None:
        """Keep books."""
        self._books.note(recorded)

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
                yield await file_correction(self.kit.planfiles, run, planned)
        for wanted in list(run.unwritten.values()):
            if (delivered := await self._outbox.deliver(run, wanted)) is not None:
                yield delivered
        for step in self._outbox.overdue(run, self._plan.known(run).marks, held):
            held = self.store.held(run.id)  # the write before may have waited seconds for a git of the user's
            if step.id in held and not (step.id in walks and self._outbox.is_claimed(run, step.id)):
                continue  # another driver's, or just claimed: its walk records the mark together with the claim
            written = await self._outbox.mirror(run, step, claimed=step.id in held)
            if written is not None:
                yield written
        if self.keeps_books and self._booked != run.version:
            self._booked = run.version
            await self._outbox.account(self._books.account(run, self.clock.now()))

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
            stale_after=self.kit.stale_claim,
            claim_times={step: parse_iso(m.claimed_at) for step, m in reading.marks.items() if m.claimed_at},
            patience=self.kit.quota_wait,
            gone=None if self._plan.gone is None else now - self._plan.gone,
            untrusted=self._vetting.look(run),
            unmerged=unmerged,
            branch=self._branch.branch,
            quiet=self._branch.quiet,
            pending=self._run_walks.find_pending(run),
        )

    def look_again(self, step: Step, around: Surroundings) -> Surroundings:
        """With what the step's file says now."""
        return around if step.id in RUN_WALKS else self._outbox.look(step, around)

    async def claim(self, run: RunState, step: Step, around: Surroundings) -> list[ev.Event] | None:
        """Mark the step as ours in its file; somebody else's mark in it wins. A walk of the run itself has no file."""
        if step.id in RUN_WALKS:
            return []
        mirrored = await self._outbox.claim(run, step, replacing=around.marks.get(step.id, Marks()))
        return None if mirrored is None else [mirrored]

    async def block(self, run: RunId, step: StepId, token: Token, error: OSError) -> None:
        """Block a step whose file cannot be marked."""
        await block_unmarked(self.kit, run, step, token=token, error=error)

    async def settle_branch(self, run: RunState, command: SettleBranch) -> str:
        """Carry out a decision about the branch, and look at it again."""
        refusal = await self._branch.settle(command)
        await self._branch.look(run)
        return refusal if not self._branch.is_sound else ""

    def describe_branch(self, command: SettleBranch) -> ev.Event:
        """The decision about the branch as an event."""
        return self._branch.describe(command)

    async def confirm_end(self, run: RunState, state: str) -> bool:
        """Whether what landed is on the branch, looked at once more."""
        return state == "cancelled" or await self._branch.confirm(run, self.clock)

    def is_quiet(self) -> bool:
        """Whether the branch is where we left it, and nothing that this driver started runs any more."""
        return self._branch.is_sound and self.roster.is_alone(self._me)

    def end_walk(self, walk: StepWalk) -> None:
        """Look at the branch if a landing was refused."""
        self._branch.due = self._branch.due or walk.was_refused

    async def clear_away(self, run: RunState, step: StepId) -> None:
        """Leave the workspace of a step that is done to the next one."""
        finished = run.finished.get(step)
        if finished is not None and finished.state is StepEnd.DONE:
            with contextlib.suppress(GitError, OSError):
                await self.kit.workspaces.release(step)

    async def leave(self, run: RunState, driver: DriverId) -> None:
        """Remove workspaces that nobody needs any more."""
        await tidy_up(self.kit, run, driver)


def open_plan_driver(
    kit: Kit,
    run_id: RunId,
    *,
    jobs: int,
    observe: Observer = lambda recorded: None,
    recover: Recover = recover,
    complain: Complain = lambda problems: None,
    wait_told: Callable[[str], None] = lambda reason: None,
    joined: Callable[[], None] = lambda: None,
) -> Driver:
    """What drives a run of a plan in this process."""
    upkeep = PlanUpkeep(kit=kit, complain=complain, recover=recover)
    return Driver(upkeep=upkeep, run_id=run_id, jobs=jobs, observe=observe, wait_told=wait_told, joined=joined)
