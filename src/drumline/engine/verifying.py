"""Runs the checks of landed steps again, in fresh places of the commits that landed, without any agent.

The rule: a verdict is compared only where the check could be run; what this machine lacks is said and proves nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from drumline.core.checkfailure import is_work
from drumline.core.events import CheckEnded
from drumline.core.orders import Orders, orders_for
from drumline.core.setups import read_setup
from drumline.core.state import RunState
from drumline.core.verification import Difference, Landed
from drumline.engine.checkslots import Urgency
from drumline.engine.nodes.beside import UNCOMPILED
from drumline.engine.nodes.check import Checked, explain_setup, run_check, show_held_out
from drumline.engine.services import Services, Tools
from drumline.engine.stage import Stage, Stand
from drumline.record import Record


class Rerun(Record):
    """A check that ran again: `difference` if it says something else now, `left` why it could not be compared."""

    command: str
    seconds: float = 0.0
    difference: Difference | None = None
    left: str = ""


class Verifier(Record):
    """What checks run again with."""

    services: Services
    tools: Tools
    run: RunState

    async def run_again(self, landed: Landed) -> AsyncIterator[Rerun]:
        """Each check of a landed step that counted, on the tree that landed."""
        step = self.run.plan.by_id.get(landed.step)
        if step is None:
            yield Rerun(command="", left="the plan has no such step any more")
            return
        orders, setup = orders_for(self.run, step), read_setup(self.run.begun.setup, self.run.begun.provide)
        stage = Stage(services=self.services, tools=self.tools, setup=setup, step=landed.step, label="again")
        async with aclosing(stage):
            for number, ended in sorted(landed.checks.items()):
                if ended.exit_code is None or ended.is_void:
                    continue
                async with self.tools.slots.take(Urgency.LANDING):
                    stand = await stage.bring(landed.tree, base=landed.base or landed.commit)
                    await self.services.workspaces.switch(stand.id, landed.tree, tidy=True)
                    checked = explain_setup(setup.command, stand) or await self._run(orders, number, ended, stand)
                yield judge(landed, ended, checked)

    async def _run(self, orders: Orders, number: int, ended: CheckEnded, stand: Stand) -> Checked:
        known = number < len(orders.checks) and orders.checks[number].command == ended.command
        return await run_check(
            orders.spell(number) if known else ended.command,
            self.tools.processes,
            folder=stand.path,
            log=self.services.log(orders.step.id, f"again-{number + 1}.log"),
            timeout=self.services.check_timeout,
            files=orders.step.files,
            env=UNCOMPILED,
            hold=self.tools.checks,
            shown=show_held_out(orders, number) if known else (),
        )


def judge(landed: Landed, ended: CheckEnded, checked: Checked) -> Rerun:
    """What a check said then beside what it says now."""
    command, seconds = ended.command, round(checked.seconds, 3)
    failure = checked.cause.failure.value if checked.cause else ""
    if failure and not is_work(failure):
        return Rerun(command=command, seconds=seconds, left=f"it cannot be run here ({failure})")
    if checked.outside:
        return Rerun(command=command, seconds=seconds, left="it loads code from outside of the tree")
    if (ended.exit_code == 0) == (checked.exit_code == 0):
        return Rerun(command=command, seconds=seconds)
    said, found = (f"exit code {code}" for code in (ended.exit_code, checked.exit_code))
    differs = Difference(step=landed.step, what=f"check {command!r}", said=said, found=found)
    return Rerun(command=command, seconds=seconds, difference=differs)
