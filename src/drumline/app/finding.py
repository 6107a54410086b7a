"""Finds the plan a person means: a path, the file of a step, a ticket id or slug, or the newest unfinished one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from drumline.core.nearest import did_you_mean
from drumline.core.plan import Reading, Status
from drumline.errors import DrumlineError, InvalidInput
from drumline.planfiles.dag import ROOT, DagLayout
from drumline.planfiles.implement import FILE as IMPLEMENT
from drumline.planfiles.phased import STEPS, PhasedLayout
from drumline.planfiles.speckit import FILE as TASKS

SPECS = Path(".ai", "specs")
NAMED = (
    ".ai/specs/*/implement.md",
    "plans/*/root.md",
    "plans/*.md",
    "docs/plans/*/root.md",
    "docs/plans/*.md",
    "thoughts/*/plans/*/root.md",
    "thoughts/*/plans/*.md",
    "specs/*/tasks.md",
    ".kiro/specs/*/tasks.md",
    "openspec/changes/*/tasks.md",
    "docs/superpowers/plans/*.md",
)
"""Where plans are looked for by name, relative to the repository."""
_DATED = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}[-_]")
PLACES = (
    ".ai/specs/*/implement.md",
    "thoughts/*/plans/*/root.md",
    "thoughts/*/plans/*.md",
    "plans/steps",
    "plans/*/root.md",
    "docs/plans/*/root.md",
    "docs/maestro/state/active-session.md",
    "specs/*/tasks.md",
    ".kiro/specs/*/tasks.md",
    "openspec/changes/*/tasks.md",
    "docs/superpowers/plans/*.md",
    ".taskmaster/tasks/tasks.json",
)
"""Where plans of the known formats usually are, relative to the repository."""


def find_plan(text: str, *, here: Path, top: Path) -> Path:
    """The plan at this path, or that of this ticket id or slug; InvalidInput naming what was looked for."""
    path = here / text
    if path.exists():
        return plan_of_step_file(path) or path
    places = [place for place in _usual(top, NAMED) if _is_called(place, text)]
    found = list(dict.fromkeys(place.parent if place.name == ROOT else place for place in places))
    if len(found) == 1:
        return found[0]
    names = [place.relative_to(top).as_posix() for place in found]
    if found:
        raise InvalidInput(f"{text!r} could be any of {', '.join(names)}", hint=f"drumline validate {names[0]}")
    known = {place.parent if place.name == ROOT else place for place in _usual(top, NAMED)}
    meant = did_you_mean(path.name, {place.stem: None for place in known})
    raise InvalidInput(
        f"there is no plan at {text!r}, and none of that name in plans, docs/plans, thoughts/*/plans or "
        f"{SPECS.as_posix()}{meant}",
        hint="drumline validate PATH/TO/PLAN",
    )


def plan_of_step_file(path: Path) -> Path | None:
    """The folder of the plan whose step this file holds; None if it is not the file of one step."""
    if not path.is_file():
        return None
    if path.parent.name == STEPS and PhasedLayout().is_step(f"{STEPS}/{path.name}"):
        return path.parent.parent
    return path.parent if DagLayout().is_step(path.name) else None


def step_in_file(reading: Reading, path: Path, *, top: Path) -> str:
    """The id of the step that this file alone holds; empty if it is no such file."""
    if plan_of_step_file(path) is None:
        return ""
    name = path.resolve()
    return next((step.id for step in reading.plan.steps if (top / step.path).resolve() == name), "")


def newest_unfinished(top: Path, read: Callable[[Path], Reading], *, also: str = "") -> Path:
    """The plan that was touched last and has steps left; InvalidInput if there is none. `also` is a further pattern."""
    patterns = [*PLACES, also] if also else PLACES
    for place in sorted(_usual(top, patterns), key=_touched, reverse=True):
        try:
            reading = read(place)
        except DrumlineError:
            continue
        done = (Status.DONE, Status.SKIPPED)
        if reading.plan.steps and any(marks.status not in done for marks in reading.marks.values()):
            return place
    raise InvalidInput("no unfinished plan was found in the usual places", hint="drumline run PATH/TO/PLAN")


def _is_called(place: Path, text: str) -> bool:
    """Folders of specs are called `<id>-<slug>`, plans by a name that may begin with a date."""
    folder = (
        place.parent.name if place.name in (ROOT, IMPLEMENT, TASKS) else place.stem if place.is_file() else place.name
    )
    if folder == text or _DATED.sub("", folder) == text:
        return True
    return place.name in (IMPLEMENT, TASKS) and (folder.startswith(f"{text}-") or folder.partition("-")[2] == text)


def _usual(top: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (place for place in top.glob(pattern) if not place.is_symlink())


def _touched(place: Path) -> float:
    """When the plan last changed: the newest of its files."""
    files = place.parent.glob("*.md") if place.name == "root.md" else place.glob("*.md") if place.is_dir() else [place]
    return max((file.stat().st_mtime for file in files), default=0.0)
