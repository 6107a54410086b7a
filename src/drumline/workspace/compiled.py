"""Compiled Python modules in a workspace. The rule: none outlives the source that it was made from.

Python knows them by the time, in seconds, and the size of the source, which two trees in one folder may share.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from drumline.core.products import is_tool_folder

_CACHE = "__pycache__"
COMPILED = _CACHE.encode()
"""What is in the index of a repository that tracks compiled modules."""


def forget_compiled(top: Path, sources: Iterable[str]) -> None:
    """Remove what Python has compiled from these files; what is outside of `top` by a link stays."""
    inside = top.resolve()
    for source in map(PurePosixPath, sources):
        cache = top / source.parent / _CACHE
        if source.suffix == ".py" and cache.is_dir() and cache.resolve().is_relative_to(inside):
            _remove_compiled(cache, source.stem)


def drop_compiled(top: Path) -> None:
    """Remove every folder of compiled modules but those of installed packages.

    Python takes a compiled module for its source where that says so: what is in it is not in the tree.
    """
    for place, folders, _ in os.walk(top):
        if _CACHE in folders and not (Path(place) / _CACHE).is_symlink():
            shutil.rmtree(Path(place) / _CACHE, ignore_errors=True)
        folders[:] = [name for name in folders if name != _CACHE and not is_tool_folder(name)]


def _remove_compiled(cache: Path, module: str) -> None:
    for file in cache.iterdir():
        if file.suffix == ".pyc" and file.name.startswith(f"{module}."):
            with suppress(OSError):
                file.unlink()
