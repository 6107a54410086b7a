"""Marks wait for a git of the user's that is changing the checkout, and only for one that is."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from drumline.errors import NotNow
from drumline.planfiles import gitwork
from drumline.planfiles.drafts import EditedMeanwhile, PlanLock, put_file


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with one commit and a linked worktree of it."""
    repo = tmp_path / "repo"
    for args in (
        ("init", "-q", str(repo)),
        (
            "-C",
            str(repo),
            "-c",
            "user.name=K",
            "-c",
            "user.email=k@example.org",
            "commit",
            "-q",
            "--allow-empty",
            "-mx",
        ),
        ("-C", str(repo), "worktree", "add", "-q", str(tmp_path / "linked")),
    ):
        subprocess.run(["git", *args], check=True, capture_output=True)
    return tmp_path


def end_later(sign: Path, file: Path) -> threading.Timer:
    """A git that writes the file and is over in a moment."""
    sign.mkdir(parents=True)

    def end() -> None:
        file.write_bytes(b"as git left it")
        sign.rmdir()

    timer = threading.Timer(0.3, end)
    timer.start()
    return timer


@pytest.mark.parametrize(("top", "state"), [("repo", "repo/.git"), ("linked", "repo/.git/worktrees/linked")])
def test_a_mark_waits_for_a_rebase_and_is_decided_again_after_it(checkout: Path, top: str, state: str) -> None:
    file = checkout / top / "plan.md"
    file.write_bytes(b"as it was")
    timer = end_later(checkout / state / "rebase-merge", file)

    with pytest.raises(EditedMeanwhile):
        put_file(file, b"marked", before=b"as it was")

    timer.join()
    assert file.read_bytes() == b"as git left it"


def test_a_mark_waits_until_the_index_has_settled(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitwork, "SETTLED", 1.0)
    file = checkout / "repo/plan.md"
    file.write_bytes(b"as it was")
    (checkout / "repo/.git/index").touch()
    timer = threading.Timer(0.3, file.write_bytes, [b"as git left it"])
    timer.start()

    with pytest.raises(EditedMeanwhile):
        put_file(file, b"marked", before=b"as it was")

    timer.join()


@pytest.mark.parametrize("sign", gitwork.SIGNS)
def test_what_an_old_git_left_is_not_waited_for(checkout: Path, sign: str) -> None:
    file, left = checkout / "repo/plan.md", checkout / "repo/.git" / sign
    left.mkdir()
    os.utime(left, (time.time() - 60, time.time() - 60))

    put_file(file, b"marked", before=None)

    assert file.read_bytes() == b"marked"


def test_a_git_that_does_not_end_is_waited_for_only_a_while(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gitwork, "YOUNG", 0.3)
    file = checkout / "repo/plan.md"
    (checkout / "repo/.git/index.lock").touch()

    put_file(file, b"marked", before=None)

    assert file.read_bytes() == b"marked"


def test_a_write_that_is_refused_names_the_plans_file_not_our_draft(tmp_path: Path) -> None:
    file = tmp_path / "gone" / "plan.md"

    with pytest.raises(FileNotFoundError) as refused:
        put_file(file, b"marked", before=None)

    assert refused.value.filename == str(file)


def stop_later(monkeypatch: pytest.MonkeyPatch) -> threading.Timer:
    """Somebody who stops this process in a moment; without that, it would wait for ever."""
    monkeypatch.setattr(gitwork, "YOUNG", 3600.0)
    timer = threading.Timer(0.3, gitwork.hurry)
    timer.start()
    return timer


def test_a_process_that_is_stopped_waits_for_no_git(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = checkout / "repo/plan.md"
    (checkout / "repo/.git/index.lock").touch()

    with gitwork.patient():
        stop_later(monkeypatch)
        with pytest.raises(NotNow):
            put_file(file, b"marked", before=None)

    assert [found.name for found in file.parent.glob("*plan.md*")] == []
    (checkout / "repo/.git/index.lock").unlink()
    put_file(file, b"marked", before=None)
    assert file.read_bytes() == b"marked"


def test_a_process_that_is_stopped_waits_for_no_other_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = [PlanLock([tmp_path], tmp_path / "lock") for _ in range(2)]

    with gitwork.patient(), locks[0].hold():
        stop_later(monkeypatch)
        with pytest.raises(NotNow), locks[1].hold():
            raise AssertionError("two writers at once")


def test_a_plan_outside_of_any_checkout_is_written_at_once(tmp_path: Path) -> None:
    put_file(tmp_path / "plan.md", b"marked", before=None)

    assert (tmp_path / "plan.md").read_bytes() == b"marked"


def test_marks_wait_once_for_a_git_that_takes_long_not_each_of_them(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitwork, "YOUNG", 1.0)
    files = [checkout / "repo" / f"{number}.md" for number in range(5)]
    sign = checkout / "repo/.git/rebase-merge"
    sign.mkdir()
    over = threading.Event()

    def rebase() -> None:
        while not over.wait(0.05):
            os.utime(sign)

    at_work = threading.Thread(target=rebase)
    at_work.start()
    began = time.monotonic()
    try:
        for file in files:
            put_file(file, b"marked", before=None)
    finally:
        over.set()
        at_work.join()

    assert 1.0 <= time.monotonic() - began < 3.0
    assert [file.read_bytes() for file in files] == [b"marked"] * len(files)


def test_a_git_that_begins_after_another_was_over_is_waited_for(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitwork, "YOUNG", 0.3)
    file = checkout / "repo/plan.md"
    sign = checkout / "repo/.git/rebase-merge"
    sign.mkdir()
    put_file(file, b"marked", before=None)
    sign.rmdir()
    put_file(file, b"marked again", before=b"marked")
    monkeypatch.setattr(gitwork, "YOUNG", 10.0)
    timer = end_later(sign, file)

    with pytest.raises(EditedMeanwhile):
        put_file(file, b"and again", before=b"marked again")

    timer.join()
