"""Performs the commands of a step: `intend` says what is recorded before, `perform` what came of it."""

from __future__ import annotations

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.stepstate import StepState
from drumline.engine.agent_call import MOST_MESSAGE
from drumline.engine.figures import add_figures
from drumline.engine.finishing import write_end
from drumline.engine.nodes import attempt, check, compare, land, workspace
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
        step = self.work.orders.step.id
        match command:
            case cmd.Restart(round=number):
                return Note(step=[ev.StepRestarted(round=number)])
            case cmd.Recheck(round=number):
                return Note(step=[ev.StepRechecked(round=number)])
            case cmd.Prepare():
                return await workspace.intend(self.work)
            case cmd.Attempt():
                return attempt.intend(command, state)
            case cmd.RunCheck():
                return check.intend(command, state)
            case cmd.Compare():
                return compare.intend(command)
            case cmd.Land():
                return await land.intend(self.work, state)
            case cmd.Park(gate=gate, opens=opens):
                return Note(step=[ev.StepReleased(reason=f"gate {gate}")], run=[opens] if opens else [])
            case cmd.Defer(until=until, reason=reason):
                deferred = ev.StepDeferred(step=step, until=until, reason=reason[:MOST_MESSAGE])
                return Note(step=[ev.StepReleased(reason="quota", until=until)], run=[deferred])
            case cmd.Release(reason=reason):
                return Note(step=[ev.StepReleased(reason=reason[:MOST_MESSAGE])])
            case cmd.Finish():
                finished = await write_end(
                    command, state, self.work.orders, run=self.work.run, workspaces=self.work.kit.workspaces
                )
                asked = [command.opens] if command.opens else []
                return Note(step=[ev.StepReleased(reason=command.state)], run=[add_figures(finished, state), *asked])
            case _:
                raise AssertionError(f"{command!r} is not a step's command")

    async def perform(self, command: cmd.Command, state: StepState) -> Note:
        """Do it, and say what came of it."""
        match command:
            case cmd.Prepare():
                return await workspace.act(self.work, state)
            case cmd.Attempt():
                return await attempt.act(self.work, command, state)
            case cmd.RunCheck():
                return await check.act(self.work, command, state)
            case cmd.Compare():
                return await compare.act(self.work, command, state)
            case cmd.Land():
                return await land.act(self.work, state)
            case _:
                return Note()
