"""What runs and dead processes of ours left: worktrees, records and locks in git, folders of drivers, scratches.

The rule: only what is provably ours and not needed any more is removed. What belongs to a step is removed under the
step's claim, so that no driver can begin with it meanwhile, and work that no ref keeps is kept by one first.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

from drumline.app.catalog import list_runs
from drumline.core.ids import DriverId, RunId, StepId
from drumline.core.state import RunState
from drumline.core.vocabulary import RunEnd
from drumline.engine.loading import load_run
from drumline.engine.tidying import choose_label, needs_workspace
from drumline.errors import DrumlineError, GitError, UnknownEvent
from drumline.isolation.scratch import clear_scratches, find_scratches
from drumline.ports.journal import Store
from drumline.ports.roster import Standing
from drumline.ports.workspaces import Workspaces
from drumline.processes.census import marked, name_processes
from drumline.processes.roster import FileRoster
from drumline.record import Record
from drumline.workspace.leftovers import clear_records, clear_ref_locks, find_broken_records, find_ref_locks
from drumline.workspace.merging import repair_merge
from drumline.workspace.worktrees import file_name

IN_GIT = ("record", "ref lock", "git lock")
"""Kinds that break the user's own git."""
ASIDE = ".aside"
DRAFTS = ".*.drumline-*.tmp"
"""How drafts beside a plan's files are called."""
NEWEST = 30
"""How many runs a start looks at."""
OLD = 600.0
"""Seconds after which a draft is left over: writing a plan's file takes far less."""


class Leftover(Record):
    """One thing that was found: removed, or left with the reason. `note` says what was kept of it first.

    With `repaired`, it is the user's own, which was not removed but repaired: `note` says how.
    """

    kind: str
    path: Path
    left: str = ""
    note: str = ""
    repaired: bool = False

    @property
    def deed(self) -> str:
        """What was done with it."""
        return "repaired" if self.repaired else "removed"


class Cleanup(Record):
    """Where leftovers of one repository are looked for. With `dry` nothing is changed.

    `thorough` removes what a person may want to look at first, too: the worktree of a flow that has failed.
    """

    store: Store | None
    roster: FileRoster
    common_dir: Path
    top: Path
    worktrees: Path
    open_workspaces: Callable[[RunState], Workspaces]
    dry: bool = False
    thorough: bool = False

    @property
    def logs(self) -> Path:
        """Where logs of runs are."""
        return self.common_dir / "drumline" / "runs"


async def clear_leftovers(cleanup: Cleanup) -> list[Leftover]:
    """Everything that was found, in the order in which it hurts."""
    found = [*_clear_drivers(cleanup), *_clear_git(cleanup)]
    if cleanup.store is not None:
        known = cleanup.store.runs()
        for run in known:
            found += await _clear_known_run(cleanup, cleanup.store, run)
        found += _list_unknown(cleanup, {*known})
        found += _clear_drafts(cleanup, cleanup.store)
    return found


async def clear_before_start(cleanup: Cleanup) -> list[Leftover]:
    """What a start removes on its way, which must not take long: that of the newest runs. Nothing stops the start."""
    found: list[Leftover] = []
    with suppress(DrumlineError, OSError):
        found += _clear_drivers(cleanup)
        found += _clear_git(cleanup)  # a git of a dead driver holds its locks until it is ended
        if cleanup.store is not None:
            for run in cleanup.store.runs()[-NEWEST:]:
                found += await _clear_known_run(cleanup, cleanup.store, run)
    return found


def _clear_git(cleanup: Cleanup) -> Iterator[Leftover]:
    """Half made records and stale locks: while they are there, the user's own git fails."""
    git = cleanup.common_dir
    records = find_broken_records(git, cleanup.worktrees) if cleanup.dry else clear_records(git, cleanup.worktrees)
    locks = find_ref_locks(git) if cleanup.dry else clear_ref_locks(git)
    yield from (Leftover(kind="record", path=path) for path in records)
    yield from (Leftover(kind="ref lock", path=path) for path in locks)
    merge = repair_merge(git, dry=cleanup.dry)
    if merge is not None:
        yield from (Leftover(kind="git lock", path=path) for path in merge.locks)
        if merge.done or merge.left:
            yield Leftover(kind="checkout", path=merge.top, left=merge.left, note=merge.done, repaired=True)


