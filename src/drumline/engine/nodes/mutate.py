"""Mutants of a step's work: which lines it changed, and which of its checks are to notice mutants of them.

The rule: whether they are tried before the work lands or once it is done, they are tried in the same way.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import anyio

from drumline.core import events as ev
from drumline.core.baseline import list_counting
from drumline.core.heldout import HELD_OUT
from drumline.core.judge import DELETED
from drumline.core.mutants import list_changed_lines
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import Mutants
from drumline.engine.identity import find_test_file
from drumline.engine.mutation import LONGEST, MUTABLE, Sample, Trial
from drumline.engine.nodes.ground import leave_ground, stand_on_work
from drumline.engine.nodes.stepwork import Note, StepWork, known
from drumline.engine.reports import find_outcomes
from drumline.errors import GitError

MOST_FILES = 20
"""How many files of a change have mutants."""
LOG = "mutants.log"
Release = Callable[[], Awaitable[None]]


def intend(state: StepState) -> Note:
    """Of which tree there will be mutants."""
    return Note(step=[ev.MutantsStarted(tree=known(state.tree))])


async def act(work: StepWork, state: StepState) -> Note:
    """Try them where checks run; the step's workspace has the tree of the work again afterwards."""
    began = time.monotonic()
    trial = await open_trial(work, state)
    try:
        await run_trial(trial, work)
    finally:
        with anyio.CancelScope(shield=True):
            await leave_ground(work)
            await work.services.workspaces.clean(work.orders.step.id, known(state.tree), base=known(state.base))
    return Note(step=[ev.MutantsEnded(found=trial.result, seconds=round(time.monotonic() - began, 3))])


async def run_trial(trial: Trial, work: StepWork) -> None:
    """Try the mutants; what the machine refuses is not a reason to stop, and no log of theirs is kept."""
    try:
        with suppress(OSError):
            await trial.run()
    finally:
        log = work.services.logs / work.orders.step.id / LOG
        for path in (log, log.with_name(f"ids-{LOG}")):
            path.unlink(missing_ok=True)


def has_mutants(work: StepWork, finished: ev.StepFinished) -> bool:
    """Whether mutants of what a step has landed are to be tried now that it is done, as far as its files tell."""
    wanted = work.orders.mutants is Mutants.SHOW and finished.commit is not None
    return wanted and any(path.endswith(MUTABLE) for path in finished.files if path not in finished.deleted)


async def try_landed(
    work: StepWork, state: StepState, record: Callable[[ev.Event], Awaitable[None]], *, release: Release
) -> None:
    """Try mutants of what has landed, then `release` the workspace. Cut short, it records what is known by then."""
    trial = None
    try:
        trial = await open_trial(work, state)
        await run_trial(trial, work)
    except (GitError, OSError):
        pass  # it is a sample, and nobody waits for it
    finally:
        with anyio.CancelScope(shield=True):
            await leave_ground(work)
            await release()
            if trial is not None and trial.result.tried:
                landed = known(state.landed)
                await record(ev.MutantsTried(step=work.orders.step.id, commit=landed.commit, found=trial.result))


async def open_trial(work: StepWork, state: StepState) -> Trial:
    """The mutants of the work that a step is about to land, or has landed."""
    step, checks = work.orders.step, work.orders.checks
    seen = [number for number in list_counting(checks) if checks[number].source not in HELD_OUT]
    passed = [number for number in seen if state.proves(number)]
    seconds = {checks[number].command: state.verdicts[number].ended.seconds for number in passed}
    # Nothing is read of work that cannot have any, and that is most of it.
    small = bool(seconds) and sum(seconds.values()) <= LONGEST
    changed = await _list_changed(work, state) if small else {}
    folder = (await stand_on_work(work, state)).path if changed else work.services.workspaces.path(step.id)
    logs = [work.services.logs / step.id / state.verdicts[number].ended.log for number in passed]
    sample = Sample(
        checks=seconds,
        folder=folder,
        changed=changed,
        log=work.services.log(step.id, LOG) if changed else work.services.logs / step.id / LOG,
        tests=find_test_files(folder, logs) if changed else (),
        files=step.files,
        hold=work.tools.checks,
        slots=work.tools.slots,
    )
    return Trial(sample, work.tools.processes)


async def _list_changed(work: StepWork, state: StepState) -> Mapping[str, Collection[int]]:
    """The lines that the work changed, in files that do not judge it."""
    workspaces, base, tree = work.services.workspaces, known(state.base), known(state.tree)
    judging = {file.path for file in state.touched}
    changed = await workspaces.changed(base, tree)
    paths = [path for path, kind in changed.items() if path.endswith(MUTABLE) and kind != DELETED]
    found = {}
    for path in [path for path in paths if path not in judging][:MOST_FILES]:
        before, after = [await workspaces.read_text(place, path) for place in (base, tree)]
        if after is not None and (lines := list_changed_lines(before, after)):
            found[path] = lines
    return found


def find_test_files(folder: Path, logs: Iterable[Path]) -> tuple[str, ...]:
    """The files of Python that the tests of checks are in, told from the ids that were kept beside the logs."""
    names: dict[str, None] = {}
    for log in logs:
        names |= dict.fromkeys(name.partition("::")[0] for name in find_outcomes(log) or ())
    found: dict[str, None] = {}
    for name in names:
        if (path := find_test_file(folder, name)).endswith(MUTABLE):
            found[path] = None
    return tuple(found)[:MOST_FILES]
