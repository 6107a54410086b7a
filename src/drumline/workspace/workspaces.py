"""Workspaces of one run in a git repository. Any method may be repeated after a crash at any point of an earlier call.

Dates of commits are the later of the run's start and the base commit's own date, so that they depend on nothing else.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

import anyio

from drumline.core.branch import Branch
from drumline.core.gitdeeds import GitDeeds
from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.errors import GitError, GitKilled, InvalidInput
from drumline.ports.workspaces import Landing, Meant, Merge
from drumline.record import replace
from drumline.workspace.branch import find_head, look_at_branch, settle_branch
from drumline.workspace.commits import make_commit, read_commit, read_identity, sign_message
from drumline.workspace.compiled import forget_compiled
from drumline.workspace.deeds import find_deeds
from drumline.workspace.desk import Desk
from drumline.workspace.git import LIMIT, Git
from drumline.workspace.hiding import set_aside
from drumline.workspace.landing import Target, find_landing, land_commit, merge_commit
from drumline.workspace.leftovers import clear_records
from drumline.workspace.locks import hold, retry_busy
from drumline.workspace.markers import count_conflicts, find_marked
from drumline.workspace.pool import Pool, settle_step
from drumline.workspace.readable import find_pipes
from drumline.workspace.refs import Update, read_loose, write_refs
from drumline.workspace.repository import Repository
from drumline.workspace.trees import compare_trees, count_lines, find_words, list_files, write_diff
from drumline.workspace.trials import Trial
from drumline.workspace.worktrees import file_name

_GONE = f"0 {'0' * 40}\t"
"""The line that makes git remove an entry from the index."""

_ENGINE_FOLDER = ".drumline"

CANDIDATE = "candidate"
"""The label of the commit that is about to land."""


class GitWorkspaces(Pool):
    """The `Workspaces` port on a repository: worktrees below `root/<run>`, what is remembered of them beside it.

    `plan_paths` are files or folders of the plan, relative to the repository, `plan_patterns` globs that match such;
    `started` is the run's start in seconds since the epoch and becomes the date of its commits.
    """

    def __init__(
        self,
        repository: Repository,
        *,
        run: RunId,
        branch: str,
        root: Path,
        plan_paths: Sequence[str] = (),
        plan_patterns: Sequence[str] = (),
        started: int = 0,
        git_limit: float = LIMIT,
    ) -> None:
        git = Git(common_dir=repository.common_dir.resolve(), limit=git_limit)
        super().__init__(git, root.resolve(), run=run, patterns=plan_patterns)
        self._branch = branch
        self._started = started
        self._created: Branch | None = None
        self._ref_lock = self._git.common_dir / "drumline" / "locks" / f"refs-{file_name(run)}"
        self._spared = (*map(_contain, plan_paths), _ENGINE_FOLDER)

    def mark_processes(self, marks: Mapping[str, str]) -> None:
        """Start every git with these variables from here on, so that one that outlives us is found and ended."""
        self._git = replace(self._git, env={**self._git.env, **marks})

    async def start(self, base: Commit, *, landed: bool = False) -> None:
        """Create the run branch at `base`; nothing happens if it exists, or if steps have `landed` on it."""
        await anyio.to_thread.run_sync(clear_records, self._git.common_dir, self._root)
        target = self._target(self._git)
        refusal = None
        if not landed and target.checkout is None:
            refusal = await self._create_branch(target, base)
            if refusal is None:
                self._created = Branch(tip=base, written=base)
                return
        refs = await target.read_refs()
        if target.head_ref in refs:
            return
        if target.ref in refs:
            await self._write_refs(Update(ref=target.head_ref, new=refs[target.ref]))
        elif refusal is not None:
            raise refusal

    async def _create_branch(self, target: Target, base: Commit) -> GitError | None:
        """Create the branch, and note where it stands; why git refuses, as it does if the branch is there."""
        refs = (Update(ref=ref, new=base, old="") for ref in (target.ref, target.head_ref))
        try:
            await self._write_refs(*refs)
        except GitKilled:
            raise
        except GitError as error:
            return error
        return None

    async def head(self, left: Commit | None = None, meant: Meant | None = None) -> Commit:
        """Where the next work begins: the tip of the run branch, or where we left it if somebody else has moved it."""
        return await find_head(self._target(self._git), left, meant)

    async def prepare(self, step: StepId, base: Commit, *, setup: str = "") -> Tree:
        """Make the workspace at `base`, or adopt what a dead driver left and reset it to `base`; return its tree.

        What another step's `setup` has installed there stays if it is the same.
        """
        tree = (await read_commit(self._git, base)).tree
        async with self._open(step) as desk:
            await settle_step(desk, step, base, tree, setup=setup)
        return tree

    async def snapshot(self, step: StepId, *, base: Commit, tidy: bool = False) -> Tree:
        """The tree of everything not ignored, with the plan's files and `.drumline/` as they are in `base`.

        What tools for tests drop (`__pycache__`, `.coverage`) is left out where `base` does not have it; `tidy` also
        removes it from the workspace.
        """
        async with self._open(step) as desk:
            return await desk.files.read(base, self._spared, tidy=tidy)

    async def salvage(self, step: StepId, *, base: Commit) -> Tree:
        """The tree of what can be read where a snapshot fails; what cannot be read is as it is in `base`."""
        async with self._open(step) as desk:
            return await desk.files.salvage(base, self._spared)

    async def restore(self, step: StepId, tree: Tree, *, base: Commit | None = None) -> None:
        """Bring the workspace to exactly `tree` (ignored files stay), standing on `base` or where it stood."""
        async with self._open(step) as desk:
            noted = desk.base_note.read_text(encoding="utf-8") if desk.base_note.exists() else ""
            # Without a note it was taken away, with its cancelled run for example, and is made again.
            await settle_step(desk, step, base or Commit(noted) or await self.head(), tree)

    async def switch(self, step: StepId, tree: Tree, *, tidy: bool, without: Sequence[str] = ()) -> None:
        """Give a workspace that is prepared the files of `tree`; its base stays as it is.

        Untracked files stay, unless they are to be removed (`tidy`): then those that `tree` ignores stay. Files that
        it is to be `without` are set aside until the workspace is used again.
        """
        async with self._open(step) as desk:
            before = await desk.files.tell_tree()
            await (desk.files.fill(tree) if tidy else desk.files.change(tree))
            forget_compiled(desk.path, await compare_trees(self._git, before, tree))
            set_aside(desk.path, desk.hidden, without)

    async def clean(self, step: StepId, tree: Tree, *, base: Commit) -> Mapping[str, str]:
        """Bring the workspace back to `tree`, which it had before; the paths that were not so."""
        async with self._open(step) as desk:
            try:
                if await desk.files.is_unchanged(tree, self._spared):
                    return {}
                found = await desk.files.read(base, self._spared, whole=True)
            except GitKilled:
                raise
            except (GitError, OSError):
                return await self._clean_anew(desk, tree, base)
            if found == tree:
                return {}
            changed = await compare_trees(self._git, tree, found)
            await desk.files.fill(tree)
        return changed

    async def _clean_anew(self, desk: Desk, tree: Tree, base: Commit) -> Mapping[str, str]:
        """Remake a workspace that git cannot read; the paths that can be told to have been changed."""
        found_pipes = await anyio.to_thread.run_sync(find_pipes, desk.path)
        pipes = {str(path.relative_to(desk.path)): "modified" for path in found_pipes}
        found = await desk.files.salvage(base, self._spared)
        await desk.remake(base, tree)
        return {**await compare_trees(self._git, tree, found), **pipes}

    async def keep(self, step: StepId, label: str, tree: Tree, *, base: Commit) -> Commit:
        """Keep a tree by ref, so that no work is ever only in a workspace.

        Another tree kept under the same label stays reachable as a parent of the new one.
        """
        ref, message = self._name_kept(step, label), f"Kept: {label}\n"
        commit = await self._commit(tree, [base], message=message)
        async with hold(self._ref_lock) as held:
            # Mostly nothing is kept there yet: git refuses if something is, and only then it is asked what.
            created = await write_refs(self._git, [Update(ref=ref, new=commit, old="")], held=held)
        if created.code == 0:
            return commit
        earlier = await self._git.find_commit(ref)
        if earlier:
            kept = await read_commit(self._git, earlier)
            if kept.tree == tree and kept.parents[:1] == (base,):
                return kept.id
            commit = await self._commit(tree, [base, earlier], message=message)
        await self._write_refs(Update(ref=ref, new=commit))
        return commit

    async def count_lines(self, base: Commit, tree: Tree) -> Mapping[str, tuple[int, int] | None]:
        """Paths that differ between a commit and a tree, each with the lines added and removed; None for binaries."""
        return await count_lines(self._git, base, tree)

    async def diff(self, base: Commit, tree: Tree) -> str:
        """What a tree changes in a commit, as a unified diff; binary files are only named."""
        return await write_diff(self._git, base, tree)

    async def changed(self, base: Commit, tree: Tree) -> Mapping[str, str]:
        """Paths that differ between a commit and a tree, each with what happened to it."""
        return await compare_trees(self._git, base, tree)

    async def compose(self, tree: Tree, other: Tree, paths: Sequence[str]) -> Tree:
        """The tree with these paths as they are in the other one, or without them where that has none."""
        return await _compose_tree(self._git, tree, other, paths, folder=self._aside)

    async def find_tree(self, commit: Commit) -> Tree:
        """The tree of a commit."""
        return (await read_commit(self._git, commit)).tree

    async def list_files(self, tree: Tree) -> Mapping[str, str]:
        """The files of a tree, each with a digest of its content."""
        return await list_files(self._git, tree)

    async def read_text(self, place: Commit | Tree, path: str) -> str | None:
        """The text of a file in a commit or tree, what is no UTF-8 replaced; None if there is none."""
        found = await self._git.run("cat-file", "blob", f"{place}:{path}", accept=(0, 128))
        return None if found.code else found.out.decode("utf-8", "replace")

    async def find_words(self, tree: Tree, words: Sequence[str]) -> Collection[str]:
        """Which of these words files of the tree have, the plan's own files and `.drumline/` left out."""
        return await find_words(self._git, tree, words, without=self._spared)

    async def list_ignored(self, step: StepId, *, wanted: Sequence[str] = ()) -> Mapping[str, str]:
        """Files of the workspace that git ignores: what the plan asks for, and what tools are not known to keep."""
        async with self._open(step) as desk:
            return await desk.files.list_ignored(wanted)

    async def commit(self, step: StepId, tree: Tree, *, base: Commit, message: str, journal: str = "") -> Commit:
        """Make the step's commit with plumbing; the same arguments give the same commit.

        A ref keeps it: between the intent to land it and its landing the user may prune the repository.
        """
        made = await self._commit(
            tree, [base], message=sign_message(message, run=self._run, step=step, journal=journal)
        )
        await self._write_refs(Update(ref=f"{self._target(self._git).step_refs(step)}{CANDIDATE}", new=made))
        return made

    async def merge(self, commit: Commit, onto: Commit) -> Merge:
        """Put the change of a commit on another one; nothing is checked out or moved."""
        return await merge_commit(self._git, commit, onto)

    async def foresee(self, commit: Commit, others: Sequence[StepId]) -> Mapping[StepId, Sequence[str]]:
        """Files in which a commit conflicts with what others have in their workspaces at the moment, by their steps."""
        trial = Trial(git=self._git, folder=self._aside, spared=self._spared, patterns=self._patterns)
        return await trial.find(commit, [self._find_neighbour(other) for other in others])

    async def find_markers(self, step: StepId, tree: Tree, *, base: Commit) -> Sequence[str]:
        """Files of the workspace, which has this tree, with what a conflict left that the base does not have."""
        async with self._open(step) as desk:
            marked = find_marked(desk.path, await self.changed(base, tree))
        before = {path: (await self.read_text(base, path) or "").encode() for path in marked}
        return [path for path, count in marked.items() if count > count_conflicts([before[path]])]

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Move the branch to the commit, if that stands on its head; exactly this commit lands, or none."""
        async with hold(self._ref_lock) as held:
            return await land_commit(self._target(self._git.holding(held)), step, commit, head=head, held=held)

    async def contains(self, tip: Commit, commit: Commit) -> bool:
        """Whether a commit is in the history of another; one that does not exist any more is not."""
        return await self._target(self._git).contains(tip, commit)

    async def find_landing(self, step: StepId, commit: Commit) -> Landing | None:
        """The landing of a candidate commit that git knows, whatever the journal says.

        Waits for what the git of a dead driver still does.
        """
        async with hold(self._ref_lock) as held:
            return await find_landing(self._target(self._git.holding(held)), step, commit)

    async def look(self, landed: Sequence[Commit], left: Commit | None = None, meant: Meant | None = None) -> Branch:
        """The run branch beside what was landed on it, and where the journal says that we left it."""
        created, self._created = self._created, None
        if created is not None and not landed and left in (None, created.tip):  # nobody has asked since
            return created
        async with hold(self._ref_lock) as held:
            return await look_at_branch(self._target(self._git.holding(held)), landed, left, meant, held=held)

    def stands_at(self, left: Commit) -> bool:
        """Whether the run branch is known at once to be at this commit, and to have been left there."""
        target = self._target(self._git)
        return read_loose(self._git, target.ref) == read_loose(self._git, target.head_ref) == left

    async def find_deeds(self, step: StepId, *, base: Commit) -> GitDeeds:
        """What was done to git in the workspace since it was prepared at `base`; the run branch is not looked at."""
        async with self._open(step) as desk:
            return await find_deeds(desk, base)

    async def settle_branch(self, seen: Branch, to: Commit) -> str:
        """Let the branch stand at `to` from here on, if it is still as it was seen; else say why not."""
        async with hold(self._ref_lock) as held:
            return await settle_branch(self._target(self._git.holding(held)), seen, to, held=held)

    async def retire(self, step: StepId, label: str) -> Commit | None:
        """Take the workspace of a step away that is not worked on any more; nothing happens if there is none.

        What was changed in it is kept under the label first, as the commit that is returned.
        """
        async with self._open(step) as desk:
            kept = (
                await self._keep_left(desk, step, label) if desk.path.is_dir() and not desk.path.is_symlink() else None
            )
            await desk.discard()
        await self._places.free(step)
        return kept

    async def reopen(self, step: StepId, label: str, *, base: Commit) -> None:
        """Make a workspace again that was retired, with what was kept of it under the label."""
        kept = await self._git.find_commit(self._name_kept(step, label))
        await self.prepare(step, base)
        if kept:
            await self.restore(step, (await read_commit(self._git, kept)).tree)

    def _name_kept(self, step: StepId, label: str) -> str:
        return f"refs/drumline/{file_name(self._run)}/{file_name(step)}/{file_name(label)}"

    async def _keep_left(self, desk: Desk, step: StepId, label: str) -> Commit | None:
        if not desk.base_note.exists():
            raise GitError(f"{str(desk.path)!r} does not say what it was made from", hint=f"look at {desk.path}")
        base = Commit(desk.base_note.read_text(encoding="utf-8"))
        try:
            tree = await desk.files.read(base, self._spared)
        except GitKilled:
            raise
        except (GitError, OSError):
            tree = await desk.files.salvage(base, self._spared)
        if tree == (await read_commit(desk.git, base)).tree:
            return None
        return await self.keep(step, label, tree, base=base)

    def _target(self, git: Git) -> Target:
        return Target(git=git, run=self._run, branch=self._branch, folder=self._folder)

    async def _write_refs(self, *updates: Update) -> None:
        async def write() -> None:
            async with hold(self._ref_lock) as held:
                written = await write_refs(self._git, updates, held=held)
            if written.code:
                named = ", ".join(update.ref for update in updates)
                raise GitError(f"cannot write {named}: {written.err}", hint="drumline doctor")

        await retry_busy(write)

    async def _commit(self, tree: Tree, parents: Sequence[str], *, message: str) -> Commit:
        base = await read_commit(self._git, parents[0])
        who = await read_identity(self._git, when=max(self._started, base.committed))
        return await make_commit(self._git, tree, parents, message=message, author=who, committer=who)


def _contain(path: str) -> str:
    """A plan path as git spells it, refused if it is the whole repository or outside of it."""
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or parts[0] == "/":
        raise InvalidInput(
            f"the plan path {path!r} is not a file or folder below the top of the repository",
            hint="drumline validate PLAN",
        )
    return str(PurePosixPath(path))


async def _compose_tree(git: Git, tree: Tree, other: Tree, paths: Sequence[str], *, folder: Path) -> Tree:
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
