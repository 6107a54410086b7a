"""Git killed in the middle of what it does for us: the user's repository stays sound, and the same work succeeds later.

A shim named `git` stands before the real one on PATH and kills the chosen subcommand: at once with its lock file made,
or at a chosen system call with strace. Its parent, the driver, dies with it, as in a power cut or when memory runs out.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest
from tests.integration.gitshim import CALLS, DIES_AT_CALL, arm_shim, assert_usable, git, needs_strace, put_shim

from drumline.core.ids import Commit, RunId, StepId
from drumline.workspace.git import Git, Result
from drumline.workspace.leftovers import clear_records, clear_ref_locks, find_broken_records
from drumline.workspace.locks import hold
from drumline.workspace.refs import Update, write_refs
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

RUN = RunId("r1")
BRANCH = "drumline/plan-r1"
STEP = StepId("step-1")

WORKER = """
import sys
from pathlib import Path
import anyio
from drumline.core.ids import Commit, RunId, StepId
from drumline.workspace.locks import hold
from drumline.workspace.refs import Update, write_refs
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

top, root, base = Path(sys.argv[1]), Path(sys.argv[2]), Commit(sys.argv[3])

async def main():
    spaces = GitWorkspaces(find_repository(top), run=RunId("r1"), branch="drumline/plan-r1", root=root)
    step = StepId("step-1")
    await spaces.start(base)
    await spaces.prepare(step, base)
    (spaces.path(step) / "new.txt").write_text("new")
    tree = await spaces.snapshot(step, base=base)
    await spaces.keep(step, "1", tree, base=base)
    commit = await spaces.commit(step, tree, base=base, message="Do it")
    landing = await spaces.land(step, commit, head=base)
    assert landing.commit, landing
    await spaces.remove(step)

