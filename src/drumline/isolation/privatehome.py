"""The homes of an agent program for the time of one attempt. The rule: the user's own are only read by the program.

It works on a private copy. What comes back is what a home names: refreshed tokens, and records of sessions. Settings,
hooks, servers, commands, skills and plugins that it writes go with the copy: they would run outside later.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from drumline.isolation.homecopy import copy_entries
from drumline.isolation.homes import Home, find_homes, find_place
from drumline.isolation.keptsessions import fetch_session, find_kept, return_sessions
from drumline.isolation.scratch import HOMES, open_scratch
from drumline.isolation.tokens import Login, keep_in_step, salvage_logins, write_manifest
from drumline.isolation.transcripts import OWN
from drumline.ports.agents import Assignment
from drumline.record import Record, field


class PrivateHomes(Record):
    """What a program is started with: what a jail shows where, what it seals, and variables that lead to the homes."""

    places: Mapping[Path, Path] = field(default_factory=dict)
    sealed: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


NONE = PrivateHomes()


class _Copy(Record):
    """One home and its private copy. `kept` is what stays with the run of it."""

    home: Home
    place: Path
    copy: Path
    kept: Path
    large: tuple[str, ...] = ()

    def list_logins(self) -> list[Login]:
        """The files with tokens that the user has."""
        found = [path for pattern in self.home.tokens for path in sorted(self.place.glob(pattern)) if path.is_file()]
        return [Login(own=path, root=self.copy, name=str(path.relative_to(self.place))) for path in found]


@contextmanager
def open_homes(
    homes: Sequence[Home], assignment: Assignment, *, jailed: bool, granted: Sequence[str] = ()
) -> Iterator[PrivateHomes]:
    """Private copies of the homes, gone afterwards; what may come back is in the user's homes then.

    A folder that the configuration has `granted` is the user's own. Without a jail only homes that a variable moves are
    private; the program uses the others itself.
    """
    folder = assignment.log.with_name(assignment.log.name + HOMES).absolute()
    salvage_logins(folder)
    with open_scratch(folder):
        chosen = _choose_homes(homes, jailed=jailed, granted=granted)
        copies = [_make_copy(home, place, folder, assignment) for home, place in chosen]
        logins = [login for copy in copies for login in copy.list_logins()]
        write_manifest(folder, logins)
        try:
            with keep_in_step(logins):
                yield _show(copies) if jailed else _move(copies, folder)
        finally:
            for copy in copies:
                return_sessions(copy.home, copy.place, copy.kept, assignment.workspace)


def find_files(home: Home, log: Path, pattern: str, *, session: str = "") -> list[Path]:
    """Files that a program has in its home for the work whose log this is: what is kept of it, else the user's own."""
    for place in (find_kept(home, log, session), find_place(home)):
        # A program may put anything there, also what would hold us when we read it.
        found = [path for path in place.glob(pattern) if stat.S_ISREG(path.lstat().st_mode)] if place else []
        if found:
            return found
    return []


def _choose_homes(homes: Sequence[Home], *, jailed: bool, granted: Sequence[str]) -> Iterator[tuple[Home, Path]]:
    """The homes that are private, with their places."""
    granted_homes = [path.resolve() for path in find_homes(granted)]
    for home in homes:
        place = find_place(home)
        if place and place.is_dir() and place not in granted_homes and (jailed or _is_movable(home, place)):
            yield home, place


def _is_movable(home: Home, place: Path) -> bool:
    # On macOS logins are in a keychain, under a name that is made from the place.
    if not home.variable or sys.platform != "linux":
        return False
    return not home.keyring or any(list(place.glob(pattern)) for pattern in home.tokens)


def _make_copy(home: Home, place: Path, folder: Path, assignment: Assignment) -> _Copy:
    kept = find_kept(home, assignment.log, assignment.session)
    copy = kept if home.kept else folder / home.inside
    copy.mkdir(mode=OWN, parents=True, exist_ok=True)
    roots = {PurePath(session).parts[0] for session in home.sessions}

    def skip(name: str) -> bool:
        return name in roots or any(fnmatchcase(name, pattern) for pattern in home.omitted)

    large = copy_entries(place, copy, skip=skip)
    for name, elsewhere in () if os.environ.get(home.variable) else home.beside:
        with suppress(OSError):
            (copy / name).write_bytes(Path(elsewhere).expanduser().read_bytes())
    for session in home.sessions:
        (kept / session).mkdir(mode=OWN, parents=True, exist_ok=True)
    fetch_session(home, place, kept, assignment.session)
    return _Copy(home=home, place=place, copy=copy, kept=kept, large=tuple(large))


def _show(copies: Sequence[_Copy]) -> PrivateHomes:
    """The copies at the homes' own places."""
    places: dict[Path, Path] = {}
    env = dict(pair for copy in copies for pair in copy.home.env)
    for copy in copies:
        places[copy.place] = copy.copy
        for session in copy.home.sessions:
            (copy.copy / session).mkdir(mode=OWN, parents=True, exist_ok=True)
            places[copy.place / session] = copy.kept / session
        if copy.home.beside and not os.environ.get(copy.home.variable):
            # What is beside the home is in the copy, where the program looks for it only if it knows the place.
            env[copy.home.variable] = str(copy.place)
    sealed = tuple(copy.place / name for copy in copies for name in copy.large)
    return PrivateHomes(places=places, sealed=sealed, env=env)


def _move(copies: Sequence[_Copy], folder: Path) -> PrivateHomes:
    """The copies where they are, with variables that lead there, and links to what is kept or large."""
    env = dict(pair for copy in copies for pair in copy.home.env)
    for copy in copies:
        for name in copy.large:
            (copy.copy / name).symlink_to(copy.place / name)
        for session in copy.home.sessions:
            (copy.copy / session).parent.mkdir(mode=OWN, parents=True, exist_ok=True)
            (copy.copy / session).symlink_to(copy.kept / session)
        root = folder / PurePath(copy.home.inside).parts[0]
        env[copy.home.variable] = str(root)
        if copy.home.variable.startswith("XDG_"):
            _link_others(copy.place.parent, root, but=copy.place.name)
    return PrivateHomes(env=env)


def _link_others(source: Path, target: Path, *, but: str) -> None:
    """What other programs have beside a home stays where it is for the commands that an agent runs."""
    with suppress(OSError):
        for path in source.iterdir():
            if path.name != but and not os.path.lexists(target / path.name):
                (target / path.name).symlink_to(path)
