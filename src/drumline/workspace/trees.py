"""What is known of trees. A tree's id is its content: what git said of one once is never asked again."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from drumline.core.ids import Tree
from drumline.workspace.commits import find_tree
from drumline.workspace.git import Git
from drumline.workspace.indexfile import SUBMODULE, Entry
from drumline.workspace.repository import exclude_path

LINK = "160000 "
"""How git lists an entry that is another repository."""
MOST_REMEMBERED = 1000
"""Changes between two trees that are not asked for twice; more would only take memory."""
_KINDS = {"A": "created", "D": "deleted"}
_OPPOSITE = {"created": "deleted", "deleted": "created"}


async def compare_trees(git: Git, before: str, after: Tree) -> Mapping[str, str]:
    """The paths that differ between a commit or tree and a tree, each with what happened to it."""
    before = find_tree(git, before) or before
    if before == after:
        return {}
    key = ("changes", f"{before} {after}")
    known: Mapping[str, str] | None = git.facts.get(key)
    if known is not None:
        return known
    backwards: Mapping[str, str] | None = git.facts.get(("changes", f"{after} {before}"))
    if backwards is not None:
        return MappingProxyType({path: _OPPOSITE.get(kind, kind) for path, kind in backwards.items()})
    found = (await git.run("diff-tree", "-r", "--no-renames", "-z", before, after)).items
    pairs = list(zip(found[::2], found[1::2], strict=True))
    changes = {path: _KINDS.get(entry[-1], "modified") for entry, path in pairs}
    _keep_changes(git, before, after, changes)
    adds_link = any(entry.split(" ", 1)[1].startswith(LINK) for entry, _path in pairs)
    if is_plain(git, before) and not adds_link:
        note_plain(git, after)
    return changes


def _keep_changes(git: Git, before: str, after: Tree, changes: Mapping[str, str]) -> None:
    if len(changes) <= MOST_REMEMBERED:
        git.facts["changes", f"{before} {after}"] = MappingProxyType(changes)


def note_changes(
    git: Git, base: str, after: Tree, entries: Mapping[str, Entry] | None, later: Mapping[str, Entry] | None
) -> None:
    """Note what differs between the tree of a commit and another one, where the index that has each is known."""
    before = find_tree(git, base)
    if before is None or entries is None or later is None:
        return
    differing = [path for path in {**entries, **later} if entries.get(path) != later.get(path)]
    changes = {
        path: "created" if path not in entries else "modified" if path in later else "deleted"
        for path in sorted(differing, key=os.fsencode)
    }
    _keep_changes(git, before, after, changes)
    if all(mode != SUBMODULE for mode, _ in later.values()):
        note_plain(git, after)


async def count_lines(git: Git, before: str, after: Tree) -> Mapping[str, tuple[int, int] | None]:
    """The paths that differ, each with the lines that were added and removed; None for what is not text."""
    found = (await git.run("diff-tree", "-r", "--no-renames", "--numstat", "-z", before, after)).items
    parts = [item.split("\t", 2) for item in found if item.count("\t") >= 2]
    return {
        path: (int(added), int(removed)) if added.isdecimal() and removed.isdecimal() else None
        for added, removed, path in parts
    }


async def write_diff(git: Git, before: str, after: Tree) -> str:
    """What differs as text; no program or filter of the repository takes part."""
    plain = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
    found = await git.run("diff-tree", "-r", "-p", *plain, before, after)
    return found.out.decode("utf-8", "replace")


async def list_files(git: Git, tree: str) -> Mapping[str, str]:
    """The files of a tree, each with the id of its content."""
    key = ("files", tree)
    if key not in git.facts:
        listed = (await git.run("ls-tree", "-r", "-z", "--full-tree", tree)).items
        entries = (item.split("\t", 1) for item in listed)
        git.facts[key] = MappingProxyType({path: words.split(" ")[2] for words, path in entries})
    found: Mapping[str, str] = git.facts[key]
    return found


async def find_words(git: Git, tree: str, words: Sequence[str], *, without: Sequence[str]) -> Collection[str]:
    """Which of these words files of a tree have, but for what is at or below the paths `without`."""
    if not words:
        return ()
    wanted = [part for word in words for part in ("-e", word)]
    spared = [exclude_path(path) for path in without]
    found = await git.run("grep", "-howFI", *wanted, tree, "--", ":(top)", *spared, accept=(0, 1))
    return frozenset(found.out.decode("utf-8", "replace").split("\n")) & {*words}


def is_plain(git: Git, tree: str | None) -> bool:
    """Whether a tree is known to have no submodule."""
    return ("plain", tree) in git.facts


def note_plain(git: Git, tree: str | None) -> None:
    """Note that a tree has no submodule."""
    if tree is not None:
        git.facts["plain", tree] = True