anyio.run(main)
"""

LEAVES_LOCK = """while read -r _ word _; do
      case "$word" in refs/*) mkdir -p "$GIT_DIR/${word%/*}"; touch "$GIT_DIR/$word.lock";; esac
    done"""


class Bench:
    """A repository, a shim before git, and processes that work on one step in it."""

    def __init__(self, folder: Path, *init: str) -> None:
        self.top, self.root, self.shim = folder / "repo", folder / "worktrees", folder / "shim"
        for made in (self.top, self.shim):
            made.mkdir()
        git(self.top, "init", "-q", "-b", "main", *init)
        (self.top / "a.txt").write_text("a\n")
        git(self.top, "add", "-A")
        git(self.top, "-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", "first")
        self.base = Commit(git(self.top, "rev-parse", "HEAD"))

    def open(self) -> GitWorkspaces:
        return GitWorkspaces(find_repository(self.top), run=RUN, branch=BRANCH, root=self.root)

    @property
    def argv(self) -> list[str]:
        return [sys.executable, "-c", WORKER, str(self.top), str(self.root), self.base]

    def put_shim(self, act: str) -> None:
        put_shim(self.shim, act)

    def work(self, *, kill: str = "", nth: int = 1, kind: str = "", call: int = 0) -> subprocess.CompletedProcess[str]:
        """Work on the step from its start to its landing; with `kill`, die in the nth such subcommand of git."""
        env = {**os.environ}
        if kill:
            env |= arm_shim(self.shim, kill, nth=nth, kind=kind, call=call)
        ended = subprocess.run(self.argv, capture_output=True, text=True, env=env, check=False, timeout=120)
        self.outlast_dying()
        return ended

    def outlast_dying(self) -> None:
        """Wait until no dying git holds a lock on refs any more: it may outlive the process that it was killed with."""
        for file in (self.top / ".git" / "drumline" / "locks").glob("refs-*"):
            with file.open() as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)

    def forget(self) -> None:
        """As it was before the work."""
        for ref in git(
            self.top, "for-each-ref", "--format=%(refname)", "refs/drumline", f"refs/heads/{BRANCH}"
        ).split():
            git(self.top, "update-ref", "-d", ref)

    def assert_usable(self) -> None:
        """What the user types works, whatever died."""
        assert_usable(self.top)

    def assert_landed(self) -> None:
        assert git(self.top, "rev-list", "--count", f"{self.base}..{BRANCH}") == "1"
        assert git(self.top, "show", f"{BRANCH}:new.txt") == "new"
        assert git(self.top, "worktree", "list").count("\n") == 0
        git(self.top, "gc", "--quiet")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Bench(tmp_path)


def leave_half_a_record(bench: Bench, worktree: Path, name: str) -> Path:
    """A record as git leaves it if it dies while it makes a worktree."""
    record = bench.top / ".git" / "worktrees" / name
    record.mkdir(parents=True)
    (record / "locked").write_text("initializing\n")
    (record / "gitdir").write_text(f"{worktree / '.git'}\n")
    (record / "HEAD").write_text(f"{'0' * 40}\n")
    (record / "commondir").touch()
    return record


def test_a_half_made_record_of_ours_is_removed_at_the_next_start(bench: Bench) -> None:
    leave_half_a_record(bench, bench.root / RUN / STEP, STEP)
    with pytest.raises(subprocess.CalledProcessError):
        git(bench.top, "branch", "-a")

    anyio.run(bench.open().start, bench.base)

    bench.assert_usable()


def test_a_half_made_record_is_left_alone_while_its_step_is_worked_on(bench: Bench) -> None:
    record = leave_half_a_record(bench, bench.root / RUN / STEP, STEP)
    spaces = bench.open()

    async def look() -> list[Path]:
        async with spaces._open(STEP):
            return clear_records(bench.top / ".git", bench.root)

    assert anyio.run(look) == []
    assert find_broken_records(bench.top / ".git", bench.root) == [record]


def test_a_half_made_record_of_the_users_own_worktree_is_not_touched(bench: Bench) -> None:
    record = leave_half_a_record(bench, bench.top.parent / "mine", "mine")

    removed = clear_records(bench.top / ".git", bench.root)

    assert removed == []
    assert record.exists()


def test_a_worktree_of_the_user_with_the_name_of_a_step_stays(bench: Bench) -> None:
    git(bench.top, "worktree", "add", "-q", "--detach", str(bench.top.parent / STEP))

    assert bench.work().stderr == ""

    assert str(bench.top.parent / STEP) in git(bench.top, "worktree", "list")
    assert git(bench.top.parent / STEP, "status", "--porcelain") == ""


def test_ref_locks_of_a_git_that_died_with_its_driver_are_removed(bench: Bench) -> None:
    bench.put_shim(LEAVES_LOCK)
    died = bench.work(kill="update-ref")
    locks = list((bench.top / ".git" / "refs").rglob("*.lock"))

    again = bench.work()

    assert died.returncode == -9
    assert locks
    assert again.stderr == ""
    bench.assert_landed()


def test_ref_locks_are_removed_without_a_run_as_doctor_does_it(bench: Bench) -> None:
    bench.put_shim(LEAVES_LOCK)
    bench.work(kill="update-ref")
    locks = sorted((bench.top / ".git" / "refs").rglob("*.lock"))

    removed = clear_ref_locks(bench.top / ".git")

    assert len(locks) == 2
    assert sorted(removed) == locks
    assert clear_ref_locks(bench.top / ".git") == []
    git(bench.top, "gc", "--quiet")


def test_a_ref_lock_from_before_the_machine_was_started_is_removed(bench: Bench) -> None:
    lock = bench.top / ".git" / "refs" / "heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    os.utime(lock, (1_000_000_000, 1_000_000_000))

    assert bench.work().stderr == ""

    bench.assert_landed()


def test_a_ref_lock_that_may_belong_to_somebody_else_is_kept_and_named(bench: Bench) -> None:
    lock = bench.top / ".git" / "refs" / "heads" / f"{BRANCH}.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()

    ref = f"refs/heads/{BRANCH}"
    repository = Git(common_dir=bench.top / ".git")

    async def write() -> Result:
        async with hold(bench.shim / "lock") as held:
            return await write_refs(repository, [Update(ref=ref, new=bench.base, old="")], held=held)

    written = anyio.run(write)

    assert written.code == 128
    assert "plan-r1.lock" in written.err
    assert lock.exists()


def test_a_git_that_is_killed_alone_leaves_no_ref_lock(bench: Bench) -> None:
    bench.put_shim(LEAVES_LOCK + "; kill -9 $$")

    bench.work(kill="update-ref")

    assert not list((bench.top / ".git" / "refs").rglob("*.lock"))


COMMANDS = [("update-ref", 1), ("update-ref", 2), ("update-ref", 3), ("update-ref", 4)]
COMMANDS += [(name, 1) for name in ("add", "read-tree", "write-tree", "commit-tree")]
"""Subcommands, and which of their calls: refs are written for the branch, a kept attempt, a candidate and a landing."""


def strike_git(bench: Bench, command: str, nth: int, kind: str, *, before: str = "") -> int:
    """Let git die at its first call of this kind, then at its second, until it gets through; how often it died.

    With `before`, an earlier process has died in that subcommand and left its workspace.
    """
    for number in range(1, 200):
        if before:
            bench.work(kill=before)
        bench.work(kill=command, nth=nth, kind=kind, call=number)
        assert (bench.shim / "used").exists(), "there is no such call of git"
        whole = (bench.shim / "whole").exists()
        bench.assert_usable()
        again = bench.work()

        assert again.stderr == "", (command, kind, number)
        bench.assert_landed()
        bench.forget()
        if whole:
            return number - 1
    raise AssertionError("git never got through")


@pytest.mark.long
@needs_strace
@pytest.mark.parametrize(("command", "nth"), COMMANDS)
def test_git_may_die_at_any_call_that_writes(bench: Bench, command: str, nth: int) -> None:
    bench.put_shim(DIES_AT_CALL)

    died = {kind: strike_git(bench, command, nth, kind) for kind in CALLS}

    assert any(died.values())
    assert died["rename"] > 0 or (command, nth) not in {("update-ref", 1), ("add", 1)}, died


@pytest.mark.long
@needs_strace
@pytest.mark.parametrize("command", ["update-ref", "read-tree", "clean"])
def test_git_may_die_at_any_call_that_writes_where_a_workspace_is_adopted(bench: Bench, command: str) -> None:
    bench.put_shim(DIES_AT_CALL)

    died = {kind: strike_git(bench, command, 1, kind, before="add") for kind in CALLS}

    assert any(died.values()) or command == "clean", died


@needs_strace
def test_git_may_die_while_it_renames_the_lock_of_the_run_branch(bench: Bench) -> None:
    bench.put_shim(DIES_AT_CALL)

    bench.work(kill="update-ref", nth=1, kind="rename", call=1)

    assert not (bench.shim / "whole").exists()
    bench.assert_usable()
    assert bench.work().stderr == ""
    bench.assert_landed()


DIES_ITSELF = """
import os
left = int(os.environ["STRIKE"])

def strike(name):
    real = getattr(os, name)
    def call(*args, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), 9)
        return real(*args, **named)
    setattr(os, name, call)

for name in ("rename", "replace", "mkdir", "unlink", "rmdir", "link", "fsync", "ftruncate", "pwrite", "write"):
    strike(name)
"""


@pytest.mark.long
def test_the_driver_may_die_before_any_write_of_its_own(bench: Bench) -> None:
    """The records of worktrees are made and removed by us: die before each of those calls."""
    for number in range(1, 500):
        died = subprocess.run(
            [sys.executable, "-c", DIES_ITSELF + WORKER, *bench.argv[3:]],
            capture_output=True,
            env={**os.environ, "STRIKE": str(number)},
            check=False,
            timeout=120,
        )
        bench.assert_usable()
        again = bench.work()
        assert again.stderr == "", number
        bench.assert_landed()
        bench.forget()
        if died.returncode == 0:
            assert number > 20
            return
    raise AssertionError("the process never got through")


@pytest.fixture
def tabled(bench: Bench, tmp_path: Path) -> Bench:
    """A repository with its refs in tables."""
    try:
        (tmp_path / "tabled").mkdir()
        return Bench(tmp_path / "tabled", "--ref-format=reftable")
    except subprocess.CalledProcessError:
        pytest.skip("this git cannot keep refs in tables (git 2.45 can)")


def test_a_repository_with_refs_in_tables_is_worked_in(tabled: Bench) -> None:
    assert tabled.work().stderr == ""

    tabled.assert_usable()
    tabled.assert_landed()


def test_the_lock_of_tables_that_a_git_left_which_died_with_its_driver_is_removed(tabled: Bench) -> None:
    tabled.put_shim('touch "$GIT_DIR/reftable/tables.list.lock"')
    died = tabled.work(kill="update-ref")
    locked = (tabled.top / ".git" / "reftable" / "tables.list.lock").exists()

    again = tabled.work()

    assert (died.returncode, locked) == (-9, True)
    assert again.stderr == ""
    tabled.assert_landed()


def test_folders_that_records_pass_through_are_cleared_once_they_are_old(bench: Bench) -> None:
    passing = bench.top / ".git" / "drumline" / "records"
    for name, age in (("old", 3600.0), ("new", 0.0)):
        (passing / name).mkdir(parents=True)
        then = time.time() - age
        os.utime(passing / name, (then, then))

    clear_records(bench.top / ".git", bench.root)

    assert [entry.name for entry in passing.iterdir()] == ["new"]
