"""Repairs the user's checkout after a fast-forward of ours was killed or failed in the middle.

Git writes the files first, then the index, then the branch. If it got as far as the index, the rest is done; else the
files are restored. The rule: only a file that the merge wrote, whole or in part, is removed, so that git has all that
was in it. Where one is anything else nothing is changed, and the file is named. Git's lock files are removed only if
they were made after the merge began, by no git that is at work in the checkout now.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from drumline.core.leftovers import name_some
from drumline.errors import GitError
from drumline.record import Record, asdict, convert, replace
from drumline.workspace.files import is_there
from drumline.workspace.git import LIMIT, Result, ask_git
from drumline.workspace.refs import find_left
from drumline.workspace.worktrees import has_tables, list_table_locks

COMPLETED = "completed the merge that was interrupted there"
RESTORED = "restored the files that an interrupted merge had changed there"
LINK, SUBMODULE, EXECUTABLE, ABSENT = "120000", "160000", "100755", "000000"
_SLACK = 2.0
"""Seconds by which a file system may date a file too early."""

Change = tuple[str, str, str, str]
"""A path as git's raw diffs have it: mode before and after, object before and after."""


class FastForward(Record):
    """A fast-forward that was begun at the time `at`, of the branch `ref` that is checked out at `top`.

    `there` has the files that were in its way, which git refuses to write over: they are not the merge's.
    """

    top: str
    git_dir: str
    common_dir: str
    ref: str
    old: str
    new: str
    at: float
    there: tuple[str, ...] = ()

    def ask(self, *args: str, held: int, accept: Sequence[int] = (0,), given: bytes = b"") -> Result:
        """Run git in the checkout, which inherits the lock that we hold."""
        return ask_git(*args, cwd=Path(self.top), accept=accept, given=given, keep_open=(held,))

    def list_locks(self) -> list[Path]:
        """The lock files that git makes for it, those that exist."""
        common_dir, git_dir = Path(self.common_dir), Path(self.git_dir)
        refs = [git_dir / "HEAD.lock", git_dir / "ORIG_HEAD.lock", common_dir / f"{self.ref}.lock"]
        if has_tables(common_dir):
            refs = [*list_table_locks(git_dir), *list_table_locks(common_dir)]
        return [lock for lock in dict.fromkeys((git_dir / "index.lock", *refs)) if lock.exists()]


class Repair(Record):
    """What a fast-forward that did not get through left, and what came of it: `left` says why it stays."""

    top: Path
    locks: tuple[Path, ...] = ()
    done: str = ""
    left: str = ""


def read_note(held: int) -> FastForward | None:
    """The fast-forward that is noted in the lock we hold: whoever began it is gone."""
    text = os.pread(held, os.fstat(held).st_size, 0)
    with suppress(ValueError, TypeError):
        return convert(json.loads(text), FastForward)
    return None


def write_note(held: int, begun: FastForward | None) -> None:
    """Note what is about to be done, or that nothing is."""
    os.ftruncate(held, 0)
    if begun is not None:
        os.pwrite(held, json.dumps(asdict(begun)).encode(), 0)
        os.fsync(held)


def repair_noted(held: int, *, dry: bool = False) -> Repair | None:
    """Repair what the fast-forward that is noted in our lock left; None if there was nothing to repair."""
    begun = read_note(held)
    if begun is None:
        return None
    top = Path(begun.top)
    locks = tuple(_find_dead_locks(begun))
    for lock in locks if not dry else ():
        lock.unlink(missing_ok=True)
    try:
        repair = _repair(begun, held, dry=dry) if top.is_dir() else Repair(top=top)
    except (GitError, OSError) as error:
        repair = Repair(top=top, left=" ".join(str(error).split()))
    if not dry and not repair.left:
        write_note(held, None)
    found = replace(repair, locks=locks)
    return found if locks or found.done or found.left else None


def _repair(begun: FastForward, held: int, *, dry: bool) -> Repair:
    top = Path(begun.top)
    if locks := [] if dry else begun.list_locks():
        return Repair(top=top, left=f"another git process seems to be at work: {str(locks[0])!r} exists")
    if not _stands_at_old(begun, held):
        return Repair(top=top)
    if not dry:
        write_note(held, replace(begun, at=time.time()))  # for the locks of the git that repairs
    changes = _read_changes(begun.ask("diff-tree", "-r", *_RAW, begun.old, begun.new, held=held))
    staged = _read_changes(begun.ask("diff-index", "--cached", *_RAW, begun.old, held=held))
    staged = {path: change for path, change in staged.items() if path in changes}
    if staged and staged != changes:
        return Repair(top=top, left=f"the index has changes that are not the merge's: {name_some(staged)}")
    files = {path: change for path, change in changes.items() if path not in begun.there}
    wrong, foreign = _compare(begun, held, files, forward=bool(staged))
    if not wrong and not staged:
        return Repair(top=top)
    if foreign:
        return Repair(top=top, left=f"an interrupted merge changed files, and so did somebody: {name_some(foreign)}")
    if not dry:
        _rewrite(begun, held, wrong, folders={folder for path in files for folder in Path(path).parents if folder.name})
        if staged:
            reason = f"merge {begun.new}: Fast-forward"
            begun.ask("update-ref", "-m", reason, begun.ref, begun.new, begun.old, held=held)
    return Repair(top=top, done=COMPLETED if staged else RESTORED)


