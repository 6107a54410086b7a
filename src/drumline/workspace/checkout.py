"""Repairs the user's checkout after a fast-forward of ours was killed or failed in the middle.

Git locks the index, writes the files, then the index, then the branch. If it got as far as the index, only the branch
is moved. If it left the lock of the index, the files are restored; without that lock it wrote none, or nobody knows.
The rule: only a file that the merge wrote is removed, so that git has all that was in it. A file that is not there, or
has only the beginning of a text, counts only if it was changed while the merge was at work. Where one is anything else
nothing is changed, and the file is named. Git's lock files are removed only if they were made after the merge began,
and no other git is at work in the repository.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from drumline.core.plaintext import name_some
from drumline.errors import GitError
from drumline.record import Record, asdict, convert, replace
from drumline.workspace.files import is_there
from drumline.workspace.git import LIMIT, Result, ask_git
from drumline.workspace.refs import find_left
from drumline.workspace.worktrees import has_tables, list_table_locks

COMPLETED = "completed the merge that was interrupted there"
RESTORED = "restored the files that an interrupted merge had changed there"
LINK, SUBMODULE, EXECUTABLE, ABSENT = "120000", "160000", "100755", "000000"
INDEX = "index.lock"
_SLACK = 2.0
"""Seconds by which a file system may date a file too early."""

Change = tuple[str, str, str, str]
"""A path as git's raw diffs have it: mode before and after, object before and after."""


class FastForward(Record):
    """A fast-forward that was begun at the time `at`, of the branch `ref` that is checked out at `top`.

    `there` has the files that were in its way, which git refuses to write over: they are not the merge's. `wrote` is
    when it was last seen to be at work on the files; 0 if that is not known.
    """

    top: str
    git_dir: str
    common_dir: str
    ref: str
    old: str
    new: str
    at: float
    there: tuple[str, ...] = ()
    wrote: float = 0.0

    def ask(self, *args: str, held: int, accept: Sequence[int] = (0,), given: bytes = b"") -> Result:
        """Run git in the checkout, which inherits the lock that we hold."""
        return ask_git(*args, cwd=Path(self.top), accept=accept, given=given, keep_open=(held,))

    def list_locks(self) -> list[Path]:
        """The lock files that git makes for it, those that exist."""
        common_dir, git_dir = Path(self.common_dir), Path(self.git_dir)
        refs = [git_dir / "HEAD.lock", git_dir / "ORIG_HEAD.lock", common_dir / f"{self.ref}.lock"]
        if has_tables(common_dir):
            refs = [*list_table_locks(git_dir), *list_table_locks(common_dir)]
        return [lock for lock in dict.fromkeys((git_dir / INDEX, *refs)) if lock.exists()]


class Repair(Record):
    """What a fast-forward that did not get through left, and what came of it: `left` says why it stays."""

    top: Path
    locks: tuple[Path, ...] = ()
    done: str = ""
    left: str = ""


def read_note(held: int) -> FastForward | None:
    """The fast-forward that is noted in the lock we hold: the process that began it is dead."""
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


def repair_noted(held: int, *, dry: bool = False, ended: float = 0.0) -> Repair | None:
    """Repair what the fast-forward that is noted in our lock left; None if there was nothing to repair.

    `ended` is the time of its end if we have seen it.
    """
    begun = read_note(held)
    if begun is None:
        return None
    top = Path(begun.top)
    locks = tuple(_find_dead_locks(begun))
    begun = replace(begun, wrote=max(ended, begun.wrote, *(_read_time(lock) for lock in locks if lock.name == INDEX)))
    if not dry:
        write_note(held, begun)  # the locks say it, and are gone next
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
    changes = _read_changes(begun.ask("diff-tree", "-r", *_RAW, begun.old, begun.new, held=held))
    staged = _read_changes(begun.ask("diff-index", "--cached", *_RAW, begun.old, held=held))
    staged = {path: change for path, change in staged.items() if path in changes}
    if staged and staged != changes:
        return Repair(top=top, left=f"the index has changes that are not the merge's: {name_some(staged)}")
    if staged:
        if not dry:
            reason = f"merge {begun.new}: Fast-forward"
            begun.ask("update-ref", "-m", reason, begun.ref, begun.new, begun.old, held=held)
        return Repair(top=top, done=COMPLETED)
    return _restore(begun, held, changes, dry=dry) if begun.wrote else Repair(top=top)


