"""Performs the commands of a step: `intend` says what is recorded before, `perform` what came of it."""

from __future__ import annotations

from drumline.core import commands as cmd
from drumline.core.stepstate import StepState
from drumline.engine.nodes import attempt, beside, check, compare, land, mutate, strays, workspace
from drumline.engine.nodes.stepwork import Note, StepWork
from drumline.record import Record


class StepPerformer(Record):
    """Who acts for one claimed step."""

    work: StepWork

    @classmethod
    def of(cls, work: StepWork) -> StepPerformer:
        """The performer of a step's commands."""
        return cls(work=work)

    async def intend(self, command: cmd.Command, state: StepState) -> Note:
        """What has to be in the journal before the command is performed."""
        match command:
            case cmd.Prepare():
                return await workspace.intend(self.work)
            case cmd.Attempt():
                return attempt.intend(command, state)
            case cmd.RunCheck():
                return check.intend(command, state)
            case cmd.Compare():
                return compare.intend(command)
            case cmd.Mutate():
                return mutate.intend(state)
            case cmd.Land():
                return await land.intend(self.work, state, self.work.line.look().queue)
            case cmd.TakeTicket() | cmd.ProveCandidate() | cmd.DropTicket():
                return land.line_up(self.work, command, self.work.line.look().queue)
            case cmd.Rebase() | cmd.AwaitTurn() | cmd.Undo():
                return Note()  # until it is recorded, a takeover brings the workspace back to what it was
            case _:
                raise AssertionError(f"{command!r} is not an act of a step")

    async def perform(self, command: cmd.Command, state: StepState, terms: attempt.Terms) -> Note:
        """Do it, and say what came of it."""
        match command:
            case cmd.Prepare():
                return await workspace.act(self.work, state)
            case cmd.Attempt():
                return await attempt.act(self.work, command, state, terms)
            case cmd.RunCheck():
                work = self.work
                return await beside.check_beside(work, command, state, lambda: check.act(work, command, state))
            case cmd.Compare():
                return await compare.act(self.work, command, state)
            case cmd.Mutate():
                return await mutate.act(self.work, state)
            case cmd.Undo(paths=paths):
                return await strays.undo(self.work, state, paths)
            case cmd.Land():
                return await land.act(self.work, state)
            case cmd.Rebase():
                return await land.rebase(self.work, state, command)
            case cmd.AwaitTurn():
                await self.work.line.wait()
                return Note()
            case _:
                return Note()
