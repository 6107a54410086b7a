"""What is in an index of ours, read from its file: that takes less than a process of git for each question.

The rule: what is not understood is not known. A reader who gets None asks git.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

Entry = tuple[int, str]
"""The mode and the object of a path."""
SUBMODULE = 0o160000
"""The mode of an entry that is another repository."""
MOST = 4_000
"""Entries of an index that is read here: of more, git is as fast."""
MOST_EXTRAS = 1_000
GIT = ".git"
_HEAD = struct.Struct(">4sII")
_FLAGS = struct.Struct(">H")
_MODE, _OBJECT = 24, 40
"""Where an entry has its mode and its object; flags and the name follow."""
_EXTENDED, _STAGE = 0x4000, 0x3000


def read_index(file: Path) -> Mapping[str, Entry] | None:
    """Every path of an index; None if it is not whole, or not a plain one of the second version."""
    try:
        data = file.read_bytes()
        signature, version, count = _HEAD.unpack_from(data)
        size = _find_digest_size(data)
        if signature != b"DIRC" or version != 2 or count > MOST or not size:
            return None
        found, end = _read_entries(data, count, size)
        return found if found is not None and _has_usual_extensions(data, end, len(data) - size) else None
    except (OSError, ValueError, IndexError, struct.error):
        return None


def _find_digest_size(data: bytes) -> int:
    """How many bytes an id has in this repository: the file ends with its own digest; 0 if it does not."""
    for kind in (hashlib.sha1, hashlib.sha256):
        size = kind().digest_size
        if kind(data[:-size], usedforsecurity=False).digest() == data[-size:]:
            return size
    return 0


def _read_entries(data: bytes, count: int, digest: int) -> tuple[dict[str, Entry] | None, int]:
    """The entries and where they end; none where one is of an unusual kind, as in a merge."""
    found: dict[str, Entry] = {}
    at, flags_at = _HEAD.size, _OBJECT + digest
    for _ in range(count):
        (flags,) = _FLAGS.unpack_from(data, at + flags_at)
        if flags & (_EXTENDED | _STAGE):
            return None, at
        name = at + flags_at + _FLAGS.size
        end = data.index(b"\0", name)
        mode = int.from_bytes(data[at + _MODE : at + _MODE + 4], "big")
        found[os.fsdecode(data[name:end])] = (mode, data[at + _OBJECT : at + flags_at].hex())
        at += (end - at) // 8 * 8 + 8  # a name is filled up with at least one zero
    return found, at


def _has_usual_extensions(data: bytes, at: int, end: int) -> bool:
    """Whether nothing behind the entries changes what they mean: the names of such extensions begin in lower case."""
    while at < end and data[at : at + 1].isupper():
        at += 8 + int.from_bytes(data[at + 4 : at + 8], "big")
    return at == end


def list_extras(top: Path, known: Collection[str]) -> list[str] | None:
    """What is in a work tree and not among the known paths, folders with a slash.

    None if that is much, or cannot be read, or is something that git waits for. The `.git` at the top is left out; of
    one further down only itself is listed.
    """
    folders = _list_parents(known)
    found: list[str] = []
    waiting = [""]
    try:
        while waiting and len(found) <= MOST_EXTRAS:
            inside, files = _list_folder(str(top), waiting.pop())
            found += [f"{path}/" for path in inside if path not in folders]
            found += [path for path in files if path not in known]
            waiting += [path for path in inside if not path.endswith(f"/{GIT}")]
    except OSError:
        return None
    return found if len(found) <= MOST_EXTRAS else None


def _list_parents(paths: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for path in paths:
        above = path.rpartition("/")[0]
        while above and above not in found:
            found.add(above)
            above = above.rpartition("/")[0]
    return found


def _list_folder(top: str, place: str) -> tuple[list[str], list[str]]:
    """The folders and the files in a folder; OSError if there is something else."""
    folders: list[str] = []
    files: list[str] = []
    with os.scandir(f"{top}/{place}") as entries:
        for entry in entries:
            path = f"{place}/{entry.name}" if place else entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(path)
            elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                files.append(path)
            else:
                raise OSError(f"{path!r} is not a regular file")
    return [path for path in folders if path != GIT], [path for path in files if path != GIT]
