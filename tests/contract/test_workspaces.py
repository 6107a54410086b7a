"""What every implementation of the `Workspaces` port promises."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest

from drumline.core.ids import Commit, RunId, StepId, Tree
from drumline.ports.workspaces import Landing, Workspaces
from drumline.testing.workspaces import FakeWorkspaces
from drumline.workspace.checkoutspaces import CheckoutWorkspaces
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

A, B, C = StepId("step-1"), StepId("step-2"), StepId("step-3")
START = {
    "a.txt": "a\n",
    "dir/b.txt": "b\n",
    ".gitignore": "ignored\n",
    "plan/root.md": "plan\n",
    ".drumline/config.toml": "jobs = 1\n",
}


class Bench(Protocol):
    """One implementation under test, and eyes to see what it did."""

    base: Commit

    def open(self) -> Workspaces:
        """The workspaces as a new driver finds them."""
        ...

    def log(self) -> list[StepId]:
        """The steps landed on the branch, oldest first."""
        ...

    def files(self, commit: str) -> dict[str, str]:
        """The files of a commit or tree-ish."""
        ...

    def delete_branch(self) -> None:
        """Somebody deletes the run branch."""
        ...

    def reset_branch(self) -> None:
        """Somebody sets the run branch back to its base."""
        ...

    def commit_foreign(self) -> Commit:
        """Somebody commits on the run branch."""
        ...

    def check_out(self) -> None:
        """Check the run branch out somewhere else."""
        ...


class FakeBench:
    """The fake: one object that every driver shares."""

    def __init__(self, folder: Path) -> None:
        self._fake = FakeWorkspaces(folder, files=START, plan_paths=["plan"], ignored=["ignored"])
        self.base = self._fake.first

    def open(self) -> Workspaces:
        return self._fake

    def log(self) -> list[StepId]:
        return [step for _, step in self._fake.log()]

    def files(self, commit: str) -> dict[str, str]:
        return self._fake.files(Commit(commit))

    def check_out(self) -> None:
        self._fake.checked_out = "elsewhere"

    def delete_branch(self) -> None:
        self._fake.move_branch(None)

    def reset_branch(self) -> None:
        self._fake.move_branch(self.base)

    def commit_foreign(self) -> Commit:
        return self._fake.commit_foreign("Mine")


class GitBench:
    """A real repository."""

    def __init__(self, folder: Path) -> None:
        self._top = folder / "repo"
        self._root = folder / "worktrees"
        for path, text in START.items():
            (self._top / path).parent.mkdir(parents=True, exist_ok=True)
            (self._top / path).write_text(text)
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", "first")
        self.base = find_repository(self._top).head_commit()

    def open(self) -> Workspaces:
        return GitWorkspaces(
            find_repository(self._top), run=RunId("r1"), branch="run/r1", root=self._root, plan_paths=["plan"]
        )

    def log(self) -> list[StepId]:
        form = "--format=%(trailers:key=Drumline-Step,valueonly,separator=)"
        lines = self._git("log", "--reverse", form, f"{self.base}..run/r1").split("\n")
        return [StepId(line) for line in lines if line]

    def files(self, commit: str) -> dict[str, str]:
        names = self._git("ls-tree", "-r", "-z", "--name-only", commit).split("\0")
        return {name: self._git("show", f"{commit}:{name}") for name in names if name}

    def check_out(self) -> None:
        self._git("worktree", "add", "-q", str(self._top.parent / "elsewhere"), "run/r1")

    def delete_branch(self) -> None:
        self._git("branch", "-D", "run/r1")

    def reset_branch(self) -> None:
        self._git("branch", "-f", "run/r1", self.base)

    def commit_foreign(self) -> Commit:
        names = ("-c", "user.name=u", "-c", "user.email=u@example.org")
        made = self._git(*names, "commit-tree", "-p", "run/r1", "-m", "Mine", "run/r1^{tree}").strip()
        self._git("update-ref", "refs/heads/run/r1", made)
        return Commit(made)

    def _git(self, *args: str) -> str:
        clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        return subprocess.run(
            ["git", *args], cwd=self._top, env=clean, check=True, capture_output=True, text=True
        ).stdout


class CheckoutBench(GitBench):
    """A real repository whose checkout is worked in, on its branch."""

    def __init__(self, folder: Path) -> None:
        GitBench.__init__(self, folder)
        self._git("switch", "-qc", "run/r1")

    def open(self) -> Workspaces:
        return CheckoutWorkspaces(
            find_repository(self._top), run=RunId("r1"), branch="run/r1", root=self._root, plan_paths=["plan"]
        )

    def delete_branch(self) -> None:
        self._git("update-ref", "-d", "refs/heads/run/r1")

    def reset_branch(self) -> None:
        self._git("update-ref", "refs/heads/run/r1", self.base)


BENCHES: dict[str, Callable[[Path], Bench]] = {"fake": FakeBench, "git": GitBench, "checkout": CheckoutBench}


APART = {
    "test_conflicts_with_what_others_are_writing_are_foreseen_and_nothing_of_theirs_is_touched",
    "test_preparing_again_undoes_what_a_dead_driver_left_but_leaves_ignored_files",
    "test_restoring_brings_back_exactly_the_tree",
    "test_steps_have_workspaces_of_their_own",
    "test_restoring_heals_a_workspace_that_is_gone",
    "test_a_branch_on_which_steps_have_landed_is_not_made_at_the_base",
    "test_a_branch_that_is_checked_out_elsewhere_is_not_moved",
    "test_a_removed_workspace_is_gone_and_removing_it_again_is_nothing",
    "test_a_workspace_that_is_retired_is_gone_and_what_was_in_it_is_kept",
    "test_a_workspace_that_was_restored_after_it_was_retired_can_be_retired_again",
    "test_nothing_is_kept_of_a_retired_workspace_in_which_nothing_was_changed",
    "test_a_step_keeps_the_place_that_it_was_assigned",
    "test_what_was_released_can_be_dropped_and_what_a_step_has_stays",
    "test_a_step_whose_workspace_was_taken_away_is_assigned_another",
    "test_markers_of_a_conflict_are_found_only_where_they_are_new",
    "test_nothing_of_a_step_is_left_for_the_one_that_comes_after_its_release",
    "test_nothing_of_a_step_is_left_for_itself_after_its_release",
    "test_a_workspace_can_be_restored_where_another_step_was",
}
"""Promises about a place of a step's own, which one who works in the checkout does not have."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let every implementation keep every promise that is about it."""
    own = metafunc.function.__name__ in APART
    if "bench" in metafunc.fixturenames:
        metafunc.parametrize("bench", [name for name in BENCHES if name != "checkout" or not own], indirect=True)


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return BENCHES[request.param](tmp_path)


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    anyio.run(body)


