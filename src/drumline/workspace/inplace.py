"""The person's checkout as the workspace of one step after the other.

The rule: the plan's files and what git ignores are never touched, and what nobody has kept is not overwritten: files
that a step did not make refuse the next one.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from drumline.core.ids import Commit, StepId, Tree
from drumline.core.plaintext import name_some
from drumline.errors import InvalidInput
from drumline.workspace.commits import read_commit
from drumline.workspace.desk import Desk
from drumline.workspace.files import WorkFiles
from drumline.workspace.git import Git
from drumline.workspace.hiding import bring_back
from drumline.workspace.readable import clear_pipes
from drumline.workspace.trees import compare_trees
from drumline.workspace.worktrees import file_name

HEAD = "ref: "
TIP = "tip"


def find_git_dir(top: Path) -> Path:
    """The folder that has the HEAD and the index of a checkout, linked or not."""
    place = top / ".git"
    if place.is_dir():
        return place.resolve()
    return (top / place.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()


def read_checked_out(top: Path) -> str:
    """The full name of the branch that is checked out; empty if none is."""
    text = (find_git_dir(top) / "HEAD").read_text(encoding="utf-8", errors="replace").strip()
    return text.removeprefix(HEAD) if text.startswith(HEAD) else ""


def read_tip(aside: Path) -> str:
    """Where the branch stood when the work that is in the checkout began."""
    with suppress(OSError, ValueError):
        return (aside / TIP).read_text(encoding="utf-8")
    return ""


class CheckoutFiles(WorkFiles):
    """The files of the checkout. Whatever is made of them, those in or below the `spared` paths stay as they are."""

    def __init__(self, git: Git, path: Path, aside: Path, *, spared: Sequence[str], patterns: Sequence[str]) -> None:
        super().__init__(git, path, aside, patterns=patterns)
        self._plan = (*(f":(top,literal){path}" for path in spared), *(f":(top,glob){one}" for one in patterns))

    async def fill(self, tree: Tree, *, keep: Sequence[str] | None = None) -> None:
        """Make the files exactly `tree`; ignored ones stay, whatever is to be kept."""
        await self.change(tree)
        left = (await self._run("ls-files", "--others", "--exclude-standard", "-z")).items
        own = {*await self._list_plan(self._index, "--others", "--exclude-standard")}
        self._clear(name for name in left if name not in own)

    async def change(self, tree: Tree) -> None:
        """Make the files that the index knows those of `tree`."""
        clear_pipes(self.path)
        stripped = await self._strip(tree)
        if self._index.exists():  # what neither the index nor the tree has is not touched
            await self._forget_plan(self._index)
        await self._run("read-tree", "--reset", "-u", stripped)
        self._remember(stripped)

    async def _strip(self, tree: Tree) -> Tree:
        """The tree without the plan's files."""
        index = self._aside / f"strip-{secrets.token_hex(8)}"
        env = {"GIT_INDEX_FILE": str(index)}
        try:
            await self._git.run("read-tree", tree, env=env)
            await self._forget_plan(index)
            return Tree((await self._git.run("write-tree", env=env)).line)
        finally:
            index.unlink(missing_ok=True)

    async def _list_plan(self, index: Path, *kind: str) -> list[str]:
        """The plan's files that there are of a kind."""
        env = {"GIT_INDEX_FILE": str(index)}
        return (await self._git.run("ls-files", *kind, "-z", "--", *self._plan, env=env)).items

    async def _forget_plan(self, index: Path) -> None:
        """Take the plan's files out of an index."""
        names = await self._list_plan(index, "--cached")
        text = "".join(f"{name}\0" for name in names).encode("utf-8", "surrogateescape")
        env = {"GIT_INDEX_FILE": str(index)}
        await self._git.run("update-index", "--force-remove", "-z", "--stdin", env=env, text=text)

    def _clear(self, names: Iterable[str]) -> None:
        """Remove untracked files, repositories that were made there, and folders that are empty then."""
        top = self.path.resolve()
        for path in (self.path / name for name in names):
            if not path.parent.resolve().is_relative_to(top):
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder == self.path or any(folder.iterdir()):
                    break
                folder.rmdir()


class CheckoutDesk(Desk):
    """The checkout while its lock is held; `run` is the one that works in it, `ref` the branch."""

    run: str
    ref: str
    spared: tuple[str, ...] = ()

    def name_owner(self, step: StepId) -> str:
        """How it is noted that the files in it are those of a step: of this run."""
        return f"{file_name(self.run)}/{file_name(step)}"

    def drop_held(self) -> None:
        """What was set aside may be the person's: it comes back."""
        bring_back(self.path, self.held)

    @property
    def is_ours(self) -> bool:
        """Whether what is in it is the work on a step of this run."""
        return self.find_owner() is not None

    def find_owner(self) -> StepId | None:
        """The step of this run whose work is in it."""
        run, _, step = self.read_owner().partition("/")
        return StepId(unquote(step, errors="surrogateescape")) if step and run == file_name(self.run) else None

    async def settle(self, base: Commit, tree: Tree, *, keep: Sequence[str] | None = None) -> None:
        """Bring the files to `tree`, and the index to `base`; ignored files and the plan's stay."""
        if not self.is_ours:
            await self.refuse_changes()
        await self.show(base, tree)
        (self.aside / TIP).write_text(await self.git.find_commit(self.ref), encoding="utf-8")

    async def show(self, base: Commit, tree: Tree) -> None:
        """Make the files `tree`, whatever they are, and the index that of `base`."""
        await self.files.fill(tree)
        await self.share_index(base)

    async def remake(self, base: Commit, tree: Tree) -> None:
        """The checkout is never made anew."""
        await self.settle(base, tree)

    async def discard(self) -> None:
        """Bring it to what has landed, and forget whose files were in it."""
        if self.is_ours:
            self.drop_held()
            tip = Commit(await self.git.find_commit(self.ref))
            await self.settle(tip, (await read_commit(self.git, tip)).tree)
            self.forget_owner()

    async def share_index(self, base: Commit) -> None:
        """Give the person's git an index that agrees with the branch; the files are not touched.

        It is made anew: what an agent has said to the former one, `--assume-unchanged` for example, is forgotten.
        """
        draft = self.aside / "shared"
        draft.unlink(missing_ok=True)
        git = self.git.at(self.path, index=draft)
        await git.run("read-tree", base)
        await git.run("update-index", "-q", "--refresh", accept=(0, 1))
        draft.replace(find_git_dir(self.path) / "index")

    async def refuse_changes(self) -> None:
        """Refuse to write over files that no step of this run made."""
        head = Commit(await self.git.find_commit(self.ref))
        tree = (await read_commit(self.git, head)).tree
        found = await self.files.read(head, self.spared, whole=True)
        changed = await compare_trees(self.git, tree, found) if found != tree else {}
        if changed:
            raise InvalidInput(
                f"the checkout has changes that are not committed: {name_some([*changed])}",
                hint="git commit, or git stash -u",
            )


def open_desk(
    git: Git, top: Path, aside: Path, *, run: str, ref: str, spared: Sequence[str], patterns: Sequence[str]
) -> CheckoutDesk:
    """The checkout at `top`, whose lock the git holds."""
    files = CheckoutFiles(git, top, aside, spared=spared, patterns=patterns)
    return CheckoutDesk(git=git, files=files, aside=aside, run=run, ref=ref, spared=tuple(spared))
