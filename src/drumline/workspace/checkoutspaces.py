"""Workspaces of a run that works in the person's checkout, on its branch: one step at a time, at one place.

The rule: only the branch that the run began on is moved, by a compare-and-set, and what a step or its agent did not
land stays reachable by a ref. Where only checks run there are worktrees of our own, as in every run.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from anyio.lowlevel import checkpoint

from drumline.core.branch import Branch
from drumline.core.gitdeeds import SHORT, GitDeeds
from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.errors import GitError, InvalidInput
from drumline.ports.workspaces import Landing
from drumline.record import replace
from drumline.workspace.branch import REPLACED
from drumline.workspace.commits import read_commit
from drumline.workspace.deeds import compare_history
from drumline.workspace.desk import Desk, read_owner, read_setup
from drumline.workspace.git import LIMIT, Git
from drumline.workspace.hiding import bring_back
from drumline.workspace.inplace import CheckoutDesk, open_desk, read_checked_out, read_tip
from drumline.workspace.landing import Target
from drumline.workspace.locks import hold
from drumline.workspace.places import VERIFYING
from drumline.workspace.refs import Update
from drumline.workspace.repository import Repository
from drumline.workspace.runrefs import OURS
from drumline.workspace.workspaces import GitWorkspaces
from drumline.workspace.worktrees import file_name

DRAFTS = "**/.*.drumline-*.tmp"
"""How files are called that are about to become files of the plan: who writes them does not wait for a step."""
ASIDE = "aside"
"""The label of work that another step had to make room for."""


class CheckoutWorkspaces(GitWorkspaces):
    """The `Workspaces` port on the checkout of a repository, which stands on the run branch."""

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
        super().__init__(
            repository,
            run=run,
            branch=branch,
            root=root,
            plan_paths=plan_paths,
            plan_patterns=(*plan_patterns, DRAFTS),
            started=started,
            git_limit=git_limit,
        )
        self._top = repository.top.resolve()
        self._others: Mapping[str, Commit] = {}
        digest = hashlib.sha256(os.fsencode(self._top)).hexdigest()[:8]
        # On the file system of the checkout, for files are moved there and back.
        self._beside = self._git.common_dir / "drumline" / "checkouts" / digest

    def path(self, step: StepId) -> Path:
        """The checkout; a place for checks is elsewhere."""
        return super().path(step) if step.startswith(VERIFYING) else self._top

    async def assign(self, step: StepId) -> Path:
        """The checkout."""
        return self._top

    def has_place(self, step: StepId) -> bool:
        """Whether the work on the step is in the checkout."""
        if step.startswith(VERIFYING):
            return super().has_place(step)
        return read_owner(self._beside) == f"{file_name(self._run)}/{file_name(step)}"

    def is_set_up(self, step: StepId, setup: str) -> bool:
        """Whether the dependencies of this setup are there."""
        return super().is_set_up(step, setup) if step.startswith(VERIFYING) else read_setup(self._beside) == setup

    async def start(self, base: Commit, *, landed: bool = False) -> None:
        """Note where the branch stands; where a driver died between a landing and the index, that is brought up."""
        await super().start(base, landed=landed)
        async with self._open_checkout() as desk:
            if desk.is_ours:
                await desk.share_index(await self.head())

    async def prepare(self, step: StepId, base: Commit, *, setup: str = "") -> Tree:
        """Bring the checkout to `base`; what another step of the run left in it is kept first."""
        await self._make_room(step)
        self._others = await self._read_others()
        return await super().prepare(step, base, setup=setup)

    async def restore(self, step: StepId, tree: Tree, *, base: Commit | None = None) -> None:
        """Bring the checkout to exactly `tree`; what another step of the run left in it is kept first."""
        await self._make_room(step)
        await super().restore(step, tree, base=base)

    async def snapshot(self, step: StepId, *, base: Commit, tidy: bool = False) -> Tree:
        """The tree of everything that is not ignored; commits made on the branch meanwhile become part of the work."""
        await self._fold_commits(step)
        return await super().snapshot(step, base=base, tidy=tidy)

    async def salvage(self, step: StepId, *, base: Commit) -> Tree:
        """The tree of what can be read; commits made on the branch meanwhile become part of the work."""
        await self._fold_commits(step)
        return await super().salvage(step, base=base)

    async def find_deeds(self, step: StepId, *, base: Commit) -> GitDeeds:
        """What was done on the branch since we left it: it is where the work is committed here."""
        refs = await self._target(self._git).read_refs()
        tip = refs.get(self._target(self._git).ref)
        found = await compare_history(self._git, tip or "", base)
        return replace(found, others=tuple(await self._find_moved()))

    async def _find_moved(self) -> list[str]:
        """Branches and tags of the person that are not where they were when it was looked last; that is kept."""
        before, self._others = self._others, await self._read_others()
        moved = {ref: commit for ref, commit in before.items() if self._others.get(ref) != commit}
        folder = self._target(self._git).head_ref.rpartition("/")[0]
        kept = [Update(ref=f"{folder}/{REPLACED}/{commit}", new=commit) for commit in {*moved.values()}]
        await (self._write_refs(*kept) if kept else checkpoint())
        return [f"{ref.split('/', 2)[2]} (was {commit[:SHORT]})" for ref, commit in moved.items()]

    async def _read_others(self) -> Mapping[str, Commit]:
        """The branches and tags that no run moves, as they are now."""
        form = "--format=%(if)%(symref)%(then)%(else)%(objectname) %(refname)%(end)"
        told = (await self._git.run("for-each-ref", form, "refs/heads", "refs/tags")).line.splitlines()
        refs = {ref: Commit(commit) for commit, _, ref in (line.partition(" ") for line in told if line)}
        own = self._target(self._git).ref
        return {ref: commit for ref, commit in refs.items() if ref != own and not ref.startswith(OURS)}

    async def foresee(self, commit: Commit, others: Sequence[StepId]) -> Mapping[StepId, Sequence[str]]:
        """Nobody works beside a step here."""
        return {}

    async def land(self, step: StepId, commit: Commit, *, head: Commit) -> Landing:
        """Move the branch and the index of the checkout to the commit, whose files are there."""
        landing = await super().land(step, commit, head=head)
        if landing.commit is not None:
            async with self._open_checkout() as desk:
                await desk.share_index(landing.commit)
        return landing

    async def settle_branch(self, seen: Branch, to: Commit) -> str:
        """Let the branch stand at `to`; where the checkout would have to move, its changes are kept first."""
        async with self._open_checkout() as desk:
            moves = seen.tip is not None and seen.tip != to and not desk.is_ours
            try:
                await (desk.refuse_changes() if moves else checkpoint())
            except InvalidInput as error:
                return error.with_hint
            refusal = await super().settle_branch(seen, to)
            if moves and not refusal:
                await desk.show(to, (await read_commit(self._git, to)).tree)
        return refusal

    async def retire(self, step: StepId, label: str) -> Commit | None:
        """Bring the checkout back to what has landed, if the work on the step is in it; that is kept first."""
        if step.startswith(VERIFYING) or not self.has_place(step):
            return None
        return await super().retire(step, label)

    async def release(self, step: StepId) -> None:
        """Bring the checkout to what has landed, if the work on the step is in it: that is kept elsewhere."""
        await self.remove(step)

    async def remove(self, step: StepId) -> None:
        """Bring the checkout back to what has landed, if the work on the step is in it."""
        if self.has_place(step):
            await super().remove(step)

    async def _make_room(self, step: StepId) -> None:
        """Keep what another step of this run left in the checkout, which then is nobody's and as it landed."""
        async with self._open_checkout() as desk:
            other = desk.find_owner()
            if other is not None and other != step:
                await self._keep_left(desk, other, ASIDE)
                await desk.discard()

    async def _fold_commits(self, step: StepId) -> None:
        """Put the branch back where we left it if somebody committed on it; they stay reachable by a ref."""
        target = self._target(self._git)
        refs = await target.read_refs()
        tip, left = refs.get(target.ref), refs.get(target.head_ref)
        if tip is None or left is None or tip == left or not self.has_place(step):
            return
        began_there = read_tip(self._beside) == left
        if not began_there or not await target.contains(tip, left):
            return  # the branch was moved: the landing is refused for it, and a person decides
        kept = f"{target.head_ref.rpartition('/')[0]}/{REPLACED}/{tip}"
        await self._write_refs(Update(ref=kept, new=tip), Update(ref=target.ref, new=left, old=tip))

    def _open(self, step: StepId) -> AbstractAsyncContextManager[Desk]:
        return super()._open(step) if step.startswith(VERIFYING) else self._open_checkout()

    @asynccontextmanager
    async def _open_checkout(self) -> AsyncIterator[CheckoutDesk]:
        async with hold(self._beside.with_suffix(".lock")) as lock:
            desk = self._make_desk(self._git.holding(lock))
            found = read_checked_out(self._top)
            if found != desk.ref:
                where = found.removeprefix("refs/heads/") or "no branch"
                raise GitError(
                    f"the checkout {str(self._top)!r} is on {where}, and the run works on {self._branch}",
                    hint=f"git switch {self._branch}, then: drumline resume {self._run}",
                )
            bring_back(desk.path, desk.hidden)
            yield desk

    def _make_desk(self, git: Git) -> CheckoutDesk:
        ref = f"refs/heads/{self._branch}"
        spared, patterns = self._spared, self._patterns
        return open_desk(git, self._top, self._beside, run=self._run, ref=ref, spared=spared, patterns=patterns)

    def _target(self, git: Git) -> Target:
        return Target(git=git, run=self._run, branch=self._branch, folder=self._folder, checkout=self._top)
