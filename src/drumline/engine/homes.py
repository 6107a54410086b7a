"""The folders that a program keeps its own things in. The rule: a variable that is empty counts as one that is not set.

Otherwise `$NAME/` would be the root of the machine, and a jail that lends it would hold nobody.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

VARIABLE = re.compile(r"\$\{?(\w+)\}?")


def find_records(workspace: Path) -> list[Path]:
    """Our own records in a workspace that is a whole checkout: whoever works there has no business in them."""
    records = workspace / ".git" / "drumline"
    return [records] if records.is_dir() else []


def find_homes(homes: Sequence[str]) -> list[Path]:
    """Those of the folders, with `~` and `$NAME`, that are there; one whose name ends with a slash is made.

    What is not there could not be made from inside a jail.
    """
    found: list[Path] = []
    for home in homes:
        if not all(os.environ.get(name) for name in VARIABLE.findall(home)):
            continue
        path = Path(os.path.expandvars(home)).expanduser()
        if path.is_absolute() and home.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        if path.is_absolute() and path.exists():
            found.append(path)
    return found
