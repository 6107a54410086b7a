"""A plan's file as bytes and text. Nothing is followed, guessed or read without bound."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from bisect import bisect_right
from pathlib import Path

from drumline.core.plan import Problem

MAX_BYTES = 1024 * 1024
MAX_LINES = 20_000
DOCUMENT_BYTES = 16 * MAX_BYTES
DOCUMENT_LINES = 20 * MAX_LINES
"""For files that hold many steps."""

BOM = "\ufeff"
NEWLINE = re.compile(r"\r\n?|\n")


def digest(data: bytes) -> str:
    """The name of these bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def escape_glob(path: str) -> str:
    """The glob pattern that matches this path alone."""
    return re.sub(r"([*?\[\]\\])", r"\\\1", path)


def read_bytes(file: Path | str, path: str, *, most: int = MAX_BYTES) -> bytes | Problem:
    """The bytes of a regular file of at most so many, or why it is refused; a symlink is never followed."""
    try:
        # Without O_NONBLOCK a named pipe called step-1.md would hang the reader.
        handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return _refusal(error, path)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return Problem(code="not_a_file", message="is not a regular file", where=f"{path}:1")
        if status.st_size > most:
            return _too_large(status.st_size, path, most)
        data = os.read(handle, most + 1)
        # A short read, legal on some file systems, must not pass for the whole file.
        while len(data) < status.st_size and (more := os.read(handle, most)):
            data += more
    except OSError as error:
        return _refusal(error, path)
    finally:
        os.close(handle)
    return data if len(data) <= most else _too_large(len(data), path, most)


def decode(data: bytes, path: str, *, most_lines: int = MAX_LINES) -> str | Problem:
    """The file's text, byte-order mark and line endings included, or the line that is not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = len(NEWLINE.findall(data[: error.start].decode("utf-8"))) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8; save the file as UTF-8"
        return Problem(code="not_utf8", message=message, where=f"{path}:{line}")
    if text.count("\n") > most_lines or text.count("\r") > most_lines:
        message = f"has more than {most_lines} lines, which no plan needs; split it"
        return Problem(code="too_many_lines", message=message, where=f"{path}:{most_lines + 1}")
    return text


def line_starts(text: str, first: int = 0) -> list[int]:
    """Where each line begins, counted like the markdown parser does: LF, CRLF and CR end a line."""
    return [first, *(match.end() for match in NEWLINE.finditer(text, first))]


def line_at(starts: list[int], offset: int) -> int:
    """The 1-based line that holds `offset`."""
    return bisect_right(starts, offset)


def _too_large(size: int, path: str, most: int) -> Problem:
    message = f"has {size} bytes; a plan's file may have at most {most}"
    return Problem(code="file_too_large", message=message, where=f"{path}:1")


def _refusal(error: OSError, path: str) -> Problem:
    if error.errno == errno.ELOOP:
        message = "is a symbolic link; a plan's files must be regular files"
        return Problem(code="symlink", message=message, where=f"{path}:1")
    if error.errno == errno.ENOENT:
        return Problem(code="missing_file", message="does not exist", where=f"{path}:1")
    return Problem(code="unreadable", message=f"cannot be read: {error.strerror}", where=f"{path}:1")


def list_names(folder: Path) -> list[str]:
    """The names in a directory; none if it is not one or is a link."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def list_in(root: Path, folder: str) -> list[str]:
    """The names in a folder of a directory, with that folder, or in the directory itself."""
    return [f"{folder}/{name}" if folder else name for name in list_names(root / folder if folder else root)]
