"""What changed outside a workspace while something worked in it, for machines where nothing prevents it.

The rule: this tells people where to look. It compares fingerprints before and after, so it sees whatever wrote: an edit
tool, a shell, a program that was started. It does not see the whole machine, and cannot tell who wrote.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from drumline.isolation.watched import mark_file, read_git_places, read_records, read_user_places
from drumline.ports.agents import Around, Assignment, Happening, Outcome
from drumline.record import Record, replace

T = TypeVar("T")
MOST = 20
MOST_WORKTREES = 8
GIT_LIMIT = 120.0
STARTS_NOTHING = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
"""For git in places whose configuration what is watched may have written."""
RECORDS = "/drumline/runs/"
OURS = ("refs/heads/drumline/",)
"""Branches that runs move themselves."""
UNHELD = (
    "what agents write outside their workspace is not prevented; changes of your checkout and edits that agents tell "
    "of are reported, as are those of other worktrees, of git's hooks and settings, of files in your home that start "
    "programs and of Drumline's records; others are not seen"
)
"""What that means for people."""
UNJAILED = f"bubblewrap does not work here: {UNHELD}"


class Watch(Record):
    """What is looked at around a workspace.

    `writable` are folders that may be written to, `around` says what changes in the course of the run.
    """

    workspace: Path
    run: str = ""
    writable: Sequence[Path] = ()
    around: Around = Around()

    async def look(self, idle: Sequence[Path]) -> dict[Path, str]:
        """The fingerprints of everything that is watched, other workspaces of the run included that are `idle`."""
        common = await _find_common(self.workspace)
        found = await anyio.to_thread.run_sync(read_user_places)
        if common is not None:
            found |= await anyio.to_thread.run_sync(read_git_places, common)
            found |= await anyio.to_thread.run_sync(read_records, common, self.run) if self.run else {}
            found |= await self._read_repository(common, idle)
        return {path: mark for path, mark in found.items() if not self._may_change(path)}

    async def _read_repository(self, common: Path, idle: Sequence[Path]) -> dict[Path, str]:
        """The changed files of the main checkout and of worktrees in which nobody works, and the branches."""
        workspace = self.workspace.resolve()
        top = common.parent if common.name == ".git" else None
        if top is not None and workspace.is_relative_to(top.resolve()):
            return {}  # a run in the checkout itself: its files and branches are the work
        found = {} if top is None else await read_checkout(top, ours=self.around.ours)
        for tree in [*await self._list_worktrees(common, top), *idle]:
            found |= await read_checkout(tree)
        return found | await self._read_branches(common)

    async def _read_branches(self, common: Path) -> dict[Path, str]:
        """Branches and tags, without those of runs and the one that is checked out in the workspace."""
        words = ("for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags")
        told = await _ask_git(self.workspace, *words)
        standing = (await _ask_git(self.workspace, "symbolic-ref", "--quiet", "HEAD")).strip()
        own = standing, f"refs/heads/{self.around.branch}"
        refs = [line.partition(" ") for line in told.splitlines() if not line.startswith(OURS)]
        return {common / name: commit for name, _, commit in refs if name not in own}

    async def _list_worktrees(self, common: Path, top: Path | None) -> list[Path]:
        """Worktrees of people: neither the checkout nor what runs have made beside this workspace."""
        listed = await _ask_git(self.workspace, "worktree", "list", "--porcelain", "-z")
        places = [Path(line.removeprefix("worktree ")) for line in listed.split("\0") if line.startswith("worktree ")]
        made = self.workspace.resolve().parent.parent
        own = [place for place in places if place not in (top, common) and not place.resolve().is_relative_to(made)]
        return own[:MOST_WORKTREES]

    def _may_change(self, path: Path) -> bool:
        allowed = (self.workspace, *self.writable)
        is_git = ".git" in path.parts
        return not is_git and any(path.is_relative_to(folder) for folder in allowed)


async def look_on(assignment: Assignment, work: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """Let an agent work that no jail holds: say so, and tell afterwards what changed outside its workspace."""
    await assignment.report(Happening(kind="notice", text=UNJAILED))
    watch = Watch(
        workspace=assignment.workspace,
        run=assignment.run,
        writable=assignment.writable,
        around=assignment.around,
    )
    outcome, found = await watch_over(watch, work)
    return replace(outcome, notices=(*outcome.notices, *found))


async def watch_over(watch: Watch, work: Callable[[], Awaitable[T]]) -> tuple[T, list[str]]:
    """What came of the work, and a sentence for each watched file that is another one now."""
    idle = {place.resolve() for place in watch.around.list_idle()}
    before = await watch.look(sorted(idle))
    done = await work()
    # Where somebody has begun to work meanwhile, changes are theirs; what a run writes down on the way is its own.
    left = sorted(idle & {place.resolve() for place in watch.around.list_idle()})
    after = await watch.look(left)
    busy = [place for place in idle if place not in left]
    before = {path: mark for path, mark in before.items() if not any(path.is_relative_to(place) for place in busy)}
    after = {path: mark for path, mark in after.items() if path in before or RECORDS not in path.as_posix()}
    return done, compare(before, after)


async def read_checkout(folder: Path, *, ours: Sequence[str] = ()) -> dict[Path, str]:
    """The changed files of a checkout with their fingerprints; of ignored folders only programs in `bin`.

    Files that match the patterns in `ours` are left out.
    """
    options = ("--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignored=matching")
    spared = [f":(top,exclude,glob){pattern}" for pattern in ours]
    # Else a git is started in each submodule, and does what the configuration in there says.
    listed = await _ask_git(folder, "status", *options, "--ignore-submodules=dirty", "--", ".", *spared)
    found: dict[Path, str] = {}
    for entry in listed.split("\0"):
        path = folder / entry[3:]
        if path == folder:
            continue
        if entry.endswith("/"):
            found |= await anyio.to_thread.run_sync(_read_programs, path)
        else:
            found[path] = mark_file(path)
    return found


def _read_programs(folder: Path) -> dict[Path, str]:
    """Programs in an ignored folder, such as a virtual environment, by which people start code."""
    places = [folder / "bin", folder / ".bin", folder]
    own = [place for place in places if place.name in ("bin", ".bin") and place.is_dir()]
    return {path: mark_file(path) for place in own for path in sorted(place.iterdir()) if not path.is_dir()}


def compare(before: Mapping[Path, str], after: Mapping[Path, str]) -> list[str]:
    """A sentence for each file that is another one now."""
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    told = [f"{path} changed while it worked, outside its workspace" for path in changed[:MOST]]
    return told + ([f"… and {len(changed) - MOST} more"] if len(changed) > MOST else [])


async def _find_common(workspace: Path) -> Path | None:
    found = (await _ask_git(workspace, "rev-parse", "--path-format=absolute", "--git-common-dir")).strip()
    return Path(found) if found else None


async def _ask_git(folder: Path, *words: str) -> str:
    """What git says; nothing where there is no repository."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        with anyio.fail_after(GIT_LIMIT):
            done = await anyio.run_process(["git", *STARTS_NOTHING, "-C", str(folder), *words], check=False, env=env)
    except OSError:  # also a git that is stopped or hangs: TimeoutError is one
        return ""
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else ""
