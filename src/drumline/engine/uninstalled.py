"""Looks whether a package that a check did not find is one that should be installed here.

The rule: files are read only where the output of a check names such a package, and nothing outside of its folder is.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from drumline.core.missing import MANIFESTS, find_missing, is_foreign, leave_own_name, list_own_places

MOST_BYTES = 2_000_000


def find_uninstalled(command: str, output: str, folder: Path, *, linked: bool = False) -> str:
    """The line about a missing package that is not the work's failure; empty if all that is missing is the work's.

    `linked` says that a package is installed as a link to the checkout, where a check does not look.
    """
    missing = find_missing(output)
    if not missing:
        return ""
    declared = "\n".join(leave_own_name(name, _read(folder / name)) for name in MANIFESTS)
    for one in missing:
        own = [place for place in list_own_places(one.name) if one.name and (folder / place).exists()]
        if not is_foreign(one, command=command, declared=declared, own=own, linked=linked):
            return ""
    return missing[0].line


def _read(path: Path) -> str:
    with suppress(OSError):
        if path.is_file() and not path.is_symlink():
            return path.read_bytes()[:MOST_BYTES].decode("utf-8", "replace")
    return ""
