"""Tools for the files of a workspace. The rule: every path is contained, every answer is bounded, and work is finite.

What is refused raises InvalidInput or OSError; the toolbox turns both into text for the model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from drumline.errors import InvalidInput
from drumline.isolation.contained import fill_contained, make_contained, open_contained, remove_contained
from drumline.isolation.containment import contain
from drumline.record import Record

ANSWER = 48 * 1024
"""Characters that a tool answers with at most."""
BIGGEST = 8 * 1024 * 1024
"""Bytes of a file that is still read."""
ENTRIES = 500
VISITED = 50_000
HINT = "call the tool again with other arguments"


class FileTools(Record):
    """Looks at and changes the files below one folder, but does not change what is `sealed`."""

    workspace: Path
    sealed: tuple[Path, ...] = ()

    def read(self, path: str, offset: int = 1, limit: int = 2000, numbers: bool = False) -> str:
        """Read a text file: up to `limit` lines from line `offset` on, with line numbers if `numbers` is true."""
        lines = self._load(path).splitlines(keepends=True)
        first = max(offset, 1)
        chosen = lines[first - 1 : first - 1 + max(limit, 1)]
        if numbers:
            chosen = [f"{number}\t{line}" for number, line in enumerate(chosen, first)]
        shown = _fit(chosen)
        text = "".join(shown)[:ANSWER]
        left = len(lines) - (first - 1) - len(shown)
        return f"{text}\n[{left} more lines; continue with offset={first + len(shown)}]" if left > 0 else text

    def list(self, path: str = ".") -> str:
        """List a folder: names, folders with a slash at the end, files with their size in bytes."""
        folder = contain(self.workspace, path, top=True)
        found = sorted(entry.name for entry in folder.iterdir() if entry.name.casefold() != ".git")
        shown = [_describe(folder / name) for name in found[:ENTRIES]]
        more = [f"[{len(found) - ENTRIES} more]"] if len(found) > ENTRIES else []
        return "\n".join(shown + more) or "[empty]"

    def glob(self, pattern: str, path: str = ".") -> str:
        """Find files whose path below `path` fits a pattern: `*` and `?` within a name, `**` for any folders."""
        folder = contain(self.workspace, path, top=True)
        wanted = tuple(part for part in pattern.split("/") if part not in ("", "."))
        root = self.workspace.resolve()
        fitting = (
            (folder / relative).relative_to(root).as_posix()
            for relative in islice(_walk(folder), VISITED)
            if fits(relative.parts, wanted)
        )
        found = sorted(islice(fitting, ENTRIES))
        return "\n".join(found) or "[nothing fits]"

    def write(self, path: str, contents: str) -> str:
        """Write a file, replacing what is there; missing folders are made."""
        data = contents.encode("utf-8", "backslashreplace")
        fill_contained(*self._place_change(path), data)
        return f"wrote {len(data)} bytes to {path}"

    def patch(self, path: str, search: str, replace: str) -> str:
        """Replace the one place of a file that reads exactly `search` by `replace`."""
        before = self._load(path, exact=True)
        count = before.count(search) if search else 0
        if count != 1:
            raise InvalidInput(f"search must occur exactly once in {path}, it occurs {count} times", hint=HINT)
        self.write(path, before.replace(search, replace))
        return f"patched {path}"

    def make_folder(self, path: str) -> str:
        """Make a folder and those above it."""
        make_contained(*self._place_change(path))
        return f"made {path}"

    def remove(self, path: str) -> str:
        """Remove a file, a link or an empty folder."""
        remove_contained(*self._place_change(path, through=False))
        return f"removed {path}"

    def _load(self, path: str, *, exact: bool = False) -> str:
        """The text of a file; with `exact` only if it can be written back unchanged."""
        root, name = self._place(path)
        # A named pipe or a device would never end.
        if (root / name).exists() and not (root / name).is_file():
            raise InvalidInput(f"{path!r} is not a file", hint=HINT)
        with open_contained(root, name) as file:
            if (size := os.fstat(file.fileno()).st_size) > BIGGEST:
                raise InvalidInput(f"{path!r} has {size} bytes, at most {BIGGEST} can be read", hint=HINT)
            data = file.read(BIGGEST)
        if b"\0" in data:
            raise InvalidInput(f"{path!r} is not a text file", hint=HINT)
        try:
            return data.decode("utf-8", "strict" if exact else "replace")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{path!r} is not UTF-8", hint=HINT) from error

    def _place_change(self, path: str, *, through: bool = True) -> tuple[Path, str]:
        """The same for what is to be changed."""
        root, name = self._place(path, through=through)
        if any((root / name).is_relative_to(sealed.resolve()) for sealed in self.sealed):
            raise InvalidInput(f"{path!r} may not be changed", hint=HINT)
        return root, name

    def _place(self, path: str, *, through: bool = True) -> tuple[Path, str]:
        """The workspace, and the path in it that has no link any more: one that comes later is not followed."""
        root = self.workspace.resolve()
        return root, str(contain(self.workspace, path, through=through).relative_to(root))


def fits(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path fits a pattern, both as lists of names. Linear in their product, whatever the pattern."""
    reached = {0}
    for name in (*parts, None):
        # `**` may stand for no folder at all.
        for index in range(len(pattern)):
            if index in reached and pattern[index] == "**":
                reached.add(index + 1)
        if name is not None:
            reached = set(_step(reached, name, pattern))
    return len(pattern) in reached


def _step(reached: set[int], name: str, pattern: Sequence[str]) -> Iterator[int]:
    for index in reached:
        if index < len(pattern) and pattern[index] == "**":
            yield index
        elif index < len(pattern) and fnmatchcase(name, pattern[index]):
            yield index + 1


def _walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder, relative to it, without following links and without git's folders."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name.casefold() != ".git")
        yield from (Path(here, name).relative_to(folder) for name in sorted(files))


def _fit(lines: Sequence[str]) -> Sequence[str]:
    """As many lines as an answer has room for, at least one."""
    room = ANSWER
    for count, line in enumerate(lines):
        room -= len(line)
        if room < 0:
            return lines[: max(count, 1)]
    return lines


def _describe(entry: Path) -> str:
    if entry.is_symlink():
        return f"{entry.name} -> {entry.readlink()}"
    return f"{entry.name}/" if entry.is_dir() else f"{entry.name} ({entry.stat().st_size})"
