"""Brings what git ignores from the person's checkout into a place. The rule: nothing of it is written to there."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from drumline.errors import InvalidInput
from drumline.isolation.containment import contain

DRAFT = ".drumline-copy"


def bring_provided(checkout: Path, place: Path, paths: Sequence[str], *, link: bool) -> str:
    """Bring these paths; why that cannot be, or an empty text.

    With `link` only a place for each is made: what holds checks shows it there. Else it is copied, unless it is there.
    """
    for path in paths:
        source = checkout / path
        if not source.exists():
            return f"provide: {path!r} is not in your checkout ({checkout})"
        try:
            _bring(source, contain(place, path), link=link)
        except (InvalidInput, OSError) as error:
            return f"provide: {path!r} cannot be brought: {error}"
    return ""


def _bring(source: Path, target: Path, *, link: bool) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if link and source.is_dir():
        target.mkdir()
    elif link:
        target.touch()
    else:
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    """Copy whole or not at all."""
    draft = target.with_name(target.name + DRAFT)
    with suppress(FileNotFoundError):
        shutil.rmtree(draft)
    if source.is_dir():
        shutil.copytree(source, draft, symlinks=True)
    else:
        shutil.copy2(source, draft)
    draft.rename(target)
