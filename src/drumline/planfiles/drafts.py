"""New bytes for a plan's file: written beside it first, put in its place only if it is still what was read.

Writers of a plan share a lock, so that a draft found under the lock belongs to a process that is dead.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from drumline.errors import InvalidInput
from drumline.late import import_late
from drumline.planfiles.gitwork import rest, wait_for_git

if TYPE_CHECKING:
    import tempfile
else:
    tempfile = import_late("tempfile")

T = TypeVar("T")

_MARK = ".drumline-"
_SUFFIX = ".tmp"
_MOST_TRIES = 20


class EditedMeanwhile(Exception):
    """Somebody else wrote the file after it was read: read it again and decide again."""

    def __init__(self, file: Path) -> None:
        super().__init__(str(file))
        self.file = file


class PlanLock:
    """The lock that all writers of a plan share: a file, or the plan's directory itself if `file` is None.

    `folders` are where the plan's files lie; drafts of dead processes there are removed when the lock is held first.
    """

    def __init__(self, folders: Sequence[Path], file: Path | None) -> None:
        self._folders = folders
        self._file = file
        self._swept = False

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the lock."""
        handle = self._open()
        try:
            self._wait(handle)
            if not self._swept:
                for folder in self._folders:
                    _sweep(folder)
                self._swept = True
            yield
        finally:
            os.close(handle)

    def _wait(self, handle: int) -> None:
        """Wait for the lock: its holder may wait for a git, so that a person who stops us must not wait for both."""
        while True:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            rest(self._file or self._folders[0])

    def _open(self) -> int:
        if self._file is None:
            return os.open(self._folders[0], os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


class Seen:
    """Reads files by name and remembers what they were, so that a write can be refused if they are not so any more."""

    def __init__(self, read: Callable[[str], str | None]) -> None:
        self._read = read
        self._texts: dict[str, str | None] = {}

    def __call__(self, name: str) -> str | None:
        """The file's text; None if there is none to be read."""
        if name not in self._texts:
            self._texts[name] = self._read(name)
        return self._texts[name]

    def before(self, name: str) -> bytes | None:
        """The file's bytes as they were read."""
        text = self(name)
        return None if text is None else text.encode()


def until_settled(work: Callable[[], T]) -> T:
    """Do `work`, again from its reading on as long as somebody else writes the file in between."""
    for _ in range(_MOST_TRIES - 1):
        try:
            return work()
        except EditedMeanwhile:
            continue
    try:
        return work()
    except EditedMeanwhile as edited:
        message = f"{str(edited.file)!r} was changed by somebody else in each of {_MOST_TRIES} tries to write it"
        raise InvalidInput(message, hint="stop what writes it, then: drumline resume") from edited


def put_file(file: Path, data: bytes, *, before: bytes | None) -> None:
    """Put the bytes in the file's place at once and durably, with the mode it had.

    `before` is what was read, None if there was no such file; EditedMeanwhile if that is not so any more. The caller
    holds the plan's lock. Looked at last, because flushing may take seconds in which a person saves the file.
    """
    try:
        _replace(file, data, before=before)
    except OSError as error:  # the draft's name says nothing to a person, and is another one each time
        raise OSError(error.errno, error.strerror, str(file)) from error


def _replace(file: Path, data: bytes, *, before: bytes | None) -> None:
    mode = 0o644 if before is None else _mode_of(file)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}{_MARK}", suffix=_SUFFIX, dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            os.fchmod(out.fileno(), mode)
            out.flush()
            os.fsync(out.fileno())
        wait_for_git(file)
        if _read(file) != before:
            raise EditedMeanwhile(file)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _mode_of(file: Path) -> int:
    try:
        return file.lstat().st_mode & 0o7777
    except FileNotFoundError as error:
        raise EditedMeanwhile(file) from error


def _read(file: Path) -> bytes | None:
    """The file's bytes; None if there is none. A link or a pipe that took its place is an edit like any other."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EditedMeanwhile(file) from error
    with os.fdopen(handle, "rb") as found:
        return found.read()


def _sweep(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for left in folder.glob(f".*{_MARK}*{_SUFFIX}"):
            left.unlink(missing_ok=True)
