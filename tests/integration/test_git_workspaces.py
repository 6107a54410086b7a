"""Workspaces on real git: hostile leftovers, strange names, the user's checkout, and processes landing at once."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import Commit, RunId, StepId
from drumline.errors import GitError, InvalidInput
from drumline.isolation.outside import read_checkout
from drumline.models.witness import look
from drumline.ports.workspaces import Landing, Merge
from drumline.workspace import landing, locks, markers, rebases
from drumline.workspace.fingerprint import take_fingerprint
from drumline.workspace.locks import hold, is_busy, retry_busy
from drumline.workspace.repository import find_repository
from drumline.workspace.runrefs import find_run_refs, remove_refs
from drumline.workspace.workspaces import GitWorkspaces

A, B = StepId("step-1"), StepId("step-2")
RUN = RunId("r1")
BRANCH = "drumline/plan-r1"

Break = Callable[[Path, Path], None]


def git(where: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


class Project:
    """A repository of a user without any git configuration, and the workspaces of one run in it."""

    def __init__(self, folder: Path) -> None:
        self.top = folder / "repo"
        self.root = folder / "worktrees"
        self.top.mkdir()
        git(self.top, "init", "-q", "-b", "main")
        (self.top / "a.txt").write_text("a\n")
        (self.top / ".gitignore").write_text("ignored\n")
        (self.top / "plan").mkdir()
        (self.top / "plan" / "root.md").write_text("plan\n")
        self.base = self.commit_all("first")

    def commit_all(self, message: str) -> Commit:
        git(self.top, "add", "-A")
        git(self.top, "-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", message)
        return Commit(git(self.top, "rev-parse", "HEAD"))

    def record(self, spaces: GitWorkspaces) -> Path:
        """Git's record of the first step's worktree."""
        return Path(git(spaces.path(A), "rev-parse", "--absolute-git-dir"))

    def open(self, start: Path | None = None, *, started: int = 0) -> GitWorkspaces:
        found = find_repository(start or self.top)
        return GitWorkspaces(found, run=RUN, branch=BRANCH, root=self.root, plan_paths=["plan"], started=started)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Project(tmp_path)


async def land(project: Project, step: StepId, files: dict[str, str]) -> Commit:
    """Work on a step from the first commit and land it."""
    spaces = project.open()
    await spaces.start(project.base)
    await spaces.prepare(step, project.base)
    for path, text in files.items():
        (spaces.path(step) / path).write_text(text)
    tree = await spaces.snapshot(step, base=project.base)
    commit = await spaces.commit(step, tree, base=project.base, message=f"Do {step}")
    landing = await spaces.land(step, commit, head=project.base)
    if landing.behind is not None:
        merge = await spaces.merge(commit, landing.behind)
        moved = await spaces.commit(step, merge.tree, base=landing.behind, message=f"Do {step}")
        landing = await spaces.land(step, moved, head=project.base)
    assert landing.commit is not None
    return landing.commit


def test_a_driver_that_finds_the_branch_of_its_run_does_not_wait_for_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(attempt: int, **_: float) -> None:
        raise AssertionError(f"it waits before it tries again ({attempt})")

    monkeypatch.setattr(locks, "back_off", refuse)

    async def scenario() -> None:
        await project.open().start(project.base)
        await project.open().start(project.base)

    anyio.run(scenario)

    assert git(project.top, "rev-parse", BRANCH) == project.base


LANDER = """
import sys
from pathlib import Path
import anyio
from drumline.core.ids import Commit, RunId, StepId
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

top, root, branch, base, steps = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], Commit(sys.argv[4]), sys.argv[5:]

async def main():
    spaces = GitWorkspaces(find_repository(top), run=RunId("r1"), branch=branch, root=root)
    await spaces.start(base)
    for step in map(StepId, steps):
        await spaces.prepare(step, base)
        (spaces.path(step) / step).write_text(step)
        tree = await spaces.snapshot(step, base=base)
        commit = await spaces.commit(step, tree, base=base, message="Do " + step)
        landing = await spaces.land(step, commit, head=base)
        while landing.behind:
            merge = await spaces.merge(commit, landing.behind)
            commit = await spaces.commit(step, merge.tree, base=landing.behind, message="Do " + step)
            landing = await spaces.land(step, commit, head=base)
        assert landing.commit, landing
        await spaces.remove(step)

anyio.run(main)
"""


def start_lander(
    project: Project, steps: Sequence[str], *, root: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a process that works on `steps` from the first commit and lands them."""
    argv = [sys.executable, "-c", LANDER, str(project.top), str(root or project.root), BRANCH, project.base, *steps]
    return subprocess.Popen(argv, stderr=subprocess.PIPE, text=True, env=env)


# The user's side


@pytest.mark.parametrize("ref", [f"refs/heads/{BRANCH}", f"refs/drumline/{RUN}/@head", f"refs/drumline/{RUN}/{A}/1"])
@pytest.mark.parametrize("by", ["git", "a link"])
def test_a_ref_of_ours_that_was_made_to_name_a_branch_of_the_user_moves_nothing_of_theirs(
    project: Project, ref: str, by: str
) -> None:
    spaces = project.open()

    async def work() -> None:
        await spaces.start(project.base)
        await spaces.prepare(A, project.base)
        (spaces.path(A) / "new.txt").write_text("new\n")
        tree = await spaces.snapshot(A, base=project.base)
        await spaces.keep(A, "1", await spaces.find_tree(project.base), base=project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="Do it")
        if by == "git":
            git(project.top, "symbolic-ref", ref, "refs/heads/main")
        else:
            (project.top / ".git" / ref).unlink()
            (project.top / ".git" / ref).symlink_to(project.top / ".git" / "refs" / "heads" / "main")
        await spaces.keep(A, "1", tree, base=project.base)
        seen = await spaces.look([], project.base)
        await spaces.settle_branch(seen, project.base)
        assert (await spaces.land(A, commit, head=project.base)).commit == commit

    anyio.run(work)

    assert git(project.top, "rev-parse", "main") == project.base
    assert git(project.top, "show", f"{BRANCH}:new.txt") == "new"
    assert git(project.top, "show", f"refs/drumline/{RUN}/{A}/1:new.txt") == "new"
    assert git(project.top, "for-each-ref", "--format=%(symref)", ref) == ""


