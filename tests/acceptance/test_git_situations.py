"""Where and in what state a repository may be, and what of it a run must never touch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
    leaving_nothing,
    make_user,
    snapshot,
    step_text,
    wait_for,
    write_plan,
)


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2"))


def configure(user: User, text: str) -> None:
    """Write the repository's configuration."""
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text(text, encoding="utf-8")


# --- where ------------------------------------------------------------------------------------------------------


def test_a_detached_head_is_a_place_to_start_from(user: User) -> None:
    user.git("checkout", "-q", "--detach")

    ran = user.run()

    assert ran.code == 0
    assert user.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_a_repository_without_commits_is_refused_with_what_to_type(tmp_path: Path) -> None:
    user = User(folder=tmp_path, repo=tmp_path / "repo")
    user.repo.mkdir()
    (tmp_path / "home").mkdir()
    user.git("init", "-q")
    write_plan(user.repo / PLAN, step_text("step-1"))
    user.play()

    ran = user.run()

    assert ran.code == 3
    assert "next: git commit" in ran.err


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path) -> None:
    user = User(folder=tmp_path, repo=tmp_path / "repo")
    user.repo.mkdir()
    write_plan(user.repo / PLAN, step_text("step-1"))

    ran = user.run()

    assert ran.code == 3
    assert "next: git init" in ran.err


def test_a_plan_outside_the_repository_is_refused(user: User) -> None:
    write_plan(user.folder / "elsewhere", step_text("step-1"))
    before = snapshot(user.folder)

    ran = user.drumline("run", "../elsewhere", "--agent", SCRIPTED)

    assert ran.code == 3
    assert "elsewhere" in ran.err
    assert snapshot(user.folder) == before


def test_a_subfolder_will_do(user: User) -> None:
    folder = user.repo / "deep" / "down"
    folder.mkdir(parents=True)

    ran = user.drumline("run", f"../../{PLAN}", "--agent", "scripted:../../agent.yaml", cwd=folder)

    assert ran.code == 0
    assert "step-1" in user.drumline("status", cwd=folder).out


def test_a_linked_worktree_will_do_and_shares_its_runs(user: User) -> None:
    user.git("worktree", "add", "-q", "../linked", "-b", "side")
    linked = user.folder / "linked"

    ran = user.drumline("run", PLAN, "--agent", SCRIPTED, cwd=linked)

    assert ran.code == 0
    assert "status: done" in (linked / PLAN / "step-1.md").read_text(encoding="utf-8")
    assert "status: ready" in user.file("step-1")
    assert user.status()["state"] == "done"


def test_a_plan_at_the_top_of_the_repository_will_do(tmp_path: Path) -> None:
    user = make_user(tmp_path)
    write_plan(user.repo, step_text("step-1"))
    user.commit_all()

    ran = user.drumline("run", ".", "--agent", SCRIPTED)

    assert ran.code == 0
    assert user.landed("step-1.txt") == "1"
    assert user.git("diff", "--name-only", "main", user.branch()) == "step-1.txt"


# --- what is never touched --------------------------------------------------------------------------------------


def test_uncommitted_work_is_mentioned_once_and_stays_out_of_the_run(user: User) -> None:
    (user.repo / "README.md").write_text("changed\n", encoding="utf-8")
    (user.repo / "new.txt").write_text("new\n", encoding="utf-8")

    ran = user.run()

    assert ran.code == 0
    assert ran.err.count("2 uncommitted changes are not part of the run") == 1
    assert user.landed("README.md") == "hello"
    assert user.git("ls-tree", "--name-only", user.branch(), "new.txt") == ""
    assert (user.repo / "README.md").read_text(encoding="utf-8") == "changed\n"
    assert user.git("diff", "--cached", "--name-only") == ""


def test_a_repository_without_identity_will_do(user: User) -> None:
    ran = user.run()

    assert ran.code == 0
    assert user.git("log", "-1", "--format=%an <%ae>", user.branch())


def test_the_users_identity_is_the_author(user: User) -> None:
    user.git("config", "user.name", "Kim")
    user.git("config", "user.email", "kim@example.org")

    user.run("--step", "step-1")

    assert user.git("log", "-1", "--format=%an <%ae>", user.branch()) == "Kim <kim@example.org>"


