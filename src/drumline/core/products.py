"""Whether a step landed anything of its own.

Checks judge the workspace with its ignored files, which do not land: if nothing else did, passing proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from drumline.core.ids import Tree


def is_productless(changed: Iterable[str], *, tree: Tree, ready: Tree | None) -> bool:
    """Whether nothing landed but ignore files, or what was in the workspace before an agent began (`setup` made it)."""
    return tree == ready or all(path.rpartition("/")[2] == ".gitignore" for path in changed)