def test_a_lock_of_somebody_else_on_the_run_branch_is_waited_for_and_then_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landing, "PATIENCE", 0.1)
    lock = project.top / ".git" / "refs" / "heads" / f"{BRANCH}.lock"

    async def work() -> Landing:
        spaces = project.open()
        await spaces.start(project.base)
        commit = await spaces.commit(A, await spaces.find_tree(project.base), base=project.base, message="Do it")
        lock.touch()
        return await spaces.land(A, commit, head=project.base)

    refused = anyio.run(work)

    assert str(lock) in refused.refusal
    assert (refused.moved, refused.behind) == (False, None)
    assert lock.exists()


def test_what_was_seen_in_a_workspace_is_not_put_together_again_and_survives_a_prune(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", logger="drumline.workspace.git")

    def count_made() -> int:
        made = [said for said in caplog.messages if said.startswith(("git write-tree", "git commit-tree"))]
        caplog.clear()
        return len(made)

    async def work() -> tuple[list[int], list[Mapping[StepId, Sequence[str]]]]:
        spaces = project.open()
        await spaces.start(project.base)
        for step, word in ((A, "one"), (B, "two")):
            await spaces.prepare(step, project.base)
            (spaces.path(step) / "a.txt").write_text(f"{word}\n")
        commit = await spaces.keep(A, "1", await spaces.snapshot(A, base=project.base), base=project.base)
        counts, found = [], []
        count_made()
        for change in ("", "", "prune", "", "a\n"):
            if change == "prune":
                git(project.top, "-c", "gc.pruneExpire=now", "gc", "-q", "--prune=now")
            elif change:
                (spaces.path(B) / "a.txt").write_text(change)
            found.append(await spaces.foresee(commit, [B]))
            counts.append(count_made())
        return counts, found

    counts, found = anyio.run(work)

    assert counts == [2, 0, 0, 2, 1]
    assert found == [{B: ("a.txt",)}, {B: ("a.txt",)}, {}, {B: ("a.txt",)}, {}]


def write_end(folder: Path, word: str) -> None:
    """Change the last line of a file that is larger than what is read of it at a time."""
    (folder / "a.txt").write_text("a line that both sides leave alone\n" * 25 + f"{word}\n")


def take_the_place(folder: Path, word: str) -> None:
    if word == "first":
        (folder / "place").write_text("a file\n")
    else:
        (folder / "place").mkdir()
        (folder / "place" / "b.txt").write_text("in a folder\n")


@pytest.mark.parametrize(
    ("change", "named", "attribute"),
    [
        (write_end, "a.txt", ""),
        (write_end, "a.txt", "* conflict-marker-size=20"),
        (take_the_place, "place~", ""),
    ],
)
def test_what_a_conflict_leaves_is_found_at_the_end_of_large_files_and_in_names(
    project: Project, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, str], None], named: str, attribute: str
) -> None:
    monkeypatch.setattr(markers, "CHUNK", 11)
    (project.top / ".git" / "info" / "attributes").write_text(f"{attribute}\n")

    async def work() -> tuple[Merge, Sequence[str], Sequence[str]]:
        spaces = project.open()
        await spaces.start(project.base)
        commits = []
        for step, word in ((A, "first"), (B, "second")):
            await spaces.prepare(step, project.base)
            change(spaces.path(step), word)
            tree = await spaces.snapshot(step, base=project.base)
            commits.append(await spaces.commit(step, tree, base=project.base, message="Do it"))
        merge = await spaces.merge(commits[1], commits[0])
        await spaces.restore(B, merge.tree, base=commits[0])
        alone = await spaces.find_markers(A, await spaces.find_tree(commits[0]), base=project.base)
        return merge, await spaces.find_markers(B, merge.tree, base=commits[0]), alone

    merge, found, alone = anyio.run(work)

    assert [path.startswith(named) for path in found] == [True]
    assert {*found} <= {*merge.conflicts}
    assert alone == []


def test_removing_refs_of_a_run_removes_no_branch_that_one_of_them_names(project: Project) -> None:
    ref = f"refs/drumline/{RUN}/{A}/1"
    git(project.top, "branch", "theirs")
    git(project.top, "symbolic-ref", ref, "refs/heads/theirs")

    found = find_run_refs(project.top, RUN, "", project.base)
    refused = remove_refs(project.top, found)

    assert ([one.ref for one in found], refused) == ([ref], "")
    assert git(project.top, "rev-parse", "theirs") == project.base
    assert git(project.top, "for-each-ref", "refs/drumline") == ""


def replace_base(project: Project) -> None:
    empty = git(project.top, "hash-object", "-t", "tree", "--stdin", "-w")
    git(project.top, "replace", f"{project.base}^{{tree}}", empty)


def graft_base(project: Project) -> None:
    (project.top / ".git" / "info").mkdir(exist_ok=True)
    (project.top / ".git" / "info" / "grafts").write_text(f"{git(project.top, 'rev-parse', 'main')} {'0' * 39}1\n")


@pytest.mark.parametrize("pretend", [replace_base, graft_base])
def test_what_is_shown_in_place_of_commits_and_trees_is_not_what_work_is_put_on(
    project: Project, pretend: Callable[[Project], None]
) -> None:
    async def work() -> Merge:
        spaces = project.open()
        await spaces.start(project.base)
        await spaces.prepare(A, project.base)
        (spaces.path(A) / "new.txt").write_text("new\n")
        tree = await spaces.snapshot(A, base=project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="Do it")
        pretend(project)
        fresh = project.open()  # which remembers nothing of the objects
        assert (await fresh.look([], project.base)).is_sound
        await fresh.prepare(B, project.base)
        assert (fresh.path(B) / "a.txt").exists()
        return await fresh.merge(commit, onto)

    (project.top / "b.txt").write_text("b\n")
    onto = project.commit_all("second")

    merged = anyio.run(work)

    assert merged.conflicts == ()
    assert "a.txt" in git(project.top, "--no-replace-objects", "ls-tree", "--name-only", merged.tree)


