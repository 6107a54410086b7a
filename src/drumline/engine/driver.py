"""The local driver: one of possibly several processes that drive the same run, of a plan or of a flow.

Each turn it reads what is new, folds in what people said, notices edits of the plan, takes over from the dead, brings
files up to date, and carries out what the core decides. It polls one number of the store while idle.
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
from drumline.core.decide import decide, resume
from drumline.core.ids import DriverId, RunId, StepId, Stream, Token
from drumline.core.plan import Step
from drumline.core.runfold import fold_run
from drumline.core.runlife import check_events
from drumline.core.schedule import Surroundings, is_claimable, is_guarded
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, RunEnd
from drumline.engine.branchwatch import record_adoption
from drumline.engine.figures import add_known, complete
from drumline.engine.finishing import hand_over_healed, write_closed, write_healed
from drumline.engine.flow.walk import FlowWalk
from drumline.engine.loading import keep_checkpoint, load_run
from drumline.engine.messages import calls_back, outcome_of
from drumline.engine.refusals import explain_stuck, find_sole, telling_refusals
from drumline.engine.services import Observer
from drumline.engine.tidying import CLOSING
from drumline.engine.trials import Afterwards, Trials
from drumline.engine.upkeep import Upkeep
from drumline.engine.wakeup import POLL, Wakeup
from drumline.errors import Conflict, GitError, StaleToken
from drumline.ports.journal import Addition, Recorded
from drumline.ports.roster import Standing


@dataclass(kw_only=True)
class Driver:
    """Drives a run until it ends, parks, or `stop` is called."""

    upkeep: Upkeep
    run_id: RunId
    jobs: int = 1
    observe: Observer = lambda recorded: None
    wait_told: Callable[[str], None] = lambda reason: None
    joined: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.run = RunState(id=self.run_id)
        self.stopping = False
        self._seen = self._checked = 0
        self._store, self._roster = self.upkeep.store, self.upkeep.roster
        self._walks: dict[StepId, tuple[FlowWalk, anyio.CancelScope]] = {}
        self._wakeup = Wakeup(clock=self.upkeep.clock, position=lambda: self._store.position())
        self._waiting = ""
        self._stuck: list[DriverId] = []
        self._trials = Trials(began=self.upkeep.clock.now(), ended=self._wakeup.call)
        self._me: DriverId

    async def drive(self, *, resuming: bool = False) -> RunState:
        """Drive; return the run as it is when this driver leaves it."""
        while True:
            self._me = self._roster.join(self.run_id)
            self.joined()
            try:
                with telling_refusals("drumline resume"):
                    await self._drive_once(resuming)
            finally:
                self._roster.leave(self._me)
            self._sync()
            # Whoever spoke before we left relied on us; whoever speaks from here on finds no driver and settles it.
            if self.stopping or not self._is_called_back():
                return self.run
            # A run that a person paused stays paused, whatever was said in the last moment.
            resuming = (self.run.parked and self.run.pause is None) or self.run.ended is not None

    async def _drive_once(self, resuming: bool) -> None:
        self.upkeep.equip(self._me)
        self._sync()
        if resuming and (events := resume(self.run, self._me)):
            await self._append(events, any_version=True)
        try:
            async with anyio.create_task_group() as tasks:
                await self._loop(tasks)
        except BaseExceptionGroup as group:
            raise find_sole(group) from group
        await self.upkeep.leave(self.run, self._me)

    def _is_called_back(self) -> bool:
        """Whether something was said that no driver has folded in; what waits for another's claim is for that one."""
        claimed = {*self._store.list_claims(self.run_id)}
        unread = self._store.unread(self.run_id)
        return any(calls_back(self.run, message, claimed) for _, message in unread)

    def stop(self) -> None:
        """Stop this driver: its steps are given back, the run stays open."""
        self.stopping = True
        self._wakeup.call()

    async def _loop(self, tasks: TaskGroup) -> None:
        while True:
            self._sync()
            if self.stopping or self.run.cancel is not None:
                await self._stop_walks()
                await self._trials.stop()
            if self.stopping:
                await self._mirror_all()
                return
            try:
                busy = await self._take_turn(tasks)
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
        stays = self.run.ended is not None or self.run.parked or self.run.pause is not None
        if not stays:  # it goes on, and so does the time that is counted
            await self._append([ev.RunResumed(driver=self._me)], any_version=True)
        return False

    async def _take_turn(self, tasks: TaskGroup) -> bool:
        """One turn; whether something was done that calls for another at once."""
        claimed = frozenset(await self._live_claims())
        if await self._settle_inbox():
            return True
        # The journal takes a file that we have written for one that was read: an edit from before would not be seen.
        if not self.upkeep.has_read_plan and await self._watch():
            return True
        await self._mirror_all()
        if await self._watch():
            return True
        around = await self.upkeep.look(self.run, claimed | frozenset(self._walks))
        commands = decide(self.run, around, slots=(self.jobs or len(self.run.plan.steps)) - len(self._walks))
        self._wakeup.alarm = None
        if any(isinstance(command, cmd.ParkRun | cmd.EndRun) for command in commands):
            self._wakeup.alarm = self._trials.hold_up(self.upkeep.clock.now())
            if self._wakeup.alarm is not None:
                return False
            await self._trials.stop()
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
            recorded = self._store.tail(self.run_id, after=self._seen)
            fold_run(self.run, [entry.event for entry in recorded if entry.stream.step == ""])
        self.upkeep.note(recorded)
        if recorded:
            self._seen = max(self._seen, recorded[-1].seq)
            self.observe(recorded)
        if any(entry.stream.step == "" for entry in recorded):
            self._stir()

    def _stir(self) -> None:
        """Let every walk of this driver look at the run again."""
        for walk, _ in self._walks.values():
            walk.stir()

    def _take_up(self) -> Sequence[Recorded]:
        """Begin from the run's checkpoint; formats that report progress need the whole history."""
        loaded = load_run(self._store, self.run_id, whole=self.upkeep.reports_progress)
        self.run, self._seen, self._checked = loaded.state, loaded.seq, loaded.checked
        return loaded.recorded

    def _keep_checkpoint(self) -> None:
        self._checked = keep_checkpoint(self._store, self.run, seq=self._seen, checked=self._checked)

    async def _live_claims(self) -> list[StepId]:
        """Steps held by drivers that can act; the claims of dead and frozen ones are freed on the way."""
        held = self._store.list_claims(self.run_id)
        gone: dict[DriverId, bool] = {}
        live: list[StepId] = []
        for step, claim in held.items():
            if claim.driver not in gone:
                gone[claim.driver] = await self._is_gone(claim.driver)
            if gone[claim.driver]:
                await self._clear_away(step, claim.token)
                self._store.release(self.run_id, step, claim.token)
            elif step not in self.run.finished:  # of one that is done, what is left holds up nobody
                live.append(step)
        self._stuck = [one for one in gone if not gone[one] and self._roster.standing(one) is Standing.DEAD]
        return live

    async def _clear_away(self, step: StepId, token: Token) -> None:
        """Conclude what a dead driver's claim is about before anybody may skip, cancel or restart the step.

        A landing that reached git is recorded; a workspace that is not needed any more is removed.
        """
        self._sync()
        definition = self.run.find_step(step)
        if definition is not None and step not in self.run.finished:
            with contextlib.suppress(GitError, StaleToken, Conflict):
                await self.upkeep.open_walk(self.run, definition, token).conclude_landing()
            self._sync()
        await self.upkeep.clear_away(self.run, step)

    async def _is_gone(self, driver: DriverId) -> bool:
        if driver == self._me or self._roster.standing(driver) is Standing.LIVE:
            return False
        # An eviction may wait for seconds until everything the other had started has ended.
        return await anyio.to_thread.run_sync(self._roster.evict, driver)

    # --- what people said and wrote -----------------------------------------------------------------------------

    async def _settle_inbox(self) -> bool:
        claimed = {*self._store.list_claims(self.run_id)}
        for number, message in self._store.unread(self.run_id):
            events = outcome_of(self.run, message, claimed)
            if events is None:
                self._interrupt(StepId(message.subject))
                continue
            await self._append(complete(self._store, self.run_id, events), settles=[number])
            return True
        return False

    def _interrupt(self, step: StepId) -> None:
        """Let go of a step that a message is about; where it is about a place in a walk, that walk hears it."""
        if step in self._walks:
            self._walks[step][1].cancel()
        else:
            self._stir()

    async def _watch(self) -> bool:
        events = self.upkeep.watch(self.run, self._store.list_claims(self.run_id))
        if not events:
            return False
        await self._append(list(events))
        return True

    async def _mirror_all(self) -> None:
        async with contextlib.aclosing(
            self.upkeep.mirror(self.run, self._store.list_claims(self.run_id), self._walks)
        ) as written:
            async for event in written:
                await self._append([event], any_version=True)

    # --- doing --------------------------------------------------------------------------------------------------

    async def _carry_out(self, command: cmd.Command, tasks: TaskGroup, around: Surroundings) -> bool:
        match command:
            case cmd.ClaimStep(step=step):
                return await self._claim(step, tasks, around)
            case cmd.Declare(steps=steps):
                await self._append([ev.StepsDeclared(steps=steps)])
            case cmd.Reopen(step=step, reason=reason, redo=redo, heal=heal):
                await self._append([ev.StepReopened(step=step, reason=reason, redo=redo, heal=heal)])
            case cmd.Ask(opens=opens):
                await self._append([opens])
            case cmd.Close():
                closed = [write_closed(command, self.run), *([command.opens] if command.opens else [])]
                await self._append(complete(self._store, self.run_id, closed))
            case cmd.Heal():
                await self._append(self._heal(command))
            case cmd.ParkRun(gates=gates, until=until, reason=reason):
                if await self.upkeep.confirm_end(self.run):
                    quiet = self.upkeep.is_quiet()
                    await self._append([ev.RunParked(gates=gates, until=until, reason=reason, quiet=quiet)])
            case cmd.Adopt():
                await self._append([record_adoption(command)])
            case cmd.SettleBranch():
                await self._settle_branch(command)
            case cmd.EndRun():
                await self._end_run(command)
            case cmd.Wait(reason=reason, until=until):
                self._tell_waiting(explain_stuck(self._stuck) or reason)
                self._wakeup.alarm = until
                return False
            case _:
                return False
        return True

    def _heal(self, command: cmd.Heal) -> list[ev.Event]:
        finished = add_known(self._store, self.run_id, write_healed(command, self.run))
        return [finished, *hand_over_healed(self.upkeep.services, self.run, finished)]

    async def _end_run(self, command: cmd.EndRun) -> None:
        if not await self.upkeep.confirm_end(self.run, command.state):
            return
        if command.state in CLOSING:
            # No driver takes the run up again: one that dies once the end is recorded must have left nothing.
            await self.upkeep.leave(self.run, self._me, command.state)
        # Before a cancelled run ends, the branch is not looked at once more.
        quiet = self.upkeep.is_quiet() and command.state is not RunEnd.CANCELLED
        ended = ev.RunEnded(state=command.state, reason=command.reason, quiet=quiet, step=command.step)
        await self._append([ended])

    async def _settle_branch(self, command: cmd.SettleBranch) -> None:
        await self._append([self.upkeep.describe_branch(command)])
        if refusal := await self.upkeep.settle_branch(self.run, command):
            await self._append([ev.RunEnded(state=RunEnd.BLOCKED, reason=refusal)])

    def _tell_waiting(self, reason: str) -> None:
        """Say once why this driver does nothing, if it really does nothing."""
        if not self._walks and reason != self._waiting:
            self.wait_told(reason)
        self._waiting = reason

    async def _claim(self, step: StepId, tasks: TaskGroup, around: Surroundings) -> bool:
        """Take a step in the store, then in its file; somebody else's mark in the file wins."""
        definition = self.run.define(step)
        done = frozenset(self._store.list_claims(self.run_id)) & self.run.finished.keys()
        at_most = 1 + len(done) if self.run.mode is Mode.SEQUENTIAL else None
        seen = around.claimed | frozenset(self._walks) | done if is_guarded(self.run, definition) else None
        token = self._store.take(self.run_id, step, self._me, at_most=at_most, seen=seen)
        if token is None:
            return False
        self._sync()
        around = self.upkeep.look_again(self.run, definition, around)
        late = not is_claimable(self.run, definition, around)
        try:
            opening = None if late else await self.upkeep.claim(self.run, definition, around)
        except OSError as error:
            tasks.start_soon(partial(self.upkeep.block, self.run_id, step, token, error))
            return False
        if opening is None:
            # Another driver was faster and is done with it already, or a mark in the file says hands off.
            self._store.release(self.run_id, step, token)
            return late
        walk = self.upkeep.open_walk(self.run, definition, token)
        self._walks[step] = (walk, anyio.CancelScope())
        tasks.start_soon(self._walk, walk, [*opening, *self._starting(definition)], tasks, name=step)
        return True

    def _starting(self, step: Step) -> list[ev.Event]:
        """What the run records when work on a step begins; a walk that was left is begun again."""
        number = self.run.rounds.get(step.id, 0)
        left = self.run.flow_of(step) and step.id in self.run.deferred
        known = self.run.working.get(step.id) == number and not left
        return [] if known else [ev.StepStarted(step=step.id, round=number)]

    async def _walk(self, walk: FlowWalk, opening: list[ev.Event], tasks: TaskGroup) -> None:
        try:
            with self._walks[walk.step][1]:
                await walk.go(opening)
        except StaleToken:
            pass  # the claim was taken over: whoever has it now records what happens
        finally:
            self.upkeep.end_walk(walk)
            del self._walks[walk.step]
            if walk.afterwards is None:
                self._store.release(self.run_id, walk.step, walk.token)
                self._wakeup.call()
            else:
                self._trials.start(tasks, walk.step, partial(self._finish_up, walk, walk.afterwards))

    async def _finish_up(self, walk: FlowWalk, work: Afterwards) -> None:
        try:
            await work(lambda event: self._append([event], any_version=True))
        finally:
            self._store.release(self.run_id, walk.step, walk.token)

    async def _stop_walks(self) -> None:
        for _, scope in list(self._walks.values()):
            scope.cancel()
        while self._walks:
            await self._wakeup.wait_called(POLL)
        self._sync()

    async def _append(self, events: list[ev.Event], *, settles: Sequence[int] = (), any_version: bool = False) -> None:
        check_events(self.run, events)
        expected = None if any_version else self.run.version
        addition = Addition(events=events, expected=expected)
        await self._store.append({Stream(self.run_id): addition}, settles=settles)
        self._sync()
