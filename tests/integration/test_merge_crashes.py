"""`git merge` killed in the user's own checkout: no lock stays, and the checkout is as before the merge or after it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.integration.gitshim import CALLS, DIES_AT_CALL, arm_shim, assert_usable, git, needs_strace, put_shim

from drumline.core.ids import Commit
from drumline.workspace.checkout import COMPLETED, RESTORED
from drumline.workspace.locks import take_lock
from drumline.workspace.merging import fast_forward, repair_merge
from drumline.workspace.refs import clear_noted, find_noted
from drumline.workspace.repository import find_repository

WORKER = """
import sys
from pathlib import Path
from drumline.core.ids import Commit
from drumline.workspace.merging import fast_forward
from drumline.workspace.repository import find_repository

print(fast_forward(find_repository(Path(sys.argv[1])), Commit(sys.argv[2])))
"""
OLD = {"a.txt": "old\n" * 5000, "gone.txt": "gone\n", "run.sh": "echo\n", "folder": "a file\n", "stays.txt": "stays\n"}
NEW = {"a.txt": "new\n" * 5000, "run.sh": "echo\n", "folder/in.txt": "in\n", "more/new.txt": "new\n", "ü \n.txt": "ü\n"}

EXPECTED = {"unlink": {RESTORED}, "rename": {RESTORED, COMPLETED}, "openat": {RESTORED, COMPLETED}}
"""What must come of some of the calls of a kind: where nothing was to be repaired, nothing is shown."""


class Bench:
    """A checkout on `main` that is to move from `old` to `new`, and a shim before git."""

    def __init__(self, folder: Path) -> None:
        self.top, self.shim = folder / "repo", folder / "shim"
        for made in (self.top, self.shim):
            made.mkdir()
        git(self.top, "init", "-q", "-b", "main")
        git(self.top, "config", "user.name", "u")
        git(self.top, "config", "user.email", "u@example.org")
        self._write(OLD)
        self.old = Commit(self._commit("old"))
        git(self.top, "switch", "-qc", "result")
        for name in ("gone.txt", "folder"):
            (self.top / name).unlink()
        self._write(NEW)
        (self.top / "run.sh").chmod(0o755)
        (self.top / "link").symlink_to("a.txt")
        self.new = Commit(self._commit("new"))
        git(self.top, "switch", "-q", "main")

    def _write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.top / name).parent.mkdir(exist_ok=True)
            (self.top / name).write_text(text)

    def _commit(self, message: str) -> str:
        git(self.top, "add", "-A")
        git(self.top, "commit", "-qm", message)
        return git(self.top, "rev-parse", "HEAD")

    def merge(self, **armed: str | int) -> subprocess.CompletedProcess[str]:
        """Merge in a process of its own, which dies as the shim is armed."""
        env = {**os.environ, **(arm_shim(self.shim, "merge", **armed) if armed else {})}  # type: ignore[arg-type]
        argv = [sys.executable, "-c", WORKER, str(self.top), self.new]
        return subprocess.run(argv, capture_output=True, text=True, env=env, check=False, timeout=60)

    @property
    def locks(self) -> list[str]:
        found = (path.relative_to(self.top / ".git") for path in (self.top / ".git").rglob("*.lock"))
        return sorted(map(str, found))

    def assert_whole(self) -> None:
        """The checkout is that of its commit, before the merge or after it, and git works."""
        assert self.locks == []
        assert git(self.top, "status", "--porcelain") == ""
        assert git(self.top, "rev-parse", "HEAD") in (self.old, self.new)
        assert_usable(self.top)

    def assert_merged(self) -> None:
        self.assert_whole()
        assert git(self.top, "rev-parse", "main") == self.new
        assert git(self.top, "rev-parse", "HEAD@{1}") == self.old
        assert (self.top / "folder" / "in.txt").read_text() == "in\n"

    def reset(self) -> None:
        git(self.top, "reset", "-q", "--hard", self.old)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Bench(tmp_path)


def test_a_merge_moves_files_index_and_branch(bench: Bench) -> None:
    assert bench.merge().stdout == "\n"

    bench.assert_merged()


@pytest.mark.long
@needs_strace
@pytest.mark.parametrize("kind", [*CALLS, "openat", "symlink", "close"])
def test_a_merge_may_die_at_any_call_that_writes(bench: Bench, kind: str) -> None:
    put_shim(bench.shim, DIES_AT_CALL)
    deeds = set()

    for number in range(1, 400):
        bench.merge(kind=kind, call=number)
        whole = (bench.shim / "whole").exists()
        repair = repair_merge(bench.top / ".git")
        deeds.add(repair.done if repair else "")
        bench.assert_whole()
        again = bench.merge()
        assert again.stdout == "\n", (kind, number, again)
        bench.assert_merged()
        bench.reset()
        if whole:
            break
    else:
        raise AssertionError("git never got through")

    assert deeds >= EXPECTED.get(kind, set()), deeds


@needs_strace
@pytest.mark.parametrize(("kind", "call", "done"), [("unlink", 2, RESTORED), ("rename", 3, COMPLETED)])
def test_what_a_killed_merge_left_is_repaired(bench: Bench, kind: str, call: int, done: str) -> None:
    put_shim(bench.shim, DIES_AT_CALL)
    died = bench.merge(kind=kind, call=call)
    locks = bench.locks

    repair = repair_merge(bench.top / ".git")

    assert died.returncode == -9
    assert locks
    assert repair is not None
    assert (repair.done, repair.left) == (done, "")
    assert repair_merge(bench.top / ".git") is None
    bench.assert_whole()


@needs_strace
def test_a_lock_is_not_removed_while_a_git_of_the_users_is_at_work(bench: Bench) -> None:
    put_shim(bench.shim, DIES_AT_CALL)
    bench.merge(kind="unlink", call=2)
    locks = bench.locks
    words = [git_path(), "cat-file", "--batch-check"]
    live = subprocess.Popen(words, cwd=bench.top, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    try:
        wait_at_work(live)
        spared = repair_merge(bench.top / ".git")
        kept = bench.locks
    finally:
        live.communicate()

    assert spared is not None
    assert (spared.locks, spared.done, kept) == ((), "", locks)
    assert "index.lock" in spared.left
    assert repair_merge(bench.top / ".git") is not None
    bench.assert_whole()


def wait_at_work(live: subprocess.Popen[str]) -> None:
    """Wait for an answer: a process that has just been started still has the name of the one that started it."""
    assert live.stdin is not None
    assert live.stdout is not None
    live.stdin.write("HEAD\n")
    live.stdin.flush()
    assert " commit " in live.stdout.readline()


def git_path() -> str:
    return subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()


@needs_strace
def test_a_file_that_somebody_changed_since_is_kept_and_named(bench: Bench) -> None:
    put_shim(bench.shim, DIES_AT_CALL)
    bench.merge(kind="unlink", call=2)
    (bench.top / "a.txt").write_text("mine\n")

    repair = repair_merge(bench.top / ".git")

    assert repair is not None
    assert "a.txt" in repair.left
    assert (bench.top / "a.txt").read_text() == "mine\n"
    assert bench.locks == []


def edit(bench: Bench) -> dict[str, object]:
    """Change files that git may have been writing as a person does, and say what is there then."""
    (bench.top / "a.txt").write_text("old\n" * 50)
    (bench.top / "run.sh").chmod(0o700)
    (bench.top / "gone.txt").unlink(missing_ok=True)
    return look(bench)


def look(bench: Bench) -> dict[str, object]:
    files = [path for path in bench.top.iterdir() if path.is_file()]
    return {path.name: (path.read_bytes(), path.stat().st_mode) for path in files}


def test_edits_of_a_person_stay_where_the_merge_died_before_it_wrote(bench: Bench) -> None:
    put_shim(bench.shim, "true")
    died = bench.merge(nth=1)
    edited = edit(bench)

    repair = repair_merge(bench.top / ".git")

    assert died.returncode == -9
    assert repair is None
    assert look(bench) == edited


@needs_strace
def test_later_edits_of_a_person_stay_where_the_merge_was_writing(bench: Bench) -> None:
    put_shim(bench.shim, DIES_AT_CALL)
    bench.merge(kind="unlink", call=2)
    time.sleep(2.5)  # so that it cannot have been the merge
    edited = edit(bench)

    repair = repair_merge(bench.top / ".git")

    assert repair is not None
    assert "a.txt" in repair.left
    assert repair.done == ""
    assert look(bench) == edited


def test_a_branch_lock_stays_while_a_git_of_somebody_is_at_work_from_elsewhere(bench: Bench, tmp_path: Path) -> None:
    common_dir = bench.top / ".git"
    argv = [git_path(), f"--git-dir={common_dir}", "update-ref", "--stdin"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    live = subprocess.Popen(argv, cwd=tmp_path, text=True, **pipes)  # type: ignore[call-overload]
    held = take_lock(tmp_path / "lock")
    try:
        live.stdin.write(f"start\nupdate refs/heads/main {bench.new}\nprepare\n")
        live.stdin.flush()
        assert [live.stdout.readline(), live.stdout.readline()] == ["start: ok\n", "prepare: ok\n"]
        os.pwrite(held, b"refs/heads/main\0", 0)
        removed = clear_noted(common_dir, held)
    finally:
        live.communicate("commit\n")
        os.close(held)

    assert removed == []
    assert live.returncode == 0
    assert git(bench.top, "rev-parse", "main") == bench.new


def test_a_lock_that_any_process_has_open_stays(bench: Bench, tmp_path: Path) -> None:
    lock = bench.top / ".git" / "refs" / "heads" / "main.lock"
    held = take_lock(tmp_path / "lock")
    os.pwrite(held, b"refs/heads/main\0", 0)
    with lock.open("w"):
        spared = find_noted(bench.top / ".git", held)

    assert spared == []
    assert find_noted(bench.top / ".git", held) == [lock]
    os.close(held)


def test_a_lock_of_another_git_is_waited_for_and_named(bench: Bench) -> None:
    lock = bench.top / ".git" / "refs" / "heads" / "main.lock"
    lock.touch()

    refusal = fast_forward(find_repository(bench.top), bench.new)

    assert "main.lock" in refusal
    assert lock.exists()
    assert git(bench.top, "status", "--porcelain") == ""


def test_a_file_in_the_way_is_not_taken_for_the_merges(bench: Bench) -> None:
    (bench.top / "more").mkdir()
    (bench.top / "more" / "new.txt").touch()

    refusal = fast_forward(find_repository(bench.top), bench.new)

    assert "more/new.txt" in refusal
    assert (bench.top / "more" / "new.txt").exists()
    assert repair_merge(bench.top / ".git") is None