@pytest.mark.parametrize("linked", [False, True])
def test_the_users_checkout_branch_and_uncommitted_work_stay_untouched(project: Project, linked: bool) -> None:
    top = project.top
    if linked:
        top = project.top.with_name("linked")
        git(project.top, "worktree", "add", "-q", "-b", "mine", str(top))
    (top / "a.txt").write_text("half done")
    (top / "staged").write_text("x")
    git(top, "add", "staged")
    (top / "untracked").write_text("x")
    before = (git(top, "status", "--porcelain", "--branch"), git(top, "diff", "HEAD"))

    async def body() -> None:
        spaces = project.open(top)
        await spaces.start(project.base)
        await spaces.prepare(A, project.base)
        (spaces.path(A) / "a.txt").write_text("by the agent")
        tree = await spaces.snapshot(A, base=project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="x")
        await spaces.land(A, commit, head=project.base)
        await spaces.remove(A)

        assert list(await spaces.changed(project.base, tree)) == ["a.txt"]

    anyio.run(body)

    assert (git(top, "status", "--porcelain", "--branch"), git(top, "diff", "HEAD")) == before


def test_no_hook_runs(project: Project) -> None:
    hooks = project.top / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-checkout", "reference-transaction", "post-index-change"):
        (hooks / name).write_text("#!/bin/sh\ntouch hook-ran\nexit 1\n")
        (hooks / name).chmod(0o755)

    anyio.run(land, project, A, {"new": "1"})

    assert list(project.top.parent.rglob("hook-ran")) == []


def test_nothing_is_signed_even_if_the_user_signs(project: Project) -> None:
    git(project.top, "config", "commit.gpgSign", "true")
    git(project.top, "config", "gpg.program", "false")

    commit = anyio.run(land, project, A, {"new": "1"})

    assert "gpgsig" not in git(project.top, "cat-file", "commit", commit)


def test_without_a_configured_identity_ours_is_used(project: Project) -> None:
    git(project.top, "config", "user.useConfigOnly", "true")

    commit = anyio.run(land, project, A, {"new": "1"})

    who = "Drumline <drumline@localhost>"
    assert git(project.top, "log", "-1", "--format=%an <%ae>|%cn <%ce>", commit) == f"{who}|{who}"


@pytest.mark.parametrize(("name", "email"), [("...", "x@example.org"), ("", "x@example.org"), ("Ada", "")])
def test_an_unusable_identity_does_not_stop_a_run(project: Project, name: str, email: str) -> None:
    git(project.top, "config", "user.name", name)
    git(project.top, "config", "user.email", email)

    commit = anyio.run(land, project, A, {"new": "1"})

    assert git(project.top, "log", "-1", "--format=%an", commit) == "Drumline"


def test_the_users_identity_is_used_also_on_a_head_that_has_moved(project: Project) -> None:
    git(project.top, "config", "user.name", "Ada L")
    git(project.top, "config", "user.email", "ada@example.org")

    anyio.run(land, project, A, {"one": "1"})
    merged = anyio.run(land, project, B, {"two": "2"})

    form = "--format=%an <%ae>|%cn <%ce>|%s"
    assert git(project.top, "log", "-1", form, merged) == "Ada L <ada@example.org>|Ada L <ada@example.org>|Do step-2"


def test_a_look_at_the_tree_before_the_work_removes_nothing_that_the_work_ignores(project: Project) -> None:
    async def body() -> tuple[list[str], list[str]]:
        spaces = project.open()
        before = await spaces.prepare(A, project.base)
        place = spaces.path(A)
        (place / ".gitignore").write_text("/tools/\n")
        (place / "tools").mkdir()
        (place / "tools" / "run").write_text("installed")
        (place / "made.txt").write_text("work")
        after = await spaces.snapshot(A, base=project.base)
        await spaces.switch(A, before, tidy=False)
        meanwhile = sorted(
            str(path.relative_to(place)) for path in place.rglob("*") if path.name in ("run", "made.txt")
        )
        (place / "dropped").write_text("by a check")
        await spaces.switch(A, after, tidy=True)
        return meanwhile, sorted(path.name for path in place.iterdir() if path.name not in (".git", "plan"))

    meanwhile, names = anyio.run(body)

    assert meanwhile == ["tools/run"]
    assert {".gitignore", "made.txt", "tools"} <= {*names}
    assert "dropped" not in names


def test_a_workspace_has_what_a_checkout_of_its_tree_gives(project: Project) -> None:
    async def body() -> dict[str, bytes]:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        place = spaces.path(A)
        (place / ".gitattributes").write_text("*.id ident\n*.lf text eol=lf\n")
        (place / "told.id").write_text("$Id: whatever $\n")
        (place / "told.lf").write_bytes(b"a\r\n")
        (place / "other.txt").write_bytes(b"$Id: whatever $\r\n")
        tree = await spaces.snapshot(A, base=project.base, tidy=True)
        assert tree == await spaces.snapshot(A, base=project.base)
        return {name: (place / name).read_bytes() for name in ("told.id", "told.lf", "other.txt")}

    found = anyio.run(body)

    assert b"whatever" not in found.pop("told.id")
    assert found == {"told.lf": b"a\n", "other.txt": b"$Id: whatever $\r\n"}


def test_commits_are_dated_by_the_start_of_the_run(project: Project) -> None:
    started = 4_000_000_000

    async def body() -> Commit:
        spaces = project.open(started=started)
        tree = await spaces.prepare(A, project.base)
        return await spaces.commit(A, tree, base=project.base, message="x")

    commit = anyio.run(body)

    assert git(project.top, "log", "-1", "--format=%at %ct", commit) == f"{started} {started}"


@pytest.mark.parametrize(
    "message",
    [
        "",
        "plain",
        "subject\n\nbody\n\nDrumline-Run: r1\nDrumline-Step: step-2",
        "-m\n# comment\n\n%B $(touch x)",
        "nul \0 and lone \udcff surrogate",
        "é\r\nwindows",
    ],
)
def test_any_message_is_safe_and_only_the_true_trailers_count(project: Project, message: str) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.start(project.base)
        tree = await spaces.prepare(A, project.base)
        commit = await spaces.commit(A, tree, base=project.base, message=message)
        await spaces.land(A, commit, head=project.base)
        other = await spaces.commit(B, tree, base=project.base, message="B")

        landing = await spaces.land(B, other, head=project.base)

        assert not landing.adopted
        form = "--format=%(trailers:key=Drumline-Run,valueonly,separator=)/%(trailers:key=Drumline-Step,valueonly)"
        assert git(project.top, "log", "-1", form, commit) == "r1/step-1"

    anyio.run(body)


