"""A worktree for the next step: the one of a landed step, reset, against one that git makes anew."""

from __future__ import annotations

import subprocess
from functools import partial
from itertools import count
from pathlib import Path

import anyio

from bench.figures import MILLISECOND, Figure, clock, take_turns
from bench.plans import PER_FOLDER, make_repository, write_files
from drumline.core.ids import Commit, RunId, StepId
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

TARGET = 0.3


def measure_places(folder: Path, *, rounds: int, files: int) -> list[Figure]:
    """Milliseconds until a step has its files, with ten of them changed since the step before."""
    project = _Project(folder, files)
    reset, added = take_turns(rounds, project.reset, project.add)
    return [
        Figure(
            name=f"reset a worktree of {files:,} files for the next step",
            unit="ms",
            values=reset,
            reference="git worktree add",
            references=added,
            target=TARGET,
            note="ten files differ; an ignored folder of the step before goes",
        )
    ]


class _Project:
    """A repository with two commits, and a worktree that a step has just left."""

    def __init__(self, folder: Path, files: int) -> None:
        self._top = make_repository(folder / "repo")
        self._added, self._number = folder / "added", count()
        write_files(self._top, files)
        (self._top / ".gitignore").write_text("made/\n", encoding="utf-8")
        self._bases = [self._commit("first")]
        for number in range(10):
            (self._top / f"part-{number}" / f"file-{number * PER_FOLDER}.txt").write_text("changed\n", encoding="utf-8")
        self._bases.append(self._commit("second"))
        self._spaces = GitWorkspaces(find_repository(self._top), run=RunId("r"), branch="r", root=folder / "worktrees")
        self.reset()

    def reset(self) -> float:
        """Let the next step have the worktree."""
        number = next(self._number)
        step = StepId(f"step-{number}")
        return anyio.run(self._reset, step, self._bases[number % 2])

    async def _reset(self, step: StepId, base: Commit) -> float:
        began = anyio.current_time()
        path = await self._spaces.assign(step)
        await self._spaces.prepare(step, base)
        taken = anyio.current_time() - began
        (path / "made").mkdir()
        (path / "made" / "by-it.txt").write_text(step, encoding="utf-8")
        await self._spaces.release(step)
        return taken / MILLISECOND

    def add(self) -> float:
        """Let git make a worktree, and remove it again."""
        words = ("worktree", "add", "--quiet", "--detach", str(self._added), self._bases[0])
        taken = clock(partial(self._git, *words))
        self._git("worktree", "remove", "--force", str(self._added))
        return taken / MILLISECOND

    def _commit(self, message: str) -> Commit:
        self._git("add", "--all")
        self._git("-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", message)
        return Commit(self._git("rev-parse", "HEAD").strip())

    def _git(self, *words: str) -> str:
        return subprocess.run(["git", *words], cwd=self._top, check=True, capture_output=True, text=True).stdout
