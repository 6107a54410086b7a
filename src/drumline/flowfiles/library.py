"""Where a flow's names lead, and flows as they were when a run first used them.

The rule: a run sees one version of each flow. The first use keeps a copy, every later one reads it, so that an edit
counts for the next run. A name never leads out of the repository that the calling flow is in.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

import drumline
from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import Flow
from drumline.core.reviewers import REVIEWER
from drumline.errors import InvalidFlow, InvalidInput
from drumline.flowfiles.reading import FlowReading, check_flow, read_copy, read_flow
from drumline.ports.library import Callee
from drumline.profiles import DEFAULT, OTHER, PLACE, Profiles
from drumline.record import Record, field

SHIPPED = Path(drumline.__file__).parent / "flows"
OWN_FLOWS = Path(".drumline", "flows")
FILES = ("graph.yaml", "graph.yml", "flow.yaml", "flow.yml")

ENDINGS = (".yaml", ".yml")

_NAME = re.compile(r"[\w-][\w.-]*")
_NODES = re.compile(r"^nodes\s*:", re.MULTILINE)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class FlowLibrary(Record):
    """Finds callees and keeps flows for one run.

    `top` is the repository, `keep` the run's folder for copies. `default` is the spec of the default agent; with
    `override` that agent does the work of all agents, while names of flows still lead to flows. `list_known` names the
    agents that need no profile; it is asked only for a name that nothing else explains, as it looks at every package.
    """

    top: Path
    keep: Path
    profiles: Profiles = field(default_factory=Profiles)
    default: str = ""
    override: str = ""
    list_known: Callable[[], Collection[str]] = tuple
    around: Surroundings = field(default_factory=Surroundings)

    def find_callee(self, name: str, *, around: Path) -> Callee:
        """What `agent: NAME` means: the default agent, an agent's spec, a profile, a flow, or else a guess.

        A guess is the default agent; its warning says how to choose another, the same words for the same name.
        """
        if name in (DEFAULT, OTHER):
            return Callee(agent=self._find_default(name))
        if ":" in name:
            return Callee(agent=self.override or name)
        if name in self.profiles.agents:
            return self._find_profile(name)
        flow = find_flow(name, around=around, top=self.top)
        if flow is None and name == REVIEWER:
            return Callee(agent=self._find_default(name))
        if flow is not None:
            return Callee(flow=flow)
        if name in self.list_known():
            return Callee(agent=self.override or name)
        return Callee(agent=self._find_default(name), warning=_warn(name))

    def locate(self, name: str) -> Path:
        """The file of the flow that a plan or a setting names: in the repository's own flows, shipped, or by a path."""
        found = find_flow(name, around=self.top / OWN_FLOWS, top=self.top) or self.top / name
        if not found.is_file():
            raise _refuse_name(name, self.top, self.top)
        return found

    def load(self, path: Path) -> Flow:
        """The checked flow in a file, as this run first saw it; InvalidFlow with all its problems."""
        path = path.absolute()
        pin = self.keep / (hashlib.sha256(os.fsencode(path)).hexdigest()[:32] + ".pin")
        if not pin.exists():
            flow, data = open_flow(path, around=self.around)
            self.keep.mkdir(parents=True, exist_ok=True)
            _write_once(self._copy(flow.digest), data)
            _write_once(pin, flow.digest.encode())
        return self.recall(str(path), pin.read_text(encoding="ascii"))

    def recall(self, path: str, digest: str) -> Flow:
        """A flow as it was when it was kept, with its own path, by which its scripts are found."""
        for place in (self._copy(digest), Path(path)):
            flow = read_copy(Path(path), at=place)
            if flow is not None and flow.digest == digest:
                return flow
        message = f"{path}: the flow is not the one this run began with, and the run's copy of it is gone"
        raise InvalidInput(message, hint=f"drumline flow run {quote(path)}")

    def _copy(self, digest: str) -> Path:
        return self.keep / f"{digest}.yaml"

    def _find_profile(self, name: str) -> Callee:
        profile = self.profiles.agents[name]
        if self.override:
            # The model was chosen for the agent that is not used now; a tier means something to every agent.
            return Callee(agent=self.override, tier=profile.tier)
        return Callee(agent=profile.agent or self._find_default(name), tier=profile.tier, model=profile.model)

    def _find_default(self, name: str) -> str:
        if spec := self.override or self.default:
            return spec
        message = f"there is no agent for {name!r}: neither --agent nor `agent` in {PLACE} names one"
        raise InvalidInput(message, hint="drumline flow run FILE --agent 'command:my-agent --print'")