def test_a_branch_checked_out_by_the_user_is_refused_by_path(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.start(project.base)
        git(project.top, "checkout", "-q", BRANCH)
        tree = await spaces.prepare(A, project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="x")

        landing = await spaces.land(A, commit, head=project.base)

        assert str(project.top) in landing.refusal
        assert await spaces.head() == project.base

    anyio.run(body)


def test_a_step_that_checks_out_the_run_branch_in_its_workspace_still_lands(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.start(project.base)
        tree = await spaces.prepare(A, project.base)
        git(spaces.path(A), "checkout", "-q", BRANCH)
        commit = await spaces.commit(A, tree, base=project.base, message="x")

        landing = await spaces.land(A, commit, head=project.base)

        assert landing.commit == await spaces.head() == commit

    anyio.run(body)


def test_a_branch_name_that_collides_is_refused_with_gits_words(project: Project) -> None:
    git(project.top, "branch", "drumline")

    with pytest.raises(GitError, match="refs/heads/drumline"):
        anyio.run(project.open().start, project.base)


@pytest.mark.parametrize(("taken", "wanted"), [("drumline", "drumline/p"), ("drumline/p/q", "drumline/p")])
def test_a_name_that_another_branch_takes_up_is_not_tried_again(project: Project, taken: str, wanted: str) -> None:
    git(project.top, "branch", taken)
    argv = ["git", "update-ref", f"refs/heads/{wanted}", project.base]
    refused = subprocess.run(argv, cwd=project.top, capture_output=True, text=True, check=False)
    tried: list[str] = []

    async def act() -> None:
        tried.append(wanted)
        raise GitError(refused.stderr, hint="")

    with pytest.raises(GitError, match="cannot lock ref"):
        anyio.run(retry_busy, act)

    assert tried == [wanted]


@pytest.mark.parametrize("old", ["", "1" * 40], ids=["to be created", "to be elsewhere"])
def test_a_ref_that_is_not_as_it_should_be_is_not_waited_for(project: Project, old: str) -> None:
    order = f"update refs/heads/main {project.base} {old}\n" if old else f"create refs/heads/main {project.base}\n"
    argv = ["git", "update-ref", "--stdin"]
    refused = subprocess.run(argv, cwd=project.top, input=order, capture_output=True, text=True, check=False)

    assert "cannot lock ref" in refused.stderr
    assert not is_busy(refused.stderr)


def test_a_record_that_vanishes_while_git_lists_them_is_looked_for_again() -> None:
    said = "fatal: Invalid path '/repo/.git/worktrees/drumline-step-140': No such file or directory"
    answers = iter([GitError(said, hint=""), None])

    async def act() -> str:
        if refused := next(answers):
            raise refused
        return "listed"

    assert anyio.run(retry_busy, act) == "listed"


@pytest.mark.parametrize("path", ["", ".", "../x", "/etc", "a/../../x"])
def test_a_plan_path_that_is_no_part_of_the_repository_is_refused(project: Project, path: str) -> None:
    with pytest.raises(InvalidInput, match="plan path"):
        GitWorkspaces(find_repository(project.top), run=RUN, branch=BRANCH, root=project.root, plan_paths=[path])


# The agent's side


def test_commits_an_agent_makes_are_folded_into_the_steps_one_commit(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        where = spaces.path(A)
        (where / "new").write_text("1")
        git(where, "add", "-A")
        git(where, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "-qm", "mine")
        (where / "more").write_text("2")

        tree = await spaces.snapshot(A, base=project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="x")
        await spaces.restore(A, tree)

        assert list(await spaces.changed(project.base, tree)) == ["more", "new"]
        assert git(project.top, "log", "-1", "--format=%P", commit) == project.base
        assert git(where, "rev-parse", "HEAD") == project.base

    anyio.run(body)


def test_git_in_a_fresh_workspace_reports_a_clean_detached_checkout(project: Project) -> None:
    spaces = project.open()

    anyio.run(spaces.prepare, A, project.base)

    where = spaces.path(A)
    assert git(where, "status", "--porcelain", "--branch") == "## HEAD (no branch)"
    assert git(where, "rev-parse", "HEAD") == project.base


def test_an_agent_cannot_hide_a_change_from_a_snapshot(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        where = spaces.path(A)
        git(where, "update-index", "--assume-unchanged", "a.txt")
        times = (where / "a.txt").stat()
        (where / "a.txt").write_text("b\n")
        os.utime(where / "a.txt", ns=(times.st_atime_ns, times.st_mtime_ns))

        tree = await spaces.snapshot(A, base=project.base)

        assert list(await spaces.changed(project.base, tree)) == ["a.txt"]

    anyio.run(body)


STRANGE = [
    "two words",
    "new\nline",
    "é∂",
    "-rf",
    ":(exclude)a.txt",
    "*",
    "[a]",
    '"quoted"',
    "back\\slash",
    "plan*",
    "!x",
]


def test_files_of_any_name_survive_snapshot_restore_and_listing(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        for name in STRANGE:
            (spaces.path(A) / name).write_text(name)

        tree = await spaces.snapshot(A, base=project.base)
        await spaces.prepare(A, project.base)
        assert not (spaces.path(A) / "two words").exists()
        await spaces.restore(A, tree)

        assert sorted(await spaces.changed(project.base, tree)) == sorted(STRANGE)
        assert [(spaces.path(A) / name).read_text() for name in STRANGE] == STRANGE

    anyio.run(body)


def test_a_plan_path_is_not_a_pattern(project: Project) -> None:
    (project.top / "p*").mkdir()
    (project.top / "p*" / "root.md").write_text("x")
    base = project.commit_all("plan")

    async def body() -> None:
        repository = find_repository(project.top)
        spaces = GitWorkspaces(repository, run=RUN, branch=BRANCH, root=project.root, plan_paths=["./p*/"])
        await spaces.prepare(A, base)
        (spaces.path(A) / "p*" / "root.md").write_text("edited")
        (spaces.path(A) / "plan" / "root.md").write_text("edited")

        tree = await spaces.snapshot(A, base=base)

        assert list(await spaces.changed(base, tree)) == ["plan/root.md"]

    anyio.run(body)


def test_executable_bits_and_symlinks_are_kept(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        where = spaces.path(A)
        (where / "tool").write_text("#!/bin/sh\n")
        (where / "tool").chmod(0o755)
        (where / "link").symlink_to("a.txt")
        (where / "outside").symlink_to("/etc")

        tree = await spaces.snapshot(A, base=project.base)
        await spaces.prepare(A, project.base)
        await spaces.restore(A, tree)

        assert os.access(where / "tool", os.X_OK)
        assert (where / "link").readlink() == Path("a.txt")
        assert (where / "outside").readlink() == Path("/etc")

    anyio.run(body)


@pytest.mark.parametrize("with_commit", [False, True])
def test_files_of_a_repository_made_inside_the_workspace_are_not_lost(project: Project, with_commit: bool) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        inner = spaces.path(A) / "app"
        for folder in (inner, inner / "deeper"):
            folder.mkdir()
            (folder / "file").write_text("x")
            git(folder, "init", "-q")
            if with_commit:
                git(
                    folder, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--allow-empty", "-qm", "x"
                )

        tree = await spaces.snapshot(A, base=project.base)

        assert sorted(await spaces.changed(project.base, tree)) == ["app/deeper/file", "app/file"]
        assert git(inner, "rev-parse", "--show-toplevel") == str(inner)
        assert await spaces.snapshot(A, base=project.base) == tree

    anyio.run(body)


def test_a_submodule_that_gitmodules_names_is_kept_as_one(project: Project) -> None:
    other = project.top.with_name("other")
    git(project.top, "clone", "-q", str(project.top), str(other))

    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        git(spaces.path(A), "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "lib")

        tree = await spaces.snapshot(A, base=project.base)

        assert git(project.top, "ls-tree", tree, "lib") == f"160000 commit {project.base}\tlib"

    anyio.run(body)


def arm(submodule: Path, trace: Path) -> None:
    """Have every git that looks at the files of a repository leave a trace: by a filter in its own configuration."""
    git(submodule, "config", "filter.armed.clean", f"sh -c 'touch {trace}; cat'")
    (submodule / ".gitattributes").write_text("* filter=armed\n")
    # Git reads a file again whose time is another one and whose size is not.
    os.utime(submodule / "a.txt", (1, 1))


@pytest.fixture
def armed(project: Project, tmp_path: Path) -> Path:
    """The trace of a program that is named in the configuration of a submodule which the base has."""
    git(project.top.parent, "clone", "-q", str(project.top), str(project.top / "lib"))
    project.base = project.commit_all("a submodule")
    return tmp_path / "trace"


def test_no_program_is_started_that_the_configuration_of_a_submodule_names(project: Project, armed: Path) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        lib = spaces.path(A) / "lib"
        git(project.top.parent, "clone", "-q", str(project.top / "lib"), str(lib))
        arm(lib, armed)
        (spaces.path(A) / "a.txt").write_text("changed\n")

        tree = await spaces.snapshot(A, base=project.base)

        assert await spaces.changed(project.base, tree) == {"a.txt": "modified"}
        assert not armed.exists()
        git(lib, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--allow-empty", "-qm", "moved")
        tree = await spaces.snapshot(A, base=project.base)
        assert git(project.top, "rev-parse", f"{tree}:lib") == git(lib, "rev-parse", "HEAD")

    anyio.run(body)


def test_looking_at_the_checkout_starts_no_program_of_a_submodule(project: Project, armed: Path) -> None:
    async def body() -> None:
        arm(project.top / "lib", armed)
        (project.top / "a.txt").write_text("changed\n")

        assert list(await take_fingerprint(project.top)) == ["a.txt"]
        assert find_repository(project.top).uncommitted() == ["a.txt"]
        seen = await look(project.top)
        assert seen is not None
        assert list(seen.files) == ["a.txt"]
        assert list(await read_checkout(project.top)) == [project.top / "a.txt"]
        assert not armed.exists()

    anyio.run(body)


@pytest.mark.parametrize("instead", ["nothing", "file", "link", "linked parent"])
def test_a_submodule_that_is_gone_is_not_in_the_tree(project: Project, instead: str) -> None:
    (project.top / "libs").mkdir()
    git(project.top.parent, "clone", "-q", str(project.top), str(project.top / "libs" / "one"))
    project.base = project.commit_all("a submodule")

    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        libs = spaces.path(A) / "libs"
        (libs / "one").rmdir()
        if instead == "file":
            (libs / "one").write_text("text\n")
        elif instead == "link":
            (libs / "one").symlink_to("/")
        elif instead == "linked parent":
            libs.rmdir()
            libs.symlink_to(project.top / "libs")

        tree = await spaces.snapshot(A, base=project.base)

        listed = {line.split("\t")[1]: line[:6] for line in git(project.top, "ls-tree", "-r", tree).splitlines()}
        kinds = {path: mode for path, mode in listed.items() if path.startswith("libs")}
        expected = {"file": {"libs/one": "100644"}, "link": {"libs/one": "120000"}, "linked parent": {"libs": "120000"}}
        assert kinds == expected.get(instead, {})

    anyio.run(body)


def test_work_kept_under_a_used_label_does_not_lose_what_was_there(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        kept = []
        for text in "12":
            (spaces.path(A) / "new").write_text(text)
            kept.append(await spaces.keep(A, "1", await spaces.snapshot(A, base=project.base), base=project.base))

        ref = "refs/drumline/r1/step-1/1"
        assert git(project.top, "rev-parse", ref) == kept[1]
        assert git(project.top, "rev-parse", f"{ref}^1", f"{ref}^2").split() == [project.base, kept[0]]

    anyio.run(body)


# What the dead leave behind


def leave_a_folder_without_record(path: Path, record: Path) -> None:
    record.rename(record.with_name("moved-away"))


def leave_a_record_without_folder(path: Path, record: Path) -> None:
    path.rename(path.with_name("moved-away"))


def leave_a_locked_record_without_folder(path: Path, record: Path) -> None:
    (record / "locked").write_text("initializing")
    path.rename(path.with_name("moved-away"))


def leave_half_a_checkout(path: Path, record: Path) -> None:
    (path / "a.txt").unlink()
    (record / "index").unlink()


def leave_gits_locks(path: Path, record: Path) -> None:
    for name in ("index.lock", "HEAD.lock"):
        (record / name).touch()
    for aside in path.parent.parent.glob("*.aside/step-1"):
        (aside / "index.lock").touch()


def leave_a_broken_index(path: Path, record: Path) -> None:
    for aside in path.parent.parent.glob("*.aside/step-1"):
        (aside / "index").write_bytes(b"DIRC nonsense")


def leave_another_head(path: Path, record: Path) -> None:
    git(path, "checkout", "-q", "-b", "side")
    git(path, "-c", "user.name=x", "-c", "user.email=x@example.org", "commit", "--allow-empty", "-qm", "x")


def leave_no_head(path: Path, record: Path) -> None:
    (record / "HEAD").write_text("nonsense")


def leave_a_merge_in_progress(path: Path, record: Path) -> None:
    (record / "MERGE_HEAD").write_text((record / "HEAD").read_text())
    (record / "rebase-merge").mkdir()


def leave_no_git_file(path: Path, record: Path) -> None:
    (path / ".git").unlink()


def leave_a_repository_of_its_own(path: Path, record: Path) -> None:
    (path / ".git").unlink()
    git(path, "init", "-q")


def leave_a_link_to_another_repository(path: Path, record: Path) -> None:
    (path / ".git").write_text(f"gitdir: {record.parent.parent}\n")


def leave_a_symlink_in_its_place(path: Path, record: Path) -> None:
    path.rename(path.with_name("moved-away"))
    path.symlink_to(path.with_name("moved-away"))


def leave_a_plain_file_in_its_place(path: Path, record: Path) -> None:
    path.rename(path.with_name("moved-away"))
    path.write_text("x")


def leave_a_read_only_folder(path: Path, record: Path) -> None:
    (path / "cache").mkdir()
    (path / "cache" / "file").write_text("x")
    (path / "cache").chmod(0o500)


def leave_an_ignore_rule_of_its_own(path: Path, record: Path) -> None:
    (path / ".gitignore").write_text("*\n")
    (path / "junk").write_text("x")


def leave_a_pipe_in_place_of_a_file(path: Path, record: Path) -> None:
    (path / "a.txt").unlink()
    os.mkfifo(path / "a.txt")


def leave_a_pipe_that_git_would_wait_for(path: Path, record: Path) -> None:
    (path / ".gitignore").unlink()
    os.mkfifo(path / ".gitignore")


def leave_a_pipe_further_down(path: Path, record: Path) -> None:
    (path / "plan" / "deep").mkdir()
    os.mkfifo(path / "plan" / "deep" / ".gitignore")


LEFTOVERS: list[Break] = [
    leave_a_pipe_in_place_of_a_file,
    leave_a_pipe_that_git_would_wait_for,
    leave_a_pipe_further_down,
    leave_a_folder_without_record,
    leave_a_record_without_folder,
    leave_a_locked_record_without_folder,
    leave_half_a_checkout,
    leave_gits_locks,
    leave_a_broken_index,
    leave_another_head,
    leave_no_head,
    leave_a_merge_in_progress,
    leave_no_git_file,
    leave_a_repository_of_its_own,
    leave_a_link_to_another_repository,
    leave_a_symlink_in_its_place,
    leave_a_plain_file_in_its_place,
    leave_a_read_only_folder,
    leave_an_ignore_rule_of_its_own,
]


def assert_sound(project: Project, spaces: GitWorkspaces) -> None:
    """The workspace is a clean worktree of the repository, detached at the base."""
    where = spaces.path(A)
    assert git(where, "status", "--porcelain=v1", "--branch") == "## HEAD (no branch)"
    assert git(where, "rev-parse", "HEAD") == project.base
    assert git(where, "rev-parse", "--path-format=absolute", "--git-common-dir") == str(project.top / ".git")
    record = Path(git(where, "rev-parse", "--absolute-git-dir"))
    kept = {"HEAD", "ORIG_HEAD", "commondir", "gitdir", "index", "logs", "reftable", "refs"}
    assert {file.name for file in record.iterdir()} <= kept
    assert sorted(file.name for file in where.iterdir()) == [".git", ".gitignore", "a.txt", "plan"]


@pytest.mark.parametrize("leave", LEFTOVERS)
def test_preparing_copes_with_whatever_a_dead_driver_left(project: Project, leave: Break) -> None:
    spaces = project.open()
    anyio.run(spaces.prepare, A, project.base)
    leave(spaces.path(A), project.record(spaces))

    anyio.run(project.open().prepare, A, project.base)

    assert_sound(project, spaces)


@pytest.mark.parametrize("leave", LEFTOVERS)
def test_restoring_heals_whatever_an_agent_left(project: Project, leave: Break) -> None:
    spaces = project.open()
    tree = anyio.run(spaces.prepare, A, project.base)
    leave(spaces.path(A), project.record(spaces))

    anyio.run(spaces.restore, A, tree)

    assert_sound(project, spaces)


@pytest.mark.parametrize("leave", LEFTOVERS)
def test_removing_tolerates_whatever_is_left(project: Project, leave: Break) -> None:
    spaces = project.open()
    anyio.run(spaces.prepare, A, project.base)
    leave(spaces.path(A), project.record(spaces))

    anyio.run(spaces.remove, A)

    assert not os.path.lexists(spaces.path(A))
    assert f"{spaces.path(A)}\n" not in git(project.top, "worktree", "list", "--porcelain")


UNREADABLE: list[Break] = [
    leave_a_pipe_in_place_of_a_file,
    leave_a_pipe_that_git_would_wait_for,
    leave_a_pipe_further_down,
]


@pytest.mark.parametrize("leave", UNREADABLE)
def test_what_can_be_read_is_salvaged_from_a_workspace_that_git_refuses(project: Project, leave: Break) -> None:
    spaces = project.open()
    anyio.run(spaces.prepare, A, project.base)
    leave(spaces.path(A), project.record(spaces))
    (spaces.path(A) / "new.txt").write_text("new\n")

    with pytest.raises(GitError):
        anyio.run(partial(spaces.snapshot, A, base=project.base))
    tree = anyio.run(partial(spaces.salvage, A, base=project.base))

    assert git(project.top, "show", f"{tree}:new.txt") == "new"
    assert git(project.top, "show", f"{tree}:plan/root.md") == "plan"


@pytest.mark.parametrize("leave", UNREADABLE)
def test_cleaning_remakes_a_workspace_that_a_check_has_made_unreadable(project: Project, leave: Break) -> None:
    spaces = project.open()
    tree = anyio.run(spaces.prepare, A, project.base)
    leave(spaces.path(A), project.record(spaces))
    (spaces.path(A) / "new.txt").write_text("new\n")

    changed = anyio.run(partial(spaces.clean, A, tree, base=project.base))

    assert changed["new.txt"] == "created"
    assert len(changed) == 2
    assert_sound(project, spaces)


def test_nothing_is_salvaged_where_the_workspace_is_no_folder(project: Project) -> None:
    spaces = project.open()
    tree = anyio.run(spaces.prepare, A, project.base)
    leave_a_symlink_in_its_place(spaces.path(A), project.record(spaces))

    assert anyio.run(partial(spaces.salvage, A, base=project.base)) == tree


PLAIN_USER = """
import os, sys
from pathlib import Path
from functools import partial
import anyio
from drumline.core.ids import Commit, RunId, StepId
from drumline.errors import GitError
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces
anyio.run(anyio.run_process, ["git", "version"])  # Python's own files may be closed to others: all is imported now
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
top, root, base, step = Path(sys.argv[1]), Path(sys.argv[2]), Commit(sys.argv[3]), StepId("step-1")
spaces = GitWorkspaces(find_repository(top), run=RunId("r1"), branch="drumline/plan-r1", root=root)
tree = anyio.run(spaces.prepare, step, base)
where = spaces.path(step)
(where / "a.txt").write_text("changed\\n")
(where / "a.txt").chmod(0)
(where / "new").mkdir()
(where / "new" / "file").write_text("new\\n")
(where / "new").chmod(0)
try:
    anyio.run(partial(spaces.snapshot, step, base=base))
except GitError:
    found = anyio.run(partial(spaces.salvage, step, base=base))
    anyio.run(spaces.restore, step, tree)
    print(found, anyio.run(partial(spaces.snapshot, step, base=base)) == tree)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user whom permissions hold back")
def test_files_and_folders_without_permissions_are_salvaged_and_the_workspace_is_restored() -> None:
    with tempfile.TemporaryDirectory() as name:  # the folders of pytest are closed to others
        project = Project(Path(name))
        Path(name).chmod(0o755)
        subprocess.run(["chown", "-R", "65534", name], check=True)
        argv = [sys.executable, "-c", PLAIN_USER, str(project.top), str(project.root), project.base]

        done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "HOME": name}, check=False)

        subprocess.run(["chown", "-R", "0", name], check=True)
        tree, _, restored = done.stdout.strip().partition(" ")
        assert restored == "True", done.stderr
        assert git(project.top, "show", f"{tree}:a.txt") == "changed"
        assert git(project.top, "show", f"{tree}:new/file") == "new"


def test_a_foreign_folder_where_the_workspace_belongs_is_replaced(project: Project) -> None:
    spaces = project.open()
    spaces.path(A).mkdir(parents=True)
    (spaces.path(A) / "junk").write_text("x")

    anyio.run(spaces.prepare, A, project.base)

    assert_sound(project, spaces)


def test_a_lock_of_a_killed_git_on_the_run_branch_does_not_stop_landings(project: Project) -> None:
    async def body() -> None:
        spaces = project.open()
        await spaces.start(project.base)
        tree = await spaces.prepare(A, project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="x")
        lock = project.top / ".git" / "refs" / "heads" / f"{BRANCH}.lock"
        lock.touch()
        os.utime(lock, (1, 1))

        landing = await spaces.land(A, commit, head=project.base)

        assert landing.commit == await spaces.head() == commit

    anyio.run(body)


def start_orphan(lock: int, trace: Path) -> subprocess.Popen[bytes]:
    """A process that inherits a lock and leaves a trace as the last thing it does."""
    return subprocess.Popen(["bash", "-c", 'sleep 0.4; touch "$0"', str(trace)], pass_fds=[lock])


def test_a_workspace_is_left_alone_until_the_git_of_a_dead_driver_has_ended(tmp_path: Path) -> None:
    async def body() -> bool:
        async with hold(tmp_path / "lock") as lock:
            orphan = start_orphan(lock, tmp_path / "trace")

        async with hold(tmp_path / "lock"):
            ended = (tmp_path / "trace").exists()

        orphan.wait()
        return ended

    assert anyio.run(body)


def install_slow_git(folder: Path, trace: Path) -> None:
    """A git that dawdles over `read-tree`, leaving one trace before it starts and one after it has ended."""
    folder.mkdir()
    (folder / "git").write_text(
        f"""#!/bin/bash
case " $* " in *" read-tree "*) slow=1; touch {trace}.started; sleep 0.6;; esac
PATH=${{PATH#*:}} git "$@"; code=$?
[ -z "$slow" ] || touch {trace}.ended
exit $code
"""
    )
    (folder / "git").chmod(0o755)


def test_a_workspace_is_prepared_only_after_the_git_of_a_killed_driver_has_ended(
    project: Project, tmp_path: Path
) -> None:
    install_slow_git(tmp_path / "bin", tmp_path / "trace")
    slow = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    lander = start_lander(project, [A], env=slow)
    while not (tmp_path / "trace.started").exists():
        assert lander.poll() is None
    lander.kill()
    lander.wait()

    anyio.run(project.open().prepare, A, project.base)

    assert (tmp_path / "trace.ended").exists()
    assert_sound(project, project.open())
    assert lander.stderr is not None
    lander.stderr.close()


def test_waiting_for_a_workspace_ends_with_an_error_that_says_so(tmp_path: Path) -> None:
    async def body() -> None:
        async with hold(tmp_path / "step-1.lock"):
            with pytest.raises(GitError, match="'step-1' is still being worked on"):
                async with hold(tmp_path / "step-1.lock", patience=0.05):
                    pass

    anyio.run(body)


def test_a_cancelled_call_leaves_a_workspace_that_can_be_prepared(project: Project) -> None:
    for number in range(300):
        (project.top / f"file-{number}").write_text(str(number))
    base = project.commit_all("many")

    async def body() -> None:
        spaces = project.open()
        for delay in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05):
            with anyio.move_on_after(delay):
                await spaces.prepare(A, base)

        await spaces.prepare(A, base)

        assert git(spaces.path(A), "status", "--porcelain") == ""
        assert git(spaces.path(A), "rev-parse", "HEAD") == base

    anyio.run(body)


# Many at once


def landed_steps(project: Project) -> list[str]:
    form = "--format=%(trailers:key=Drumline-Step,valueonly,separator=)"
    return git(project.top, "log", form, f"{project.base}..{BRANCH}").split()


def test_processes_landing_at_once_land_every_step_exactly_once(project: Project) -> None:
    batches = [[f"p{process}-{number}" for number in range(4)] for process in range(3)]

    landers = [start_lander(project, batch) for batch in batches]
    errors = [lander.communicate()[1] for lander in landers]

    steps = sorted(step for batch in batches for step in batch)
    assert errors == ["", "", ""]
    assert sorted(landed_steps(project)) == steps
    assert {*git(project.top, "ls-tree", "--name-only", BRANCH).split()} >= {*steps}
    assert git(project.top, "rev-list", "--merges", BRANCH) == ""


def test_processes_landing_the_same_steps_at_once_land_each_exactly_once(project: Project) -> None:
    batches = [["s1", "s2", "s3"], ["s3", "s2", "s1"]]

    landers = [start_lander(project, batch, root=project.root / str(number)) for number, batch in enumerate(batches)]
    errors = [lander.communicate()[1] for lander in landers]

    assert errors == ["", ""]
    assert sorted(landed_steps(project)) == ["s1", "s2", "s3"]


def test_a_process_killed_at_random_and_started_again_lands_every_step_exactly_once(project: Project) -> None:
    steps = [f"s{number}" for number in range(5)]
    chance = random.Random(7)

    for _ in range(8):
        lander = start_lander(project, steps)
        with suppress(subprocess.TimeoutExpired):
            lander.communicate(timeout=chance.uniform(0.2, 1.2))
        lander.kill()
        lander.communicate()
    errors = start_lander(project, steps).communicate()[1]

    assert errors == ""
    assert sorted(landed_steps(project)) == steps
    assert {*git(project.top, "ls-tree", "--name-only", BRANCH).split()} >= {*steps}
    assert git(project.top, "worktree", "list", "--porcelain").count("worktree ") == 1


@asynccontextmanager
async def registering(project: Project) -> AsyncIterator[None]:
    """A moment in which another process is half done with making a worktree; it ends by itself."""
    record = project.top / ".git" / "worktrees" / "half-made"
    record.mkdir(parents=True)
    (record / "gitdir").write_text("/nowhere/.git\n")
    (record / "HEAD").write_text(f"{project.base}\n")
    (record / "commondir").touch()

    async def finish() -> None:
        await anyio.sleep(0.1)
        shutil.rmtree(record)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(finish)
        yield


def test_workspaces_come_land_and_go_while_another_process_is_just_registering_a_worktree(project: Project) -> None:
    spaces = project.open()

    async def work() -> Commit | None:
        await spaces.start(project.base)
        async with registering(project):
            await spaces.prepare(A, project.base)
        (spaces.path(A) / "new").write_text("new\n")
        tree = await spaces.snapshot(A, base=project.base)
        commit = await spaces.commit(A, tree, base=project.base, message="Do it")
        async with registering(project):
            landing = await spaces.land(A, commit, head=project.base)
        async with registering(project):
            await spaces.remove(A)
        return landing.commit

    landed = anyio.run(work)

    assert landed == git(project.top, "rev-parse", BRANCH)
    assert len(git(project.top, "worktree", "list").splitlines()) == 1


def test_files_are_set_aside_until_the_workspace_is_used_again(project: Project) -> None:
    async def body() -> tuple[bool, str]:
        spaces = project.open()
        await spaces.prepare(A, project.base)
        made = spaces.path(A) / "ignored"
        made.write_text("new")
        after = await spaces.snapshot(A, base=project.base)
        await spaces.switch(A, after, tidy=False, without=["ignored", "../../outside", "gone", "/etc/hostname"])
        was_there = made.exists()
        made.write_text("stale")
        assert await spaces.snapshot(A, base=project.base) == after
        return was_there, made.read_text()

    assert anyio.run(body) == (False, "new")


@pytest.mark.parametrize("linked", [False, True])
def test_a_branch_that_the_user_is_rebasing_is_not_moved(
    project: Project, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    monkeypatch.setattr(rebases, "PATIENCE", 0.1)
    place = project.top
    if linked:
        place = project.top.parent / "linked"
        git(project.top, "worktree", "add", "-q", "--detach", str(place))
    user = ("-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "sequence.editor=echo break >>")

    async def work() -> tuple[Landing, str, Landing]:
        first = await land(project, A, {"one.txt": "1"})
        spaces = project.open()
        await spaces.prepare(B, first)
        (spaces.path(B) / "two.txt").write_text("2")
        tree = await spaces.snapshot(B, base=first)
        commit = await spaces.commit(B, tree, base=first, message="Two")
        git(place, *user, "rebase", "-q", "-i", project.base, BRANCH)
        refused = await spaces.land(B, commit, head=first)
        git(place, *user, "rebase", "--continue")
        rebased = git(project.top, "rev-parse", BRANCH)
        git(place, "checkout", "-q", "--detach")
        return refused, rebased, await spaces.land(B, commit, head=first)

    refused, rebased, landed = anyio.run(work)

    assert refused.commit is None
    assert "is being rebased" in refused.refusal
    assert landed.commit is not None
    assert git(project.top, "merge-base", "--is-ancestor", rebased, BRANCH) == ""


def test_a_rebase_that_is_over_soon_is_waited_for(project: Project) -> None:
    state = project.top / ".git" / "rebase-merge"
    state.mkdir()
    (state / "head-name").write_text(f"refs/heads/{BRANCH}\n")
    timer = threading.Timer(0.3, shutil.rmtree, [state])

    async def work() -> Commit:
        timer.start()
        return await land(project, A, {"one.txt": "1"})

    assert anyio.run(work) == git(project.top, "rev-parse", BRANCH)
    timer.join()
