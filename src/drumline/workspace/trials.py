"""Trial merges: what is worked on side by side, put together while it is still being written. Only looks.

The rule: nobody waits for it and nothing is changed by it. The files of others are read as they are at the moment,
through an index of our own; what cannot be read, or takes long, counts for nothing.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import anyio

from drumline.core.ids import Commit, StepId, Tree
from drumline.errors import GitError
from drumline.record import Record, replace
from drumline.workspace.commits import Made, read_commit
from drumline.workspace.git import Git
from drumline.workspace.repository import exclude_path, exclude_pattern
from drumline.workspace.trees import LINK, is_plain

LIMIT = 20.0
"""Seconds that one git may take for it."""
MOST = 8
"""How many others are looked at."""
NAME = "drumline", "drumline@localhost"
PEEKED = "peeked"
"""Among the facts about git: the commits of what was seen in workspaces, by what the index said then."""


class Neighbour(Record):
    """The workspace of another step, and what is remembered of it in `aside`."""

    step: StepId
    path: Path
    aside: Path


class Trial(Record):
    """Looks at workspaces of a run; plan files, in or below `spared` or matched by `patterns`, are left out."""

    git: Git
    folder: Path
    spared: Sequence[str] = ()
    patterns: Sequence[str] = ()

    async def find(self, commit: Commit, others: Sequence[Neighbour]) -> Mapping[StepId, Sequence[str]]:
        """The files in which a commit conflicts with what others have in their workspaces; one git merges all."""
        git = replace(self.git, limit=LIMIT)
        made = await self._peek_all(git, others[:MOST])
        if not made:
            return {}
        text = "".join(f"{commit} {theirs}\n" for theirs in made.values()).encode()
        try:
            merged = await git.run("merge-tree", "--stdin", "-z", "--name-only", "--no-messages", text=text)
        except GitError:  # a git that cannot merge several, or what it is about was pruned: then nobody is warned
            for key in [key for key in git.facts if key[0] == PEEKED]:
                git.facts.pop(key, None)
            return {}
        found = zip(made, _read_merges(merged.out.decode("utf-8", "surrogateescape")), strict=False)
        return {step: paths for step, paths in found if paths}

    async def _peek_all(self, git: Git, others: Sequence[Neighbour]) -> dict[StepId, Commit]:
        """What is in these workspaces now, looked at side by side; an attempt ends only after that."""
        made: dict[StepId, Commit] = {}

        async def peek(other: Neighbour) -> None:
            with suppress(GitError, OSError, ValueError):
                theirs = await self._peek(git, other)
                made.update({other.step: theirs} if theirs is not None else {})

        async with anyio.create_task_group() as tasks:
            for other in others:
                tasks.start_soon(peek, other)
        return {other.step: made[other.step] for other in others if other.step in made}

    async def _peek(self, git: Git, other: Neighbour) -> Commit | None:
        """What is in a workspace now, as a commit that nothing points at; None if that is what it began with."""
        base = await read_commit(git, (other.aside / "base").read_text(encoding="utf-8"))
        self.folder.mkdir(parents=True, exist_ok=True)
        index = self.folder / f"peek-{secrets.token_hex(8)}"
        try:
            shutil.copy2(other.aside / "index", index)
            there = git.at(other.path, index=index)
            if not is_plain(git, base.tree) and await _has_submodule(there):
                return None  # in there git would do what its configuration says
            left_out = [*map(exclude_path, self.spared), *map(exclude_pattern, self.patterns)]
            paths = "".join(f"{path}\0" for path in (".", *left_out)).encode("utf-8", "surrogateescape")
            words = ("--all", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
            await there.run("add", *words, text=paths, accept=(0, 1))
            # Several who end look at the same work: the same index is the same tree.
            key = (PEEKED, f"{base.id} {hashlib.sha256(index.read_bytes()).hexdigest()}")
            if key not in git.facts:
                git.facts[key] = await _make_commit(git, base, Tree((await there.run("write-tree")).line))
            seen: Commit | None = git.facts[key]
        finally:
            index.unlink(missing_ok=True)
        return seen


async def _make_commit(git: Git, base: Made, tree: Tree) -> Commit | None:
    """A commit of a tree that nothing points at; None if the base has that tree."""
    if tree == base.tree:
        return None
    who = {
        f"GIT_{role}_{part}": word
        for role in ("AUTHOR", "COMMITTER")
        for part, word in zip(("NAME", "EMAIL"), NAME, strict=True)
    }
    return Commit((await git.run("commit-tree", tree, "-p", base.id, env=who, text=b"trial\n")).line)


async def _has_submodule(git: Git) -> bool:
    listed = (await git.run("ls-files", "--stage", "-z")).items
    return any(item.startswith(LINK) for item in listed)


def _read_merges(told: str) -> list[tuple[str, ...]]:
    """The files with conflicts of each merge: a status, a tree and names, with an empty item behind them."""
    groups = [list(items) for named, items in groupby(told.split("\0"), bool) if named]
    return [tuple(dict.fromkeys(names)) if status == "0" else () for status, _tree, *names in groups]
