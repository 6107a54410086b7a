"""Finds the files of a workspace that git ignores: all that the plan asks for, and a bounded part of the rest.

The rule: an entry of the plan is asked for before anything is left out, in every ignored folder, also in those of
tools that it names itself, and behind links.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from drumline.core.products import MOST_WALKED, asks_for, find_start, is_tool_folder, names_tools

MOST_LOOKED = 200_000
"""How many files of an ignored folder are compared with one entry of the plan."""


def find_ignored(top: Path, listed: Sequence[str], wanted: Sequence[str]) -> dict[str, str]:
    """Files with what changes when one is written. `listed` is what git ignores: files, and folders with a slash.

    All that the plan's entries in `wanted` ask for; of other folders than those of tools the first files.
    """
    found: list[str] = []
    for place in listed:
        if place.endswith("/"):
            found += _find_wanted(top, place, wanted)
            found += [] if is_tool_folder(place) else islice(_walk(top, place), MOST_WALKED)
        else:
            found.append(place)
            found += _find_wanted(top, f"{place}/", wanted) if _leads_inside(top, place) else []
    for entry in wanted:  # a link on the way to what it names is followed wherever it leads
        start = find_start(entry)
        found += _find_wanted(top, start, [entry]) if _has_link(top, start) else []
    return {path: _describe(top / path) for path in dict.fromkeys(found) if not _lands(top, path, listed)}


def _find_wanted(top: Path, folder: str, wanted: Iterable[str]) -> Iterator[str]:
    """Files below a folder that does not land for which the plan asks."""
    for entry in wanted:
        start = find_start(entry)
        if start.startswith(folder) and os.path.lexists(top / start.rstrip("/")) and not (top / start).is_dir():
            yield start.rstrip("/")
        elif start.startswith(folder) or (folder.startswith(start) and names_tools(entry, folder)):
            looked = islice(_walk(top, max(start, folder, key=len), entry), MOST_LOOKED)
            yield from (path for path in looked if asks_for(entry, path))


def _walk(top: Path, folder: str, entry: str = "") -> Iterator[str]:
    """Files below a folder, without those that tools keep in folders of their own which the `entry` does not name.

    For an entry, links to folders of the workspace are followed, each of these folders once.
    """
    followed: set[str] = set()
    for place, folders, files in os.walk(top / folder, followlinks=bool(entry)):
        inside = os.path.relpath(place, top)
        for name in sorted(folders):
            path = f"{inside}/{name}"
            real = os.path.realpath(top / path) if entry and (top / path).is_symlink() else ""
            strange = bool(real) and (real in followed or not _leads_inside(top, path))
            if strange or (is_tool_folder(name) and not names_tools(entry, f"{path}/")):
                folders.remove(name)
            elif real:
                followed.add(real)
        folders.sort()
        yield from (f"{inside}/{name}" for name in sorted(files))


def _leads_inside(top: Path, path: str) -> bool:
    """Whether this is a link to a folder of the workspace."""
    place = top / path
    return place.is_symlink() and place.is_dir() and Path(os.path.realpath(place)).is_relative_to(top.resolve())


def _has_link(top: Path, start: str) -> bool:
    """Whether a link is on the way to a folder, or this is one."""
    parts = start.rstrip("/").split("/") if start else []
    return any((top / "/".join(parts[: number + 1])).is_symlink() for number in range(len(parts)))


def _lands(top: Path, path: str, listed: Sequence[str]) -> bool:
    """Whether a link leads to this file from elsewhere in the workspace, where it is not ignored."""
    root = top.resolve()
    parent = (top / path).parent.resolve()
    real = parent / PurePosixPath(path).name
    if real == root / path or not real.is_relative_to(root):
        return False
    place = real.relative_to(root).as_posix()
    return not any(place == entry or (entry.endswith("/") and place.startswith(entry)) for entry in listed)


def _describe(file: Path) -> str:
    """What changes whenever a file is written or replaced; empty if it is gone."""
    try:
        found = file.stat()
    except OSError:
        return ""
    return f"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}-{found.st_ctime_ns:x}"
