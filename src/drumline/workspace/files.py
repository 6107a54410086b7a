"""The files of one workspace, seen through an index of our own: what an agent does to git's state misleads nobody.

The index starts from the base commit for every reading; it is kept between readings only because it remembers which
files have not changed. What this process knows of it counts as long as nobody has written it since. Callers hold the
step's lock.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path, PurePosixPath

import anyio

from drumline.core.ids import Commit, Tree
from drumline.core.leftovers import find_droppings
from drumline.errors import GitError
from drumline.workspace.commits import find_tree
from drumline.workspace.compiled import COMPILED, drop_compiled
from drumline.workspace.conversions import ATTRIBUTES, restore_converted
from drumline.workspace.git import Git, Result
from drumline.workspace.ignored import find_ignored
from drumline.workspace.indexfile import SUBMODULE, Entry, list_extras, read_index
from drumline.workspace.readable import clear_pipes, open_up, refuse_any_pipe, refuse_pipes
from drumline.workspace.repository import exclude_path, exclude_pattern
from drumline.workspace.trees import LINK, compare_trees, is_plain, note_changes, note_plain

SIDE_BY_SIDE = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "checkout.workers",
    "GIT_CONFIG_VALUE_0": "0",  # as many as there are processors
    "GIT_CONFIG_KEY_1": "checkout.thresholdForParallelism",
    "GIT_CONFIG_VALUE_1": "1000",
}
"""Lets git write many files by several processes, which takes about half as long with two."""


class WorkFiles:
    """The files at `path`; `aside` is a folder of ours outside of it.

    What the glob `patterns` match is in every tree as it is in the base.
    """

    def __init__(self, git: Git, path: Path, aside: Path, *, patterns: Sequence[str] = ()) -> None:
        self._patterns = patterns
        self.path = path
        self._aside = aside
        self._index = aside / "index"
        self._git = git.at(path, index=self._index)
        aside.mkdir(parents=True, exist_ok=True)
        # The step's lock is ours, so the owner of this one is dead.
        (aside / "index.lock").unlink(missing_ok=True)

    async def _run(self, *args: str, text: bytes = b"", accept: Collection[int] = (0,)) -> Result:
        """Run git on the files; GitError if it takes long because it waits for a pipe."""
        return await self._git.run(*args, text=text, accept=accept, look=partial(refuse_any_pipe, self.path))

    def forget(self) -> None:
        """Drop what is remembered of the files."""
        self._index.unlink(missing_ok=True)

    def share_index(self, record: Path) -> None:
        """Give the worktree's own git an index that agrees with the files."""
        # With its times: git trusts an entry only if the file is older than the index.
        shutil.copy2(self._index, record / "index")

    async def fill(self, tree: Tree, *, keep: Sequence[str] | None = None) -> None:
        """Make the files exactly `tree`; ignored ones stay, or only those in folders that match what is to `keep`."""
        await self.change(tree)
        if self._list_extras() == []:
            return
        spared = [word for pattern in keep or () for word in ("-e", pattern)]
        await self._run("clean", "-ffdq" if keep is None else "-ffdxq", *spared)

    async def change(self, tree: Tree) -> None:
        """Make the files that the index knows those of `tree`; what `tree` itself does not ignore stays, too."""
        clear_pipes(self.path)
        look = partial(refuse_any_pipe, self.path)
        await self._git.run("read-tree", "--reset", "-u", tree, env=SIDE_BY_SIDE, look=look)
        self._remember(tree)

    def _read_index(self) -> Mapping[str, Entry] | None:
        """What the index has, if that is known without asking git."""
        return read_index(self._index)

    def _list_extras(self) -> list[str] | None:
        """What is there and not in the index, if that is known without asking git."""
        known = self._read_index()
        return None if known is None else list_extras(self.path, known)

    def _remember(self, tree: Tree) -> None:
        """Note that the index, as it is now, has this tree."""
        self._git.facts["index", str(self._index)] = (_identify(self._index), tree)

    def _has_loaded(self, tree: Tree | None) -> bool:
        """Whether the index is known to have this tree: nobody has written it since we did."""
        fingerprint, known = self._git.facts.get(("index", str(self._index)), (None, None))
        return tree is not None and known == tree and fingerprint is not None and fingerprint == _identify(self._index)

    async def tell_tree(self) -> Tree:
        """The tree that the index has."""
        fingerprint, known = self._git.facts.get(("index", str(self._index)), (None, None))
        if fingerprint is not None and fingerprint == _identify(self._index):
            return Tree(known)
        return Tree((await self._run("write-tree")).line)

    async def is_unchanged(self, tree: Tree, spared: Sequence[str]) -> bool:
        """Whether it is known at once that the files are `tree`, what is in or below the `spared` paths aside.

        Asked is only an index that has this very tree, without submodules: `git add` starts a git in those.
        """
        if not self._has_loaded(tree) or not is_plain(self._git, tree):
            return False
        if self.path.is_symlink() or not self.path.is_dir():
            return False
        refuse_pipes(self.path)
        return not (await self._add(self._choose(spared), "--dry-run")).out

    async def salvage(self, base: Commit, spared: Sequence[str]) -> Tree:
        """The tree of what can be read where not everything can; the rest is as it is in `base`.

        What is ours is made readable first; pipes, sockets and devices, which git does not know, are removed.
        """
        if self.path.is_symlink() or not self.path.is_dir():
            return Tree((await self._run("rev-parse", f"{base}^{{tree}}")).line)
        await anyio.to_thread.run_sync(open_up, self.path)
        return await self.read(base, spared, tolerant=True)

    async def read(
        self, base: Commit, spared: Sequence[str], *, whole: bool = False, tolerant: bool = False, tidy: bool = False
    ) -> Tree:
        """The tree of everything not ignored, with what is in or below the `spared` paths as it is in `base`.

        What tools for tests drop is left out where `base` does not have it, unless the tree is to be `whole`; `tidy`
        removes what is left out, and compiled modules that are ignored. With `tolerant`, a file that cannot be read is
        as it is in `base`.
        """
        if self.path.is_symlink() or not self.path.is_dir():
            raise GitError(f"the workspace {str(self.path)!r} is gone", hint="drumline resume")
        refuse_pipes(self.path)
        await self._load(base)
        if tidy and COMPILED not in self._index.read_bytes():
            await anyio.to_thread.run_sync(drop_compiled, self.path)
        before = self._read_index()
        known = await self._list_links(base, before)
        links = await self._drop_gone({path: known[path] for path in known if not _is_spared(path, spared)})
        async with self._open_nested() as untracked:
            left_out = [] if whole else find_droppings(untracked)
            paths = self._choose([*spared, *left_out, *links])
            await self._add(paths, *(["--ignore-errors"] if tolerant else []), accept=(0, 1) if tolerant else (0,))
        if links:
            await self._run("update-index", "--remove", "-z", "--stdin", text=_join(links))
        if tidy:
            self._remove(left_out)
        tree = Tree((await self._run("write-tree")).line)
        note_changes(self._git, base, tree, before, self._read_index())
        if tidy and ATTRIBUTES.encode() in self._index.read_bytes():
            changed = await compare_trees(self._git, base, tree)
            await restore_converted(self._git, self.path, changed)
        self._remember(tree)
        return tree

    def _choose(self, left_out: Sequence[str]) -> bytes:
        """All files but these, and but those that the patterns match, as `git add` reads them."""
        return _join([".", *map(exclude_path, left_out), *map(exclude_pattern, self._patterns)])

    async def _add(self, paths: bytes, *options: str, accept: Collection[int] = (0,)) -> Result:
        words = ("--all", *options, "--pathspec-from-file=-", "--pathspec-file-nul")
        return await self._run("add", *words, text=paths, accept=accept)

    def _remove(self, names: Iterable[str]) -> None:
        """Remove files, and their folders if those are empty then; links that lead out of the workspace stay."""
        top = self.path.resolve()
        for file in (self.path / name for name in names):
            if file.parent.resolve().is_relative_to(top):
                with suppress(OSError):
                    file.unlink(missing_ok=True)
                    file.parent.rmdir()

    async def _list_links(self, base: Commit, entries: Mapping[str, Entry] | None) -> Mapping[str, str]:
        """The submodules of `base`, each with its commit. The index, with these entries, is that of `base`.

        `git add` and `git status` would start a git of its own in each of them, which does what the configuration in
        there says: programs that an agent has named, outside its jail. `git update-index` only reads its HEAD.
        """
        tree = find_tree(self._git, base)
        if is_plain(self._git, tree):
            return {}
        key = ("links", str(base))
        if key not in self._git.facts:
            self._git.facts[key] = await self._find_links(entries)
            if not self._git.facts[key]:
                note_plain(self._git, tree)
        known: Mapping[str, str] = self._git.facts[key]
        return known

    async def _find_links(self, entries: Mapping[str, Entry] | None) -> Mapping[str, str]:
        if entries is not None:
            return {path: commit for path, (mode, commit) in entries.items() if mode == SUBMODULE}
        listed = (await self._run("ls-files", "--stage", "-z")).items
        links = (item.split("\t", 1) for item in listed if item.startswith(LINK))
        return {path: words.split()[1] for words, path in links}

    async def _drop_gone(self, links: Mapping[str, str]) -> list[str]:
        """Take submodules out of the index that are not there any more; the paths of the others."""
        there = [path for path in links if is_there(self.path, path)]
        if gone := [f"0 {links[path]}\t{path}" for path in links if path not in there]:
            await self._run("update-index", "-z", "--index-info", text=_join(gone))
        return there

    async def _load(self, base: Commit) -> None:
        if self._has_loaded(find_tree(self._git, base)):
            return
        try:
            await self._run("read-tree", "--reset", base)
        except GitError:
            self.forget()
            await self._run("read-tree", "--reset", base)

    @asynccontextmanager
    async def _open_nested(self) -> AsyncIterator[list[str]]:
        """Set the `.git` of repositories made inside the workspace aside for a moment; gives the untracked files.

        Git would record such a repository as a bare commit id and lose its files.
        """
        moved: list[tuple[Path, Path]] = []
        try:
            while True:
                untracked = await self._list_untracked()
                nested = await self._find_nested(untracked)
                if not nested:
                    break
                for folder in nested:
                    hidden = self._aside / f"nested-{secrets.token_hex(8)}"
                    (folder / ".git").rename(hidden)
                    moved.append((hidden, folder / ".git"))
            yield untracked
        finally:
            for hidden, original in moved:
                with suppress(OSError):
                    hidden.rename(original)

    async def _list_untracked(self) -> list[str]:
        """The untracked files; none where nothing untracked, ignored or not, is a repository or dropped by a tool."""
        extras = self._list_extras()
        if extras is not None and not find_droppings(extras) and not any(map(_is_nested, extras)):
            return []
        return (await self._run("ls-files", "--others", "--exclude-standard", "-z")).items

    async def list_ignored(self, wanted: Sequence[str] = ()) -> dict[str, str]:
        """Files that are ignored, each with what changes when it is written."""
        words = ("--others", "--ignored", "--exclude-standard", "--directory", "-z")
        listed = [] if self._list_extras() == [] else (await self._run("ls-files", *words)).items
        return find_ignored(self.path, listed, wanted)

    async def _find_nested(self, untracked: Sequence[str]) -> list[Path]:
        """Repositories inside the workspace that `base` does not know and `.gitmodules` does not name."""
        nested = [item.rstrip("/") for item in untracked if item.endswith("/")]
        submodules = await self._read_submodules() if nested else frozenset()
        return [self.path / name for name in nested if name not in submodules]

    async def _read_submodules(self) -> frozenset[str]:
        if not (self.path / ".gitmodules").is_file():
            return frozenset()
        query = ("config", "-z", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
        return frozenset(item.partition("\n")[2] for item in (await self._run(*query, accept=(0, 1))).items)


def _is_nested(path: str) -> bool:
    """Whether this is what makes a folder a repository, in whatever case a file system takes for the same."""
    return PurePosixPath(path).name.casefold() == ".git"


def _identify(file: Path) -> tuple[int, int, int, int] | None:
    """What changes whenever a file is written or replaced."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _join(items: Sequence[str]) -> bytes:
    return "".join(f"{item}\0" for item in items).encode("utf-8", "surrogateescape")


def _is_spared(path: str, spared: Sequence[str]) -> bool:
    return any(PurePosixPath(path).is_relative_to(place) for place in spared)


def is_there(root: Path, path: str) -> bool:
    """Whether something is at a path, without a link on the way to it."""
    parents = list(PurePosixPath(path).parents)[:-1]
    return os.path.lexists(root / path) and not any((root / parent).is_symlink() for parent in parents)
