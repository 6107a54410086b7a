"""Repositories that are not plain clones, and agents that do something to git in their worktree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text

COMMIT = "git -c user.name=x -c user.email=x@example.org commit -q"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"))


def make_shallow(user: User) -> User:
    user.commit_all("more")
    user.git("clone", "-q", "--depth=1", f"file://{user.repo}", str(user.folder / "clone"))
    return replace(user, repo=user.folder / "clone")


def make_sparse(user: User) -> User:
    (user.repo / "left-out").mkdir()
    (user.repo / "left-out" / "file.txt").write_text("x\n", encoding="utf-8")
    user.commit_all("more")
    user.git("sparse-checkout", "set", "--no-cone", "/*", "!/left-out/")
    return user


def make_with_submodule(user: User) -> User:
    other = user.folder / "other"
    allowed = ("-c", "protocol.file.allow=always")
    user.git("init", "-q", str(other))
    user.git("-C", str(other), *COMMIT.split()[1:], "--allow-empty", "-m", "x")
    user.git(*allowed, "submodule", "--quiet", "add", str(other), "module")
    user.commit_all("module")
    return user


def move_to_odd_name(user: User) -> User:
    return replace(user, repo=user.repo.rename(user.folder / "mein Projekt größer 日本"))


@pytest.mark.parametrize(
    "make",
    [
        make_shallow,
        make_sparse,
        pytest.param(make_with_submodule, marks=pytest.mark.long),
        move_to_odd_name,
    ],
)
def test_a_run_lands_in_a_repository_that_is_not_a_plain_clone(user: User, make: Callable[[User], User]) -> None:
    (user.repo / "more.txt").write_text("more\n", encoding="utf-8")
    user = make(user)
    before = user.git("ls-files")

    ran = user.run()

    assert ran.code == 0, ran.text
    landed = user.git("ls-tree", "-r", "--name-only", user.branch()).splitlines()
    assert sorted(landed) == sorted([*before.splitlines(), "step-1.txt"])


@pytest.mark.parametrize(
    "deed",
    [
        f"echo x > step-1.txt && git add -A && {COMMIT} --amend -m rewritten",
        f"echo x > step-1.txt && git checkout -q --orphan other && git add -A && {COMMIT} -m 'Drumline-Step: step-9'",
        "echo x > step-1.txt && rm -rf .git",
    ],
    ids=["rewrites-history", "plants-a-trailer", "deletes-its-git"],
)
def test_what_an_agent_does_to_git_in_its_worktree_does_not_reach_the_run_branch(user: User, deed: str) -> None:
    user.play({"match": {"step": "step-1"}, "run": deed})
    base = user.git("rev-parse", "HEAD")

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.git("rev-parse", f"{user.branch()}~1") == base
    assert user.git("diff", "--name-only", base, user.branch()).split() == ["step-1.txt"]
    assert "step-9" not in user.git("log", "-1", "--format=%B", user.branch())


def test_a_bare_repository_is_refused_by_name(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"))
        kim.git("clone", "-q", "--bare", str(kim.repo), str(kim.folder / "bare.git"))

        ran = replace(kim, repo=kim.folder / "bare.git").drumline("run", "plans/p", "--agent", "scripted:../agent.yaml")

    assert ran.code == 3, ran.text
    assert "bare" in ran.err
