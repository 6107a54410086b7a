"""The search path of skills, and what is found on it. The first folder that has a name decides about it.

A broken skill hides a sound one of the same name further on: what is used must never depend on a typing mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drumline.core.flow.noderules import SKILL_NAME
from drumline.core.plaintext import name_some
from drumline.errors import InvalidInput
from drumline.ports.skills import Skill
from drumline.record import Record
from drumline.skills.document import FILE, Document, read_document

BESIDE = "skills"
REPOSITORY = (".drumline/skills", ".claude/skills", ".agents/skills")
SHIPPED = Path(__file__).parent / "shipped"
MOST_SKILLS = 500
HINT = "drumline flow skills"


class Place(Record):
    """A folder that has one folder per skill; nothing in it may lead out of `within`."""

    folder: Path
    origin: str
    within: Path


def list_beside(flow: Path, top: Path) -> tuple[Place, ...]:
    """The folders of skills that come with a flow in the folder `flow`: its own, and the one beside its kind.

    Graphs are laid out as `agents/NAME/graph.yaml` with `skills/` beside `agents`. A flow of the repository at `top`
    finds nothing outside of it.
    """
    here, repository = flow.resolve(), top.resolve()
    inside = here.is_relative_to(repository)
    places = [folder for folder in (here, here.parent.parent) if not inside or folder.is_relative_to(repository)]
    return tuple(
        Place(folder=folder / BESIDE, origin="flow", within=repository if inside else folder / BESIDE)
        for folder in dict.fromkeys(places)
    )


def search_path(top: Path, environment: Mapping[str, str]) -> tuple[Place, ...]:
    """Where skills are looked for, in order: the repository at `top`, the user's configuration, Drumline itself."""
    own = [Place(folder=top / part, origin="repository", within=top) for part in REPOSITORY]
    shipped = Place(folder=SHIPPED, origin="shipped", within=SHIPPED)
    stated, home = Path(environment.get("XDG_CONFIG_HOME", "")), Path(environment.get("HOME", ""))
    config = stated if stated.is_absolute() else home / ".config"
    folders = [config / "drumline" / "skills", home / ".claude" / "skills"]
    # A user's own folder may link to wherever they keep such things; a repository's may not lead out of it.
    user = [Place(folder=folder, origin="user", within=Path("/")) for folder in folders if folder.is_absolute()]
    return (*own, *user, shipped)


class FolderSkills(Record):
    """Skills in the folders of a search path; files are read anew at every question."""

    places: Sequence[Place]
    top: Path | None = None

    def near(self, flow: Path) -> FolderSkills:
        """The skills that a flow in this folder finds: those that come with it first."""
        return FolderSkills(places=(*list_beside(flow, self.top or flow), *self.places), top=self.top)

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
            raise InvalidInput(self._explain_absence(name), hint=HINT)
        document = _read(place, place.folder / name)
        if document.fault:
            file = place.folder / name / FILE
            raise InvalidInput(f"the skill {name!r} in {file} cannot be used: {document.fault}", hint=HINT)
        return _describe(place, place.folder / name, document), document

    def _explain_absence(self, name: str) -> str:
        known = name_some([skill.name for skill in self.list_skills() if not skill.fault], most=20)
        looked = ", ".join(str(place.folder) for place in self.places if place.origin != "shipped")
        return f"no skill is called {name!r} (known: {known or 'none'}); looked for {name}/{FILE} in {looked}"


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
