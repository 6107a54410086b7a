"""Finds the plan a person means: a path, a ticket id or slug, or the newest unfinished one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from drumline.core.plan import Reading, Status
from drumline.errors import DrumlineError, InvalidInput

SPECS = Path(".ai", "specs")
PLACES = (
    ".ai/specs/*/implement.md",
    "thoughts/*/plans/*/root.md",
    "thoughts/*/plans/*.md",
    "plans/steps",
    "plans/*/root.md",
    "docs/maestro/state/active-session.md",
)
"""Where plans of the known formats usually are, relative to the repository."""


def find_plan(text: str, *, here: Path, top: Path) -> Path:
    """The plan at this path, or that of this ticket id or slug; InvalidInput naming what was looked for."""
    path = here / text
    if path.exists():
        return path
    found = [spec for spec in _specs(top) if _is_called(spec.parent.name, text)]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(spec.parent.name for spec in found)
        raise InvalidInput(
            f"{text!r} could be any of {names}", hint=f"drumline validate {SPECS / found[0].parent.name}"
        )
    raise InvalidInput(
        f"there is no plan at {text!r}, and no folder for it in {SPECS.as_posix()}",
        hint="drumline validate PATH/TO/PLAN",
    )


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


def _specs(top: Path) -> Iterator[Path]:
    yield from sorted((top / SPECS).glob("*/implement.md"))


def _is_called(folder: str, text: str) -> bool:
    """Folders are called `<id>-<slug>`."""
    return folder == text or folder.startswith(f"{text}-") or folder.partition("-")[2] == text


def _usual(top: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from (place for place in top.glob(pattern) if not place.is_symlink())


def _touched(place: Path) -> float:
    """When the plan last changed: the newest of its files."""
    files = place.parent.glob("*.md") if place.name == "root.md" else place.glob("*.md") if place.is_dir() else [place]
    return max((file.stat().st_mtime for file in files), default=0.0)
