"""Files below a folder in which somebody else may have put anything. The rule: no link is ever followed.

Every part of a path is opened by itself, from the folder before it, so that nothing can be swapped in between.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from io import BytesIO
from pathlib import Path, PurePath
from typing import BinaryIO

from drumline.record import Record

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A pipe without a writer would hold us for ever.
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
WRITTEN = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
DRAFT = ".drumline"
"""How the name of a file ends that is not complete yet."""
CHUNK = 1 << 20


class Fingerprint(Record):
    """By which a file is known to be as it was."""

    mtime: int
    size: int
    inode: int


def fingerprint(path: Path) -> Fingerprint | None:
    """The fingerprint of a file of the user's, of whom links are followed; None if there is none."""
    try:
        return _fingerprint(path.stat())
    except OSError:
        return None


def fingerprint_contained(root: Path, name: str) -> Fingerprint | None:
    """The fingerprint of a regular file below `root`; None if there is none, or it is something else."""
    with suppress(OSError), _open_parent(root, name) as (folder, last):
        found = os.stat(last, dir_fd=folder, follow_symlinks=False)
        return _fingerprint(found) if stat.S_ISREG(found.st_mode) else None
    return None


def read_start(file: Path, limit: int) -> bytes:
    """The first bytes of a regular file, of which links are followed; OSError if it is something else.

    A pipe without a writer would hold us for ever, and a device has no end.
    """
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(file))
        return opened.read(limit)


def open_contained(root: Path, name: str) -> BinaryIO:
    """A regular file below `root`, to be read; OSError if it is something else, or behind a link."""
    with _open_parent(root, name) as (folder, last):
        file = _open_file(last, folder)
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(errno.EINVAL, "it is not a regular file", name)
        return file


def read_contained(root: Path, name: str, *, limit: int) -> bytes | None:
    """What a regular file below `root` holds; None if there is none, it is something else, or larger than `limit`."""
    with suppress(OSError), _open_parent(root, name) as (folder, last), _open_file(last, folder) as file:
        found = os.fstat(file.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_size <= limit:
            content = file.read(limit + 1)
            return content if len(content) <= limit else None
    return None


def write_contained(root: Path, name: str, content: bytes) -> None:
    """Replace a file below `root` at once, or not at all."""
    with _open_parent(root, name) as (folder, last):
        write_at(folder, last, BytesIO(content))


def fill_contained(root: Path, name: str, content: bytes, *, times: tuple[int, int] | None = None) -> None:
    """Write a file below `root`, in the place where it is: it stays the same file, with its mode.

    Folders that are missing are made; OSError where a link or something else than a file stands in the way. `times`,
    in nanoseconds, are when it was read and changed last, if that is not now.
    """
    with _open_parent(root, name, make=True) as (folder, last):
        made = os.open(last, WRITTEN, 0o666, dir_fd=folder)
        with os.fdopen(made, "wb") as file:
            if not stat.S_ISREG(os.fstat(made).st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file", name)
            file.truncate()
            file.write(content)
            file.flush()
            if times is not None:
                os.utime(made, ns=times)


def copy_contained(root: Path, name: str, source: Path) -> None:
    """Copy a file to a place below `root` where none is yet; folders that are missing are made.

    OSError where a folder on the way is a link; a link in the file's own place goes.
    """
    with _open_parent(root, name, make=True) as (folder, last), source.open("rb") as content:
        with suppress(FileNotFoundError):
            if stat.S_ISREG(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
                return
        write_at(folder, last, content, like=os.fstat(content.fileno()))


def make_contained(root: Path, name: str) -> None:
    """Make a folder below `root`, and those above it."""
    with _open_parent(root, f"{name}/{DRAFT}", make=True):
        pass


def remove_contained(root: Path, name: str) -> None:
    """Remove a file, a link or an empty folder below `root`."""
    with _open_parent(root, name) as (folder, last):
        if stat.S_ISDIR(os.stat(last, dir_fd=folder, follow_symlinks=False).st_mode):
            os.rmdir(last, dir_fd=folder)
        else:
            os.unlink(last, dir_fd=folder)


@contextmanager
def lock_folder(folder: Path) -> Iterator[int]:
    """A folder of the user's, open, while no other attempt writes to it."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)


@contextmanager
def open_folder(name: Path | str, *, inside: int | None = None) -> Iterator[int]:
    """A folder, open; what is a link is none."""
    opened = os.open(name, FOLDER, dir_fd=inside)
    try:
        yield opened
    finally:
        os.close(opened)


def write_at(folder: int, name: str, content: BinaryIO, *, like: os.stat_result | None = None) -> None:
    """Replace a file in an open folder at once, or not at all; what a killed writer left of it goes first.

    It has the mode of the one it replaces, and survives a power cut; a copy of another file is `like` that one.
    """
    draft = name_draft(name)
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=folder)
    made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(made, "wb") as file:
        shutil.copyfileobj(content, file, CHUNK)
        file.flush()
        with suppress(OSError):
            model = like or os.stat(name, dir_fd=folder, follow_symlinks=False)
            os.fchmod(made, stat.S_IMODE(model.st_mode) | stat.S_IWUSR)
        if like:
            os.utime(made, ns=(like.st_atime_ns, like.st_mtime_ns))
        else:
            os.fsync(made)
    os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)


def name_draft(name: str) -> str:
    """What a file is called while it is written."""
    return f".{name}{DRAFT}"


def walk_contained(root: Path, patterns: tuple[str, ...]) -> Iterator[tuple[PurePath, int]]:
    """The regular files below `root` that fit a pattern, each with a descriptor that is closed afterwards."""
    for parent, _names, files, folder in os.fwalk(root, follow_symlinks=False):
        base = PurePath(parent).relative_to(root)
        for name in files:
            if any(fits(base / name, pattern) for pattern in patterns):
                yield from _open_regular(base / name, folder)


def fits(path: PurePath, pattern: str) -> bool:
    """Whether a path has as many parts as the pattern, and each fits."""
    wanted = PurePath(pattern).parts
    return len(path.parts) == len(wanted) and all(map(fnmatchcase, path.parts, wanted))


def _open_file(name: str, folder: int) -> BinaryIO:
    return os.fdopen(os.open(name, FILE, dir_fd=folder), "rb")


def _open_regular(path: PurePath, folder: int) -> Iterator[tuple[PurePath, int]]:
    try:
        found = os.open(path.name, FILE, dir_fd=folder)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(found).st_mode):
            yield path, found
    finally:
        os.close(found)


@contextmanager
def _open_parent(root: Path, name: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
    """The folder that a file is in, opened part by part, and the file's own name; `make` makes what is missing."""
    *parts, last = PurePath(name).parts or (".",)
    folder = os.open(root, FOLDER)
    try:
        for part in parts:
            if make:
                _make_folder(part, folder)
            inner = os.open(part, FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder, last
    finally:
        os.close(folder)


def _make_folder(name: str, folder: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, 0o777, dir_fd=folder)


def _fingerprint(found: os.stat_result) -> Fingerprint:
    return Fingerprint(mtime=found.st_mtime_ns, size=found.st_size, inode=found.st_ino)
