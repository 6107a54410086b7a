"""Trees put together from two others, without a worktree."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from drumline.core.ids import Tree
from drumline.workspace.git import Git

_GONE = f"0 {'0' * 40}\t"
"""The line that makes git remove an entry from the index."""


async def compose_tree(git: Git, tree: Tree, other: Tree, paths: Sequence[str], *, folder: Path) -> Tree:
    """The tree with these paths as they are in the other one; the index for it lies in the folder meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / f"compose-{secrets.token_hex(8)}"
    env = {"GIT_INDEX_FILE": str(index)}
    try:
        await git.run("read-tree", tree, env=env)
        wanted = {*paths}
        listed = (item.split("\t", 1) for item in (await git.run("ls-tree", "-r", "-z", "--full-tree", other)).items)
        kept = [f"{words.split()[0]} {words.split()[2]}\t{path}" for words, path in listed if path in wanted]
        entries = [*(f"{_GONE}{path}" for path in paths), *kept]
        text = "".join(f"{entry}\0" for entry in entries).encode("utf-8", "surrogateescape")
        await git.run("update-index", "-z", "--index-info", env=env, text=text)
        return Tree((await git.run("write-tree", env=env)).line)
    finally:
        index.unlink(missing_ok=True)