_RAW = ("--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=dirty")


def _stands_at_old(begun: FastForward, held: int) -> bool:
    """Whether the checkout is on the branch, and the branch not moved: else it is merged, or somebody went on."""
    ref = begun.ask("symbolic-ref", "--quiet", "HEAD", held=held, accept=(0, 1)).line
    return ref == begun.ref and begun.ask("rev-parse", "HEAD", held=held).line == begun.old


def _read_changes(raw: Result) -> dict[str, Change]:
    words, paths = raw.items[::2], raw.items[1::2]
    split = (word.removeprefix(":").split() for word in words)
    return {path: (old, new, before, after) for path, (old, new, before, after, _) in zip(paths, split, strict=True)}


def _compare(
    begun: FastForward, held: int, files: Mapping[str, Change], *, forward: bool
) -> tuple[dict[str, bool], list[str]]:
    """The files that are not as wanted (True if they are to be there), and those that somebody else wrote."""
    wrong: dict[str, bool] = {}
    foreign: list[str] = []
    objects = _hash_files(begun, held, files)
    for path, (mode_old, mode_new, old, new) in files.items():
        if SUBMODULE in (mode_old, mode_new):
            continue
        found = objects.get(path, (ABSENT, ""))
        wanted = (mode_new, new) if forward else (mode_old, old)
        if found == wanted or found[0] == wanted[0] == ABSENT:
            continue
        wrong[path] = wanted[0] != ABSENT
        if found[0] != ABSENT and found[1] not in (old, new) and not _is_part(begun, held, path, files[path]):
            foreign.append(path)
    return wrong, foreign


def _hash_files(begun: FastForward, held: int, files: Mapping[str, Change]) -> dict[str, tuple[str, str]]:
    """Mode and object of every file that is there, as git would record it."""
    top = Path(begun.top)
    there = {path: os.lstat(top / path).st_mode for path in files if is_there(top, path)}
    plain = [path for path, mode in there.items() if stat.S_ISREG(mode)]
    text = "".join(f"{_quote(path)}\n" for path in plain)
    hashed = begun.ask("hash-object", "--stdin-paths", held=held, given=os.fsencode(text)).line.split()
    found = {
        path: (EXECUTABLE if there[path] & stat.S_IXUSR else "100644", oid)
        for path, oid in zip(plain, hashed, strict=True)
    }
    for path in (path for path, mode in there.items() if stat.S_ISLNK(mode)):
        target = os.fsencode(os.readlink(top / path))  # noqa: PTH115 - the text itself
        found[path] = (LINK, begun.ask("hash-object", "--stdin", held=held, given=target).line)
    return found


def _quote(path: str) -> str:
    """As git reads it on a line of its own."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _is_part(begun: FastForward, held: int, path: str, change: Change) -> bool:
    """Whether a file has the beginning of what one of the commits has there: git was writing it."""
    file = Path(begun.top) / path
    if file.is_symlink():
        return False
    data = file.read_bytes()
    sides = [commit for commit, mode in ((begun.old, change[0]), (begun.new, change[1])) if mode not in (ABSENT, LINK)]
    wholes = (begun.ask("cat-file", "--filters", f"{commit}:{path}", held=held).out for commit in sides)
    return any(whole.startswith(data) for whole in wholes)


def _rewrite(begun: FastForward, held: int, wrong: Mapping[str, bool], *, folders: Collection[Path]) -> None:
    """Make these files what the index says. They are removed first: git writes over nothing that it does not know.

    So are the folders that are empty then: one may stand where a file belongs.
    """
    top = Path(begun.top)
    for path in wrong:
        if is_there(top, path) and not stat.S_ISDIR(os.lstat(top / path).st_mode):
            (top / path).unlink()
    for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
        with suppress(OSError):  # not empty, or not there
            (top / folder).rmdir()
    text = "".join(f"{path}\0" for path, is_wanted in wrong.items() if is_wanted)
    if text:
        begun.ask("checkout-index", "-z", "--stdin", held=held, given=os.fsencode(text))


def _find_dead_locks(begun: FastForward) -> list[Path]:
    """The lock files that its git left: none is, as long as a git of somebody's is at work in the checkout."""
    since = begun.at - _SLACK
    before = _list_gits(begun)
    found = find_left([lock for lock in begun.list_locks() if since < _read_time(lock) < begun.at + LIMIT])
    return [] if found and before & _list_gits(begun) else found


def _read_time(lock: Path) -> float:
    try:
        return lock.stat().st_mtime
    except OSError:
        return 0.0


def _list_gits(begun: FastForward) -> set[str]:
    """The processes of git that stand in the checkout; ours stand in git's own folder, or hold our lock."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            place = (entry / "cwd").readlink()
            inside = place.is_relative_to(begun.top) and not place.is_relative_to(begun.common_dir)
            if inside and (entry / "comm").read_text(encoding="utf-8", errors="replace").startswith("git"):
                found.add(entry.name)
    return found
