"""Folders for the time of one piece of work. The rule: whoever begins finds them empty, also after a kill.

What we read or redact lies in a scratch beside the log. What a program makes for itself goes to a folder with a short
name in the system's temporary folder: a socket's path must be short, and a search upwards must not find the checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from drumline.core.redaction import Redaction
from drumline.isolation.tokens import salvage_logins
from drumline.isolation.transcripts import OWN, list_logs, redact_files

PREFIX = "drumline-"
DIGITS = 12
LINK = "tmp"
"""In a scratch: leads to the temporary folder that belongs to it. It is read before the program starts, never after."""
HOMES = ".homes"
"""How the name of a folder with private homes ends."""
LEFT = (".tmp", ".asked", HOMES)
"""How the names of scratches end."""


@contextmanager
def open_scratch(folder: Path) -> Iterator[Path]:
    """A folder for us alone, gone afterwards; what work that was killed left there goes first."""
    _remove(folder)
    folder.mkdir(mode=OWN, parents=True)
    try:
        yield folder
    finally:
        _remove(folder)


@contextmanager
def open_temp(scratch: Path) -> Iterator[Path]:
    """A short folder for what a program makes for itself; `scratch` has a link to it, and both go together."""
    temp = _make_temp(name_temp(scratch))
    try:
        (scratch / LINK).symlink_to(temp)
        yield temp
    finally:
        _remove_own(temp)


def name_temp(scratch: Path) -> Path:
    """Where the temporary folder of a scratch is, told from its path alone: so it is found after a kill."""
    digest = hashlib.sha256(os.fsencode(scratch.absolute())).hexdigest()[:DIGITS]
    # A jail cannot mount over a place that a link leads to.
    return Path(tempfile.gettempdir()).resolve() / f"{PREFIX}{digest}"


def find_scratches(logs: Path) -> list[Path]:
    """What work that was killed, or is under way, has beside its logs."""
    try:
        return sorted(path for path in logs.iterdir() if path.suffix in LEFT)
    except OSError:
        return []


def clear_scratches(logs: Path) -> None:
    """Remove what killed work left beside its logs, and in temporary folders. Nobody may be at work there."""
    for scratch in find_scratches(logs):
        if scratch.suffix == HOMES:
            salvage_logins(scratch)
        _remove_own(name_temp(scratch))
        _remove(scratch)


async def take_over_logs(logs: Path, redaction: Redaction) -> None:
    """Do what a killed driver could not do any more: clear up, and take secrets out of what it left of its logs."""
    clear_scratches(logs)
    await redact_files(list_logs(logs), redaction)


def _make_temp(place: Path) -> Path:
    """The place, empty; another one with a name by chance if somebody else has something there."""
    _remove_own(place)
    try:
        place.mkdir(mode=OWN)
    except FileExistsError:
        return Path(tempfile.mkdtemp(prefix=PREFIX, dir=place.parent))
    return place


def _remove_own(folder: Path) -> None:
    """Remove a folder where others have theirs, too, unless it is one of theirs."""
    with suppress(OSError):
        if folder.lstat().st_uid == os.geteuid():
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a folder with all that is in it. What is not a folder stays, and no link is followed."""
    if not _is_folder(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    if _is_folder(folder):
        with suppress(OSError):
            _open_up(folder)
        shutil.rmtree(folder, ignore_errors=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _open_up(folder: Path) -> None:
    """Let us change what is in a folder: some tools leave folders that nobody may write to."""
    folder.chmod(OWN)
    for parent, names, _files in os.walk(folder):
        # The walk looks into them only after this.
        for path in (Path(parent, name) for name in names):
            if not path.is_symlink():
                path.chmod(OWN)
