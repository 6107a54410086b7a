"""Compiled Python modules in a workspace. The rule: none outlives the source that it was made from.

Python knows them by the time, in seconds, and the size of the source, which two trees in one folder may share.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

_CACHE = "__pycache__"


def forget_compiled(top: Path, sources: Iterable[str]) -> None:
    """Remove what Python has compiled from these files; what is outside of `top` by a link stays."""
    inside = top.resolve()
    for source in map(PurePosixPath, sources):
        cache = top / source.parent / _CACHE
        if source.suffix == ".py" and cache.is_dir() and cache.resolve().is_relative_to(inside):
            _remove_compiled(cache, source.stem)


def _remove_compiled(cache: Path, module: str) -> None:
    for file in cache.iterdir():
        if file.suffix == ".pyc" and file.name.startswith(f"{module}."):
            with suppress(OSError):
                file.unlink()
