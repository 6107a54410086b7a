"""Runs checks on trees that the work is compared with, in the step's own workspace: only what git tracks differs.

The rule: the workspace has the tree of the work again before anything else happens. Whatever goes wrong in a check
leaves its colour unknown; it fails no step.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.baseline import finds_nothing
from drumline.core.colour import Shown, names_missing, paint
from drumline.core.heldout import leave_out_names, list_seen
from drumline.core.ids import Commit, Tree
from drumline.core.judge import (
    CREATED,
    JudgeKind,
    Touched,
    compare_judges,
    find_touched,
    is_mixed,
    may_judge,
    names_judge,
)
from drumline.core.orders import Orders
from drumline.core.proof import Against, Colour, Compared
from drumline.core.reaching import may_reach, uses_runner
from drumline.core.recipes import MAKEFILES, list_executed, list_sourced, list_standing_in, name_sources
from drumline.core.shellwords import find_scripts, split_command
from drumline.core.standins import (
    is_c,
    list_looped,
    list_macros,
    list_shadows,
    stands_for_header,
    takes_over,
)
from drumline.core.stepstate import StepState
from drumline.core.testids import Difference, compare
from drumline.engine.borrowed import find_borrowed
from drumline.engine.checkslots import Urgency
from drumline.engine.nodes.beside import UNCOMPILED, build_tree, find_run
from drumline.engine.nodes.check import Checked, explain_setup, run_check, show_held_out
from drumline.engine.nodes.ground import has_stage, list_made, stand_on_tree
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.reports import find_outcomes
from drumline.engine.stage import Stand
from drumline.isolation.contained import read_start
from drumline.ports.workspaces import Workspaces
from drumline.record import Record, field, replace

Tests = Mapping[str, str]
"""Tests with their outcomes."""
_SHELL = (".sh", ".bash", ".inc")
"""How names of shell scripts end."""
SCRIPTS = (".py", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".rb", ".php")
"""Tests in languages in which one can replace what another one tests."""
COMPILED = (".so", ".pyd", ".pyc")
"""How names of compiled modules of Python end."""
MOST_READ = 200_000
"""How many bytes of a new test are looked at."""
_WITHOUT = (Against.BASE, Against.BASE_SOURCE)
"""The trees without the work."""


def intend(command: cmd.Compare) -> Note:
    """With which tree the work is compared."""
    return Note(step=[ev.ComparisonStarted(against=command.against)])


async def act(work: StepWork, command: cmd.Compare, state: StepState) -> Note:
    """What the checks say about the other tree."""
    since = work.orders.before
    before = known(state.ready) if since is None else await work.services.workspaces.find_tree(since)
    comparison = Comparison(
        work=work,
        before=before,
        after=known(state.tree),
        touched=state.touched,
        made=await list_made(work, state),
        attempt=state.attempts,
        base=known(state.base),
        logs={number: verdict.ended.log for number, verdict in state.verdicts.items()},
        passed=frozenset(
            number
            for number, verdict in state.verdicts.items()
            if verdict.ended.exit_code == 0 and not verdict.ended.outside
        ),
    )
    return Note(step=[await comparison.make(command.against, command.checks)])


class Comparison(Record):
    """What a comparison is made with: the step, its trees before and after the work, what of the judge changed.

    `made` are files of the work that git ignores: what was built of it is not there without it. `logs` are those of
    the checks on the work, of which those in `passed` passed.
    """

    work: StepWork
    base: Commit
    before: Tree
    after: Tree
    touched: Sequence[Touched] = ()
    made: Sequence[str] = ()
    attempt: int = 0
    logs: Mapping[int, str] = field(default_factory=dict)
    passed: frozenset[int] = frozenset()

    async def make(self, against: Against, checks: Sequence[int]) -> ev.ComparisonEnded:
        """What these checks say about the other tree."""
        build = partial(build_tree, before=self.before, after=self.after, touched=self.touched)
        tree = await build(self.work.services.workspaces, against)
        found = []
        try:
            for number in checks:
                found.append(await self._run(number, against, tree))
        finally:
            await self._leave()
        return ev.ComparisonEnded(against=against, tree=tree, found=tuple(found))

    async def _stand(self, tree: Tree) -> Stand:
        """Where checks find this tree."""
        work, step = self.work, self.work.orders.step.id
        if has_stage(work):
            return await stand_on_tree(work, tree, base=self.base)
        # Another tree may ignore less: what the agent installed is not its to remove.
        await work.services.workspaces.switch(step, tree, tidy=False, without=self.made)
        return Stand(id=step, path=work.services.workspaces.path(step))

    async def _leave(self) -> None:
        if has_stage(self.work):
            return
        with anyio.CancelScope(shield=True):  # else what comes next takes it for work that was lost
            await self.work.services.workspaces.switch(self.work.orders.step.id, self.after, tidy=True)

    async def _run(self, number: int, against: Against, tree: Tree) -> Compared:
        work, step = self.work, self.work.orders.step
        secret = bool(work.orders.find_held_out(number))
        log = work.services.log(step.id, f"{against.value}-{self.attempt}-{number + 1}.log")
        checked = await find_run(work, tree, number, log) or await self._check(number, tree, log)
        here = self._find_tests(number)
        explains = number in self.passed and against in _WITHOUT
        borrowed = self._find_borrowed(number) if explains and here is None else ""
        colour, evidence = await self._paint(checked, here, explains=explains)
        if borrowed and colour is Colour.RED:
            colour, evidence = Colour.UNKNOWN, f"{borrowed}, which git ignores, tells nothing about tests"
        difference = _differ(checked, here)
        absent = colour is Colour.RED and finds_nothing(checked.output)
        return Compared(
            check=number,
            command=work.orders.checks[number].command,
            colour=colour,
            evidence="" if secret else evidence,
            seconds=round(checked.seconds, 3),
            log=log.name,
            absent=absent,
            report=checked.report,
            difference=leave_out_names(difference) if secret else difference,
        )

    async def _check(self, number: int, tree: Tree, log: Path) -> Checked:
        """Run a check on the tree."""
        work = self.work
        async with work.tools.slots.take(Urgency.BASE):
            stand = await self._stand(tree)
            return explain_setup(work.setup.command, stand) or await run_check(
                work.orders.spell(number),
                work.tools.processes,
                folder=stand.path,
                log=log,
                timeout=work.services.limit(work.orders.checks[number]),
                files=work.orders.step.files,
                env=UNCOMPILED,
                hold=work.tools.checks,
                shown=show_held_out(work.orders, number),
            )

    async def _paint(self, checked: Checked, here: Tests | None, *, explains: bool) -> tuple[Colour, str]:
        """The colour; `explains` says that it shows what the work did, so that nothing but the work may make it red."""
        if checked.outside:
            return Colour.UNKNOWN, f"it loaded code of your checkout: {checked.outside[0]}"
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
        changed = await self.work.services.workspaces.changed(self.base, self.after)
        return paint(shown, [path for path, change in changed.items() if change == CREATED])

    def _find_borrowed(self, number: int) -> str:
        """A program of the check that may be the agent's own, and does not land."""
        work = self.work
        folder = work.services.workspaces.path(work.orders.step.id)
        return "" if has_stage(work) else find_borrowed(work.orders.checks[number].command, folder)

    def _find_tests(self, number: int) -> Tests | None:
        """The tests of the work that the check ran, where they are known."""
        log = self.logs.get(number)
        return find_outcomes(self.work.services.logs / self.work.orders.step.id / log) if log else None


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
    commands = [check.command for check in list_seen(orders.checks)]
    parts = {}
    for path in changed:
        if is_mixed(path, commands):
            before, after = [await workspaces.read_text(place, path) for place in (base, tree)]
            parts[path] = compare_judges(path, before, after, commands)
    workspace = workspaces.path(orders.step.id)
    find = partial(find_touched, changed, commands, parts, orders.step.files, more=orders.judge)
    others = {*changed} - {file.path for file in find()}
    using = {path for path in others if uses_runner(path, _read_start(workspace / path))}
    using |= await _list_stand_ins(orders, workspaces, {path: changed[path] for path in others}, base)
    find = partial(find, using=using)
    touched = find()
    if any(map(_may_lead, others | {*filter(_may_lead, parts)})) or _are_mentioned(others, workspace, commands):
        sources = await _read_all(workspaces, base, name_sources(commands))
        executed = list_executed(commands, sources)
        scripts = await _read_all(workspaces, base, _list_scripts([*commands, *executed]))
        touched = find(
            executed=executed,
            standing_in=list_standing_in(changed, commands, sources),
            sourced=list_sourced(
                "\n".join([*scripts.values(), *(sources[name] for name in MAKEFILES if name in sources)]), changed
            ),
        )
    work = orders.step.tests
    reaching = _list_reaching(workspace, touched) | using
    return tuple(
        replace(file, work=work and file.kind is JudgeKind.TEST, reaches=file.path in reaching) for file in touched
    )