def test_hooks_are_not_run(user: User) -> None:
    for name in ("pre-commit", "commit-msg", "post-checkout", "post-commit", "reference-transaction"):
        hook = user.repo / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {user.folder}/hooked-{name}\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)

    ran = user.run()

    assert ran.code == 0
    assert list(user.folder.glob("hooked-*")) == []


def test_an_agents_edits_of_the_plan_and_of_drumlines_folder_are_dropped(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text("jobs = 2\n", encoding="utf-8")
    user.commit_all()
    user.play(
        {
            "match": {"step": "step-1"},
            "write": {
                "step-1.txt": "1\n",
                f"{PLAN}/step-2.md": "nonsense\n",
                f"{PLAN}/step-9.md": "more\n",
                ".drumline/config.toml": "jobs = 99\n",
            },
        }
    )

    ran = user.run()

    assert ran.code == 0
    assert sorted(user.git("diff", "--name-only", "main", user.branch()).split()) == ["step-1.txt", "step-2.txt"]
    assert not user.path("step-9").exists()
    assert config.read_text(encoding="utf-8") == "jobs = 2\n"


def test_commits_an_agent_makes_are_folded_in(user: User) -> None:
    commit = "git -c user.name=a -c user.email=a@b commit -q -m mine"
    user.play({"match": {"step": "step-1"}, "run": f"touch step-1.txt && git add -A && {commit}"})

    ran = user.run("--step", "step-1")

    assert ran.code == 0
    assert user.git("log", "--format=%s", f"main..{user.branch()}") == "[step-1] Make step-1"
    assert user.git("rev-parse", "HEAD") == user.git("rev-parse", "main")


def test_work_happens_outside_the_checkout(user: User) -> None:
    ran = user.run("--step", "step-1", agent="command:pwd > step-1.txt")

    assert ran.code == 0
    assert not Path(user.landed("step-1.txt")).is_relative_to(user.repo)


def test_merging_the_run_branch_cannot_conflict_with_the_marks_in_the_plan(user: User) -> None:
    user.run()
    user.commit_all("the plan's marks")

    user.git("-c", "user.name=k", "-c", "user.email=k@k", "merge", "-q", user.branch())

    assert (user.repo / "step-2.txt").exists()
    assert user.git("status", "--porcelain") == ""


# --- setup ------------------------------------------------------------------------------------------------------


def test_the_setup_command_runs_in_every_workspace_before_the_agent(user: User) -> None:
    configure(user, 'setup = "pwd >> $HOME/setups; echo ready > prepared.txt"\n')
    user.play(
        {"match": {"step": "step-1"}, "run": "cat prepared.txt && touch step-1.txt"},
        {"match": {"step": "step-2"}, "run": "cat prepared.txt && touch step-2.txt"},
    )

    ran = user.run()

    places = (user.folder / "home" / "setups").read_text(encoding="utf-8").split()
    assert ran.code == 0
    names = [Path(place).name for place in places]
    own = [name for name in names if not name.startswith("verify@")]
    assert len(own) == 3  # for two steps and for what comes after the last
    assert {*own} <= {"work@1", "work@2"}
    assert {*names} - {*own}  # where checks run


def test_a_setup_command_that_fails_blocks_the_step_and_says_so(user: User) -> None:
    configure(user, 'setup = "echo no network; exit 7"\n')

    ran = user.run("--step", "step-1")

    assert ran.code == 2
    assert "setup command failed (exit code 7)" in user.drumline("why", "step-1").out
    assert "no network" in user.drumline("logs", "step-1").out


# --- landing ----------------------------------------------------------------------------------------------------


def test_a_run_branch_that_somebody_checked_out_is_not_moved(user: User) -> None:
    hold = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch step-1.txt"
    user.play({"match": {"step": "step-1"}, "run": hold})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")
    branch = user.branch()
    user.git("checkout", "-q", branch)
    head = user.git("rev-parse", "HEAD")

    (user.folder / "home" / "go").touch()
    process.communicate()
    blocked = user.drumline("why", "step-1")
    unmoved = user.git("rev-parse", branch)
    user.git("checkout", "-q", "main")
    retried = user.drumline("retry", "step-1", "--resume")

    assert process.returncode == 2
    assert branch in blocked.out
    assert "checked out" in blocked.out
    assert unmoved == head
    assert retried.code == 0
    assert user.git("rev-parse", branch) != head
