"""What a jailed program finds where: the mounts over a machine that can only be read, in the order they are made in.

The rule: a path is mounted once, where its links lead to; what lies deeper is mounted later and lies over the rest.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from drumline.record import Record

EMPTY, READ, WRITE, LINK, DATA = "--tmpfs", "--ro-bind", "--bind", "--symlink", "--ro-bind-data"
NOTHING = "/dev/null"
LINKS = 40
"""How many links are followed, as the kernel does."""


class Mount(Record):
    """One path of the jail: an empty folder, a file or folder from `source`, a link to it, or a file made of `data`."""

    path: Path
    how: str
    source: str = ""
    data: bytes = b""
    frozen: bool = False


class Layout:
    """The mounts of one jail. A call knows what earlier ones made: empty folders and what is writable come first."""

    def __init__(self) -> None:
        # By the texts of their paths: hundreds of paths are looked up for each jail, and a path is slow to compare.
        self._mounts: dict[str, Mount] = {}
        self._layers: set[str] = set()
        self._sealed: set[str] = set()
        self._resolved: dict[str, Path] = {}
        self._followed: dict[str, str] = {}

    def empty(self, paths: Iterable[Path]) -> None:
        """Show empty folders; whatever is written there goes with the jail."""
        for path in paths:
            if path.is_dir() and not path.is_symlink() and path.parent != path:
                self._mounts.setdefault(str(path), Mount(path=path, how=EMPTY))

    def write(self, paths: Iterable[Path]) -> None:
        """Let these be written to."""
        for path in paths:
            self._bind(path, WRITE)

    def place(self, path: Path, source: Path) -> None:
        """Show `source` at `path`, to be written to."""
        self._add(Mount(path=self._resolve(path), how=WRITE, source=str(self._resolve(source))))

    def show(self, path: Path, source: Path) -> None:
        """Show `source` at `path`, to be read."""
        self._add(Mount(path=self._resolve(path), how=READ, source=str(self._resolve(source))))

    def layer(self, path: Path, source: Path) -> None:
        """Show `source` at `path`, to be written to; what is hidden there stays hidden."""
        self.place(path, source)
        self._layers.add(str(self._resolve(path)))

    def read(self, paths: Iterable[Path]) -> None:
        """Show these where an empty folder would hide them."""
        for path in sorted(paths, key=lambda path: len(path.parts)):
            hidden = self.is_empty_at(path.parent) or self.is_empty_at(self._resolve(path).parent)
            if hidden and str(self._resolve(path)) not in self._mounts:
                self._bind(path, READ)

    def seal(self, paths: Iterable[Path]) -> None:
        """Let these only be read. The folders between one and what is writable around it cannot be moved away."""
        # A link that leads nowhere has nothing to be sealed.
        for path in filter(os.path.exists, map(self._resolve, paths)):
            around = self._find_covering(path.parent)
            for parent in path.parents if around is not None and around.how == WRITE else ():
                if around is not None and parent == around.path:
                    break
                self._add(Mount(path=parent, how=WRITE, source=str(parent)))
            # What is shown with other content can only be read already.
            if str(path) not in self._mounts or self._mounts[str(path)].how != DATA:
                self._add(Mount(path=path, how=READ, source=str(path)))
                self._sealed.add(str(path))

    def hide(self, paths: Iterable[Path]) -> None:
        """Show nothing in place of these: empty folders, empty files, and sockets that do not answer."""
        # Most of them are on no one machine, and looking is quicker than following links.
        for path in (self._resolve(place) for place in paths if os.path.lexists(place)):
            mounted = str(path) in self._mounts and str(path) not in self._sealed
            if mounted or self.is_empty_at(path) or not path.exists():
                continue
            if path.is_dir():
                self._add(Mount(path=path, how=EMPTY, frozen=True))
            elif path.is_file():
                self._add(Mount(path=path, how=DATA))
            else:
                self._add(Mount(path=path, how=READ, source=NOTHING))

    def replace(self, path: Path, data: bytes) -> None:
        """Show a file with other content."""
        real = self._resolve(path)
        if str(real) not in self._mounts and not self.is_empty_at(real):
            self._add(Mount(path=real, how=DATA, data=data))

    def is_empty_at(self, path: Path) -> bool:
        """Whether the jail shows an empty folder there, so that nothing from outside can be seen."""
        return self._is_covered(path, EMPTY)

    def is_granted_at(self, path: Path) -> bool:
        """Whether the jail lets a path be written to for good, not only in a layer."""
        real = self._resolve(path)
        covering = self._find_covering(real)
        return covering is not None and covering.how == WRITE and str(covering.path) not in self._layers

    def _is_covered(self, path: Path, how: str) -> bool:
        covering = self._find_covering(path)
        return covering is not None and covering.how == how

    def _find_covering(self, path: Path) -> Mount | None:
        place = str(path)
        while place not in self._mounts:
            if not (place := place.rpartition("/")[0]):
                return self._mounts.get("/")
        return self._mounts[place]

    def _add(self, mount: Mount) -> None:
        self._mounts[str(mount.path)] = mount

    def _resolve(self, path: Path) -> Path:
        """Where the links of a path lead to; nothing on the way changes while a jail is laid out."""
        text = str(path)
        if text not in self._resolved:
            self._resolved[text] = Path(self._follow(text))
        return self._resolved[text]

    def _follow(self, text: str) -> str:
        """The same of a text: hundreds of paths are looked up for each jail, and most have their folders in common."""
        found = self._followed.get(text)
        if found is None:
            folder, _, name = text.rpartition("/")
            if not folder or name in ("", ".", "..") or os.path.islink(text):  # noqa: PTH114
                found = os.path.realpath(text)
            else:
                found = f"{self._follow(folder).rstrip('/')}/{name}"
            self._followed[text] = found
        return found

    def list_mounts(self) -> list[Mount]:
        """All of them, in order."""
        return sorted(self._mounts.values(), key=lambda mount: len(mount.path.parts))

    def _bind(self, path: Path, how: str) -> None:
        """Show a path, and the links on the way to it that could not be seen otherwise."""
        for link, target in _list_links(path):
            if self.is_empty_at(link):
                self._add(Mount(path=link, how=LINK, source=target))
        real = self._resolve(path)
        if real.exists() and real.parent != real:
            self._add(Mount(path=real, how=how, source=str(real)))


def write_words(mounts: Sequence[Mount], *, first: int) -> tuple[list[str], list[bytes]]:
    """The mounts as words for bubblewrap, and the data it finds on descriptors, from the number `first` on."""
    words: list[str] = []
    data: list[bytes] = []
    for mount in mounts:
        if mount.how == DATA:
            source = [str(first + len(data))]
            data.append(mount.data)
        else:
            source = [mount.source] if mount.source else []
        words += [mount.how, *source, str(mount.path)]
    frozen = (word for mount in mounts if mount.frozen for word in ("--remount-ro", str(mount.path)))
    return [*words, *frozen], data


def _list_links(path: Path) -> list[tuple[Path, str]]:
    """The links on the way to what a path means, each with what it says."""
    found: list[tuple[Path, str]] = []
    here, ahead = Path("/"), list(path.absolute().parts[1:])
    while ahead and len(found) < LINKS:
        place = here / ahead.pop(0)
        if place.is_symlink():
            target = str(place.readlink())
            found.append((place, target))
            ahead[:0] = [part for part in Path(target).parts if part != "/"]
            place = Path("/") if target.startswith("/") else here
        here = Path(os.path.normpath(place))
    return found
