"""Files that git cannot read: made readable where they are ours, removed where no tree can hold them.

The rule: nothing that has content is removed. A pipe, a socket or a device has none.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from drumline.errors import GitError

_OPENED = (".gitignore", ".gitattributes", ".gitmodules")
"""Files that git opens whatever they are: a pipe in the place of one of them would make it wait for ever."""


def find_pipes(folder: Path) -> list[Path]:
    """Pipes in the folder or below it where git expects one of its own files; looks into every folder."""
    places = (Path(place) for place, _folders, _files in os.walk(folder))
    return [pipe for place in places for pipe in _find_here(place)]


def refuse_pipes(folder: Path) -> None:
    """Raise GitError where git would wait for ever at once: at the top, which is looked at without a search."""
    _refuse(_find_here(folder))


def refuse_any_pipe(folder: Path) -> None:
    """The same for every folder below it, which takes long."""
    _refuse(find_pipes(folder))


def _refuse(pipes: Sequence[Path]) -> None:
    if pipes:
        raise GitError(f"{str(pipes[0])!r} is not a regular file", hint="drumline retry STEP")


def clear_pipes(folder: Path) -> None:
    """Remove what git would wait for at the top."""
    for path in _find_here(folder):
        path.unlink(missing_ok=True)


def _find_here(folder: Path) -> list[Path]:
    return [path for name in _OPENED if _is_special(path := folder / name)]


def open_up(folder: Path) -> None:
    """Make everything below the folder readable, as far as we may; remove what is neither file, folder nor link."""
    _grant(folder, stat.S_IRWXU)
    for place, folders, files in os.walk(folder):
        for name in folders:
            _grant(Path(place, name), stat.S_IRWXU)
        for name in files:
            _open_file(Path(place, name))


def _open_file(path: Path) -> None:
    if not _is_special(path):
        _grant(path, stat.S_IRUSR)
        return
    with suppress(OSError):
        path.unlink()


def _grant(path: Path, rights: int) -> None:
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & rights != rights:
            path.chmod(stat.S_IMODE(mode) | rights)


def _is_special(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))
