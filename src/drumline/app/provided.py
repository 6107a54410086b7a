"""What of the checkout could be provided to places, and what cannot. The rule: only what git ignores is ever brought.

What git tracks is in every place already, and the rest would land with the work. Files with settings and secrets
(`.env`) are not offered: a person who wants them there names them.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.app.detection import SETUP, Detected, Found
from drumline.core.setups import read_setup
from drumline.errors import InvalidInput
from drumline.workspace.repository import Repository

PROVIDE = "provide"
FOLDERS = ("node_modules", ".venv", "venv", "vendor", "Pods", "bower_components", "deps", "__pypackages__")
"""Folders of dependencies by the names that everybody knows."""
FROM = "your checkout"


def find_provided(repository: Repository, detected: Detected) -> tuple[Found, ...]:
    """Ignored folders of dependencies that the checkout has, where no setup command is known that makes them."""
    if detected.of(SETUP):
        return ()
    there = [name for name in FOLDERS if (repository.top / name).is_dir()]
    ignored = repository.list_ignored(there)
    return tuple(Found(kind=PROVIDE, command=name, place=FROM) for name in there if name in ignored)


def refuse_unignored(repository: Repository, provide: Sequence[str]) -> None:
    """Refuse paths that are not there to be provided, all at once."""
    paths = read_setup("", provide).paths
    ignored = repository.list_ignored(paths)
    problems = [f"{path!r} is not in your checkout" for path in paths if not (repository.top / path).exists()]
    there = [path for path in paths if (repository.top / path).exists() and path not in ignored]
    problems += [f"git does not ignore {path!r}: it would land with the work" for path in there]
    if problems:
        hint = "correct provide in .drumline/config.toml, or make what is missing in your checkout"
        raise InvalidInput(f"provide: {'; '.join(problems)}", hint=hint)
