"""Where steps are worked on, and how their work reaches the run branch. All of it outside the user's checkout."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from drumline.core.branch import Branch
from drumline.core.gitdeeds import GitDeeds
from drumline.core.ids import Commit, StepId, Tree
from drumline.record import Record


class Landing(Record):
    """What became of a landing: `commit` is on the branch, or `behind`/`refusal` say why not.

    `behind` is the head of the branch if the commit does not stand on it: other steps have landed meanwhile.
    `moved` says that somebody else has moved or deleted the branch: the landing may be made once that is settled.
    """

    commit: Commit | None = None
    tree: Tree | None = None
    adopted: bool = False
    behind: Commit | None = None
    refusal: str = ""
    moved: bool = False


class Merge(Record):
    """A commit's change put on another commit, whose tree is `onto`; `conflicts` have conflict markers in them."""

    tree: Tree
    onto: Tree
    conflicts: tuple[str, ...] = ()


Meant = Callable[[StepId, Commit], bool]
"""Whether a step was ever about to land a commit, as the journal says."""


class Workspaces(Protocol):
    """Workspaces and landings of one run."""

    async def start(self, base: Commit, *, landed: bool = False) -> None:
        """Create the run branch at `base`; nothing happens if it exists, or if steps have `landed` on it."""
        ...

    async def head(self, left: Commit | None = None, meant: Meant | None = None) -> Commit:
        """Where the next work begins: the tip of the run branch, or where we left it if somebody else has moved it.

        `left` is where the journal says that we did, `meant` which landings it knows: anybody can write a ref.
        """
        ...

    def path(self, step: StepId) -> Path:
        """Where the step's workspace is or will be."""
        ...

    async def assign(self, step: StepId) -> Path:
        """Say where the step is worked on from here until it is released or removed, and return that path.

        It may be where another step was whose workspace was released; nothing of that one is left once this one is
        prepared. Without it a step has a place of its own.
        """
        ...

    def has_place(self, step: StepId) -> bool:
        """Whether the step has a workspace, or was assigned a place that no workspace was made in yet."""
        ...

    async def prepare(self, step: StepId, base: Commit, *, setup: str = "") -> Tree:
        """Make the workspace at `base`, or adopt what a dead driver left and reset it to `base`; return its tree.

        What the `setup` of another step has installed there stays if it is the same.
        """
        ...

    def is_set_up(self, step: StepId, setup: str) -> bool:
        """Whether the dependencies of this setup are in the workspace."""
        ...

    async def note_setup(self, step: StepId, setup: str) -> None:
        """Say which setup has installed the dependencies that are in the workspace."""
        ...

    def acquire(self, setup: str) -> AbstractAsyncContextManager[StepId]:
        """A place for checks in which nobody works, until the block is left; best one that has this setup.

        What is yielded stands for it wherever a step is named: its path, its files, its cleaning.
        """
        ...

    async def stage(self, place: StepId, tree: Tree, *, base: Commit, setup: str) -> None:
        """Bring a place that was acquired to exactly `tree`; of ignored files only dependencies of this setup stay."""
        ...

    async def reopen(self, step: StepId, label: str, *, base: Commit) -> None:
        """Make a workspace again that was retired, with what was kept of it under the label."""
        ...

    async def snapshot(self, step: StepId, *, base: Commit, tidy: bool = False) -> Tree:
        """The tree of everything not ignored, with the plan's files and `.drumline/` as they are in `base`.

        What tools for tests drop (`__pycache__`, `.coverage`) is left out where `base` does not have it; `tidy` also
        removes it from the workspace.
        """
        ...

    async def salvage(self, step: StepId, *, base: Commit) -> Tree:
        """The tree of what can be read where a snapshot fails; what cannot be read is as it is in `base`."""
        ...

    async def restore(self, step: StepId, tree: Tree, *, base: Commit | None = None) -> None:
        """Bring the workspace to exactly `tree` (ignored files stay), standing on `base` or where it stood."""
        ...

    async def switch(self, step: StepId, tree: Tree, *, tidy: bool, without: Sequence[str] = ()) -> None:
        """Give a workspace that is prepared the files of `tree`; its base stays as it is.

        Untracked files stay, unless they are to be removed (`tidy`): then those that `tree` ignores stay. Files that
        it is to be `without` are set aside until the workspace is used again.
        """
        ...

    async def set_aside(self, step: StepId, paths: Sequence[str]) -> None:
        """Take these files out of the workspace until they are given back; what is out already stays out.

        They are back, too, once the workspace is restored.
        """
        ...

    async def give_back(self, step: StepId) -> None:
        """Put back what was set aside; it replaces what was made in its place meanwhile."""
        ...

    async def clean(self, step: StepId, tree: Tree, *, base: Commit) -> Mapping[str, str]:
        """Bring the workspace back to `tree`, which it had before; the paths that were not so, as `changed` tells them.

        Ignored files stay. Where nothing has changed, it costs no more than a snapshot.
        """
        ...

    async def keep(self, step: StepId, label: str, tree: Tree, *, base: Commit) -> Commit:
        """Keep a tree by ref, so that no work is ever only in a workspace."""
        ...

    async def count_lines(self, base: Commit, tree: Tree) -> Mapping[str, tuple[int, int] | None]:
        """Paths that differ between a commit and a tree, each with the lines added and removed; None for binaries."""
        ...

    async def diff(self, base: Commit, tree: Tree) -> str:
        """What a tree changes in a commit, as a unified diff; binary files are only named."""
        ...

    async def changed(self, base: Commit, tree: Tree) -> Mapping[str, str]:
        """Paths that differ between a commit and a tree, each with `created`, `modified` or `deleted`.

        Names that are no UTF-8 come with surrogate escapes.
        """
        ...

    async def compose(self, tree: Tree, other: Tree, paths: Sequence[str]) -> Tree:
        """The tree with these paths as they are in the other one, or without them where that has none."""
        ...

    async def find_tree(self, commit: Commit) -> Tree:
        """The tree of a commit."""
        ...

    async def list_files(self, tree: Tree) -> Mapping[str, str]:
        """The files of a tree, each with a digest of its content."""
        ...

    async def read_text(self, place: Commit | Tree, path: str) -> str | None:
        """The text of a file in a commit or tree, what is no UTF-8 replaced; None if there is none."""
        ...

    async def find_words(self, tree: Tree, words: Sequence[str]) -> Collection[str]:
        """Which of these words files of the tree have, the plan's own files and `.drumline/` left out."""
        ...

    async def list_ignored(self, step: StepId, *, wanted: Sequence[str] = ()) -> Mapping[str, str]:
        """Files of the workspace that git ignores, but for what tools are known to keep in folders of their own.

        Each with a fingerprint that changes when the file is written. Folders with very many files are not listed
        whole. What the plan's entries in `wanted` ask for is always listed, also behind links.
        """
        ...

    async def commit(self, step: StepId, tree: Tree, *, base: Commit, message: str, journal: str = "") -> Commit:
        """Make the step's commit with plumbing; the same arguments give the same commit. `journal` is its seal."""
        ...

    async def merge(self, commit: Commit, onto: Commit) -> Merge:
        """Put the change of a commit on another one; nothing is checked out or moved."""
        ...

    async def foresee(self, commit: Commit, others: Sequence[StepId]) -> Mapping[StepId, Sequence[str]]:
        """Files in which a commit conflicts with what others have in their workspaces at the moment, by their steps.

        Nobody waits for it: a workspace that cannot be read at once counts for nothing.
        """
        ...

    async def find_markers(self, step: StepId, tree: Tree, *, base: Commit) -> Sequence[str]:
        """Files of the workspace, which has this tree, with what a conflict left that the base does not have.

        That is conflict markers, or the name of a file that had to make room for another one.
        """
        ...

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Move the branch to the commit, if that stands on its head; exactly this commit lands, or none.

        A landing of this step found on the branch above `head` is adopted instead of made again. Moves the branch
        by compare-and-set and never while it is checked out somewhere.
        """
        ...

    async def contains(self, tip: Commit, commit: Commit) -> bool:
        """Whether a commit is in the history of another; one that does not exist any more is not."""
        ...

    async def find_landing(self, step: StepId, commit: Commit) -> Landing | None:
        """The landing of a candidate commit that the repository knows, whatever the journal says.

        Returns only when nothing that a dead driver started can move the branch any more.
        """
        ...

    async def look(self, landed: Sequence[Commit], left: Commit | None = None, meant: Meant | None = None) -> Branch:
        """The run branch beside what the journal says was landed on it, and where that says that we `left` it.

        A commit that is called a landing by a ref is one only if its step `meant` to land it.
        """
        ...

    def stands_at(self, left: Commit) -> bool:
        """Whether the run branch is known at once to be at this commit, and to have been left there."""
        ...

    async def find_deeds(self, step: StepId, *, base: Commit) -> GitDeeds:
        """What was done to git in the workspace since it was prepared at `base`; the run branch is not looked at."""
        ...

    async def settle_branch(self, seen: Branch, to: Commit) -> str:
        """Let the branch stand at `to` from here on; what stood there stays reachable by a ref.

        Nothing happens if the branch is not as it was `seen`, or is checked out and would have to move: returns why.
        """
        ...

    async def retire(self, step: StepId, label: str) -> Commit | None:
        """Take the workspace of a step away that is not worked on any more; nothing happens if there is none.

        What was changed in it is kept under the label first, as the commit that is returned.
        """
        ...

    async def release(self, step: StepId) -> None:
        """Leave the workspace to the next step once its work is kept elsewhere; nothing happens if there is none."""
        ...

    async def drop_released(self) -> None:
        """Take away what was released and no step has by now."""
        ...

    def list_places(self) -> Mapping[Path, StepId | None]:
        """The folders of all workspaces that are there, each with its step; None for one that was released."""
        ...

    async def remove(self, step: StepId) -> None:
        """Take the workspace away once its work is kept elsewhere; nothing happens if there is none."""
        ...