def _clear_drivers(cleanup: Cleanup) -> Iterator[Leftover]:
    """Folders of dead drivers, and with each whatever it had started that still runs."""
    dead = [driver for driver in cleanup.roster.entered() if cleanup.roster.standing(driver) is Standing.DEAD]
    if dead and not cleanup.dry:
        cleanup.roster.clear_dead()
    for driver in dead:
        home = cleanup.roster.find_home(driver)
        entering = driver.startswith(".")
        if (cleanup.dry and not entering) or not home.exists():
            yield Leftover(kind="driver", path=home)
        elif not entering:
            why = f"what it started could not be ended: {name_processes(marked(driver))}"
            yield Leftover(kind="driver", path=home, left=why)


async def _clear_known_run(cleanup: Cleanup, store: Store, run: RunId) -> list[Leftover]:
    """The same for each run; of one that another version has written everything stays."""
    try:
        return await _clear_run(cleanup, store, run)
    except UnknownEvent as error:
        folder, why = cleanup.worktrees / file_name(run), f"another version has written this run: {error}"
        return [Leftover(kind="worktree", path=path, left=why) for path in _list_folders(folder)]


async def _clear_run(cleanup: Cleanup, store: Store, run: RunId) -> list[Leftover]:
    """The workspaces and scratches of one run, and its folders once nothing is in them."""
    found: list[Leftover] = []
    folders = cleanup.worktrees / file_name(run), cleanup.logs / run
    scratched = {StepId(path.name) for path in _list_folders(folders[1]) if find_scratches(path)}
    if not scratched and not folders[0].exists():
        return []
    state = load_run(store, run).state
    places = cleanup.open_workspaces(state).list_places()
    steps = {step for step in places.values() if step is not None}
    async with _hold(cleanup, store, run) as claim:
        for step in sorted(steps | scratched):
            found += await _clear_step(cleanup, state, step, claim)
    found += await _clear_released(cleanup, state, [path for path, step in places.items() if step is None])
    _drop_empty(cleanup, state, folders[0])
    return found


Claim = Callable[[StepId], str]
"""Claims a step for us, and says why it cannot be claimed."""


async def _clear_step(cleanup: Cleanup, state: RunState, step: StepId, claim: Claim) -> list[Leftover]:
    spaces, logs = cleanup.open_workspaces(state), cleanup.logs / state.id / step
    scratches, path = find_scratches(logs), spaces.path(step)
    there = path.exists() and not state.begun.checkout  # the person's own is none
    needed = _explain_need(cleanup, state, step) if there else ""
    # A claim is taken only where something is to be removed.
    refusal = claim(step) if scratches or (there and not needed) else ""
    found = [Leftover(kind="scratch", path=path, left=refusal) for path in scratches]
    if scratches and not refusal and not cleanup.dry:
        clear_scratches(logs)
    if not there:
        return found
    why = refusal or needed
    note = ""
    if not why and not cleanup.dry:
        try:
            kept = await spaces.retire(step, choose_label(state, step))
            note = f"what was in it is kept: git show {kept[:12]}" if kept else ""
        except (GitError, OSError) as error:
            why = " ".join(str(error).split())
    return [*found, Leftover(kind="worktree", path=path, left=why, note=note)]


async def _clear_released(cleanup: Cleanup, state: RunState, paths: Sequence[Path]) -> list[Leftover]:
    """Workspaces of steps that are done, which wait for the next step; while a driver is there it is about to come."""
    why = " ".join(f"driver {driver} is at work on its run" for driver in cleanup.roster.drivers(state.id)[:1])
    if paths and not why and not cleanup.dry:
        try:
            await cleanup.open_workspaces(state).drop_released()
        except (GitError, OSError) as error:
            why = " ".join(str(error).split())
    return [Leftover(kind="worktree", path=path, left=why) for path in paths]


