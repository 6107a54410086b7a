"""Checks: the engine runs commands and judges by their exit codes, the same way for a step and for a node of a flow.

The rule: a verdict is the exit code of our own child on exactly one tree, which is there again afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from types import MappingProxyType

import anyio

from drumline.core import commands as cmd
from drumline.core import events as ev
from drumline.core.checkfailure import CHECK_RULES, Cause, CheckFailure, FailedCheck, classify, is_work
from drumline.core.firstlines import find_first
from drumline.core.flaky import contradicts
from drumline.core.ids import Tree
from drumline.core.kinds import judges
from drumline.core.leftovers import sort_changes
from drumline.core.missing import MANIFESTS, find_missing, is_foreign, leave_own_name, list_own_places
from drumline.core.orders import Orders
from drumline.core.products import DEPENDENCIES
from drumline.core.stepstate import StepState
from drumline.core.testids import Report, sum_up
from drumline.engine.checkslots import Urgency
from drumline.engine.identity import digest_environment, digest_judge, digest_log
from drumline.engine.nodes.ground import has_stage, stand_on_work, tell_output
from drumline.engine.nodes.keptverdicts import keep_passed
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.nodes.workspace import set_up
from drumline.engine.products import spell_path
from drumline.engine.reporters import keep_reachable, lead_reporters
from drumline.engine.reports import (
    Outcomes,
    keep_outcomes,
    read_lines,
    read_outcomes,
    read_outside,
    watch_lines,
    watch_outside,
)
from drumline.engine.salvage import read_work
from drumline.engine.stage import Stand
from drumline.errors import ChildKilled
from drumline.isolation.scratch import open_scratch
from drumline.ports.jail import NO_HOLD, Hold
from drumline.ports.processes import Job, Processes
from drumline.record import Record, field, replace

MOST_OUTPUT = 8_000
MOST_MANIFEST = 2_000_000
"""Bytes of a file that is looked at only where the output of a check names a package that it did not find."""
TIMED_OUT = 124
"""The exit code of a check that took too long, as the program `timeout` has it."""
MODIFIED = "modified"


class Checked(Record):
    """How a check ended; `cause` is None if it passed, `left` names processes of it that could not be ended.

    `outcomes` are its tests, None if it has no runner that tells; `lines` are those that it executed of files that
    were asked about. `outside` are files of the checkout that it loaded as code, in place of the tree that it judges.
    """

    exit_code: int | None
    output: str
    seconds: float
    cause: Cause | None
    left: str = ""
    outcomes: Outcomes | None = None
    lines: Mapping[str, Sequence[int]] = field(default_factory=dict)
    environment: str = ""
    outside: tuple[str, ...] = ()

    @property
    def report(self) -> Report | None:
        """What its test runners told, as the journal keeps it."""
        told = self.outcomes
        if told is None:
            return None
        return sum_up(told.tests, complete=told.complete, patched=told.patched, cut=told.cut)


async def run_check(
    command: str,
    processes: Processes,
    *,
    folder: Path,
    log: Path,
    timeout: float | None,
    files: Sequence[str] = (),
    env: Mapping[str, str] = MappingProxyType({}),
    hold: Hold = NO_HOLD,
    lines: Sequence[str] = (),
    shown: Sequence[Path] = (),
) -> Checked:
    """Run the command in the folder, held. `files` are those that the work is about; `env` is added to our own.

    `lines` are files of Python of which it is asked which lines are executed. What is `shown` no other check can read.
    """
    outside = hold.find_outside(folder)
    with open_scratch(log.with_name(f"{log.stem}-ids.tmp")) as reports:
        watched = {**watch_lines(reports, lines), **watch_outside(reports, outside)}
        told = lead_reporters(reports, {**env, **watched}, root=folder, command=command)
        job = Job(argv=["bash", "-c", keep_reachable(command)], cwd=folder, log=log, timeout=timeout, env=told)
        with hold.hold(job, scratch=reports, shown=shown) as held:
            ended, environment = await processes.run(held), digest_environment(held)
        outcomes, executed = read_outcomes(reports), read_lines(reports, lines)
        strayed = read_outside(reports, outside)
    if outcomes is not None:
        outcomes = replace(outcomes, patched=(*outcomes.patched, *strayed.patched))
        keep_outcomes(log, outcomes)
    output = ended.output or ended.message
    if ended.timed_out:
        output += f"\n(stopped after {timeout:g} s)"
    exit_code = TIMED_OUT if ended.timed_out else ended.exit_code
    names = tuple(dict.fromkeys(PurePosixPath(file).name for file in files))
    failed = FailedCheck(command=command, exit_code=exit_code, output=output, folder=str(folder), names=names)
    uninstalled = _find_uninstalled(command, output, folder, linked=strayed.linked) if exit_code else ""
    failed = replace(failed, killed=hold.was_killed(ended), timed_out=ended.timed_out, uninstalled=uninstalled)
    return Checked(
        exit_code=exit_code,
        output=output[-MOST_OUTPUT:],
        seconds=ended.seconds,
        cause=None if exit_code == 0 else classify(failed),
        left=ended.left,
        outcomes=outcomes,
        lines=executed,
        environment=environment,
        outside=strayed.loaded,
    )


def explain_setup(setup: str, stand: Stand) -> Checked | None:
    """What a check comes to where the setup command has failed; None if it has not.

    It is the work's failure only if the work changed what is installed.
    """
    ended = stand.failed
    if ended is None:
        return None
    told = ended.output or ended.message
    failed = FailedCheck(command=setup, exit_code=ended.exit_code, output=told, folder=str(stand.path))
    cause = classify(replace(failed, timed_out=ended.timed_out))
    if cause.failure is CheckFailure.WORK and not stand.changed:
        why = " / ".join(find_first(told)[:1])
        cause = Cause(failure=CheckFailure.PACKAGE, evidence=f"the setup command failed: {setup}{why and f': {why}'}")
    output = f"the setup command failed where checks run: {setup}\n{told}"
    return Checked(exit_code=ended.exit_code or TIMED_OUT, output=output[-MOST_OUTPUT:], seconds=0.0, cause=cause)


def intend(command: cmd.RunCheck, state: StepState) -> Note:
    """Which check is run on which tree."""
    started = ev.CheckStarted(check=command.number, command=command.check.command, tree=known(state.tree))
    return Note(step=[started])


async def act(work: StepWork, command: cmd.RunCheck, state: StepState) -> Note:
    """Run the check in the step's workspace, which has the tree of the work again afterwards."""
    step, tree = work.orders.step.id, known(state.tree)
    log = work.services.log(step, f"check-{state.attempts}-{command.number + 1}.log")
    await _set_up_again(work, command, state)
    if command.delay:
        await work.services.clock.sleep(command.delay)
    async with work.tools.slots.take(Urgency.STEP):
        stand, held = await stand_on_work(work, state), work.ground.held
        found = explain_setup(work.setup.command, stand) or await run_check(
            work.orders.spell(command.number),
            work.tools.processes,
            folder=stand.path,
            log=log,
            timeout=work.services.limit(command.check),
            files=work.orders.step.files,
            hold=work.tools.checks,
            shown=show_held_out(work.orders, command.number),
        )
    work.tools.bases.note(command.check.command, found.seconds)
    if found.cause is not None and found.cause.failure is CheckFailure.KILLED:
        raise ChildKilled(f"the check {command.check.command}")
    # Where the setup command failed, the work was not laid out: nobody has changed it.
    left = Left(tree=tree) if stand.failed is not None else await _tidy(work, command, state, stand)
    tests = found.outcomes.tests if found.outcomes is not None else ()
    secret = bool(work.orders.find_held_out(command.number))
    ended = replace(
        _tell_flaky(_end(command, tree, found, secret=secret), state),
        output="" if secret else tell_output(found.output, held, failed=bool(found.exit_code)),
        log=log.name,
        tree_after=left.tree,
        created=left.created,
        altered=left.altered,
        formatted=left.formatted,
        restored=left.restored,
        judge=digest_judge(stand.path, command.check.command, tests),
        log_digest=digest_log(log),
        dependencies=() if has_stage(work) else tuple(name for name in DEPENDENCIES if (stand.path / name).exists()),
    )
    keep_passed(work, ended, found)
    return Note(step=[ended])


