"""Runs checks on the base of a step while its agent works, in a place in which nobody does.

The rule: nothing waits for them but what is under way when the agent is done. What they say is a head start for the
comparison that is journaled later; whatever goes wrong here is found out again there.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio

from drumline.core.baseline import LONGEST, list_counting, look_up
from drumline.core.checkfailure import Cause, CheckFailure, is_work
from drumline.core.ids import Commit, Tree
from drumline.core.stepstate import StepState
from drumline.engine.basecache import Kept
from drumline.engine.baseruns import BaseKey
from drumline.engine.checkslots import Urgency
from drumline.engine.nodes.check import Checked, run_check, show_held_out
from drumline.engine.nodes.ground import has_stage
from drumline.engine.nodes.keptverdicts import find_kept, keep_base
from drumline.engine.nodes.stepwork import StepWork, known
from drumline.engine.refusals import find_sole
from drumline.engine.reports import Outcomes, keep_outcomes
from drumline.engine.stage import Stage
from drumline.errors import ChildKilled, GitError
from drumline.ports.agents import Outcome
from drumline.record import Record

UNCOMPILED = {"PYTHONDONTWRITEBYTECODE": "1"}
"""What Python would compile belongs to a tree that goes away."""


class BaseRun(Record):
    """How a check ended on a base, and the log of it."""

    checked: Checked
    log: Path


def name_run(work: StepWork, tree: Tree, number: int) -> BaseKey:
    """What the verdict of a check about a tree is known by."""
    return BaseKey(tree=tree, command=work.orders.spell(number), setup=work.setup.name({}))


async def find_run(work: StepWork, tree: Tree, number: int, log: Path) -> Checked | None:
    """How a check ended on a tree without work, with its log copied to `log`; None if nobody knows."""
    found = await work.tools.bases.find(name_run(work, tree, number))
    if not isinstance(found, BaseRun):
        kept = find_kept(work, tree, number)
        return _recall(kept, log) if kept is not None else None
    with contextlib.suppress(OSError):
        shutil.copyfile(found.log, log)
    if found.checked.outcomes is not None:
        keep_outcomes(log, found.checked.outcomes)
    return found.checked


def _recall(kept: Kept, log: Path) -> Checked:
    """A verdict of an earlier driver, with what it printed at last as the log."""
    outcomes = None
    if kept.tests is not None:
        outcomes = Outcomes(tests=kept.tests, complete=kept.complete, patched=kept.patched)
        keep_outcomes(log, outcomes)
    log.write_text(kept.output, encoding="utf-8")
    cause = Cause(failure=CheckFailure.WORK) if kept.exit_code else None
    return Checked(exit_code=kept.exit_code, output=kept.output, seconds=kept.seconds, cause=cause, outcomes=outcomes)


async def work_beside(work: StepWork, state: StepState, ask: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Let an agent work, and meanwhile run the checks on the tree that it began with."""
    pending = _list_pending(work, state)
    if not pending:
        return await ask()
    runs = _Runs(work, known(state.ready), pending)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runs.go, known(state.base))
            outcome = await ask()
            runs.stop(at_once=bool(outcome.failure))
    except BaseExceptionGroup as group:
        raise find_sole(group) from group
    return outcome


def _list_pending(work: StepWork, state: StepState) -> list[int]:
    """The checks that will be asked about the base, as far as that can be told before there is work."""
    orders = work.orders
    if not has_stage(work) or not orders.lands or orders.step.not_run or state.ready is None:
        return []
    wanted = [n for n in list_counting(orders.checks) if look_up(n, orders.checks[n], state, work.run) is None]
    return [n for n in wanted if work.tools.bases.tell_seconds(orders.checks[n].command) <= LONGEST]


class _Runs:
    """The runs of one attempt."""

    def __init__(self, work: StepWork, tree: Tree, pending: Sequence[int]) -> None:
        self._work, self._tree, self._pending = work, tree, pending
        self._scope = anyio.CancelScope()
        self._busy = self._stopping = False

    def stop(self, *, at_once: bool) -> None:
        """Begin no other run; with `at_once` end also the one that is under way."""
        self._stopping = True
        if at_once or not self._busy:
            self._scope.cancel()

    async def go(self, base: Commit) -> None:
        """Run the checks that nobody else runs."""
        work = self._work
        stage = Stage(
            services=work.services, tools=work.tools, setup=work.setup, step=work.orders.step.id, label="base"
        )
        async with contextlib.aclosing(stage):
            with self._scope, contextlib.suppress(GitError, OSError, ChildKilled):
                for number in self._pending:
                    await self._run(number, stage, base)

    async def _run(self, number: int, stage: Stage, base: Commit) -> None:
        work, step = self._work, self._work.orders.step
        key = name_run(work, self._tree, number)
        if not work.tools.bases.is_wanted(key) or find_kept(work, self._tree, number) is not None:
            return
        async with work.tools.bases.finding(key), work.tools.slots.take(Urgency.BASE):
            if self._stopping:
                return
            self._busy = True
            stand = await stage.bring(self._tree, base=base)
            if stand.failed is None:
                log = work.services.log(step.id, f"beside-{number + 1}.log")
                checked = await run_check(
                    key.command,
                    work.tools.processes,
                    folder=stand.path,
                    log=log,
                    timeout=work.services.limit(work.orders.checks[number]),
                    files=step.files,
                    env=UNCOMPILED,
                    hold=work.tools.checks,
                    shown=show_held_out(work.orders, number),
                )
                await work.services.workspaces.clean(stand.id, self._tree, base=base)
                if not checked.outside and (checked.cause is None or is_work(checked.cause.failure.value)):
                    work.tools.bases.keep(key, BaseRun(checked=checked, log=log))
                    keep_base(work, self._tree, number, checked)
            self._busy = False