def _explain_need(cleanup: Cleanup, state: RunState, step: StepId) -> str:
    """Why the workspace of a step that nobody works on stays; empty if it may go."""
    failed = not state.lands and state.ended is not None and state.ended.state == RunEnd.FAILED
    if not needs_workspace(state, step) or (failed and cleanup.thorough):
        return ""
    if failed:
        return "its flow has failed: look at what it has made, then drumline gc"
    finished = state.finished.get(step)
    how = f"its step is {finished.state}" if finished else "its step is not finished"
    if not state.lands:
        how = f"its flow is {state.ended.state if state.ended else 'not finished'}"
    # A resume does not try again what is stuck.
    onward = f"retry {step} --run {state.id} --resume" if finished and state.is_stuck else f"resume {state.id}"
    return f"{how}: drumline {onward}, or drumline cancel {state.id} if it is not wanted"


@asynccontextmanager
async def _hold(cleanup: Cleanup, store: Store, run: RunId) -> AsyncIterator[Claim]:
    """Claim steps of a run as a driver does, for the time of this block.

    A claim of a dead driver is taken over and stays taken, so that the next driver still settles what was open.
    """
    if cleanup.dry:
        yield lambda step: _name_owner(cleanup, store, run, step)
        return
    joined: list[DriverId] = []  # only once something is to be removed: a run that has a driver looks driven
    free = []

    def claim(step: StepId) -> str:
        if owner := _name_owner(cleanup, store, run, step):
            return owner
        dead = store.list_claims(run).get(step)
        # Only once nothing that the dead driver started can act any more; what has no folder has processes, too.
        if dead is not None and not cleanup.roster.evict(dead.driver):
            return f"what driver {dead.driver} had started still runs"
        if not joined:
            joined.append(cleanup.roster.join(run))
        token = store.take(run, step, joined[0], over=dead.token if dead else None)
        if token is None:
            return "somebody has just begun to work on it"
        if dead is None:
            free.append((step, token))
        return ""

    try:
        yield claim
    finally:
        for step, token in free:
            store.release(run, step, token)
        for driver in joined:
            cleanup.roster.leave(driver)


def _name_owner(cleanup: Cleanup, store: Store, run: RunId, step: StepId) -> str:
    """Who works on a step; empty if nobody who is alive does."""
    claim = store.list_claims(run).get(step)
    if claim is None or cleanup.roster.standing(claim.driver) is Standing.DEAD:
        return ""
    return f"driver {claim.driver} is at work on it"


def _drop_empty(cleanup: Cleanup, state: RunState, folder: Path) -> None:
    """Remove the folders of a run that is done for good, once no worktree is in them."""
    over = state.ended is not None and state.ended.state == RunEnd.DONE
    if cleanup.dry or not over or any(_list_folders(folder)):
        return
    with suppress(OSError):
        folder.rmdir()
    shutil.rmtree(folder.with_name(f"{folder.name}{ASIDE}"), ignore_errors=True)


def _list_unknown(cleanup: Cleanup, known: set[RunId]) -> Iterator[Leftover]:
    """Worktrees of runs that the journal does not know: nobody can say whether they are needed."""
    for folder in _list_folders(cleanup.worktrees):
        if not folder.name.endswith(ASIDE) and RunId(unquote(folder.name)) not in known:
            for path in _list_folders(folder):
                why = "the journal does not know its run; look at it, then: git worktree remove --force"
                yield Leftover(kind="worktree", path=path, left=f"{why} {path}")


def _clear_drafts(cleanup: Cleanup, store: Store) -> Iterator[Leftover]:
    """Drafts that a dead writer left beside the files of a plan."""
    plans = {cleanup.top / brief.state.begun.plan for brief in list_runs(store)}
    folders = sorted(place if place.is_dir() else place.parent for place in plans)
    for draft in (draft for folder in folders for draft in sorted(folder.glob(DRAFTS))):
        if not _is_old(draft):
            continue
        if not cleanup.dry:
            draft.unlink(missing_ok=True)
        yield Leftover(kind="draft", path=draft)


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > OLD
    except OSError:
        return False


def _list_folders(place: Path) -> list[Path]:
    """The folders in a place that may not exist."""
    with suppress(OSError):
        return sorted(path for path in place.iterdir() if path.is_dir() and not path.is_symlink())
    return []