class Left(Record):
    """What is left of what a check did to the workspace: its `tree` now, and the names of what was done and undone."""

    tree: Tree
    created: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    formatted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()


async def _tidy(work: StepWork, command: cmd.RunCheck, state: StepState, stand: Stand) -> Left:
    """Undo what a check did to the tree; what a formatter did to files of the work stays."""
    workspaces, tree, base = work.services.workspaces, known(state.tree), known(state.base)
    formats = not judges(command.check)
    after = (await read_work(workspaces, stand.id, base=base)).tree if formats else tree
    changes = await workspaces.clean(stand.id, tree, base=base)
    left = sort_changes((spell_path(path), kind) for path, kind in changes.items())
    if not formats:
        return Left(tree=tree, created=left.created, altered=left.altered)
    own = await workspaces.changed(base, tree)
    kept = [path for path, kind in changes.items() if kind == MODIFIED and path in own]
    formatted = sort_changes((spell_path(path), MODIFIED) for path in kept).altered
    restored = tuple(path for path in left.altered if path not in formatted)
    if kept:
        tree = await workspaces.compose(tree, after, kept)
        with anyio.CancelScope(shield=True):  # else what comes next takes it for work that was lost
            await workspaces.switch(work.orders.step.id, tree, tidy=False)
    return Left(tree=tree, created=left.created, formatted=formatted, restored=restored)


