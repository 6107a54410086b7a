"""The folder of checks that agents do not see. The rule: it lies outside of everything that an agent is given."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from drumline.agents import EQUIPPED, PROGRAMS
from drumline.agents.sandbox import choose_jail
from drumline.errors import InvalidInput
from drumline.protection import AUTO, OFF

HINT = "drumline checks PLAN"


def find_folder(setting: str, *, apart: Sequence[Path]) -> Path | None:
    """The folder that the setting names, None if it names none; InvalidInput if it is not outside of `apart`."""
    if not setting:
        return None
    named = Path(os.path.expandvars(setting)).expanduser()
    if not named.is_absolute():
        raise InvalidInput(f"held_out = {setting!r} is not an absolute path (legal: one such as ~/held-out)", hint=HINT)
    folder = named.resolve()
    if not folder.is_dir():
        raise InvalidInput(f"held_out = {setting!r} is not a folder", hint=f"mkdir -p {setting}")
    around = next((place for place in apart if _is_within(folder, place.resolve())), None)
    if around is not None:
        message = f"held_out = {setting!r} can be seen by agents: it lies in {around}, or around it"
        raise InvalidInput(f"{message} (legal: a folder outside of the repository and its worktrees)", hint=HINT)
    return folder


def list_files(folder: Path | None) -> tuple[str, ...]:
    """The executable files of the folder, by name; InvalidInput if there is none, for then nothing would be judged."""
    if folder is None:
        return ()
    files = sorted(path for path in folder.iterdir() if path.is_file() and os.access(path, os.X_OK))
    found = tuple(str(path) for path in files if not path.name.startswith("."))
    if not found:
        raise InvalidInput(f"held_out: no file in {folder} is executable", hint=f"chmod +x {folder}/FILE")
    return found


def list_jailed(sandbox: str) -> tuple[str, ...]:
    """The kinds of agents that cannot see the folder on this machine."""
    jail = None if sandbox == OFF else choose_jail(AUTO)
    return tuple(sorted({*PROGRAMS, *EQUIPPED})) if jail is not None else ()


def _is_within(folder: Path, place: Path) -> bool:
    return folder.is_relative_to(place) or place.is_relative_to(folder)