async def work(bench: Bench, step: StepId, files: dict[str, str], *, base: Commit | None = None) -> Commit:
    """Prepare, write and commit a step."""
    spaces = bench.open()
    await spaces.prepare(step, base or bench.base)
    for path, text in files.items():
        target = spaces.path(step) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    tree = await spaces.snapshot(step, base=base or bench.base)
    return await spaces.commit(step, tree, base=base or bench.base, message=f"Do {step}")


async def land(bench: Bench, step: StepId, commit: Commit) -> Landing:
    """Land a commit; where the head has moved, its change is put on the new head first."""
    spaces = bench.open()
    landing = await spaces.land(step, commit, head=bench.base)
    if landing.behind is None:
        return landing
    merge = await spaces.merge(commit, landing.behind)
    moved = await spaces.commit(step, merge.tree, base=landing.behind, message=f"Do {step}")
    return await spaces.land(step, moved, head=bench.base)


def contents(folder: Path) -> dict[str, str]:
    """All files of a workspace."""
    names = [file for file in folder.rglob("*") if file.is_file() and ".git" not in file.relative_to(folder).parts]
    return {str(file.relative_to(folder)): file.read_text() for file in names}


def test_the_branch_starts_at_the_base_and_starting_again_does_not_move_it(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        landed = await spaces.land(A, await work(bench, A, {"new": "1"}), head=bench.base)

        await bench.open().start(bench.base)

        assert await spaces.head() == landed.commit

    run(body)


def test_a_branch_on_which_steps_have_landed_is_not_made_at_the_base(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()

        await spaces.start(bench.base, landed=True)

        assert (await spaces.look([])).tip is None

    run(body)


def test_a_prepared_workspace_holds_the_base(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()

        tree = await spaces.prepare(A, bench.base)

        assert contents(spaces.path(A)) == START
        assert await spaces.snapshot(A, base=bench.base) == tree
        assert not await spaces.changed(bench.base, tree)

    run(body)


def test_preparing_again_undoes_what_a_dead_driver_left_but_leaves_ignored_files(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "a.txt").write_text("changed")
        (top / "dir" / "b.txt").unlink()
        (top / "more").mkdir()
        (top / "more" / "junk").write_text("junk")
        (top / "plan" / "root.md").write_text("mine")
        (top / "ignored").write_text("cache")

        await bench.open().prepare(A, bench.base)

        assert contents(top) == {**START, "ignored": "cache"}

    run(body)


def test_steps_have_workspaces_of_their_own(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        await spaces.prepare(B, bench.base)

        (spaces.path(A) / "a.txt").write_text("A")

        assert (spaces.path(B) / "a.txt").read_text() == START["a.txt"]

    run(body)


@pytest.mark.parametrize("name", ["../up", "a/b", ".hidden", "x.lock", "two words", "é", ".", "a..b", "%2E", "~"])
def test_any_step_id_stays_inside_and_works(bench: Bench, name: str) -> None:
    async def body() -> None:
        spaces, step = bench.open(), StepId(name)
        await spaces.start(bench.base)

        commit = await work(bench, step, {"new": name})
        landed = await spaces.land(step, commit, head=bench.base)
        await spaces.keep(step, name, landed.tree or Tree(""), base=bench.base)

        assert spaces.path(step).parent == spaces.path(A).parent
        assert bench.log() == [step]

    run(body)


def test_a_snapshot_sees_new_changed_and_deleted_files_but_not_ignored_ones(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "a.txt").write_text("changed")
        (top / "dir" / "b.txt").unlink()
        (top / "new").write_text("new")
        (top / "ignored").write_text("cache")

        tree = await spaces.snapshot(A, base=bench.base)

        assert sorted(await spaces.changed(bench.base, tree)) == ["a.txt", "dir/b.txt", "new"]
        counted = await spaces.count_lines(bench.base, tree)
        assert sorted(counted) == ["a.txt", "dir/b.txt", "new"]
        assert counted["new"] == (1, 0)
        assert counted["dir/b.txt"] == (0, 1)
        told = await spaces.diff(bench.base, tree)
        assert "diff --git a/a.txt b/a.txt" in told
        assert "+changed" in told

    run(body)


def test_a_snapshot_holds_the_plan_and_the_engine_folder_as_they_are_in_the_base(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "plan" / "root.md").write_text("done, honestly")
        (top / "plan" / "step-9.md").write_text("more")
        (top / ".drumline" / "config.toml").unlink()

        tree = await spaces.snapshot(A, base=bench.base)

        assert not await spaces.changed(bench.base, tree)

    run(body)


def test_the_same_files_give_the_same_tree_and_the_same_work_the_same_commit(bench: Bench) -> None:
    async def body() -> None:
        first = await work(bench, A, {"new": "1"})

        second = await work(bench, A, {"new": "1"})
        other = await work(bench, A, {"new": "2"})

        assert first == second
        assert other != first

    run(body)


def test_restoring_brings_back_exactly_the_tree(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "new").write_text("1")
        (top / "ignored").write_text("cache")
        tree = await spaces.snapshot(A, base=bench.base)
        (top / "new").write_text("2")
        (top / "other").write_text("3")
        (top / "a.txt").unlink()
        (top / "plan" / "root.md").write_text("edited")

        await bench.open().restore(A, tree)

        assert contents(top) == {**START, "new": "1", "ignored": "cache"}
        assert await spaces.snapshot(A, base=bench.base) == tree

    run(body)


def test_cleaning_undoes_what_came_after_a_tree_and_names_it(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "new").write_text("1")
        tree = await spaces.snapshot(A, base=bench.base)
        (top / "cache" / "deep").mkdir(parents=True)
        (top / "cache" / "deep" / "x.pyc").write_text("3")
        (top / "ignored").write_text("cache")
        (top / "new").write_text("2")
        (top / "a.txt").unlink()

        found = await spaces.clean(A, tree, base=bench.base)
        again = await spaces.clean(A, tree, base=bench.base)

        assert found == {"a.txt": "deleted", "cache/deep/x.pyc": "created", "new": "modified"}
        assert again == {}
        assert contents(top) == {**START, "new": "1", "ignored": "cache"}
        assert await spaces.snapshot(A, base=bench.base) == tree

    run(body)


def test_a_snapshot_leaves_out_what_tools_for_tests_drop_and_cleaning_removes_it(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "new.py").write_text("1")
        before = await spaces.snapshot(A, base=bench.base)
        (top / "dir" / "__pycache__").mkdir()
        (top / "dir" / "__pycache__" / "b.pyc").write_text("x")
        (top / ".coverage").write_text("x")

        after = await spaces.snapshot(A, base=bench.base)
        found = await spaces.clean(A, after, base=bench.base)

        assert after == before
        assert found == {".coverage": "created", "dir/__pycache__/b.pyc": "created"}
        assert contents(top) == {**START, "new.py": "1"}

    run(body)


def test_a_tidy_snapshot_removes_what_it_leaves_out_and_nothing_else(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "new.py").write_text("1")
        (top / "ignored").write_text("cache")
        (top / "dir" / "__pycache__").mkdir()
        (top / "dir" / "__pycache__" / "b.pyc").write_text("x")
        (top / "mod.pyc").write_text("x")

        tree = await spaces.snapshot(A, base=bench.base, tidy=True)

        assert contents(top) == {**START, "new.py": "1", "ignored": "cache"}
        assert await spaces.clean(A, tree, base=bench.base) == {}

    run(body)


def test_restoring_puts_folders_and_files_back_in_each_others_place(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        tree = await spaces.prepare(A, bench.base)
        top = spaces.path(A)
        (top / "dir" / "b.txt").unlink()
        (top / "dir").rmdir()
        (top / "dir").write_text("a file now")
        (top / "a.txt").unlink()
        (top / "a.txt").mkdir()
        (top / "a.txt" / "inner").write_text("x")

        await spaces.restore(A, tree)

        assert contents(top) == START

    run(body)


def test_restoring_heals_a_workspace_that_is_gone(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        (spaces.path(A) / "new").write_text("1")
        tree = await spaces.snapshot(A, base=bench.base)
        spaces.path(A).rename(spaces.path(A).with_name("taken-away"))

        await spaces.restore(A, tree)

        assert contents(spaces.path(A)) == {**START, "new": "1"}

    run(body)


def test_a_kept_tree_is_a_commit_on_its_base_and_keeping_twice_is_keeping_once(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        (spaces.path(A) / "new").write_text("1")
        tree = await spaces.snapshot(A, base=bench.base)

        first = await spaces.keep(A, "1", tree, base=bench.base)
        second = await bench.open().keep(A, "1", tree, base=bench.base)
        await spaces.remove(A)

        assert first == second
        assert bench.files(first) == {**START, "new": "1"}

    run(body)


def test_landing_on_an_unmoved_head_is_a_fast_forward(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        commit = await work(bench, A, {"new": "1"})

        landing = await spaces.land(A, commit, head=bench.base)

        assert (landing.commit, landing.adopted) == (commit, False)
        assert await spaces.head() == commit
        assert bench.files(commit) == {**START, "new": "1"}

    run(body)


def test_a_commit_that_does_not_stand_on_the_head_is_not_landed(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        one, two = await work(bench, A, {"one": "1"}), await work(bench, B, {"two": "2"})
        await spaces.land(A, one, head=bench.base)

        landing = await spaces.land(B, two, head=bench.base)

        assert landing == Landing(behind=one)
        assert await spaces.head() == one
        assert bench.log() == [A]

    run(body)


def test_a_change_is_put_on_another_head_and_nothing_moves(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        one, two = await work(bench, A, {"one": "1"}), await work(bench, B, {"two": "2", "a.txt": "B"})
        await spaces.land(A, one, head=bench.base)

        merge = await spaces.merge(two, one)

        assert merge.conflicts == ()
        assert not await spaces.changed(one, merge.onto)
        assert await spaces.changed(one, merge.tree) == {"a.txt": "modified", "two": "created"}
        assert await spaces.head() == one
        assert contents(spaces.path(B)) == {**START, "two": "2", "a.txt": "B"}

    run(body)


def test_a_workspace_is_put_on_another_base_with_its_change(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        one, two = await work(bench, A, {"one": "1"}), await work(bench, B, {"two": "2"})
        (spaces.path(B) / "ignored").write_text("cache")
        merge = await spaces.merge(two, one)

        await spaces.restore(B, merge.tree, base=one)
        tree = await bench.open().snapshot(B, base=one)

        assert contents(spaces.path(B)) == {**START, "one": "1", "two": "2", "ignored": "cache"}
        assert tree == merge.tree
        assert await spaces.changed(one, tree) == {"two": "created"}

    run(body)


def test_conflicts_with_what_others_are_writing_are_foreseen_and_nothing_of_theirs_is_touched(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        one = await work(bench, A, {"a.txt": "A\n", "dir/b.txt": "A\n", "own": "1"})
        for step in (B, C):
            await spaces.prepare(step, bench.base)
        (spaces.path(B) / "a.txt").write_text("B\n")
        (spaces.path(B) / "dir" / "b.txt").write_text("B\n")
        (spaces.path(C) / "other").write_text("C\n")
        before = contents(spaces.path(B))

        found = await spaces.foresee(one, [B, C, StepId("not begun")])

        assert found == {B: ("a.txt", "dir/b.txt")}
        assert contents(spaces.path(B)) == before

    run(body)


def test_markers_of_a_conflict_are_found_only_where_they_are_new(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        one = await work(bench, A, {"a.txt": "A\n", "titles.rst": "Welcome\n=======\n"})
        two = await work(bench, B, {"a.txt": "B\n"})
        merge = await spaces.merge(two, one)
        three = await spaces.commit(B, merge.tree, base=one, message="with markers")
        titles = await spaces.snapshot(A, base=bench.base)
        (spaces.path(B) / "a.txt").write_text((bench.files(three)["a.txt"]) * 2)
        more = await spaces.snapshot(B, base=three)
        assert await spaces.find_markers(B, more, base=three) == ["a.txt"]

        await spaces.restore(B, merge.tree, base=one)

        assert await spaces.find_markers(B, merge.tree, base=one) == ["a.txt"]
        assert await spaces.find_markers(B, merge.tree, base=three) == []
        assert await spaces.find_markers(A, titles, base=bench.base) == []

    run(body)


def test_the_landings_tree_is_the_tree_of_its_commit(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        commits = {step: await work(bench, step, {step: "x"}) for step in (A, B)}

        for step, commit in commits.items():
            landing = await land(bench, step, commit)

            assert landing.tree is not None
            assert not await spaces.changed(await spaces.head(), landing.tree)

    run(body)


def test_a_conflict_names_the_files_which_have_both_sides_in_them(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        one, two = await work(bench, A, {"a.txt": "A\n"}), await work(bench, B, {"a.txt": "B\n", "two": "2"})
        await spaces.land(A, one, head=bench.base)

        merge = await spaces.merge(two, one)

        assert merge.conflicts == ("a.txt",)
        text = await spaces.read_text(merge.tree, "a.txt") or ""
        assert [line for line in text.splitlines() if line[:7] not in ("<<<<<<<", "=======", ">>>>>>>")] == ["A", "B"]
        assert await spaces.read_text(merge.tree, "two") == "2"
        assert await spaces.head() == one

    run(body)


def test_a_landing_found_on_the_branch_is_adopted_instead_of_made_again(bench: Bench) -> None:
    async def body() -> None:
        await bench.open().start(bench.base)
        commits = {step: await work(bench, step, {step: "x"}) for step in (A, B, C)}
        landed = {step: await land(bench, step, commit) for step, commit in commits.items()}

        again = {step: await bench.open().land(step, commit, head=bench.base) for step, commit in commits.items()}

        assert all(landing.adopted for landing in again.values())
        assert [again[step].commit for step in commits] == [landed[step].commit for step in commits]
        assert [again[step].tree for step in commits] == [landed[step].tree for step in commits]
        assert bench.log() == [A, B, C]

    run(body)


def test_a_landing_below_the_given_head_is_an_earlier_round_and_not_adopted(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        first = await spaces.land(A, await work(bench, A, {"new": "1"}), head=bench.base)
        assert first.commit is not None
        second = await work(bench, A, {"new": "2"}, base=first.commit)

        landing = await spaces.land(A, second, head=first.commit)

        assert landing == Landing(commit=second, tree=landing.tree)
        assert bench.log() == [A, A]

    run(body)


def test_a_step_that_changed_nothing_still_lands(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)

        for step in (A, B):
            await land(bench, step, await work(bench, step, {}))

        assert bench.log() == [A, B]
        assert bench.files(await spaces.head()) == START

    run(body)


def test_a_step_whose_change_is_already_there_still_lands(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        commits = {step: await work(bench, step, {"same": "x"}) for step in (A, B)}

        for step, commit in commits.items():
            await land(bench, step, commit)

        assert bench.log() == [A, B]

    run(body)


def test_a_branch_that_is_checked_out_elsewhere_is_not_moved(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        commit = await work(bench, A, {"new": "1"})
        bench.check_out()

        landing = await spaces.land(A, commit, head=bench.base)

        assert landing.commit is None
        assert "elsewhere" in landing.refusal
        assert await spaces.head() == bench.base

    run(body)


async def land_two(bench: Bench) -> tuple[Workspaces, list[Commit]]:
    """Two landings, one after the other."""
    spaces = bench.open()
    await spaces.start(bench.base)
    landed = []
    for step in (A, B):
        landing = await land(bench, step, await work(bench, step, {step: "1"}))
        assert landing.commit is not None
        landed.append(landing.commit)
    return spaces, landed


def test_a_branch_where_we_left_it_is_sound(bench: Bench) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)

        seen = await spaces.look(landed)

        assert seen.is_sound
        assert seen.tip == seen.written == landed[-1]

    run(body)


def test_a_landing_the_caller_does_not_know_is_told_with_its_step(bench: Bench) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)

        seen = await spaces.look(landed[:1])

        assert [(step, commit) for step, commit, _ in seen.unknown] == [(B, landed[1])]
        assert seen.is_sound

    run(body)


def test_a_deleted_branch_is_not_made_again_at_its_base_and_can_be_restored(bench: Bench) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)
        bench.delete_branch()
        await bench.open().start(bench.base)

        seen = await spaces.look(landed)
        refusal = await spaces.settle_branch(seen, landed[-1])

        assert (seen.tip, seen.written, seen.missing) == (None, landed[-1], tuple(landed))
        assert refusal == ""
        assert bench.log() == [A, B]
        assert (await spaces.look(landed)).is_sound

    run(body)


def test_a_branch_that_was_set_back_misses_its_landings_and_takes_no_further_one(bench: Bench) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)
        bench.reset_branch()

        seen = await spaces.look(landed)
        landing = await spaces.land(C, await work(bench, C, {"c": "1"}), head=bench.base)

        assert seen.missing == tuple(landed)
        assert seen.foreign == ()
        assert (landing.commit, landing.moved) == (None, True)

    run(body)


@pytest.mark.parametrize("moved", ["deleted", "set back", "committed to"])
def test_work_begins_where_we_left_a_branch_that_somebody_else_has_moved(bench: Bench, moved: str) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)
        {"deleted": bench.delete_branch, "set back": bench.reset_branch, "committed to": bench.commit_foreign}[moved]()

        assert await spaces.head() == landed[-1]

    run(body)


def test_commits_of_somebody_else_are_named_and_may_become_the_head(bench: Bench) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)
        theirs = bench.commit_foreign()
        candidate = await work(bench, C, {"c": "1"})

        refused = await spaces.land(C, candidate, head=bench.base)
        seen = await spaces.look(landed)
        await spaces.settle_branch(seen, theirs)
        landing = await land(bench, C, candidate)

        assert refused.moved
        assert [commit for commit, _ in seen.foreign] == [theirs]
        assert "Mine" in seen.foreign[0][1]
        assert landing.commit is not None
        assert bench.log() == [A, B, C]

    run(body)


def test_a_branch_that_moved_again_is_not_settled(bench: Bench) -> None:
    async def body() -> None:
        spaces, landed = await land_two(bench)
        seen = await spaces.look(landed)
        theirs = bench.commit_foreign()

        refusal = await spaces.settle_branch(seen, landed[0])

        assert refusal
        assert (await spaces.look(landed)).tip == theirs

    run(body)


def test_a_landing_is_found_by_its_candidate_and_only_while_it_is_on_the_branch(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        first = await work(bench, A, {"a": "1"})
        await spaces.land(A, first, head=bench.base)
        candidate = await work(bench, B, {"b": "1"}, base=first)
        before = await spaces.find_landing(B, candidate)
        landing = await spaces.land(B, candidate, head=bench.base)

        found = await bench.open().find_landing(B, candidate)
        bench.reset_branch()
        after = await spaces.find_landing(B, candidate)

        assert before is after is None
        assert found is not None
        assert (found.commit, found.adopted) == (landing.commit, True)

    run(body)


def test_a_removed_workspace_is_gone_and_removing_it_again_is_nothing(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)

        await spaces.remove(A)
        await bench.open().remove(A)
        await spaces.remove(B)

        assert not spaces.path(A).exists()

    run(body)


def test_a_removed_workspace_can_be_made_again(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.prepare(A, bench.base)
        await spaces.remove(A)

        await spaces.prepare(A, bench.base)

        assert contents(spaces.path(A)) == START

    run(body)


def test_a_workspace_that_is_retired_is_gone_and_what_was_in_it_is_kept(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        await spaces.prepare(A, bench.base)
        (spaces.path(A) / "new").write_text("1\n")
        tree = await spaces.snapshot(A, base=bench.base)

        kept = await spaces.retire(A, "left")

        assert not spaces.path(A).exists()
        assert kept is not None
        assert await spaces.changed(kept, tree) == {}

    run(body)


def test_a_workspace_that_was_restored_after_it_was_retired_can_be_retired_again(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        tree = await spaces.prepare(A, bench.base)
        await spaces.retire(A, "cancelled")
        await spaces.restore(A, tree)
        (spaces.path(A) / "new").write_text("1\n")

        kept = await spaces.retire(A, "skipped")

        assert not spaces.path(A).exists()
        assert kept is not None

    run(body)


def test_nothing_is_kept_of_a_retired_workspace_in_which_nothing_was_changed(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        await spaces.prepare(A, bench.base)

        untouched, absent = await spaces.retire(A, "left"), await spaces.retire(A, "left")

        assert (untouched, absent) == (None, None)
        assert not spaces.path(A).exists()

    run(body)


def test_a_step_keeps_the_place_that_it_was_assigned(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()

        first = await spaces.assign(A)
        other = await spaces.assign(B)
        await spaces.prepare(A, bench.base)
        again = await bench.open().assign(A)

        assert first == again == bench.open().path(A)
        assert other != first
        assert contents(first) == START

    run(body)


def test_nothing_of_a_step_is_left_for_the_one_that_comes_after_its_release(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        first = await spaces.assign(A)
        landed = await work(bench, A, {"new": "1\n", "ignored": "made by A\n", "dir/ignored": "made by A\n"})
        await spaces.land(A, landed, head=bench.base)
        (first / "left").write_text("untracked\n")

        await spaces.release(A)
        second = await bench.open().assign(B)
        tree = await bench.open().prepare(B, landed)

        assert contents(second) == {**START, "new": "1\n"}
        assert await spaces.snapshot(B, base=landed) == tree

    run(body)


def test_files_are_set_aside_until_they_are_given_back_or_the_workspace_is_restored(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        tree = await spaces.prepare(A, bench.base)
        made = spaces.path(A) / "ignored"
        made.write_text("made\n")

        await spaces.set_aside(A, ["ignored"])
        made.write_text("made by a check\n")
        await spaces.set_aside(A, ["ignored"])
        await spaces.clean(A, tree, base=bench.base)
        assert made.read_text() == "made by a check\n"
        await bench.open().give_back(A)
        assert made.read_text() == "made\n"
        await spaces.set_aside(A, ["ignored"])
        assert not made.exists()
        await bench.open().restore(A, tree, base=bench.base)

        assert made.read_text() == "made\n"

    run(body)


def test_a_place_for_checks_is_granted_to_one_at_a_time_and_keeps_what_its_setup_installed(bench: Bench) -> None:
    async def body() -> None:
        spaces, tree = bench.open(), await bench.open().find_tree(bench.base)
        async with spaces.acquire("s1") as one, bench.open().acquire("s2") as other:
            assert spaces.path(one) != spaces.path(other)
            await spaces.stage(one, tree, base=bench.base, setup="s1")
            assert not spaces.is_set_up(one, "s1")
            installed = spaces.path(one) / "ignored" / "node_modules" / "a"
            installed.parent.mkdir(parents=True)
            for file in (installed, spaces.path(one) / "ignored" / "b", spaces.path(one) / "untracked"):
                file.write_text("x\n")
            await spaces.note_setup(one, "s1")

        async with bench.open().acquire("s1") as again:
            assert again == one
            await spaces.stage(again, tree, base=bench.base, setup="s1")
            assert spaces.is_set_up(again, "s1")
            assert contents(spaces.path(again)) == {**START, "ignored/node_modules/a": "x\n"}
            await spaces.stage(again, tree, base=bench.base, setup="s2")

            assert not spaces.is_set_up(again, "s1")
            assert contents(spaces.path(again)) == START

    run(body)


def test_nothing_of_a_step_is_left_for_itself_after_its_release(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.assign(A)
        await spaces.prepare(A, bench.base)
        (spaces.path(A) / "ignored").write_text("made before\n")

        await spaces.release(A)
        await spaces.assign(A)
        await spaces.prepare(A, bench.base)

        assert contents(spaces.path(A)) == START

    run(body)


def test_a_workspace_can_be_restored_where_another_step_was(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.assign(A)
        await spaces.prepare(A, bench.base)
        (spaces.path(A) / "ignored").write_text("made by A\n")
        tree = await spaces.snapshot(A, base=bench.base)
        await spaces.release(A)
        await spaces.assign(B)

        await bench.open().restore(B, tree, base=bench.base)

        assert contents(spaces.path(B)) == START

    run(body)


def test_what_was_released_can_be_dropped_and_what_a_step_has_stays(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        for step in (A, B):
            await spaces.assign(step)
            await spaces.prepare(step, bench.base)
        first = spaces.path(A)

        await spaces.release(A)
        await spaces.release(A)
        await bench.open().drop_released()
        await spaces.drop_released()

        assert not first.exists()
        assert spaces.list_places() == {spaces.path(B): B}
        assert contents(spaces.path(B)) == START

    run(body)


@pytest.mark.parametrize("way", ["remove", "retire"])
def test_a_step_whose_workspace_was_taken_away_is_assigned_another(bench: Bench, way: str) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        await spaces.assign(A)
        await spaces.prepare(A, bench.base)

        await (spaces.remove(A) if way == "remove" else spaces.retire(A, "left"))
        await spaces.assign(A)
        await spaces.prepare(A, bench.base)

        assert spaces.list_places() == {spaces.path(A): A}
        assert contents(spaces.path(A)) == START

    run(body)


def test_words_are_found_in_a_tree_and_not_in_the_plans_own_files(bench: Bench) -> None:
    async def body() -> None:
        spaces = bench.open()
        await spaces.start(bench.base)
        await spaces.prepare(A, bench.base)
        (spaces.path(A) / "code.py").write_text("def load_config(path): ...\n")
        tree = await spaces.snapshot(A, base=bench.base)

        found = await spaces.find_words(tree, ["load_config", "load", "plan", "jobs", "-e", "b"])

        assert set(found) == {"load_config", "b"}
        assert not await spaces.find_words(tree, [])

    run(body)


def test_drafts_of_plan_files_in_the_checkout_are_neither_work_nor_removed(tmp_path: Path) -> None:
    async def body() -> None:
        spaces = own.open()
        await spaces.start(own.base)
        await spaces.prepare(A, own.base)
        draft = spaces.path(A) / "plan" / ".root.md.drumline-1.tmp"
        elsewhere = spaces.path(A) / "docs" / ".PLAN.md.drumline-2.tmp"
        elsewhere.parent.mkdir()
        for file in (draft, elsewhere):
            file.write_text("half")

        tree = await spaces.snapshot(A, base=own.base)
        await spaces.release(A)

        assert not await spaces.changed(own.base, tree)
        assert draft.exists()
        assert elsewhere.exists()

    own = CheckoutBench(tmp_path)
    run(body)
