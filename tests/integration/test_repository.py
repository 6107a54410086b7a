"""Finding the user's repository from wherever they stand."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from drumline.errors import InvalidInput
from drumline.workspace import git as git_module
from drumline.workspace.git import environment, git_version, require_git
from drumline.workspace.repository import find_repository


def git(where: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=where, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one commit, and a home without any git configuration."""
    for key in [key for key in os.environ if key.startswith("GIT_")]:
        monkeypatch.delenv(key)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    top = tmp_path / "my repo"
    top.mkdir()
    git(top, "init", "-q", "-b", "main")
    (top / "sub").mkdir()
    (top / "sub" / "file").write_text("x")
    git(top, "add", "-A")
    git(top, "-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "-qm", "first")
    return top


def test_a_repository_is_found_from_a_subfolder(top: Path) -> None:
    found = find_repository(top / "sub")

    assert (found.top, found.common_dir, found.name) == (top, top / ".git", "my repo")
    assert found.state_dir == top / ".git" / "drumline"


def test_a_folder_with_a_line_end_in_its_name_is_found(tmp_path: Path) -> None:
    odd = tmp_path / "two\nlines"
    odd.mkdir()
    git(odd, "init", "-q")

    assert find_repository(odd).top == odd.resolve()


@pytest.mark.parametrize(("folder", "questions"), [("my repo", ""), ("my repo/sub", ""), ("linked", "asked\n")])
def test_git_is_asked_at_most_once_and_not_about_a_plain_checkout(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, questions: str
) -> None:
    git(top, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    program = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\necho asked >> "{tmp_path}/asked"\nexec "{program}" "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:{os.environ['PATH']}")

    (tmp_path / "asked").touch()
    found = find_repository(tmp_path / folder)

    assert (tmp_path / "asked").read_text() == questions
    assert found.common_dir == top / ".git"


@pytest.mark.parametrize(
    ("key", "value"), [("core.worktree", "../sub"), ("extensions.worktreeConfig", "true"), ("include.path", "more")]
)
def test_a_configuration_that_may_move_the_checkout_is_left_to_git(top: Path, key: str, value: str) -> None:
    git(top, "config", key, value)
    said = git(top, "rev-parse", "--show-toplevel") if key != "core.worktree" else ""

    if said:
        assert find_repository(top).top == Path(said)
    else:
        with pytest.raises(InvalidInput, match="not in a checkout"):
            find_repository(top)


def test_a_folder_that_only_looks_like_a_repository_is_left_to_git(tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / ".git" / "config").write_text("[core]\n\tbare = false\n")

    with pytest.raises(InvalidInput, match="not in a git repository"):
        find_repository(tmp_path)


def test_a_linked_worktree_shares_name_and_state_with_its_repository(top: Path, tmp_path: Path) -> None:
    git(top, "worktree", "add", "-q", "--detach", str(tmp_path / "linked"))

    found = find_repository(tmp_path / "linked")

    assert found.top == tmp_path / "linked"
    assert found.state_dir == find_repository(top).state_dir
    assert found.worktrees_root() == find_repository(top).worktrees_root()


def test_a_folder_outside_any_repository_is_refused_with_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not in a git repository") as caught:
        find_repository(tmp_path)

    assert caught.value.hint == "git init"


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a folder"):
        find_repository(tmp_path / "nowhere")


@pytest.mark.parametrize("inside", ["bare.git", "bare.git/objects"])
def test_a_bare_repository_is_refused(tmp_path: Path, inside: str) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")

    with pytest.raises(InvalidInput, match="not in a checkout"):
        find_repository(tmp_path / inside)


def test_the_folder_of_git_itself_is_refused(top: Path) -> None:
    with pytest.raises(InvalidInput, match="not in a checkout"):
        find_repository(top / ".git")


def test_a_linked_worktree_of_a_bare_repository_works(top: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(top), "central.git")
    git(tmp_path / "central.git", "worktree", "add", "-q", str(tmp_path / "linked"))

    found = find_repository(tmp_path / "linked")

    assert (found.name, found.top) == ("central", tmp_path / "linked")
    assert found.head_commit() == git(top, "rev-parse", "HEAD")


def test_the_head_is_found_on_a_branch_and_detached(top: Path) -> None:
    on_branch = find_repository(top).head_commit()

    git(top, "checkout", "-q", "--detach")

    assert find_repository(top).head_commit() == on_branch == git(top, "rev-parse", "main")


def test_a_repository_without_commits_is_refused_with_the_next_command(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")

    with pytest.raises(InvalidInput, match="no commit yet") as caught:
        find_repository(tmp_path).head_commit()

    assert caught.value.hint == "git commit --allow-empty -m start"


def test_uncommitted_work_is_listed_by_path(top: Path) -> None:
    (top / "sub" / "file").write_text("changed")
    (top / "new file\nwith -> arrow").write_text("x")
    git(top, "mv", "sub/file", "sub/moved")

    found = find_repository(top / "sub").uncommitted()

    assert sorted(found) == ["new file\nwith -> arrow", "sub/file", "sub/moved"]


def test_the_plans_files_are_not_uncommitted_work(top: Path) -> None:
    (top / "plan*").mkdir()
    (top / "plan*" / "root.md").write_text("x")
    (top / "plan-b").write_text("x")

    found = find_repository(top).uncommitted(["plan*"])

    assert found == ["plan-b"]


def test_asking_does_not_touch_the_users_index(top: Path) -> None:
    (top / "sub" / "file").touch()
    before = (top / ".git" / "index").read_bytes()

    find_repository(top).uncommitted()

    assert (top / ".git" / "index").read_bytes() == before


def test_the_callers_git_variables_do_not_mislead(top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "other"
    git(tmp_path, "init", "-q", str(other))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))

    found = find_repository(top)

    assert found.top == top
    assert "GIT_DIR" not in environment({})


def test_workspaces_live_under_the_users_state_apart_for_each_repository(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    namesake = tmp_path / "elsewhere" / "my repo"
    namesake.mkdir(parents=True)
    git(namesake, "init", "-q")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    one, two = find_repository(top).worktrees_root(), find_repository(namesake).worktrees_root()

    assert one != two
    assert one.parent.parent == two.parent.parent == tmp_path / "state" / "drumline"
    assert one.parent.name.startswith("my repo-")


@pytest.mark.parametrize("stated", ["", "relative/state"])
def test_without_a_stated_state_folder_the_home_is_used(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", stated)

    root = find_repository(top).worktrees_root()

    assert root.is_relative_to(tmp_path / "home" / ".local" / "state" / "drumline")


def test_a_configured_folder_for_workspaces_is_relative_to_the_checkout(top: Path, tmp_path: Path) -> None:
    assert find_repository(top).worktrees_root(Path("../spaces")) == tmp_path / "spaces"


def test_the_git_on_this_machine_is_new_enough() -> None:
    require_git()

    assert git_version() >= git_module.NEEDED


def test_an_old_git_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "git"
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    with pytest.raises(InvalidInput, match=r"2\.30\.2 is too old"):
        require_git()
