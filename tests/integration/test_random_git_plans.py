"""Random plans through the real engine in a real repository: what git says of the run branch is what is asserted."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

import anyio
import pytest
from tests.integration.harness import RUN, Died, Harness
from tests.integration.test_random_plans import KINDS, Scene, assert_sound, build, play

from drumline.core.ids import Commit, StepId
from drumline.testing.workspaces import FakeWorkspaces
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

BRANCH = "drumline/demo-run-1"
STEP = "%(trailers:key=Drumline-Step,valueonly,separator=%x2C)"


class SeenWorkspaces(GitWorkspaces):
    """Workspaces of git, which tell what tests ask of the fake: all of it comes from git itself."""

    def __init__(self, top: Path, root: Path) -> None:
        super().__init__(find_repository(top), run=RUN, branch=BRANCH, root=root, plan_paths=["plan"])
        self.top = top
        self.first = Commit(self.ask("rev-parse", "main"))

    def ask(self, *words: str) -> str:
        """What git says, from outside of the workspaces."""
        told = subprocess.run(["git", *words], cwd=self.top, check=True, capture_output=True, text=True)
        return told.stdout.strip()

    def log(self) -> list[tuple[Commit, StepId]]:
        """The landings on the branch, oldest first."""
        told = self.ask("log", "--reverse", "--first-parent", f"--format=%H {STEP}", f"main..{BRANCH}")
        return [(Commit(commit), StepId(step)) for commit, step in map(str.split, told.splitlines())]

    def files(self, commit: Commit) -> dict[str, str]:
        """The files of a commit as text."""
        names = self.ask("ls-tree", "-r", "--name-only", commit).splitlines()
        return {name: self.ask("show", f"{commit}:{name}") + "\n" for name in names}

    @cached_property
    def kept(self) -> set[tuple[StepId, str]]:
        """What is kept by refs: steps and labels."""
        refs = self.ask("for-each-ref", "--format=%(refname)", f"refs/drumline/{RUN}/").splitlines()
        return {(StepId(ref.split("/")[3]), ref.split("/")[-1]) for ref in refs if ref.count("/") > 3}


@dataclass(kw_only=True)
class GitHarness(Harness):
    """The same run in a repository."""

    def __post_init__(self) -> None:
        super().__post_init__()
        top = self.folder / "repo"
        top.mkdir(parents=True)
        for words in (
            ("init", "-q", "-b", "main"),
            ("-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-q", "--allow-empty", "-m", "first"),
        ):
            subprocess.run(["git", *words], cwd=top, check=True)
        # The rest of the harness asks for nothing that it does not have.
        self.workspaces = cast(FakeWorkspaces, SeenWorkspaces(top, self.folder / "worktrees"))


def assert_in_order(harness: Harness) -> None:
    """Git finds nothing wrong, no lock is left, and the branch of the user stands where it stood."""
    spaces = cast(SeenWorkspaces, harness.workspaces)
    assert spaces.ask("fsck", "--strict", "--no-dangling", "--no-progress") == ""
    assert spaces.ask("rev-parse", "main") == spaces.first
    assert list(spaces.top.rglob("*.lock")) == []


@pytest.mark.parametrize("kind", ["semantic", *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[:2])])
def test_a_random_plan_in_git_ends_with_a_head_that_passes(kind: str, tmp_path: Path) -> None:
    scene = Scene.of(kind, 1, least=10, most=10)

    harness = play(scene, tmp_path, make=GitHarness)

    assert_sound(scene, harness)
    assert_in_order(harness)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12))
def test_random_plans_in_git_end_with_heads_that_pass_although_drivers_die(seed: int, tmp_path: Path) -> None:
    scene = Scene.of(KINDS[seed % 3], seed, least=10, most=30)
    harness = build(scene, tmp_path, make=GitHarness)
    dice = random.Random(seed)
    harness.die_at(dice.randint(20, 100), when=dice.choice(["before", "after"]))

    with pytest.raises((Died, BaseExceptionGroup)) as died:
        harness.drive()
    harness.drive()

    assert not isinstance(died.value, BaseExceptionGroup) or died.value.subgroup(Died) is not None
    assert_sound(scene, harness)
    assert_in_order(harness)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 4))
def test_with_disjoint_files_the_tree_in_git_is_that_of_one_step_after_the_other(seed: int, tmp_path: Path) -> None:
    scene = Scene.of("disjoint", seed, least=10, most=30)
    side = play(scene, tmp_path / "side", make=GitHarness)
    after = play(scene, tmp_path / "after", mode="sequential", make=GitHarness)

    heads = [anyio.run(one.workspaces.head) for one in (side, after)]

    trees = [anyio.run(one.workspaces.find_tree, head) for one, head in zip((side, after), heads, strict=True)]
    assert trees[0] == trees[1]
    assert_in_order(side)