def find_flow(name: str, *, around: Path, top: Path) -> Path | None:
    """The file of the flow with that name: beside the calling flow, in the repository's own flows, or shipped."""
    if not _NAME.fullmatch(name):
        return None
    for place, inside in _places(name, around.resolve(), top.resolve()):
        if os.path.isfile(place) and (inside is None or Path(place).resolve().is_relative_to(inside)):  # noqa: PTH113
            return Path(place)
    return None


def locate_flow(place: Path, *, top: Path) -> Path:
    """The file that a path or a name typed by a person means; a path that does not exist is returned as it is.

    InvalidInput for a name that no flow has, with those that there are and where they were looked for.
    """
    if place.is_dir():
        return next((place / file for file in FILES if (place / file).is_file()), place)
    if place.exists():
        return place
    name, here = str(place), Path.cwd()
    found = find_flow(name, around=here, top=top)
    if found is None and _NAME.fullmatch(name) and place.suffix not in ENDINGS:
        raise _refuse_name(name, here, top)
    return found or place


def list_flows(*, around: Path, top: Path) -> dict[str, Path]:
    """The flows that can be called by name from a folder, each with its file."""
    own = top / OWN_FLOWS
    folders = [*_list_near(around, top), own]
    files = [file for folder in (around, own) for ending in ENDINGS for file in sorted(folder.glob(f"*{ending}"))]
    names = [file.stem for file in files if _looks_like_flow(file)]
    names += [file.parent.name for folder in folders for kind in FILES for file in sorted(folder.glob(f"*/{kind}"))]
    names += [folder.parent.name for folder in sorted(SHIPPED.glob(f"*/{FILES[0]}"))]
    found = {name: find_flow(name, around=around, top=top) for name in names}
    return {name: path for name, path in found.items() if path is not None}


def open_flow(path: Path, *, around: Surroundings) -> tuple[Flow, bytes]:
    """The checked flow in a file, with the file's content; InvalidFlow with all its problems.

    A flow that says `validate_before_run: false` only has to be readable.
    """
    reading = check_flow(path, around=around)
    flow = reading.flow
    if flow is None and reading.draft is not None and not reading.draft.settings.validate_before_run:
        flow = read_flow(path, data=reading.data).flow
    if flow is None:
        raise _refuse(path, reading)
    return flow, reading.data


def _list_near(around: Path, top: Path) -> list[Path]:
    """The folders near a caller in which names are looked for; those outside its repository are not."""
    near = [around, around.parent]
    return near if not around.is_relative_to(top) else [place for place in near if place.is_relative_to(top)]


def _looks_like_flow(file: Path) -> bool:
    """Whether a YAML file beside others may be a flow; names that a person could mean are listed, no more."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return _NODES.search(text) is not None


def _refuse_name(name: str, here: Path, top: Path) -> InvalidInput:
    known = list_flows(around=here, top=top)
    close = get_close_matches(name, known, n=1)
    places = (
        f"{', '.join(str(place) for place in (*_list_near(here, top), top / OWN_FLOWS))} and among the shipped ones"
    )
    message = (
        f"no flow is called {name!r} (there are: {', '.join(known)}); looked for {name}.yaml and {name}/{FILES[0]} "
        f"in {places}"
    )
    return InvalidInput(message, hint=f"drumline flow run {close[0] if close else 'FILE'}")


def _warn(name: str) -> str:
    key = name if _BARE_KEY.fullmatch(name) else json.dumps(name, ensure_ascii=False)
    return (
        f"no agent or flow is called {name!r}, so the default agent does the work; "
        f'to choose another, write into {PLACE}: [agents.{key}] with agent = "command:…" below it'
    )


def _refuse(path: Path, reading: FlowReading) -> InvalidFlow:
    count = len(reading.errors)
    message = f"{path}: the flow cannot be run ({count} error{'s' if count > 1 else ''})"
    return InvalidFlow(message, reading.problems, hint=f"drumline flow validate {quote(str(path))}")


def _places(name: str, around: Path, top: Path) -> Iterator[tuple[str, Path | None]]:
    """Where a flow of that name may be, nearest first, each with the folder that it must not lead out of.

    As texts: nearly none of these places is there, and a path costs more than a look.
    """
    inside = top if around.is_relative_to(top) else None
    own = str(top / OWN_FLOWS)
    for folder in (str(around.parent), str(around)):
        yield from ((os.path.join(folder, name, file), inside) for file in FILES)  # noqa: PTH118
    yield from ((f"{around}/{name}{ending}", inside) for ending in ENDINGS)
    yield from ((f"{own}/{name}{ending}", top) for ending in ENDINGS)
    yield from ((f"{own}/{name}/{file}", top) for file in FILES)
    yield f"{SHIPPED}/{name}/{FILES[0]}", None


def _write_once(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, also after a power cut; the first one stays."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with draft.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
