"""`work_in = inplace`: steps are worked on in the checkout itself, on its branch, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, leaving_nothing, make_user, states_of, step_text

INPLACE = {"DRUMLINE_WORK_IN": "inplace"}
BRANCH = "work/here"
ASSUME = "git update-index --assume-unchanged README.md"
COMMIT = f"{ASSUME}; git add -A && git -c user.name=a -c user.email=a@example.org commit -qm mine"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1"), step_text("step-2", checks=("test -f step-1.txt", "test -f x")))
        made.git("switch", "-qc", BRANCH)
        yield made


def changed(user: User) -> list[str]:
    """What git says of the checkout."""
    return user.git("status", "--porcelain", "--untracked-files=all").splitlines()


def test_steps_land_on_the_branch_that_is_checked_out_and_the_checkout_has_their_files(user: User) -> None:
    (user.repo / ".gitignore").write_text("*.log\n")
    user.commit_all()
    (user.repo / "mine.log").write_text("mine\n")
    user.play(
        {
            "match": {"step": "step-1"},
            "write": {"step-1.txt": "1\n", "README.md": "new\n"},
            "run": COMMIT,
        },
        {"match": {"step": "step-2", "attempt": 1}, "write": {"step-2.txt": "2\n", "bad": "bad\n"}},
        {"match": {"step": "step-2", "attempt": 2}, "write": {"x": "x\n"}, "delete": ["bad"]},
    )
    user.commit_all()

    ran = user.run(env=INPLACE)

    subjects = user.git("log", "--format=%s", "main..HEAD").splitlines()
    assert ran.code == 0, ran.text
    assert user.git("symbolic-ref", "HEAD") == f"refs/heads/{BRANCH}"
    assert user.branch() == BRANCH
    assert subjects[:2] == ["[step-2] Make step-2", "[step-1] Make step-1"]
    assert "mine" not in subjects
    assert user.git("for-each-ref", "--format=%(subject)", "refs/drumline/*/@replaced/*") == "mine"
    assert user.git("show", "--format=", "--name-only", "HEAD").split() == ["step-2.txt", "x"]
    assert [line for line in changed(user) if PLAN not in line] == []
    assert "status: done" in user.file("step-2")
    assert (user.repo / "mine.log").read_text() == "mine\n"
    assert user.git("worktree", "list").count("\n") == 0
    assert user.drumline("merge").out.startswith(f"{BRANCH} has all of it already\nnot committed: the marks in 2 files")
    assert user.drumline("gc", "--yes").code == 0
    assert user.git("rev-parse", "--abbrev-ref", "HEAD") == BRANCH
    assert user.drumline("verify").code == 0


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (("switch", "-q", "main"), "does not work on 'main'"),
        (("switch", "-qc", "release/1.2"), "does not work on 'release/1.2'"),
        (("checkout", "-q", "--detach"), "none is checked out"),
        (("config", "init.defaultBranch", BRANCH), "the default branch"),
        (("config", "core.sparseCheckout", "true"), "a sparse checkout"),
        (("mv", "README.md", "READ.md"), "has changes: READ.md"),
    ],
)
def test_a_run_in_place_is_refused_by_name_and_changes_nothing(user: User, before: list[str], told: str) -> None:
    user.git(*before)
    seen = changed(user)

    ran = user.type("run", PLAN, "--agent", "scripted:agent.yaml", "--autonomy", "autopilot", env=INPLACE)

    assert ran.code == 3, ran.text
    assert told in ran.text
    assert changed(user) == seen
    assert not user.drumline("runs", "--json").json.get("runs")


def test_other_branches_that_an_agent_moves_or_removes_are_named_and_kept(user: User) -> None:
    user.git("tag", "v1")
    user.git("branch", "spare")
    before = user.git("rev-parse", "main")
    sneak = "git commit-tree -m x HEAD^{tree} </dev/null"
    deed = f"echo 1 > step-1.txt; git update-ref refs/heads/main $({sneak}); git tag -d v1; git branch new"
    who = "export GIT_AUTHOR_NAME=K GIT_AUTHOR_EMAIL=k@e GIT_COMMITTER_NAME=K GIT_COMMITTER_EMAIL=k@e"
    user.play(
        {"match": {"step": "step-1"}, "run": f"{who}; {deed}"},
        {"match": {"step": "step-2"}, "write": {"x": "x\n"}},
    )
    user.commit_all("play")

    ran = user.run(env=INPLACE)

    named = f"branches or tags were moved or removed: main (was {before[:10]}), v1 (was {before[:10]})"
    assert ran.code == 0, ran.text
    assert f"step-1: while it was at work, {named}" in " ".join(ran.text.split())
    assert "step-2: while" not in ran.text
    assert before in user.git("for-each-ref", "--format=%(objectname)", "refs/drumline/*/@replaced/*")


def test_what_a_blocked_step_left_stays_in_the_checkout_and_keeps_others_out(user: User) -> None:
    user.play(
        {"match": {"step": "step-1"}, "write": {"wrong.txt": "1\n"}},
        {"match": {"step": "step-2"}, "write": {"x": "", "step-1.txt": ""}},
    )
    user.commit_all()

    ran = user.run("--step", "step-1", env=INPLACE)
    left = (user.repo / "wrong.txt").exists()
    other = user.run("--step", "step-2", "--new", env=INPLACE)
    user.git("stash", "-uq", "--", "wrong.txt")
    done = user.run("--step", "step-2", "--new", env=INPLACE)

    assert ran.code == 2, ran.text
    assert left
    assert (other.code, "has changes: wrong.txt" in other.text) == (3, True), other.text
    assert done.code == 0, done.text
    assert [line for line in changed(user) if PLAN not in line] == []
    assert not (user.repo / "wrong.txt").exists()


def test_a_checkout_that_is_switched_to_another_branch_meanwhile_is_not_written_to(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "write": {"step-1.txt": "1\n"}, "run": "git switch -q main"})
    user.commit_all()

    ran = user.run(env=INPLACE)

    assert ran.code != 0
    assert "is on main, and the run works on work/here" in ran.text + user.drumline("why", "step-1").out
    assert user.git("log", "--format=%s", "main") == "start"
    assert states_of(user.status())["step-1"] != "done"


@pytest.mark.long
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(3, 40, 3))
def test_a_run_in_place_ends_the_same_wherever_its_process_dies(user: User, nth: int, when: str) -> None:
    user.play({"match": {"step": "step-2"}, "write": {"step-2.txt": "2\n", "x": "x\n"}})
    user.commit_all()
    struck = {**INPLACE, "STRIKE_NTH": str(nth), "STRIKE_WHEN": when, "STRIKE": "SIGKILL"}

    user.rigged("run", PLAN, "--agent", "scripted:agent.yaml", "--autonomy", "autopilot", env=struck)
    user.drumline("resume")

    landed = user.git("log", "--format=%s", "main..HEAD").splitlines()
    assert sorted(landed[:-1]) == ["[step-1] Make step-1", "[step-2] Make step-2"]
    assert [line for line in changed(user) if PLAN not in line] == []
    assert not [
        lock for lock in (user.repo / ".git").rglob("*.lock") if "drumline/" not in str(lock.relative_to(user.repo))
    ]