async def _list_stand_ins(orders: Orders, workspaces: Workspaces, changed: Mapping[str, str], base: Commit) -> set[str]:
    """The files that decide what tests do, or are executed, though no name says so."""
    workspace = workspaces.path(orders.step.id)
    commands = [check.command for check in list_seen(orders.checks)]
    sources = {name: _read_start(workspace / name) for name in name_sources(commands)}
    found = {*list_looped(changed, [*commands, *list_executed(commands, sources)])}
    found |= {path for path, change in changed.items() if stands_for_header(path, change)}
    for path in filter(is_c, changed):
        after = list_macros(_read_start(workspace / path))
        if after and after != list_macros(await workspaces.read_text(base, path) or ""):
            found.add(path)
    if list_shadows(changed, changed, orders.step.files):
        found |= await _list_shadows(orders, workspaces, changed, base)
    return found


async def _list_shadows(orders: Orders, workspaces: Workspaces, changed: Mapping[str, str], base: Commit) -> set[str]:
    """New modules in place of Python's own, of which tests that were there import the other."""
    workspace = workspaces.path(orders.step.id)
    tree = await workspaces.find_tree(base)
    tests = [path for path in await workspaces.list_files(tree) if path.endswith(".py") and names_judge(path)]
    shadows = list_shadows(changed, tests, orders.step.files)
    texts = [*(check.command for check in orders.checks), *(_read_start(workspace / path) for path in tests)]
    own = {module: _read_own(module) for module in shadows.values()}
    return {path for path, module in shadows.items() if any(takes_over(text, module, own[module]) for text in texts)}


