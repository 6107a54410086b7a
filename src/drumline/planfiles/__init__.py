"""Plans on disk, one module per format. A format is found from the files and imported only when needed.

A plan is a directory or a file inside the repository. Formats are asked in the order of `FORMATS`; each answers by
looking at names and, where names do not tell, at the beginning of the files. None of them follows a link.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol

from drumline.errors import InvalidInput
from drumline.ports.planfiles import PlanFiles

FORMATS: Mapping[str, str] = {
    "dag": "drumline.planfiles.dag:FORMAT",
    "phased": "drumline.planfiles.phased:PhasedFiles",
    "taskmaster": "drumline.planfiles.taskmaster:TaskmasterFiles",
    "kiro": "drumline.planfiles.kiro:KiroFiles",
    "openspec": "drumline.planfiles.openspec:OpenspecFiles",
    "speckit": "drumline.planfiles.speckit:SpeckitFiles",
    "superpowers": "drumline.planfiles.superpowers:SuperpowersFiles",
    "maestro": "drumline.planfiles.maestro:MaestroFiles",
    "waves": "drumline.planfiles.waves:WavesFiles",
    "implement": "drumline.planfiles.implement:ImplementFiles",
    "checklist": "drumline.planfiles.checklist:ChecklistFiles",
}
"""Where each format's opener is. The order matters: what names alone can tell comes first."""

HINT = "drumline validate PATH/TO/PLAN"


class Format(Protocol):
    """What opens plans of one format and can tell its own from others."""

    def recognise(self, place: Path) -> bool:
        """Whether the directory or file is a plan of this format; never raises on what it finds there."""
        ...

    def __call__(self, place: Path, *, repo: Path, locks: Path | None) -> PlanFiles:
        """Open the plan at this real path; InvalidInput if it is none of this format."""
        ...


def open_plan(plan: Path, *, repo: Path, locks: Path | None = None, format: str = "") -> PlanFiles:
    """The plan at `plan` (a directory or a file), which must lie in the repository.

    `locks` is a directory outside the plan for the lock file that writers share. `format` overrides what the files
    look like.
    """
    place = _real_place(plan, repo)
    if format:
        return _load(format)(place, repo=repo.resolve(), locks=locks)
    for name in FORMATS:
        found = _load(name)
        if found.recognise(place):
            return found(place, repo=repo.resolve(), locks=locks)
    tried = ", ".join(FORMATS)
    message = f"{str(plan)!r} is not a plan of any known format (looked for: {tried})"
    if place.suffix != ".md":
        raise InvalidInput(message, hint=HINT)
    message += "; a markdown file needs steps that can be ticked, such as '- [ ] Add a login form'"
    task = shlex.quote(f"@{place.relative_to(repo.resolve()).as_posix()}")
    raise InvalidInput(f"{message}; `do` takes any file as one task", hint=f"drumline do {task}")


def _load(name: str) -> Format:
    if name not in FORMATS:
        legal = ", ".join(FORMATS)
        raise InvalidInput(f"there is no plan format {name!r} (legal: {legal})", hint=f"{HINT} --format dag")
    module, _, attribute = FORMATS[name].partition(":")
    found: Format = getattr(import_module(module), attribute)
    return found


def _real_place(plan: Path, repo: Path) -> Path:
    try:
        place = plan.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"there is no plan at {str(plan)!r}", hint=HINT) from error
    if not _is_text(place):
        raise InvalidInput(f"the path of the plan {str(plan)!r} is not UTF-8", hint=f"rename it, then: {HINT}")
    if not place.is_relative_to(repo.resolve()):
        message = f"the plan {str(plan)!r} lies outside the repository {str(repo)!r}"
        raise InvalidInput(message, hint=f"move the plan into the repository, then: {HINT}")
    inner = next((p for p in (place, *place.parents) if p != repo.resolve() and (p / ".git").exists()), None)
    if inner is not None and inner.is_relative_to(repo.resolve()):
        message = f"the plan {str(plan)!r} belongs to another repository, {str(inner)!r}, inside this one"
        raise InvalidInput(message, hint=f"cd {inner}, then: {HINT}")
    if not place.is_dir() and not place.is_file():
        raise InvalidInput(f"{str(plan)!r} is neither a directory nor a regular file", hint=HINT)
    return place


def _is_text(place: Path) -> bool:
    """Whether a journal can name the path: bytes that are not UTF-8 have no letters."""
    try:
        str(place).encode()
    except UnicodeEncodeError:
        return False
    return True