def _restore(begun: FastForward, held: int, changes: Mapping[str, Change], *, dry: bool) -> Repair:
    """Make the files again what they were before the merge."""
    top = Path(begun.top)
    files = {path: change for path, change in changes.items() if path not in begun.there}
    wrong, foreign = _compare(begun, held, files)
    if not wrong:
        return Repair(top=top)
    if foreign:
        return Repair(top=top, left=f"an interrupted merge changed files, and so did somebody: {name_some(foreign)}")
    if not dry:
        now = time.time()
        write_note(held, replace(begun, at=now, wrote=now))  # for what this leaves if it is killed, too
        _rewrite(begun, held, wrong, folders={folder for path in files for folder in Path(path).parents if folder.name})
    return Repair(top=top, done=RESTORED)


_RAW = ("--raw", "-z", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=dirty")


def _stands_at_old(begun: FastForward, held: int) -> bool:
    """Whether the checkout is on the branch, and the branch not moved: else it is merged, or somebody went on."""
    ref = begun.ask("symbolic-ref", "--quiet", "HEAD", held=held, accept=(0, 1)).line
    return ref == begun.ref and begun.ask("rev-parse", "HEAD", held=held).line == begun.old


def _read_changes(raw: Result) -> dict[str, Change]:
    words, paths = raw.items[::2], raw.items[1::2]
    split = (word.removeprefix(":").split() for word in words)
    return {path: (old, new, before, after) for path, (old, new, before, after, _) in zip(paths, split, strict=True)}


def _compare(begun: FastForward, held: int, files: Mapping[str, Change]) -> tuple[dict[str, bool], list[str]]:
    """The files that are not as before the merge (True if they are to be there), and those that somebody else wrote."""
    top = Path(begun.top)
    objects = _hash_files(begun, held, files)
    found = {path: objects.get(path, (ABSENT, "")) for path, change in files.items() if SUBMODULE not in change}
    wrong = {
        path: files[path][0] != ABSENT
        for path, (mode, oid) in found.items()
        if (mode, oid) != (files[path][0], files[path][2]) and not mode == files[path][0] == ABSENT
    }
    whole = {path for path in wrong if found[path] == (files[path][1], files[path][3])}
    until = _find_end(begun.wrote, [_read_change(top / path) for path in whole])
    foreign = []
    for path in (path for path in wrong if path not in whole):
        mode = found[path][0]
        is_part = mode == ABSENT or (mode in files[path][:2] and _is_part(begun, held, path, files[path]))
        if not is_part or _read_change(top / path) > until:
            foreign.append(path)
    return wrong, foreign


def _find_end(wrote: float, changes: Sequence[float]) -> float:
    """Until when the merge may have been at work: it writes one file right after the other."""
    until = wrote + _SLACK
    for change in sorted(changes):
        until = max(until, change + _SLACK) if change <= until else until
    return until


def _read_change(path: Path) -> float:
    """When a file was last changed; of one that is not there, when the folder was that it was in."""
    while not os.path.lexists(path):
        path = path.parent
    return os.lstat(path).st_ctime


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
    """The lock files that its git left: none is, as long as a git of somebody's is at work in the repository."""
    since = begun.at - _SLACK
    recent = [lock for lock in begun.list_locks() if since < _read_time(lock) < begun.at + LIMIT]
    return find_left(recent, [Path(begun.top), Path(begun.git_dir), Path(begun.common_dir)])


def _read_time(lock: Path) -> float:
    try:
        return lock.stat().st_mtime
    except OSError:
        return 0.0
