"""Git worktrees of our own. A folder counts as one only if it and git's record name each other; else it is remade.

Each worktree has a record folder in `<common dir>/worktrees`. The rule: a record appears whole and disappears whole, by
one rename. Git writes and deletes records file by file; if it dies in between, every later git command of the user
that looks at all worktrees fails. Nothing is ever pruned wholesale: another process may be making its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import anyio

from drumline.core.ids import Commit
from drumline.isolation.owngit import OURS
from drumline.workspace.git import Git
from drumline.workspace.locks import retry_busy

TABLES = "reftable"
"""The folder of refs in a repository that keeps them in tables; each record has one for its HEAD."""
UNREAD = "ref: refs/heads/.invalid\n"
"""What such a repository has in the file HEAD, for gits that do not know tables."""

# All else in a worktree's record is the state of something half done (merge, rebase, bisect, locks) or made afresh.
_KEPT = frozenset({"HEAD", "commondir", "gitdir", "logs", "modules", TABLES})
_PLAIN = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def file_name(name: str) -> str:
    """Any text as one path component that is also legal in a ref; different texts stay different."""
    if _PLAIN.fullmatch(name) and not name.endswith(".lock"):
        return name
    return quote(name, safe="", errors="surrogateescape").replace(".", "%2E").replace("~", "%7E")


def find_record(git: Git, path: Path) -> Path | None:
    """Git's record folder of the worktree at `path`, or None unless both sides are whole and name each other."""
    try:
        pointer = (path / ".git").read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    record = Path(pointer.removeprefix("gitdir:").strip())
    ours = record.parent == git.common_dir / "worktrees" and read_target(record) == path / ".git"
    whole = not is_broken(record) and not (record / "locked").exists()
    return record if ours and whole and not path.is_symlink() else None


