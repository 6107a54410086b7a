"""The git of a jailed agent: a copy that it may do anything with, and of which only text is read afterwards."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from tests.integration.jailed import find_python, open_cell

from drumline.core.gitdeeds import GitDeeds
from drumline.core.ids import Commit, RunId, StepId
from drumline.isolation.owngit import Seat, read_tip, take_seat
from drumline.workspace.repository import find_repository
from drumline.workspace.workspaces import GitWorkspaces

STEP = StepId("s")
ID = "1" * 40


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def spaces(tmp_path: Path) -> GitWorkspaces:
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    git(top, "commit", "-q", "--allow-empty", "-m", "first")
    git(top, "branch", "other")
    git(top, "config", "remote.origin.url", "https://ann:hunter2@example.org/x.git")
    (top / "shared.conf").write_text("[alias]\n\tlast = log -1 --format=%s\n")
    git(top, "config", "include.path", "../shared.conf")
    return GitWorkspaces(find_repository(top), run=RunId("r"), branch="drumline/r", root=tmp_path / "worktrees")


def prepare(spaces: GitWorkspaces) -> tuple[Path, Commit]:
    base = Commit(git(spaces.path(STEP).parents[2] / "repo", "rev-parse", "main").strip())
    anyio.run(spaces.prepare, STEP, base)
    return spaces.path(STEP), base


def find_folder(seat: Seat) -> Path:
    return seat.writable[1]


def test_it_has_branches_and_configuration_and_nothing_secret_and_writes_nothing_into_the_repository(
    spaces: GitWorkspaces,
) -> None:
    place, base = prepare(spaces)

    seat = take_seat(place)

    own = find_folder(seat)
    words = (f"--git-dir={own}", f"--work-tree={place}")
    git(place, *words, "commit", "-q", "--allow-empty", "-m", "mine")
    assert seat.provided[place / ".git"].read_text() == f"gitdir: {own}\n"
    assert git(place, *words, "last") == "mine\n"
    assert git(place, *words, "rev-parse", "other").strip() == base
    assert "hunter2" not in (own / "config").read_text()
    assert read_tip(own.parent) == git(place, *words, "rev-parse", "HEAD").strip() != base
    assert "mine" not in git(place, "log", "--all", "--reflog", "--format=%s")


def test_it_stays_for_the_next_attempt_and_goes_when_the_worktree_is_prepared_anew(spaces: GitWorkspaces) -> None:
    place, _base = prepare(spaces)
    own = find_folder(take_seat(place))
    (own / "kept").touch()

    again = find_folder(take_seat(place))
    kept = (again / "kept").exists()
    prepare(spaces)

    assert (again, kept) == (own, True)
    assert not own.exists()
    assert read_tip(own.parent) is None


def test_only_worktrees_of_ours_have_one_and_nobody_who_may_only_read(spaces: GitWorkspaces, tmp_path: Path) -> None:
    place, _base = prepare(spaces)
    git(tmp_path / "repo", "worktree", "add", "-q", str(tmp_path / "own"), "other")

    theirs, reader = take_seat(tmp_path / "own"), take_seat(place, read_only=True)

    assert theirs == Seat(writable=(tmp_path / "own",), sealed=(tmp_path / "own" / ".git",))
    assert reader == Seat(sealed=(place,))


def lead_out(own: Path) -> None:
    (own.parent / "outside").write_text(f"{ID}\n")
    (own / "HEAD").write_text("ref: refs/../../outside\n")


def link_out(own: Path) -> None:
    (own.parent / "outside").write_text(f"{ID}\n")
    (own / "HEAD").unlink()
    (own / "HEAD").symlink_to(own.parent / "outside")


def make_pipe(own: Path) -> None:
    (own / "HEAD").unlink()
    os.mkfifo(own / "HEAD")


SPOILED: dict[str, Callable[[Path], object]] = {
    "a name that leads out": lead_out,
    "a link": link_out,
    "a pipe": make_pipe,
    "words": lambda own: (own / "HEAD").write_text("--upload-pack=x\n"),
    "a commit that is not there": lambda own: (own / "HEAD").write_text(f"{ID}\n"),
    "a branch without a commit": lambda own: (own / "HEAD").write_text("ref: refs/heads/none\n"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_where_it_stands_is_only_read_and_what_cannot_be_read_is_another_history(
    spaces: GitWorkspaces, how: str
) -> None:
    place, base = prepare(spaces)
    own = find_folder(take_seat(place))
    SPOILED[how](own)

    deeds = anyio.run(lambda: spaces.find_deeds(STEP, base=base))

    assert read_tip(own.parent) == (ID if how == "a commit that is not there" else "")
    assert deeds == GitDeeds(rewrote=True)


def test_what_an_agent_leaves_holds_nobody_for_long(spaces: GitWorkspaces) -> None:
    place, base = prepare(spaces)
    own = find_folder(take_seat(place))
    (own / "HEAD").write_text(f"{ID}\n")
    (own / "objects" / "info" / "alternates").unlink()
    os.mkfifo(own / "objects" / "info" / "alternates")
    top = place.parents[2] / "repo"
    hasty = GitWorkspaces(
        find_repository(top), run=RunId("r"), branch="drumline/r", root=place.parents[1], git_limit=0.5
    )

    deeds = anyio.run(lambda: hasty.find_deeds(STEP, base=base))

    assert deeds == GitDeeds(rewrote=True)


RESET = """
import anyio, sys
from pathlib import Path
from drumline.workspace.git import Git
from drumline.workspace.worktrees import reset_record
record = Path(sys.argv[1])
(record / "agent" / "shut" / "in").mkdir(parents=True)
(record / "agent" / "shut").chmod(0)
anyio.run(reset_record, Git(common_dir=record), record, sys.argv[2])
"""


def test_what_it_has_shut_goes_all_the_same() -> None:
    with open_cell("unprivileged") as cell:
        words = [*cell.become(), find_python(cell.user), "-c", RESET, str(cell.work), ID]
        subprocess.run(words, env=cell.env, cwd=cell.folder, check=True)
        left = [path.name for path in cell.work.iterdir()]

    assert left == ["HEAD"]


def test_a_packed_branch_is_where_it_stands(spaces: GitWorkspaces) -> None:
    place, base = prepare(spaces)
    own = find_folder(take_seat(place))
    words = (f"--git-dir={own}", f"--work-tree={place}")
    git(place, *words, "switch", "-q", "-c", "side")
    git(place, *words, "commit", "-q", "--allow-empty", "-m", "mine")
    git(place, *words, "pack-refs", "--all")

    deeds = anyio.run(lambda: spaces.find_deeds(STEP, base=base))

    assert deeds == GitDeeds(commits=1)
