"""A private copy of an agent's home. The rule: nothing in the copy leads back, and nothing large is copied.

What is large is only shown: a jail lays it over the copy to be read, and without a jail there is a link to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from drumline.isolation.contained import open_folder, write_at
from drumline.isolation.transcripts import OWN

LARGE = 16 << 20
MANY = 2000


def copy_entries(source: Path, target: Path, *, skip: Callable[[str], bool]) -> list[str]:
    """Copy what is in a folder, but for names to `skip`; returns the names of what is too large to be copied.

    What the target has already stays, unless the original is newer: it may be one that a program has worked in.
    """
    large: list[str] = []
    with open_folder(target) as folder:
        for entry in _list(source):
            if skip(entry.name):
                continue
            if not _is_large(entry):
                _copy(Path(entry.path), folder)
            elif entry.is_symlink():
                _link(Path(entry.path), folder)
            else:
                large.append(entry.name)
    return large


def _copy(source: Path, folder: int) -> None:
    """Copy a file or folder. Links to files become files, links to folders lead where they led; no others are made."""
    with suppress(OSError):
        found = source.stat()
        if stat.S_ISREG(found.st_mode):
            _copy_file(source, folder, found)
        elif stat.S_ISDIR(found.st_mode) and source.is_symlink():
            _link(source, folder)
        elif stat.S_ISDIR(found.st_mode):
            _copy_folder(source, folder)


def _link(source: Path, folder: int) -> None:
    with suppress(FileExistsError):
        os.symlink(source.resolve(), source.name, dir_fd=folder)


def _copy_folder(source: Path, folder: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(source.name, OWN, dir_fd=folder)
    with open_folder(source.name, inside=folder) as inner:
        for entry in _list(source):
            _copy(Path(entry.path), inner)


def _copy_file(source: Path, folder: int, found: os.stat_result) -> None:
    with suppress(FileNotFoundError):
        there = os.stat(source.name, dir_fd=folder, follow_symlinks=False)
        if there.st_mtime_ns >= found.st_mtime_ns:
            return
    with source.open("rb") as content:
        write_at(folder, source.name, content, like=found)


def _is_large(entry: os.DirEntry[str]) -> bool:
    """Whether a file or a folder has too many bytes, or files; not more is looked at than it takes to know."""
    if not entry.is_dir(follow_symlinks=False):
        with suppress(OSError):
            return entry.stat().st_size > LARGE
        return False
    size = count = 0
    for parent, _names, files in os.walk(entry.path):
        for name in files:
            with suppress(OSError):
                size += Path(parent, name).stat().st_size
            count += 1
        if size > LARGE or count > MANY:
            return True
    return False


def _list(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