def read_target(record: Path) -> Path | None:
    """The `.git` file that a record names, or None."""
    try:
        named = (record / "gitdir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    return Path(named) if named else None


def is_broken(record: Path) -> bool:
    """Whether git was stopped while it made or deleted the record: then git fails wherever it lists worktrees."""
    return not all(_has_text(record / name) for name in ("HEAD", "commondir"))


def _has_text(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except OSError:
        return False


def list_records(common_dir: Path) -> Iterator[Path]:
    """Every record there is, of our worktrees and of the user's."""
    with suppress(FileNotFoundError, NotADirectoryError):
        yield from sorted(entry for entry in (common_dir / "worktrees").iterdir() if entry.is_dir())


async def add_worktree(git: Git, path: Path, base: Commit) -> None:
    """Register an empty worktree at `path`, detached at `base`."""
    path.mkdir(parents=True, exist_ok=True)
    # The folder's own name may be taken, by a worktree of the user's or of another run.
    digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:8]
    record = git.common_dir / "worktrees" / f"{OURS}{path.name}-{digest}"
    made = await anyio.to_thread.run_sync(_draft, git.common_dir, record, path, base)
    if has_tables(git.common_dir):  # HEAD is in a table there, which only git can write
        await detach_head(git, made, base)
        _write(made / "commondir", "../..\n")
    await anyio.to_thread.run_sync(_register, git.common_dir, record, path, made)


def has_tables(common_dir: Path) -> bool:
    """Whether the repository keeps its refs in tables, not in files."""
    return (common_dir / TABLES).is_dir()


def list_table_locks(folder: Path) -> list[Path]:
    """The lock files of the tables in a git directory or record: of their list, and of single ones while git packs."""
    return sorted((folder / TABLES).glob("*.lock"))


def _draft(common_dir: Path, record: Path, path: Path, base: Commit) -> Path:
    """A record that is not in its place yet."""
    made = _open_aside(common_dir, record.name)
    tables = has_tables(common_dir)
    if tables:
        (made / TABLES).mkdir()
    _write(made / "commondir", f"{common_dir}\n" if tables else "../..\n")
    _write(made / "gitdir", f"{path / '.git'}\n")
    _write(made / "HEAD", UNREAD if tables else f"{base}\n")
    return made


def _register(common_dir: Path, record: Path, path: Path, made: Path) -> None:
    _write(path / ".git", f"gitdir: {record}\n")
    record.parent.mkdir(exist_ok=True)
    if record.exists():
        bury_record(common_dir, record)
    made.rename(record)
    _flush(record.parent)


def find_aside(common_dir: Path) -> Path:
    """Where records are made and buried: on their file system, which our state need not be on, and unseen by git."""
    usual = common_dir / "drumline"
    same = not usual.exists() or usual.stat().st_dev == common_dir.stat().st_dev
    return usual / "records" if same else common_dir / "drumline-records"


def _open_aside(common_dir: Path, name: str) -> Path:
    folder = find_aside(common_dir) / f"{name}.{secrets.token_hex(4)}"
    folder.mkdir(parents=True)
    return folder


def _write(file: Path, text: str) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def bury_record(common_dir: Path, record: Path) -> None:
    """Remove a record in one step; git never sees a part of it."""
    grave = _open_aside(common_dir, record.name)
    try:
        record.rename(grave / "record")
    except FileNotFoundError:
        pass
    finally:
        with suppress(OSError):
            _remove_folder(grave)


async def discard_worktree(git: Git, path: Path) -> None:
    """Remove the folder and git's record of it, whichever of them exist."""
    await anyio.to_thread.run_sync(_discard, git.common_dir, path)


def _discard(common_dir: Path, path: Path) -> None:
    for record in list_records(common_dir):
        if read_target(record) == path / ".git":
            bury_record(common_dir, record)
    _remove_folder(path)


async def reset_record(git: Git, record: Path, base: Commit) -> None:
    """Detach the worktree's HEAD at `base` and forget whatever was half done in it."""
    for leftover in record.iterdir():
        if leftover.name not in _KEPT:
            _remove_folder(leftover)
    for lock in list_table_locks(record):
        lock.unlink()
    if has_tables(git.common_dir):
        await detach_head(git, record, base)
    else:
        # The lock is ours, and what an agent's git did is over: no process of git is needed for one line.
        draft = record / "HEAD.new"
        _write(draft, f"{base}\n")
        draft.replace(record / "HEAD")


async def detach_head(git: Git, record: Path, commit: Commit) -> None:
    """Point the worktree's HEAD at `commit` itself, whatever branch it was on."""
    await git.run("update-ref", "--no-deref", "HEAD", commit, env={"GIT_DIR": str(record)})


async def find_checkouts(git: Git, ref: str) -> list[Path]:
    """The worktrees, the user's own included, that have `ref` checked out."""
    listed = await retry_busy(lambda: git.run("worktree", "list", "--porcelain", "-z"))
    found = []
    for entry in listed.out.decode("utf-8", "surrogateescape").split("\0\0"):
        words = dict(line.partition(" ")[::2] for line in entry.split("\0"))
        if words.get("branch") == ref and "prunable" not in words:
            found.append(Path(words["worktree"]))
    return found


def may_be_checked_out(common_dir: Path, ref: str) -> bool:
    """Whether a worktree, the user's own included, may have `ref` checked out: if so, git knows which."""
    if has_tables(common_dir):
        return True
    heads = [folder / "HEAD" for folder in (common_dir, *list_records(common_dir))]
    try:
        return any(head.is_symlink() or head.read_bytes().strip() == f"ref: {ref}".encode() for head in heads)
    except OSError:
        return True


def _remove_folder(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    with suppress(FileNotFoundError):
        try:
            shutil.rmtree(path)
        except PermissionError:
            _make_writable(path)
            shutil.rmtree(path)


def _make_writable(folder: Path) -> None:
    """Package managers make folders of their caches read-only; nothing can be deleted from those."""
    folder.chmod(stat.S_IRWXU)
    for child in folder.iterdir():
        if child.is_dir() and not child.is_symlink():
            _make_writable(child)
