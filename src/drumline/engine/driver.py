"""The local driver: one of possibly several processes that drive the same run.

Each round it reads what is new, folds in what people said, notices edits of the plan, takes over from the dead, brings
the plan's files up to date, and carries out what the core decides. It polls one number of the store while idle.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import anyio
from anyio.abc import TaskGroup

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.advance import orders_for, recover
from drumline.core.decide import decide, take_up
from drumline.core.ids import DriverId, RunId, StepId, Stream, Token
from drumline.core.plan import Marks, Problem, Step
from drumline.core.schedule import Surroundings, is_claimable, is_guarded
from drumline.core.state import RunState, fold_run
from drumline.engine.acts import Acts
from drumline.engine.books import Books
from drumline.engine.branchwatch import BranchWatch, record_adoption
from drumline.engine.figures import complete
from drumline.engine.kills import repeat_killed
from drumline.engine.kit import Kit, Observer, OpenAgent
from drumline.engine.loading import keep_checkpoint, load_run
from drumline.engine.messages import outcome_of
from drumline.engine.outbox import Outbox, block_unmarked, parse_iso
from drumline.engine.planwatch import OtherRuns, PlanWatch
from drumline.engine.refusals import explain_stuck, telling_refusals
from drumline.engine.tidying import tidy_up
from drumline.engine.vetting import Vetting
from drumline.engine.wakeup import POLL, Wakeup
from drumline.engine.walk import Recover, Walk
from drumline.errors import Conflict, GitError, StaleToken
from drumline.ports.journal import Addition, Recorded
from drumline.ports.processes import Processes
from drumline.ports.roster import Standing
from drumline.record import replace


@dataclass(kw_only=True)
class Driver:
    """Drives a run until it ends, parks, or `stop` is called."""

    kit: Kit
    run_id: RunId
    jobs: int
    observe: Observer = lambda recorded: None
    recover: Recover = recover
    complain: Callable[[Sequence[Problem]], None] = lambda problems: None
    wait_told: Callable[[str], None] = lambda reason: None
    joined: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.run = RunState(id=self.run_id)
        self.stopping = False
        self._seen = self._checked = 0
        self._plan = PlanWatch(planfiles=self.kit.planfiles, complain=self.complain)
        self._others = OtherRuns(store=self.kit.store, roster=self.kit.roster, workspaces=self.kit.workspaces)
        self._walks: dict[StepId, anyio.CancelScope] = {}
        self._wakeup = Wakeup(clock=self.kit.clock, position=self.kit.store.position)
        self._outbox = Outbox(kit=self.kit, tell=self.complain)
        self._books, self._vetting = Books(), Vetting(trust=self.kit.trust, base=self.kit.base)
        self._branch = BranchWatch(workspaces=self.kit.workspaces)
        self._booked, self._waiting = 0, ""
        self._stuck: list[DriverId] = []
        self._me: DriverId
        self._processes: Processes
        self._open_agent: OpenAgent

    async def drive(self, *, resuming: bool = False) -> RunState:
        """Drive; return the run as it is when this driver leaves it."""
        while True:
            self._me = self.kit.roster.join(self.run_id)
            self.joined()
            try:
                with telling_refusals("drumline resume"):
                    await self._drive_once(resuming)
            finally:
                self.kit.roster.leave(self._me)
            self._sync()
            # Whoever spoke before we left relied on us; whoever speaks from here on finds no driver and settles it.
            if self.stopping or not self._is_called_back():
                return self.run
            resuming = self.run.parked or self.run.ended is not None

    async def _drive_once(self, resuming: bool) -> None:
        self._processes, self._open_agent = self.kit.equip(self._me)
        self._sync()
        if resuming:
            await self._append([ev.RunResumed(driver=self._me), *take_up(self.run)], any_version=True)
        async with anyio.create_task_group() as tasks:
            await self._loop(tasks)
        await tidy_up(self.kit, self.run, self._me)

    def _is_called_back(self) -> bool:
        """Whether something was said that no driver has folded in; what waits for another's claim is for that one."""
        claimed = {*self.kit.store.held(self.run_id)}
        unread = self.kit.store.unread(self.run_id)
        return any(outcome_of(self.run, message, claimed) is not None for _, message in unread)

    def stop(self) -> None:
        """Stop this driver: its steps are given back, the run stays open."""
        self.stopping = True
        self._wakeup.call()

    async def _loop(self, tasks: TaskGroup) -> None:
        while True:
            self._sync()
            if self.stopping or self.run.cancel is not None:
                await self._stop_walks()
            if self.stopping:
                await self._mirror_all()
                return
            try:
                busy = await self._round(tasks)
                if await self._is_over():
                    return
            except Conflict:
                continue
            if not busy:
                await self._wakeup.wait()

    async def _is_over(self) -> bool:
        """Whether there is nothing left to drive; what somebody said in the last moment may change that."""
        if self.run.ended is None and not self.run.parked:
            return False
        await self._mirror_all()
        if not await self._settle_inbox():
            return True
        if self.run.ended is None and not self.run.parked:  # it goes on, and so does the time that is counted
            await self._append([ev.RunResumed(driver=self._me)], any_version=True)
        return False

    async def _round(self, tasks: TaskGroup) -> bool:
        """One round; whether something was done that calls for another at once."""
        claimed = frozenset(await self._live_claims())
        if await self._settle_inbox():
            return True
        await self._mirror_all()
        if await self._watch_plan():
            return True
        await repeat_killed(partial(self._branch.look, self.run), self.kit.clock)
        find_unmerged = partial(self._others.find_unmerged, self.run, self._plan.known(self.run))
        unmerged = await repeat_killed(find_unmerged, self.kit.clock)
        around = replace(self._surroundings(claimed | frozenset(self._walks)), unmerged=unmerged)
        commands = decide(self.run, around, slots=self.jobs - len(self._walks))
        self._wakeup.alarm = None
        acted = False
        for command in commands:
            acted = await self._carry_out(command, tasks, around) or acted
        self._sync()
        self._keep_checkpoint()
        return acted

    # --- reading ------------------------------------------------------------------------------------------------

    def _sync(self) -> None:
        """Fold in what was appended since the last look, by this driver or another."""
        if self.run.version == 0:
            recorded = self._take_up()
        else:
            recorded = self.kit.store.tail(self.run_id, after=self._seen)
            fold_run(self.run, [entry.event for entry in recorded if entry.stream.step == ""])
        self._books.note(recorded)
        if recorded:
            self._seen = max(self._seen, recorded[-1].seq)
            self.observe(recorded)

    def _take_up(self) -> Sequence[Recorded]:
        """Begin from the run's checkpoint; formats that keep books want to hear the whole history."""
        loaded = load_run(self.kit.store, self.run_id, whole=self.kit.planfiles.keeps_books)
        self.run, self._seen, self._checked = loaded.state, loaded.seq, loaded.checked
        return loaded.recorded

    def _keep_checkpoint(self) -> None:
        self._checked = keep_checkpoint(self.kit.store, self.run, seq=self._seen, checked=self._checked)

    def _surroundings(self, claimed: frozenset[StepId]) -> Surroundings:
        reading = self._plan.known(self.run)
        return Surroundings(
            claimed=claimed,
            marks=reading.marks,
            now=self.kit.clock.now(),
            stale_after=self.kit.stale_claim,
            claim_times={step: parse_iso(m.claimed_at) for step, m in reading.marks.items() if m.claimed_at},
            patience=self.kit.quota_wait,
            gone=None if self._plan.gone is None else self.kit.clock.now() - self._plan.gone,
            untrusted=self._vetting.look(self.run),
            branch=self._branch.branch,
            quiet=self._branch.quiet,
        )

    async def _live_claims(self) -> list[StepId]:
        """Steps held by drivers that can act; the claims of dead and frozen ones are freed on the way."""
        held = self.kit.store.held(self.run_id)
        gone: dict[DriverId, bool] = {}
        live: list[StepId] = []
        for step, claim in held.items():
            if claim.driver not in gone:
                gone[claim.driver] = await self._is_gone(claim.driver)
            if gone[claim.driver]:
                await self._clear_away(step, claim.token)
                self.kit.store.release(self.run_id, step, claim.token)
            else:
                live.append(step)
        self._stuck = [one for one in gone if not gone[one] and self.kit.roster.standing(one) is Standing.DEAD]
        return live

    async def _clear_away(self, step: StepId, token: Token) -> None:
        """Conclude what a dead driver's claim is about before anybody may skip, cancel or restart the step.

        A landing that reached git is recorded; a workspace that is not needed any more is removed.
        """
        self._sync()
        if step in self.run.plan.by_id and step not in self.run.finished:
            with contextlib.suppress(GitError, StaleToken, Conflict):
                await self._new_walk(self.run.plan.by_id[step], token).conclude_landing()
            self._sync()
        finished = self.run.finished.get(step)
        if finished is not None and finished.state == "done":
            with contextlib.suppress(GitError, OSError):
                await self.kit.workspaces.remove(step)

    async def _is_gone(self, driver: DriverId) -> bool:
        if driver == self._me or self.kit.roster.standing(driver) is Standing.LIVE:
            return False
        # An eviction may wait for seconds until everything the other had started has ended.
        return await anyio.to_thread.run_sync(self.kit.roster.evict, driver)

    # --- what people said and wrote -----------------------------------------------------------------------------

    async def _settle_inbox(self) -> bool:
        claimed = {*self.kit.store.held(self.run_id)}
        for number, message in self.kit.store.unread(self.run_id):
            events = outcome_of(self.run, message, claimed)
            if events is None:
                scope = self._walks.get(StepId(message.subject))
                if scope is not None:
                    scope.cancel()
                continue
            await self._append(complete(self.kit.store, self.run_id, events), settles=[number])
            return True
        return False

    async def _watch_plan(self) -> bool:
        events = self._plan.look(self.run, self.kit.store.held(self.run_id), now=self.kit.clock.now())
        if not events:
            return False
        await self._append(list(events))
        return True

    async def _mirror_all(self) -> None:
        """Bring the files of all steps up to date that no other driver is working on, unless the plan is gone."""
        if self._plan.gone is not None:
            return
        reading = self._plan.known(self.run)
        held = self.kit.store.held(self.run_id)
        for step in self._outbox.overdue(self.run, reading.marks, held):
            if step.id in held and not (step.id in self._walks and self._outbox.is_claimed(self.run, step.id)):
                continue  # another driver's, or just claimed: its walk records the mark together with the claim
            written = self._outbox.mirror(self.run, step, claimed=step.id in held)
            if written is not None:
                await self._append([written], any_version=True)
        if self.kit.planfiles.keeps_books and self._booked != self.run.version:
            self._booked = self.run.version
            self._outbox.account(self._books.account(self.run, self.kit.clock.now()))

    # --- doing --------------------------------------------------------------------------------------------------

    async def _carry_out(self, command: cmd.Command, tasks: TaskGroup, around: Surroundings) -> bool:
        match command:
            case cmd.ClaimStep(step=step):
                return self._claim(step, tasks, around)
            case cmd.Declare(steps=steps):
                await self._append([ev.StepsDeclared(steps=steps)])
            case cmd.Reopen(step=step, reason=reason, redo=redo):
                await self._append([ev.StepReopened(step=step, reason=reason, redo=redo)])
            case cmd.Ask(opens=opens):
                await self._append([opens])
            case cmd.Close():
                finished = ev.StepFinished(
                    step=command.step, state=command.state, reason=command.reason, rejected=command.rejected
                )
                await self._append(complete(self.kit.store, self.run_id, [finished]))
            case cmd.ParkRun(gates=gates, until=until, reason=reason):
                await self._append([ev.RunParked(gates=gates, until=until, reason=reason)])
            case cmd.Adopt():
                await self._append([record_adoption(command)])
            case cmd.SettleBranch():
                await self._settle_branch(command)
            case cmd.EndRun(state=state, reason=reason):
                await self._end(state, reason)
            case cmd.Linger(reason=reason, until=until):
                self._tell_waiting(explain_stuck(self._stuck) or reason)
                self._wakeup.alarm = until
                return False
            case _:
                return False
        return True

    async def _settle_branch(self, command: cmd.SettleBranch) -> None:
        await self._append([self._branch.describe(command)])
        refusal = await self._branch.settle(command)
        await self._branch.look(self.run)
        if refusal and not self._branch.is_sound:
            await self._append([ev.RunEnded(state="blocked", reason=refusal)])

    async def _end(self, state: str, reason: str) -> None:
        """End the run; what landed is looked for on the branch once more before it is said to be there."""
        if self._branch.is_sound and state != "cancelled":
            self._branch.due = True
            await repeat_killed(partial(self._branch.look, self.run), self.kit.clock)
            if not self._branch.is_sound:
                return
        await self._append([ev.RunEnded(state=state, reason=reason)])

    def _tell_waiting(self, reason: str) -> None:
        """Say once why this driver does nothing, if it really does nothing."""
        if not self._walks and reason != self._waiting:
            self.wait_told(reason)
        self._waiting = reason

    def _claim(self, step: StepId, tasks: TaskGroup, around: Surroundings) -> bool:
        """Take a step in the store, then in its file; somebody else's mark in the file wins."""
        definition = self.run.plan.by_id[step]
        at_most = 1 if self.run.mode == "sequential" else None
        seen = around.claimed | frozenset(self._walks) if is_guarded(self.run, definition) else None
        token = self.kit.store.take(self.run_id, step, self._me, at_most=at_most, seen=seen)
        if token is None:
            return False
        self._sync()
        around = self._outbox.look(definition, around)
        late = not is_claimable(self.run, definition, around)
        seen_marks = around.marks.get(step, Marks())
        try:
            mirrored = None if late else self._outbox.claim(self.run, definition, replacing=seen_marks)
        except OSError as error:
            tasks.start_soon(partial(block_unmarked, self.kit, self.run_id, step, token=token, error=error))
            return False
        if mirrored is None:
            # Another driver was faster and is done with it already, or a mark in the file says hands off.
            self.kit.store.release(self.run_id, step, token)
            return late
        self._walks[step] = anyio.CancelScope()
        walk = self._new_walk(definition, token)
        tasks.start_soon(self._walk, walk, [mirrored, *self._starting(step)], name=step)
        return True

    def _new_walk(self, definition: Step, token: Token) -> Walk:
        return Walk(
            kit=self.kit,
            acts=Acts(
                kit=self.kit,
                processes=self._processes,
                open_agent=self._open_agent,
                orders=orders_for(self.run, definition),
                run=self.run,
            ),
            run=self.run,
            driver=self._me,
            token=token,
            recover=self.recover,
        )

    def _starting(self, step: StepId) -> list[ev.Event]:
        number = self.run.rounds.get(step, 0)
        return [] if self.run.working.get(step) == number else [ev.StepStarted(step=step, round=number)]

    async def _walk(self, walk: Walk, opening: list[ev.Event]) -> None:
        try:
            with self._walks[walk.step]:
                await walk.go(opening)
        except StaleToken:
            pass  # the claim was taken over: whoever has it now records what happens
        finally:
            self.kit.store.release(self.run_id, walk.step, walk.token)
            self._branch.due = self._branch.due or walk.state.refused is not None
            del self._walks[walk.step]
            self._wakeup.call()

    async def _stop_walks(self) -> None:
        for scope in list(self._walks.values()):
            scope.cancel()
        while self._walks:
            await self._wakeup.wait_called(POLL)
        self._sync()

    async def _append(self, events: list[ev.Event], *, settles: Sequence[int] = (), any_version: bool = False) -> None:
        expected = None if any_version else self.run.version
        addition = Addition(events=events, expected=expected)
        await self.kit.store.append({Stream(self.run_id): addition}, settles=settles)
        self._sync()
