"""Processes of other people at work in a repository, as far as this machine shows them: where there is /proc."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from drumline.workspace.git import OURS

_PROC = Path("/proc")


def find_gits(places: Iterable[Path]) -> set[int]:
    """The git processes that stand in one of these folders, or name one on their command line; ours do not count."""
    names = tuple({os.fsencode(place) for place in places})
    return {pid for pid in _list_pids() if _is_git(pid) and _concerns(pid, names) and not _is_ours(pid)}


def is_open(files: Collection[Path]) -> bool:
    """Whether any process has one of these files open."""
    wanted = {seen for file in files if (seen := _look(file)) is not None}
    return bool(wanted) and any(_look(handle) in wanted for pid in _list_pids() for handle in _list_handles(pid))


def _list_pids() -> Iterator[int]:
    with suppress(OSError):
        yield from (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _list_handles(pid: int) -> list[Path]:
    try:
        return list((_PROC / str(pid) / "fd").iterdir())
    except OSError:
        return []


def _look(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _is_git(pid: int) -> bool:
    return _read(pid, "comm").startswith(b"git")


def _concerns(pid: int, places: Collection[bytes]) -> bool:
    words = _read(pid, "cmdline") + b"\0"
    with suppress(OSError):
        words += os.fsencode((_PROC / str(pid) / "cwd").readlink())
    return any(place in words for place in places)


def _is_ours(pid: int) -> bool:
    return f"{OURS}=1".encode() in _read(pid, "environ").split(b"\0")


def _read(pid: int, name: str) -> bytes:
    try:
        return (_PROC / str(pid) / name).read_bytes()
    except OSError:
        return b""
