"""Plans on disk, one module per format. A format is found from the files and imported only when needed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol

from drumline.errors import InvalidInput
from drumline.ports.planfiles import PlanFiles

FORMATS: Mapping[str, str] = {"dag": "drumline.planfiles.dag:DagFiles"}


class Format(Protocol):
    """A class of plan files that can tell its own from others."""

    def recognise(self, root: Path) -> bool:
        """Whether the directory holds a plan of this format."""
        ...

    def __call__(self, root: Path, *, repo: Path, locks: Path | None) -> PlanFiles:
        """Open the plan in the directory."""
        ...


def open_plan(plan: Path, *, repo: Path, locks: Path | None = None) -> PlanFiles:
    """The plan at `plan` (its directory or its root file), which must lie in the repository.

    `locks` is a directory outside the plan for the lock file that writers share.
    """
    root = _real_directory(plan, repo)
    for name in FORMATS:
        found = _load(name)
        if found.recognise(root):
            return found(root, repo=repo.resolve(), locks=locks)
    raise InvalidInput(
        f"{str(plan)!r} is not a plan: it has neither root.md nor step-*.md",
        hint="drumline validate PATH/TO/PLAN",
    )


def _load(name: str) -> Format:
    module, _, attribute = FORMATS[name].partition(":")
    found: Format = getattr(import_module(module), attribute)
    return found


def _real_directory(plan: Path, repo: Path) -> Path:
    folder = plan.parent if plan.name == "root.md" else plan
    try:
        root = folder.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"there is no plan at {str(plan)!r}", hint="drumline validate PATH/TO/PLAN") from error
    if not root.is_relative_to(repo.resolve()):
        message = f"the plan {str(plan)!r} lies outside the repository {str(repo)!r}"
        raise InvalidInput(message, hint="move the plan into the repository, then: drumline validate PATH/TO/PLAN")
    if not root.is_dir():
        message = f"{str(plan)!r} is not a plan: give the plan's directory or its root.md"
        raise InvalidInput(message, hint=f"drumline validate {folder.parent}")
    return root
