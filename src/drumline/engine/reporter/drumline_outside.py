"""Runs inside the Pythons that a check starts, and writes down which code they loaded from the user's checkout.

The folder that `DRUMLINE_OUTSIDE` names has a file `checkout` with its path; each process adds a file of its own with
lines `loaded PATH`, and `linked PATH` for a place in it that an installed package leads to. The rule: it changes
nothing about the run. It has to work with every Python from 3.8 on and without Drumline.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator

FOLDER = "DRUMLINE_OUTSIDE"
CHECKOUT = "checkout"
ENDING = ".code"
_PACKAGES = ("site-packages", "dist-packages")
_MOST_BYTES = 100_000


class Watcher:
    """Knows the checkout, and says each path once."""

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, CHECKOUT), encoding="utf-8", errors="surrogateescape") as file:
            self._checkout = file.read()
        self._folder = folder
        self._told: set[str] = set()

    def tell_links(self) -> None:
        """Write down where packages that are installed as links lead to."""
        self._write("linked", _list_links())

    def tell_loaded(self) -> None:
        """Write down the files of all modules so far."""
        self._write("loaded", _list_files())

    def _write(self, word: str, paths: Iterator[str]) -> None:
        real = {os.path.realpath(path) for path in paths}
        inside = sorted(path for path in real if (path + os.sep).startswith(self._checkout + os.sep))
        lines = [f"{word} {path}" for path in inside if "\n" not in path and f"{word} {path}" not in self._told]
        self._told.update(lines)
        if not lines:
            return
        text = "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")
        place = os.path.join(self._folder, f"{os.getpid()}{ENDING}")
        fd = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, text)
        os.close(fd)


watcher: Watcher | None = None


def install() -> None:
    """Look at what is installed now, and at what was loaded when the process ends."""
    global watcher
    watcher = Watcher(os.environ[FOLDER])
    watcher.tell_links()
    atexit.register(tell)


def tell() -> None:
    """Write down what was loaded so far; nothing that goes wrong matters."""
    try:
        if watcher is not None:
            watcher.tell_loaded()
    except Exception:
        pass


def _list_files() -> Iterator[str]:
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str):
            yield file


def _list_links() -> Iterator[str]:
    """What files with paths of installed packages name, and what finders of such packages know."""
    for folder in [place for place in sys.path if os.path.basename(place) in _PACKAGES]:
        for name in [name for name in os.listdir(folder) if name.endswith(".pth")]:
            with open(os.path.join(folder, name), "rb") as file:
                lines = os.fsdecode(file.read(_MOST_BYTES)).splitlines()
            yield from (line.strip() for line in lines if os.path.isabs(line.strip()))
    for name, module in list(sys.modules.items()):
        found = getattr(module, "__dict__", {}).get("MAPPING") if name.startswith("__editable__") else None
        if isinstance(found, dict):
            yield from (place for place in found.values() if isinstance(place, str))