def _end(command: cmd.RunCheck, tree: Tree, found: Checked, *, secret: bool) -> ev.CheckEnded:
    """How a check ended on a tree, as far as its run tells; of a `secret` one nothing that it printed."""
    return ev.CheckEnded(
        check=command.number,
        command=command.check.command,
        tree=tree,
        tree_after=tree,
        exit_code=found.exit_code,
        seconds=round(found.seconds, 3),
        failure=found.cause.failure.value if found.cause and not found.outside else "",
        evidence=found.cause.evidence if found.cause and not secret else "",
        left=found.left,
        report=found.report,
        environment=found.environment,
        outside=found.outside,
    )


def _tell_flaky(ended: ev.CheckEnded, state: StepState) -> ev.CheckEnded:
    """The verdict as what it is where the check came to another one on the same tree before."""
    passed = ended.exit_code == 0
    if ended.outside or not (passed or is_work(ended.failure)):
        return ended
    if contradicts(state, ended.command, ended.tree, passed=passed):
        return replace(ended, flaky=True)
    before = state.verdicts.get(ended.check)
    again = before is not None and before.flaky and before.ended.tree == ended.tree and not passed
    return replace(ended, failure=CheckFailure.FLAKY.value) if again else ended


def show_held_out(orders: Orders, number: int) -> list[Path]:
    """The folder of a check that is held out, which it may read; nothing for any other."""
    file = orders.find_held_out(number)
    return [Path(file).parent] if file else []


async def _set_up_again(work: StepWork, command: cmd.RunCheck, state: StepState) -> None:
    """Run the setup command before a check is repeated that lacked what setup may bring."""
    earlier = state.verdicts.get(command.number)
    failure = earlier.ended.failure if earlier and earlier.ended.tree == state.tree else ""
    if not failure or not CHECK_RULES[CheckFailure(failure)].sets_up or not work.setup.command:
        return
    if work.ground.stage is not None:
        work.ground.stage.forget()
    elif not has_stage(work):
        await set_up(work)
        await work.services.workspaces.clean(work.orders.step.id, known(state.tree), base=known(state.base))


def _find_uninstalled(command: str, output: str, folder: Path, *, linked: bool = False) -> str:
    """The line about a missing package that is not the work's failure; empty if all that is missing is the work's.

    `linked` says that a package is installed as a link to the checkout, where a check does not look.
    """
    missing = find_missing(output)
    if not missing:
        return ""
    declared = "\n".join(leave_own_name(name, _read_manifest(folder / name)) for name in MANIFESTS)
    for one in missing:
        own = [place for place in list_own_places(one.name) if one.name and (folder / place).exists()]
        if not is_foreign(one, command=command, declared=declared, own=own, linked=linked):
            return ""
    return missing[0].line


def _read_manifest(path: Path) -> str:
    with suppress(OSError):
        if path.is_file() and not path.is_symlink():
            return path.read_bytes()[:MOST_MANIFEST].decode("utf-8", "replace")
    return ""
