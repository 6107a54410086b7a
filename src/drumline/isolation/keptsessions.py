"""The sessions of agents, kept with the run, in a folder beside its logs. The rule: nothing of the user's is lost.

What a program has written down of a session also goes to the user's home, so that the session can be opened by hand. A
file that is there already is only made longer: it must begin with all that the user has.
"""

from __future__ import annotations

import mmap
import os
import re
from contextlib import suppress
from pathlib import Path

from drumline.isolation.contained import CHUNK, copy_contained, lock_folder, walk_contained, write_at
from drumline.isolation.homes import Home
from drumline.isolation.transcripts import OWN

KEPT = "sessions"
LIMIT = 256 << 20
DEPTH = 4
NOT_IN_A_SLUG = re.compile(r"[^A-Za-z0-9]")


def find_kept(home: Home, log: Path, session: str = "") -> Path:
    """Where the sessions of a home are kept for the work whose log this is.

    Where they are `apart`, each attempt has a folder of its own, and the `session` to continue with says which.
    """
    kept = log.absolute().parent / KEPT / home.inside
    if not home.apart:
        return kept
    found = sorted(kept.iterdir()) if session and kept.is_dir() else []
    return next((folder for folder in found if _mentions(folder, session.encode())), kept / log.name)


def _mentions(folder: Path, session: bytes) -> bool:
    """Whether a database in a folder knows a session; the names of sessions are plain texts in it."""
    everything = tuple("/".join("*" * depth) for depth in range(1, DEPTH))
    return any(_has(file, session) for _path, file in walk_contained(folder, everything))


def _has(file: int, session: bytes) -> bool:
    if os.fstat(file).st_size < len(session):
        return False
    with mmap.mmap(file, 0, access=mmap.ACCESS_READ) as content:
        return content.find(session) >= 0


def fetch_session(home: Home, place: Path, kept: Path, session: str) -> None:
    """Copy what the user's home has of a session to continue with, if it is not kept already."""
    if not session or not re.fullmatch(r"[\w.-]+", session):
        return
    records = [path for pattern in home.returned for path in place.glob(pattern.replace("{slug}", "*"))]
    for path in records:
        name = str(path.relative_to(place))
        if session in name and path.is_file():
            # An agent that worked here before may have put links where the copy belongs.
            with suppress(OSError):
                copy_contained(kept, name, path)


def return_sessions(home: Home, place: Path, kept: Path, workspace: Path) -> None:
    """Copy what is new in the kept sessions to the user's home."""
    slug = NOT_IN_A_SLUG.sub("-", str(workspace))
    patterns = tuple(pattern.replace("{slug}", slug) for pattern in home.returned)
    if not patterns or not kept.is_dir():
        return
    for path, source in walk_contained(kept, patterns):
        with suppress(OSError):
            _return(source, place / path)


def _return(source: int, target: Path) -> None:
    """Write a file to the user's home at once, or not at all."""
    length = os.fstat(source).st_size
    there = target.stat().st_size if target.exists() else -1
    if length > LIMIT or there >= length:
        return
    target.parent.mkdir(mode=OWN, parents=True, exist_ok=True)
    with os.fdopen(source, "rb", closefd=False) as new, lock_folder(target.parent) as folder:
        if there <= 0 or _begins_with(new.fileno(), target, there):
            write_at(folder, target.name, new)


def _begins_with(source: int, target: Path, length: int) -> bool:
    with target.open("rb") as own:
        while length > 0:
            wanted = own.read(min(CHUNK, length))
            if not wanted or os.pread(source, len(wanted), own.tell() - len(wanted)) != wanted:
                return False
            length -= len(wanted)
    return True
