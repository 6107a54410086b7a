"""Git worktrees of our own. A folder counts as one only if it and git's record name each other; else it is remade.

Each worktree has a record folder in `<common dir>/worktrees`. Nothing is ever pruned wholesale: another process may be
in the middle of making its own.
"""

from __future__ import annotations

import re
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import anyio

from drumline.core.ids import Commit
from drumline.errors import GitError
from drumline.workspace.git import Git
from drumline.workspace.locks import retry_busy

# All else in a worktree's record is the state of something half done (merge, rebase, bisect, locks) or made afresh.
_KEPT = frozenset({"HEAD", "commondir", "gitdir", "logs", "modules"})
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
        record = Path(pointer.removeprefix("gitdir:").strip())
        back = (record / "gitdir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    ours = record.parent == git.common_dir / "worktrees" and back == str(path / ".git") and not path.is_symlink()
    return record if ours and not (record / "locked").exists() else None


async def add_worktree(git: Git, path: Path, base: Commit) -> None:
    """Register an empty worktree at `path`, detached at `base`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    await retry_busy(lambda: git.run("worktree", "add", "--detach", "--no-checkout", str(path), base))


async def discard_worktree(git: Git, path: Path) -> None:
    """Remove the folder and git's record of it, whichever of them exist."""
    await anyio.to_thread.run_sync(_remove_folder, path)
    try:
        # Twice forced: a process that died while making the worktree leaves its record locked.
        await retry_busy(lambda: git.run("worktree", "remove", "--force", "--force", str(path)))
    except GitError as error:
        if "is not a working tree" not in str(error):
            raise GitError(
                f"the worktree {str(path)!r} cannot be removed: {error}", hint="git worktree prune"
            ) from error


async def reset_record(git: Git, record: Path, base: Commit) -> None:
    """Detach the worktree's HEAD at `base` and forget whatever was half done in it."""
    for leftover in record.iterdir():
        if leftover.name in _KEPT:
            continue
        if leftover.is_dir() and not leftover.is_symlink():
            shutil.rmtree(leftover)
        else:
            leftover.unlink()
    await detach_head(git, record, base)


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


def _remove_folder(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
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
