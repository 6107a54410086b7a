"""Work that reached a branch squashed, rebased or with other changes beside it counts as being there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from drumline.core.ids import Commit
from drumline.workspace.repository import Repository, find_repository

LINES = "".join(f"line {number}\n" for number in range(1, 40))


def git(folder: Path, *words: str) -> str:
    """Ask git."""
    person = ("-c", "user.name=Kim", "-c", "user.email=kim@example.org")
    return subprocess.run(
        ["git", *person, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def write(folder: Path, message: str, **files: str) -> str:
    """Commit files."""
    for name, text in files.items():
        (folder / f"{name}.txt").write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with a branch `work` of two commits, and main where it parted."""
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, "start", shared=LINES)
    git(tmp_path, "checkout", "-q", "-b", "work")
    write(tmp_path, "one", one="1\n", shared=LINES.replace("line 3\n", "line three\n"))
    write(tmp_path, "two", two="2\n")
    git(tmp_path, "checkout", "-q", "main")
    return tmp_path


def holds(repo: Path) -> bool:
    """Whether the checkout is said to have the work."""
    found: Repository = find_repository(repo)
    return found.contains(Commit(git(repo, "rev-parse", "work")))


def squash(repo: Path, **beside: str) -> None:
    """Merge the work as one commit, with further files in it."""
    git(repo, "merge", "-q", "--squash", "work")
    write(repo, "all of it", **beside)


def test_work_that_was_not_merged_is_not_there(repo: Path) -> None:
    write(repo, "elsewhere", other="x\n")

    assert not holds(repo)


def test_a_part_of_the_work_is_not_the_work(repo: Path) -> None:
    git(repo, "cherry-pick", "work~1")

    assert not holds(repo)


def test_squashed_work_is_there_also_with_other_files_in_the_commit_and_changes_after_it(repo: Path) -> None:
    squash(repo, plan="done\n")
    write(repo, "later", one="another\n")

    assert holds(repo)


def test_squashed_work_is_there_if_main_had_changed_the_same_file(repo: Path) -> None:
    write(repo, "meanwhile", shared=LINES.replace("line 30\n", "line thirty\n"))
    squash(repo)

    assert holds(repo)


def test_rebased_work_is_there(repo: Path) -> None:
    write(repo, "meanwhile", shared=LINES.replace("line 30\n", "line thirty\n"))
    git(repo, "cherry-pick", "work~1", "work")

    assert holds(repo)
