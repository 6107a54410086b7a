"""Runs checks on trees that the work is compared with, in the step's own workspace: only what git tracks differs.

The rule: the workspace has the tree of the work again before anything else happens. Whatever goes wrong in a check
leaves its colour unknown; it fails no step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.baseline import finds_nothing
from drumline.core.colour import Shown, names_missing, paint
from drumline.core.ids import Commit, Tree
from drumline.core.judge import CREATED, Touched, compare_judges, find_touched, is_mixed, list_reverted
from drumline.core.orders import Orders
from drumline.core.products import MOST_IGNORED
from drumline.core.proof import Against, Colour, Compared
from drumline.core.stepstate import StepState
from drumline.core.testids import Difference, compare
from drumline.engine.checkslots import CheckSlots, Urgency
from drumline.engine.kit import Kit
from drumline.engine.nodes.check import Checked, run_check
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.products import MOST_HIDDEN, Present, find_present, list_ignored
from drumline.engine.reports import find_outcomes
from drumline.ports.jail import Hold
from drumline.ports.processes import Processes
from drumline.ports.workspaces import Workspaces
from drumline.record import Record, field

Tests = Mapping[str, str]
"""Tests with their outcomes."""
_WITHOUT = (Against.BASE.value, Against.BASE_SOURCE.value)
"""The trees without the work."""


def intend(command: cmd.Compare) -> Note:
    """With which tree the work is compared."""
    return Note(step=[ev.ComparisonStarted(against=command.against)])


async def act(work: StepWork, command: cmd.Compare, state: StepState) -> Note:
    """What the checks say about the other tree."""
    comparison = Comparison(
        kit=work.kit,
        processes=work.tools.processes,
        hold=work.tools.checks,
        slots=work.tools.slots,
        orders=work.orders,
        before=known(state.ready),
        after=known(state.tree),
        touched=state.touched,
        made=state.last.ignored if state.last else (),
        present=find_present(state),
        attempt=state.attempts,
        base=known(state.base),
        logs={number: verdict.ended.log for number, verdict in state.verdicts.items()},
        passed=frozenset(number for number, verdict in state.verdicts.items() if verdict.ended.exit_code == 0),
    )
    return Note(step=[await comparison.make(command.against, command.checks)])


class Comparison(Record):
    """What a comparison is made with: the step, its trees before and after the work, what of the judge changed.

    `made` are files of the work that git ignores: what was built of it is not there without it. `present` are ignored
    files that were there before, `logs` those of the checks on the work, of which those in `passed` passed.
    """

    kit: Kit
    processes: Processes
    hold: Hold
    slots: CheckSlots
    orders: Orders
    base: Commit
    before: Tree
    after: Tree
    touched: Sequence[Touched] = ()
    made: Sequence[str] = ()
    present: Present = Present()
    attempt: int = 0
    logs: Mapping[int, str] = field(default_factory=dict)
    passed: frozenset[int] = frozenset()

    async def make(self, against: Against, checks: Sequence[int]) -> ev.ComparisonEnded:
        """What these checks say about the other tree."""
        step, workspaces = self.orders.step.id, self.kit.workspaces
        tree = await self._build(against)
        hidden = await self._list_made()
        found = []
        try:
            for number in checks:
                found.append(await self._try(number, against, tree, hidden))
        finally:
            with anyio.CancelScope(shield=True):  # else what comes next takes it for work that was lost
                await workspaces.switch(step, self.after, tidy=True)
        return ev.ComparisonEnded(against=against, tree=tree, found=tuple(found))

    async def _try(self, number: int, against: Against, tree: Tree, hidden: Sequence[str]) -> Compared:
        """What the check says without what was built of the work, unless it needs that for the work itself."""
        found = await self._run(number, against.value, tree, hidden)
        if not hidden or found.colour is not Colour.RED:
            return found
        alone = await self._run(number, "work", self.after, hidden)
        return found if alone.colour is Colour.GREEN else await self._run(number, against.value, tree)

    async def _list_made(self) -> Sequence[str]:
        """The ignored files of the work, also where there were more than the journal keeps."""
        if len(self.made) < MOST_IGNORED:
            return self.made
        return await list_ignored(self.kit.workspaces, self.orders.step, present=self.present, most=MOST_HIDDEN)

    async def _build(self, against: Against) -> Tree:
        match against:
            case Against.BASE:
                return self.before
            case Against.BASE_SOURCE:
                return await self.kit.workspaces.compose(self.before, self.after, list_reverted(self.touched))
            case Against.BASE_JUDGE:
                return await self.kit.workspaces.compose(self.after, self.before, list_reverted(self.touched))

    async def _run(self, number: int, label: str, tree: Tree, hidden: Sequence[str] = ()) -> Compared:
        step, command = self.orders.step, self.orders.checks[number].command
        log = self.kit.log(step.id, f"{label}-{self.attempt}-{number + 1}.log")
        # Another tree may ignore less: what the agent installed is not its to remove.
        await self.kit.workspaces.switch(step.id, tree, tidy=False, without=hidden)
        async with self.slots.take(Urgency.BASE):
            checked = await run_check(
                command,
                self.processes,
                folder=self.kit.workspaces.path(step.id),
                log=log,
                timeout=self.kit.check_timeout,
                files=step.files,
                env={"PYTHONDONTWRITEBYTECODE": "1"},  # what it would compile belongs to a tree that goes away
                hold=self.hold,
            )
        here = self._find_tests(number)
        explains = number in self.passed and label in _WITHOUT
        colour, evidence = await self._paint(checked, here, explains=explains)
        absent = colour is Colour.RED and finds_nothing(checked.output)
        return Compared(
            check=number,
            command=command,
            colour=colour,
            evidence=evidence,
            seconds=round(checked.seconds, 3),
            log=log.name,
            absent=absent,
            report=checked.report,
            difference=_differ(checked, here),
        )

    async def _paint(self, checked: Checked, here: Tests | None, *, explains: bool) -> tuple[Colour, str]:
        """The colour; `explains` says that it shows what the work did, so that nothing but the work may make it red."""
        shown = Shown(
            exit_code=checked.exit_code,
            failure=checked.cause.failure.value if checked.cause else "",
            output=checked.output,
            there=checked.outcomes.tests if checked.outcomes is not None else None,
            here=here,
            explains=explains,
        )
        if not explains or checked.exit_code == 0 or not names_missing(checked.output):
            return paint(shown)
        changed = await self.kit.workspaces.changed(self.base, self.after)
        return paint(shown, [path for path, change in changed.items() if change == CREATED])

    def _find_tests(self, number: int) -> Tests | None:
        """The tests of the work that the check ran, where they are known."""
        log = self.logs.get(number)
        return find_outcomes(self.kit.logs / self.orders.step.id / log) if log else None


def _differ(checked: Checked, here: Tests | None) -> Difference | None:
    """How the tests there differ from those of the work, where both are known."""
    there = checked.outcomes
    return compare(there.tests, here) if there is not None and here is not None else None


async def look_for_judges(
    orders: Orders, workspaces: Workspaces, *, base: Commit, tree: Tree, ready: Tree
) -> tuple[Touched, ...]:
    """The files of the judge that the work has changed."""
    if tree == ready:
        return ()
    changed = await workspaces.changed(base, tree)
    commands = [check.command for check in orders.checks]
    parts = {}
    for path in changed:
        if is_mixed(path, commands):
            before, after = [await workspaces.read_text(place, path) for place in (base, tree)]
            parts[path] = compare_judges(path, before, after, commands)
    return find_touched(changed, commands, parts, orders.step.files)
