"""Drives one claimed step: decide, record the intent together with the last outcome, act, and again.

The claim's token guards every append. What a dead driver left open is closed as lost before anything else; the
workspace is brought back to the tree the journal knows, after keeping whatever was in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import anyio

from drumline.core import events as ev
from drumline.core.advance import KILLED, advance, explain_kills, recover
from drumline.core.commands import Command, Defer, Finish, Land, Park, Release
from drumline.core.ids import DriverId, StepId, Stream, Token
from drumline.core.life import Phase
from drumline.core.spending import count_usage
from drumline.core.stepstate import StepState, fold_step
from drumline.core.taxonomy import MOST_KILLS
from drumline.engine.closing import Recover, close_open, restore_workspace
from drumline.engine.figures import add_figures
from drumline.engine.kills import KILL_WAIT
from drumline.engine.nodes.stepwork import Note, StepWork
from drumline.engine.performer import StepPerformer
from drumline.engine.refusals import explain_refusal, find_refusal
from drumline.errors import ChildKilled, Conflict, GitError, GitKilled, InvalidInput
from drumline.isolation.scratch import take_over_logs
from drumline.ports.journal import Addition
from drumline.record import replace


@dataclass(kw_only=True)
class Walk:
    """One driver's hold on one step."""

    work: StepWork
    driver: DriverId
    token: Token
    recover: Recover = recover
    state: StepState = field(default_factory=StepState)
    recorded: int = 0
    pending: Note = field(default_factory=Note)
    kills: int = 0
    open_performer: Callable[[StepWork], StepPerformer] = StepPerformer.of

    def __post_init__(self) -> None:
        self.kit, self.run = self.work.kit, self.work.run
        self.work = replace(self.work, note=self._note)
        self._performer = self.open_performer(self.work)

    @cached_property
    def step(self) -> StepId:
        """The step this walk is about."""
        return self.work.orders.step.id

    @cached_property
    def stream(self) -> Stream:
        """The step's stream."""
        return Stream(self.run.id, self.step)

    @property
    def was_refused(self) -> bool:
        """Whether a landing was refused."""
        return self.state.refused is not None

    async def go(self, opening: list[ev.Event]) -> None:
        """Walk until the step is finished or parked. `opening` are events for the run's stream."""
        self._load()
        owner = self.state.driver
        claimed = ev.StepClaimed(driver=self.driver, token=self.token)
        try:
            # A driver that was killed over it could not do this; nobody else writes there while the claim is ours.
            await take_over_logs(self.kit.logs / self.step, self.kit.redaction)
            pending = Note(step=[*await self._close(owner), claimed], run=opening)
            await self._walk_through(pending)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._let_go("stopped", opening)
            raise
        except (GitError, InvalidInput) as error:
            await self._give_up(error)
        except (OSError, BaseExceptionGroup) as error:
            refusal = find_refusal(error)
            if refusal is None:
                raise
            await self._give_up(refusal)

    def stir(self) -> None:
        """A step of the usual life waits for nothing while it is claimed."""

    async def conclude_landing(self) -> None:
        """Record the landing that a dead driver made and did not record, under its claim; else do nothing."""
        self._load()
        if self.state.phase is not Phase.LANDING:
            return
        closed = await self._close(self.state.driver)
        if any(isinstance(event, ev.StepLanded) for event in closed):
            fold_step(self.state, closed)
            await self._after(await self._begin(Note(step=closed)))

    async def _close(self, owner: DriverId) -> list[ev.Event]:
        return await close_open(self.work, self.state, owner, self.recover)

    def _load(self) -> None:
        events = [recorded.event for recorded in self.kit.store.read(self.stream)]
        fold_step(self.state, events)
        self.recorded = self.state.version

    async def _walk_through(self, pending: Note) -> None:
        """Walk; what was cut short because something was killed is lost and done again while the rules allow it."""
        while True:
            try:
                await self._walk(pending)
                return
            except (ChildKilled, GitKilled) as error:
                pending = await self._lose(error)

    async def _lose(self, error: ChildKilled | GitKilled) -> Note:
        """Close as lost what a kill has cut short. Where nothing was open, only this walk counts it."""
        await self._save()
        lost = await self._close(self.driver)
        closed = [replace(e, killed=str(error)) if isinstance(e, ev.WorkLost) else e for e in lost]
        self.kills = 0 if closed else self.kills + 1
        if self.kills >= MOST_KILLS:
            raise error
        await self.kit.clock.sleep(KILL_WAIT)
        return Note(step=closed)

    async def _save(self) -> None:
        """Record what has come to its end already, and read the state again."""
        pending, self.pending = self.pending, Note()
        if pending.step or pending.run:
            await self._record(pending)
        self.state = StepState()
        self._load()

    async def _walk(self, pending: Note) -> None:
        fold_step(self.state, pending.step)
        pending.run.extend(self._count_lost(pending.step))
        self.pending = pending
        await restore_workspace(self.work, self.state, self.token)
        command = await self._begin(pending)
        while not isinstance(command, Finish | Park | Defer | Release):
            if isinstance(command, Land):
                # What has landed is recorded before a stop is heard: it is neither lost nor to be skipped.
                with anyio.CancelScope(shield=True):
                    command = await self._go_on(command)
            else:
                command = await self._go_on(command)
        await self._after(command)

    async def _go_on(self, command: Command) -> Command:
        pending = await self._performer.perform(command, self.state)
        self.kills = 0
        fold_step(self.state, pending.step)
        return await self._begin(pending)

    async def _begin(self, pending: Note) -> Command:
        """Decide what comes next and record it together with what came of the last."""
        self.pending = pending
        command = advance(self.work.orders, self.state, self.run)
        intent = await self._performer.intend(command, self.state)
        self.pending = Note()
        await self._record(pending.then(intent))
        fold_step(self.state, intent.step)
        return command

    def _count_lost(self, events: list[ev.Event]) -> list[ev.Event]:
        """What the run records if one of these events, folded in already, ended an attempt before its time."""
        if not any(isinstance(event, ev.WorkLost) and event.what == Phase.WORKING.value for event in events):
            return []
        agent = self.state.agent
        return [*count_usage(self.step, agent, self.state.spent[agent])]

    async def _note(self, event: ev.Event) -> None:
        """Record what is known before the act under way is over."""
        with anyio.CancelScope(shield=True):  # nobody could tell whether an append that was cut off counts
            await self._record(Note(step=[event]))
        fold_step(self.state, [event])

    async def _record(self, note: Note) -> None:
        batch = {self.stream: Addition(events=note.step, expected=self.recorded)}
        if note.run:
            batch[Stream(self.run.id)] = Addition(events=note.run)
        await self.kit.store.append(batch, token=self.token)
        self.recorded += len(note.step)

    async def _after(self, command: Command) -> None:
        if isinstance(command, Finish) and command.state == "done":
            # The step has landed and says so: a folder that will not go must not make it blocked. Whoever stops us now
            # waits for it, else it would stay.
            with contextlib.suppress(GitError, OSError), anyio.CancelScope(shield=True):
                await self.kit.workspaces.remove(self.step)

    async def _let_go(self, reason: str, opening: list[ev.Event]) -> None:
        """Record that the claim is given back with the step unfinished; an append under way may come in between.

        What the claim wrote into the step's file is recorded with it, unless that was done together with the claim.
        """
        for _ in range(3):
            self.state = StepState()
            self._load()
            lost = await self._close(self.driver)
            fold_step(self.state, lost)
            unknown = opening if self.state.driver != self.driver else []
            note = Note(step=[*lost, ev.StepReleased(reason=reason)], run=[*unknown, *self._count_lost(lost)])
            with contextlib.suppress(Conflict):
                await self._record(note)
                return

    async def _give_up(self, error: GitError | InvalidInput | OSError) -> None:
        """Something was refused that no rule expects: block the step with that reason instead of losing the run."""
        await self._save()
        lost = recover(self.state, self.driver)
        with contextlib.suppress(GitError, OSError):
            lost = await self._close(self.driver)
        fold_step(self.state, lost)
        if self.state.phase is Phase.LANDED:  # only what came after it has failed: the next claim finishes it
            await self._record(Note(step=[*lost, ev.StepReleased(reason="landed")]))
            return
        finished = ev.StepFinished(step=self.step, state="blocked", reason=self._explain(error))
        if isinstance(error, GitKilled):
            finished = replace(finished, failure=KILLED)
        told = [*self._count_lost(lost), add_figures(finished, self.state)]
        await self._record(Note(step=[*lost, ev.StepReleased(reason=finished.state)], run=told))

    def _explain(self, error: GitError | InvalidInput | OSError) -> str:
        if isinstance(error, OSError):
            return explain_refusal(error)
        if isinstance(error, GitKilled):
            return explain_kills(MOST_KILLS, str(error))
        return f"git: {error}" if isinstance(error, GitError) else error.with_hint
