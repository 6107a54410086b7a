"""Trees of the workspaces without git: files by their paths."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from drumline.core.ids import StepId, Tree
from drumline.record import Record

Files = Mapping[str, bytes]
MARKER = b"<<<<<<< "


class FakeCommit(Record):
    """A commit: its parent (empty for the first), tree, message and the step it belongs to."""

    parent: str
    tree: Tree
    message: str
    step: StepId


def merge_files(base: Files, ours: Files, theirs: Files) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Merge by file: the side that changed it wins; both sides are there, with markers, where they differ."""
    merged: dict[str, bytes] = {}
    conflicts = []
    for path in sorted({*ours, *theirs}):
        before, mine, other = base.get(path), ours.get(path), theirs.get(path)
        chosen = other if before == mine else mine
        if mine != other and before not in (mine, other):
            conflicts.append(path)
            chosen = MARKER + b"ours\n%s=======\n%s>>>>>>> theirs\n" % (mine or b"", other or b"")
        if chosen is not None:
            merged[path] = chosen
    return merged, tuple(conflicts)


def clear_way(top: Path, file: Path) -> None:
    """Remove a folder where a file belongs, and a file where a folder belongs."""
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    for parent in file.relative_to(top).parents:
        if (top / parent).is_file():
            (top / parent).unlink()


def fill_folder(top: Path, wanted: Files, ignored: frozenset[str]) -> None:
    """Bring a folder to exactly these files; what is ignored stays, and what is so already is not written again."""
    top.mkdir(parents=True, exist_ok=True)
    there = dict(walk_files(top, ignored))
    for path, file in there.items():
        if path not in wanted:
            file.unlink()
    for path, content in wanted.items():
        file = top / path
        if path in there and not file.is_symlink() and file.read_bytes() == content:
            continue
        clear_way(top, file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def digest_value(kind: str, value: Sequence[object]) -> str:
    """An id like git's for a value of a kind."""
    return hashlib.sha1(json.dumps([kind, value]).encode(), usedforsecurity=False).hexdigest()


def count_lines(before: Files, after: Files) -> dict[str, tuple[int, int] | None]:
    """The paths that differ, each with the lines that were added and removed; None for what is not text."""
    found: dict[str, tuple[int, int] | None] = {}
    for path in sorted({*before, *after}):
        old, new = before.get(path, b""), after.get(path, b"")
        if old == new and (path in before) == (path in after):
            continue
        if b"\0" in old + new:
            found[path] = None
            continue
        marks = [line[:1] for line in list(unified_diff(_split(old), _split(new), n=0))[2:]]
        found[path] = (marks.count("+"), marks.count("-"))
    return found


def compare_files(before: Files, after: Files) -> dict[str, str]:
    """The paths that differ, each with what happened to it."""
    paths = sorted(path for path in {*before, *after} if before.get(path) != after.get(path))
    return {p: "created" if p not in before else "modified" if p in after else "deleted" for p in paths}


def write_diff(before: Files, after: Files) -> str:
    """What differs, in the form that git has for it."""
    parts = []
    for path in compare_files(before, after):
        old, new = (_split(files.get(path, b"")) for files in (before, after))
        parts += [f"diff --git a/{path} b/{path}\n", *unified_diff(old, new, f"a/{path}", f"b/{path}")]
    return "".join(parts)


def _split(content: bytes) -> list[str]:
    return content.decode("utf-8", "surrogateescape").splitlines(keepends=True)


def walk_files(top: Path, ignored: frozenset[str] = frozenset()) -> Iterator[tuple[str, Path]]:
    """Every file below a folder with its path in a tree; what has an ignored name in its path is left out."""
    folders = [("", str(top))]
    for inner, folder in folders:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name in ignored:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append((f"{inner}{entry.name}/", entry.path))
            elif entry.is_file():
                yield inner + entry.name, Path(entry.path)
