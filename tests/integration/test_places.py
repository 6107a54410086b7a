"""Worktrees that one step leaves to the next: made once, reset afterwards, and never of two steps at once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import Commit, RunId, StepId
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

A, B, C = StepId("step-1"), StepId("step-2"), StepId("work@1")


class Project:
    """A repository with one commit."""

    def __init__(self, folder: Path) -> None:
        self.top, self.root = folder / "repo", folder / "worktrees"
        self.top.mkdir()
        (self.top / "a.txt").write_text("a\n")
        (self.top / ".gitignore").write_text("ignored\n")
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", "first")
        self.base = find_repository(self.top).head_commit()

    def open(self) -> GitWorkspaces:
        return GitWorkspaces(find_repository(self.top), run=RunId("r1"), branch="run/r1", root=self.root)

    def git(self, *args: str, cwd: Path | None = None) -> str:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        where = cwd or self.top
        return subprocess.run(["git", *args], cwd=where, env=clean, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


async def use(spaces: GitWorkspaces, step: StepId, base: Commit) -> Path:
    path = await spaces.assign(step)
    await spaces.prepare(step, base)
    return path


def test_the_next_step_gets_the_files_of_the_last_one_and_git_agrees_with_them(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        first = await use(spaces, A, project.base)
        inode = (first / "a.txt").stat().st_ino
        project.git("checkout", "-q", "-b", "mine", cwd=first)
        (first / "ignored").write_text("x\n")

        await spaces.release(A)
        second = await use(project.open(), B, project.base)

        assert second == first
        assert (second / "a.txt").stat().st_ino == inode
        assert not (second / "ignored").exists()
        assert project.git("status", "--porcelain", "--branch", cwd=second) == "## HEAD (no branch)\n"
        assert project.git("rev-parse", "HEAD", cwd=second).strip() == project.base

    anyio.run(body)


def test_drivers_that_ask_at_the_same_time_get_different_places(project: Project) -> None:
    steps = [StepId(f"step-{number}") for number in range(8)]
    found: dict[StepId, Path] = {}

    async def ask(step: StepId) -> None:
        found[step] = await project.open().assign(step)

    async def body() -> None:
        await use(project.open(), A, project.base)
        await project.open().release(A)
        async with anyio.create_task_group() as tasks:
            for step in steps:
                tasks.start_soon(ask, step)

    anyio.run(body)

    assert len({*found.values()}) == len(steps)


def test_no_step_is_taken_for_a_place(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        place = await use(spaces, A, project.base)

        direct = spaces.path(C)
        await spaces.remove(C)

        assert place.name == "work@1"
        assert direct != place
        assert place.is_dir()

    anyio.run(body)


@pytest.mark.parametrize("damage", ["folder", "git", "entry"])
def test_a_place_that_is_damaged_while_nobody_has_it_is_made_anew(project: Project, damage: str) -> None:
    async def body() -> None:
        spaces = project.open()
        place = await use(spaces, A, project.base)
        await spaces.release(A)
        if damage == "folder":
            (place / "a.txt").unlink()
            (place / "a.txt").mkdir()
            (place / "a.txt" / "x").mkdir(mode=0o500)
        elif damage == "git":
            (place / ".git").write_text("gitdir: /nowhere\n")
        else:
            entries = project.root / "r1.aside" / ".places"
            entries.mkdir()
            (entries / "step-2").write_text("../../elsewhere")

        found = await use(project.open(), B, project.base)

        assert found == place
        assert (found / "a.txt").read_text() == "a\n"
        assert project.git("status", "--porcelain", cwd=found) == ""

    anyio.run(body)


@pytest.mark.parametrize("moment", ["assigned", "discarded", "drafted"])
def test_nothing_is_left_of_a_place_whose_process_was_killed(project: Project, moment: str) -> None:
    entries = project.root / "r1.aside" / ".places"

    async def body() -> None:
        spaces = project.open()
        place = await spaces.assign(A)
        if moment == "discarded":
            await spaces.prepare(A, project.base)
            project.git("worktree", "remove", "--force", str(place))
        elif moment == "drafted":
            (entries / ".1a2b3c4d").write_text("work@")

        assert project.open().has_place(A)
        assert await project.open().retire(A, "cancelled") is None

        assert not project.open().has_place(A)
        assert not entries.exists()

    anyio.run(body)


def test_what_a_killed_writer_of_entries_left_goes_with_what_was_released(project: Project) -> None:
    entries = project.root / "r1.aside" / ".places"

    async def body() -> None:
        entries.mkdir(parents=True)
        (entries / ".1a2b3c4d").write_text("work@")

        await project.open().drop_released()

        assert not entries.exists()

    anyio.run(body)