def _read_own(module: str) -> str:
    """The source of a module of Python's own; empty if it has none."""
    place = Path(os.__file__).parent
    return _read_start(place / f"{module}.py") or _read_start(place / module / "__init__.py")


def _list_reaching(workspace: Path, touched: Sequence[Touched]) -> set[str]:
    """The new tests that may replace what others test."""
    new = [file.path for file in touched if file.kind is JudgeKind.TEST and file.change == CREATED]
    shadowing = {path for path in new if _shadows(workspace / path)}
    scripts = {path for path in new if path.endswith(SCRIPTS)}
    return shadowing | {path for path in scripts if may_reach(path, _read_start(workspace / path))}


def _shadows(place: Path) -> bool:
    """Whether Python finds a new file in place of a module beside it: a package, or a compiled one."""
    if place.name == "__init__.py":
        return place.parent.with_suffix(".py").is_file()
    return place.suffix in COMPILED and place.with_name(f"{place.name.partition('.')[0]}.py").is_file()


def _are_mentioned(paths: Collection[str], workspace: Path, commands: Sequence[str]) -> bool:
    """Whether one of the files is named by what the commands execute, as it is in the workspace."""
    texts = [_read_start(workspace / name) for name in (*name_sources(commands), *_list_scripts(commands))]
    return any(path.rpartition("/")[2] in text for path in paths for text in texts)


def _read_start(place: Path) -> str:
    with suppress(OSError):
        return read_start(place, MOST_READ).decode("utf-8", "replace")
    return ""


def _may_lead(path: str) -> bool:
    """Whether a file may decide though no command names it: by its name, as a part of a script, in a target's place."""
    name = path.rpartition("/")[2]
    return may_judge(path) or name.endswith(_SHELL) or ("/" not in path and ("." not in name or name in MAKEFILES))


def _list_scripts(lines: Sequence[str]) -> list[str]:
    """The shell scripts that lines execute."""
    found = (script for line in lines for part in split_command(line) for script in find_scripts(part.words))
    return [*dict.fromkeys(script for script in found if script.endswith(_SHELL))]


async def _read_all(workspaces: Workspaces, base: Commit, paths: Sequence[str]) -> dict[str, str]:
    """The texts of those of the files that are there."""
    texts = {path: await workspaces.read_text(base, path) for path in paths}
    return {path: text for path, text in texts.items() if text is not None}
