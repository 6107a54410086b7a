"""How a repository is set up, formatted, built and tested, found from the files at its top.

A task runner's target stands for all other commands of its kind: it is what the repository itself calls testing. What
git ignores is not in a fresh workspace, so installing it is found, too. Every command has a fixed form; no text of a
file becomes part of one but names of plain letters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache

from drumline.app.detection.compiled import (
    find_deno,
    find_dotnet,
    find_elixir,
    find_go,
    find_gradle,
    find_maven,
    find_php,
    find_ruby,
    find_rust,
    find_swift,
    find_zig,
)
from drumline.app.detection.found import FORMAT, JUDGES, KINDS, SETUP, TEST, Detected, Found, Read, Tree
from drumline.app.detection.node import find_node
from drumline.app.detection.python import find_pip, find_poetry, find_uv
from drumline.app.detection.runners import find_targets
from drumline.workspace.repository import Repository

__all__ = ["FORMAT", "JUDGES", "KINDS", "SETUP", "TEST", "Detected", "Found", "detect", "detect_at_head"]

Find = Callable[[Tree], Iterator[Found]]
_ECOSYSTEMS: tuple[Find, ...] = (
    find_uv,
    find_poetry,
    find_pip,
    find_node,
    find_rust,
    find_go,
    find_maven,
    find_gradle,
    find_dotnet,
    find_ruby,
    find_elixir,
    find_deno,
    find_php,
    find_swift,
    find_zig,
)
_APART: tuple[Find, ...] = (find_pip,)
"""Those whose setup only their own commands see: a task runner would not enter their environment."""


def detect(
    paths: Sequence[str], read: Read, *, kinds: Collection[str] = KINDS, named: Collection[str] = ()
) -> Detected:
    """The commands of these kinds, and the setup that they need; for `named` kinds somebody has named commands.

    `paths` are relative to the top of the repository, with slashes.
    """
    tree = Tree(paths=frozenset(paths), read=cache(read))
    every = [found for found in find_targets(tree) if found.kind in kinds and found.kind not in named]
    replaced = {found.kind for found in every} | {*named}
    for find in _ECOSYSTEMS:
        own = list(find(tree))
        wanted = [found for found in own if found.kind in kinds and found.kind != SETUP]
        left = [found for found in wanted if found.kind not in replaced]
        every += left
        if left or (wanted and find not in _APART):
            every += [found for found in own if found.kind == SETUP]
    return Detected(found=tuple(sorted(every, key=lambda found: KINDS.index(found.kind))))


def detect_at_head(repository: Repository, *, kinds: Collection[str] = KINDS, named: Collection[str] = ()) -> Detected:
    """What the commit that is checked out says; nothing if there is none."""
    return detect(repository.list_files(), repository.read_file, kinds=kinds, named=named)
