"""What SQLite and the file system complain about, in the user's words. The only place that translates them."""

from __future__ import annotations

import errno
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from drumline.errors import StoreError
from drumline.late import import_late

if TYPE_CHECKING:
    import shutil
    import tempfile
else:
    shutil = import_late("shutil")
    tempfile = import_late("tempfile")

_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_BLOCKED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})
# SQLite's WAL write lock is a POSIX lock on this byte of the `-shm` file (its file format documents it).
_WRITE_LOCK_BYTE = 120


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process has the lock, so that trying again may help."""
    return _primary_code(error) in _BUSY


def is_damage(error: BaseException | None) -> bool:
    """Whether SQLite found the file's content broken."""
    return isinstance(error, sqlite3.Error) and _primary_code(error) in _DAMAGED


def translate(error: sqlite3.Error, path: Path) -> StoreError:
    """The StoreError for what SQLite said about the file; a bug in our use of it is raised as it is."""
    code = _primary_code(error)
    if code is None and "decode" not in str(error):
        raise error
    if code in _BUSY:
        return _report_lock(path)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _has_no_space(path)):
        return StoreError(
            f"the store {str(path)!r} cannot grow, the disk is full; nothing of this write was kept",
            hint="free some space, then: drumline resume",
        )
    if code == sqlite3.SQLITE_IOERR and _is_read_only(path):
        return StoreError(
            f"the store {str(path)!r} could not be written: Read-only file system; nothing of this write was kept",
            hint="see why its disk became read-only, mount it writable, then: drumline resume",
        )
    if code in _BLOCKED:
        return _report_blocked(path, error)
    if code is None or code in _DAMAGED:
        return report_damage(path, str(error))
    return StoreError(
        f"the store {str(path)!r} could not be read or written: {error}; nothing of this write was kept",
        hint="drumline doctor",
    )


def report_damage(path: Path, detail: str) -> StoreError:
    """The StoreError for a file whose content cannot be trusted."""
    return StoreError(
        f"the store {str(path)!r} is damaged ({detail}); nothing was changed",
        hint="keep a copy of the file, then: drumline doctor",
    )


def report_replaced(path: Path) -> StoreError:
    """The StoreError for a file that is not at its place any more while we have it open."""
    what = "was replaced by another file" if path.exists() else "was removed"
    return StoreError(
        f"the store {str(path)!r} {what} while it was in use; this process stops, because what it writes would be lost",
        hint="put the file back (a copy that you have), then: drumline resume",
    )


def report_lost_log(path: Path) -> StoreError:
    """The StoreError for a log that was deleted while we have it open; its content is in the file."""
    return StoreError(
        f"the log {str(path) + '-wal'!r} of the store was deleted or replaced while it was in use; "
        "what it held was copied into the store, and this process stops",
        hint="drumline resume",
    )


def report_unreachable(path: Path, error: OSError) -> StoreError:
    """The StoreError for a folder in which the store cannot be looked up or made."""
    return StoreError(
        f"the store {str(path)!r} cannot be made or reached: {error.strerror or error}",
        hint="drumline doctor",
    )


def _primary_code(error: sqlite3.Error) -> int | None:
    extended: int | None = getattr(error, "sqlite_errorcode", None)
    return None if extended is None else extended & 0xFF


def _report_lock(path: Path) -> StoreError:
    holder = find_writer(path)
    who = "another process" if holder is None else f"another process (pid {holder})"
    return StoreError(f"the store {str(path)!r} is locked by {who}", hint="drumline doctor")


def _report_blocked(path: Path, error: sqlite3.Error) -> StoreError:
    if path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return StoreError(
            f"the store {str(path)!r} cannot be used: the file, its folder or its disk is read-only",
            hint="make it writable, then: drumline resume",
        )
    if _primary_code(error) == sqlite3.SQLITE_READONLY:
        return StoreError(
            f"the store {str(path)!r} was opened for reading only; nothing was written", hint="drumline resume"
        )
    return StoreError(f"the store {str(path)!r} cannot be opened: {error}", hint="drumline doctor")


def _has_no_space(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < 64 * 1024
    except OSError:
        return False


def _is_read_only(path: Path) -> bool:
    """Whether nothing can be written beside the store: tried, because a disk that fails does not always say so."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            return False
    except OSError as error:
        return error.errno == errno.EROFS


def find_writer(path: Path, *, table: Path = Path("/proc/locks")) -> int | None:
    """The pid in the middle of a write to the store at `path`; None if there is none or the system does not say."""
    try:
        status = Path(f"{path}-shm").stat()
        lines = table.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    file = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    return next((pid for line in lines if (pid := _read_holder(line, file)) is not None), None)


def _read_holder(line: str, file: str) -> int | None:
    """The pid of one line of the lock table if it is the write lock of `file`; waiters are marked with `->`."""
    words = line.split()
    if len(words) != 8 or words[1] != "POSIX" or words[3] != "WRITE" or words[5] != file:
        return None
    first, last = int(words[6]), words[7]
    covers = first <= _WRITE_LOCK_BYTE and (last == "EOF" or int(last) >= _WRITE_LOCK_BYTE)
    pid = int(words[4])
    return pid if covers and pid > 0 else None


def copy_fault(error: Exception) -> Exception:
    """One instance per caller: raising the same one in several tasks would tangle their tracebacks."""
    if not isinstance(error, StoreError):
        return error
    twin = StoreError(str(error), hint=error.hint)
    twin.__cause__ = error.__cause__
    return twin
