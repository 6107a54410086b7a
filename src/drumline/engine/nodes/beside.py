"""Runs checks on other trees in places in which nobody works: while an agent works, and beside a check of its work.

The rule: nothing waits for them but what is under way when the agent is done. What they say is a head start for the
comparison that is journaled later; whatever goes wrong here is found out again there.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from drumline.core.baseline import LONGEST, foresee, list_counting, look_up
from drumline.core.checkfailure import Cause, CheckFailure, is_work
from drumline.core.commands import RunCheck
from drumline.core.events import CheckEnded
from drumline.core.ids import Commit, Tree
from drumline.core.judge import Touched, list_judging, list_reverted
from drumline.core.proof import Against
from drumline.core.stepstate import StepState
from drumline.engine.basecache import Kept
from drumline.engine.baseruns import BaseKey
from drumline.engine.checkslots import Urgency
from drumline.engine.nodes.check import Checked, run_check, show_held_out
from drumline.engine.nodes.ground import has_stage
from drumline.engine.nodes.keptverdicts import find_kept, keep_base
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.refusals import find_sole
from drumline.engine.reports import Outcomes, keep_outcomes
from drumline.engine.stage import Stage
from drumline.errors import ChildKilled, GitError
from drumline.ports.agents import Outcome
from drumline.ports.workspaces import Workspaces
from drumline.record import Record

T = TypeVar("T")
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
        outcomes = Outcomes(tests=kept.tests, complete=kept.complete, patched=kept.patched, cut=kept.cut)
        keep_outcomes(log, outcomes)
    log.write_text(kept.output, encoding="utf-8")
    cause = Cause(failure=CheckFailure.WORK) if kept.exit_code else None
    return Checked(exit_code=kept.exit_code, output=kept.output, seconds=kept.seconds, cause=cause, outcomes=outcomes)


async def work_beside(work: StepWork, state: StepState, ask: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Let an agent work, and meanwhile run the checks on the tree that it began with."""
    pending = _list_pending(work, state)
    if not pending:
        return await ask()
    runs = [_Runs(work, known(state.ready), pending)]
    return await _run_beside(runs, known(state.base), ask, lambda outcome: not outcome.failure)


async def check_beside(
    work: StepWork, command: RunCheck, state: StepState, check: Callable[[], Awaitable[Note]]
) -> Note:
    """Let a check judge the work, and meanwhile the trees that it is compared with where its judge has changed."""
    orders, number = work.orders, command.number
    if not has_stage(work) or not orders.lands or orders.before is not None:
        return await check()
    known_long = work.tools.bases.tell_seconds(command.check.command) > LONGEST
    wanted = [] if known_long else foresee(number, orders.step, orders.checks, state, work.run)
    if not wanted:
        return await check()
    build = partial(build_tree, before=known(state.ready), after=known(state.tree), touched=state.touched)
    trees = {against: await build(work.services.workspaces, against) for against in wanted}
    runs = [_Runs(work, tree, [number], label=f"beside-{against.value}") for against, tree in trees.items()]
    return await _run_beside(runs, known(state.base), check, _passes)


def _passes(note: Note) -> bool:
    return any(isinstance(event, CheckEnded) and event.exit_code == 0 for event in note.step)


async def build_tree(
    workspaces: Workspaces, against: Against, *, before: Tree, after: Tree, touched: Sequence[Touched]
) -> Tree:
    """The tree that the work is compared with: what there was before, the same with its judge, or with the old one."""
    match against:
        case Against.BASE:
            return before
        case Against.BASE_SOURCE:
            return await workspaces.compose(before, after, list_judging(touched))
        case Against.BASE_JUDGE:
            return await workspaces.compose(after, before, list_reverted(touched))


async def _run_beside(
    runs: Sequence[_Runs], base: Commit, act: Callable[[], Awaitable[T]], went_well: Callable[[T], bool]
) -> T:
    """Do something, and meanwhile these runs; if it did not go well, nobody waits for them."""
    try:
        async with anyio.create_task_group() as tasks:
            for one in runs:
                tasks.start_soon(one.go, base)
            found = await act()
            for one in runs:
                one.stop(at_once=not went_well(found))
    except BaseExceptionGroup as group:
        raise find_sole(group) from group
    return found


def _list_pending(work: StepWork, state: StepState) -> list[int]:
    """The checks that will be asked about the base, as far as that can be told before there is work."""
    orders = work.orders
    if not has_stage(work) or not orders.lands or orders.step.not_run or state.ready is None:
        return []
    wanted = [n for n in list_counting(orders.checks) if look_up(n, orders.checks[n], state, work.run) is None]
    return [n for n in wanted if work.tools.bases.tell_seconds(orders.checks[n].command) <= LONGEST]


class _Runs:
    """Runs of checks on one tree, one after the other; `label` tells their logs from others."""

    def __init__(self, work: StepWork, tree: Tree, pending: Sequence[int], *, label: str = "beside") -> None:
        self._work, self._tree, self._pending, self._label = work, tree, pending, label
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
            services=work.services,
            tools=work.tools,
            setup=work.setup,
            step=work.orders.step.id,
            label=self._label,
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
                log = work.services.log(step.id, f"{self._label}-{number + 1}.log")
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
