"""The search path of skills, and what is found on it. The first folder that has a name decides about it.

A broken skill hides a sound one of the same name further on: what is used must never depend on a typing mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drumline.core.flow.inspection import listed
from drumline.core.flow.noderules import SKILL_NAME
from drumline.errors import InvalidInput
from drumline.ports.skills import Skill
from drumline.skills.document import FILE, Document, read_document

REPOSITORY = (".drumline/skills", ".claude/skills", ".agents/skills")
SHIPPED = Path(__file__).parent / "shipped"
MOST_SKILLS = 500
HINT = "drumline flow skills"


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """A folder that has one folder per skill; nothing in it may lead out of `within`."""

    folder: Path
    origin: str
    within: Path


def search_path(top: Path, environment: Mapping[str, str]) -> tuple[Place, ...]:
    """Where skills are looked for, in order: the repository at `top`, the user's configuration, Drumline itself."""
    own = [Place(folder=top / part, origin="repository", within=top) for part in REPOSITORY]
    shipped = Place(folder=SHIPPED, origin="shipped", within=SHIPPED)
    stated, home = Path(environment.get("XDG_CONFIG_HOME", "")), Path(environment.get("HOME", ""))
    config = stated if stated.is_absolute() else home / ".config"
    if not config.is_absolute():
        return (*own, shipped)
    # A user's own folder may link to wherever they keep such things; a repository's may not lead out of it.
    user = Place(folder=config / "drumline" / "skills", origin="user", within=Path("/"))
    return (*own, user, shipped)


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderSkills:
    """Skills in the folders of a search path; files are read anew at every question."""

    places: Sequence[Place]

    def list_skills(self) -> Sequence[Skill]:
        """All skills by name, those that cannot be loaded included."""
        found: dict[str, Skill] = {}
        for place in self.places:
            for folder in _folders(place):
                if folder.name not in found:
                    found[folder.name] = _describe(place, folder, _read(place, folder))
        return [found[name] for name in sorted(found)]

    def find_skill(self, name: str) -> Skill:
        """The skill of that name; InvalidInput if there is none, or if it cannot be loaded."""
        return self._open(name)[0]

    def load(self, name: str) -> str:
        """The text of the skill of that name, bounded; InvalidInput if there is none, or if it cannot be loaded."""
        return self._open(name)[1].body

    def _open(self, name: str) -> tuple[Skill, Document]:
        if not SKILL_NAME.fullmatch(name):
            raise InvalidInput(f"{name!r} cannot be the name of a skill; {_LEGAL}", hint=HINT)
        place = next((place for place in self.places if (place.folder / name / FILE).is_file()), None)
        if place is None:
            known = listed([skill.name for skill in self.list_skills() if not skill.fault], most=20)
            raise InvalidInput(f"no skill is called {name!r} (known: {known or 'none'})", hint=HINT)
        document = _read(place, place.folder / name)
        if document.fault:
            raise InvalidInput(f"the skill {name!r} of the {place.origin} cannot be used: {document.fault}", hint=HINT)
        return _describe(place, place.folder / name, document), document


_LEGAL = "use small letters, digits and '-', at most 64"


def _folders(place: Place) -> Iterator[Path]:
    try:
        inside = sorted(place.folder.iterdir())
    except OSError:
        return
    yield from [folder for folder in inside if (folder / FILE).is_file()][:MOST_SKILLS]


def _read(place: Place, folder: Path) -> Document:
    if not folder.resolve().is_relative_to(place.within.resolve()):
        return Document(fault="its folder is a link that leads out of the repository")
    return read_document(folder)


def _describe(place: Place, folder: Path, document: Document) -> Skill:
    return Skill(
        name=folder.name,
        description=document.description,
        origin=place.origin,
        path=folder / FILE,
        fault=document.fault,
    )
