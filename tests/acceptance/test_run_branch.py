"""What happens to the run branch in mid-run: nothing that landed is lost, and nothing of anybody is thrown away."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    Ran,
    User,
    gates_of,
    leaving_nothing,
    make_user,
    states_of,
    step_text,
)

KIM = ("-c", "user.name=Kim", "-c", "user.email=kim@example.org")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    """Somebody whose run has landed step-1 and waits with step-2 for an approval."""
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
        kim.run("--autonomy", "verbose")
        kim.drumline("answer", "approve-step-1", "approve", "--resume")
        assert gates_of(kim.status()) == ["approve-step-2"]
        yield kim


def approve(user: User) -> int:
    return approve_aloud(user).code


def approve_aloud(user: User) -> Ran:
    return user.drumline("answer", "approve-step-2", "approve", "--resume")


def put_on_branch(user: User, parent: str) -> str:
    """A commit of somebody's that becomes the tip of the run branch."""
    made = user.git(*KIM, "commit-tree", "-p", parent, "-m", "Mine", f"{parent}^{{tree}}")
    user.git("update-ref", f"refs/heads/{user.branch()}", made)
    return made


def is_reachable(user: User, commit: str) -> bool:
    return bool(user.git("for-each-ref", "--contains", commit))


def landed(user: User) -> list[str]:
    form = "--format=%(trailers:key=Drumline-Step,valueonly,separator=)"
    return [line for line in user.git("log", "--reverse", form, user.branch()).split("\n") if line]


def test_a_deleted_branch_is_restored(user: User) -> None:
    branch = user.branch()
    user.git("branch", "-D", branch)

    assert approve(user) == 0

    assert landed(user) == ["step-1", "step-2"]


def test_a_deleted_branch_survives_a_gc_that_prunes_everything(user: User) -> None:
    user.git("branch", "-D", user.branch())
    user.git("reflog", "expire", "--expire=now", "--all")
    user.git("gc", "--quiet", "--prune=now")

    assert approve(user) == 0

    assert landed(user) == ["step-1", "step-2"]


def test_a_branch_that_was_set_back_is_restored(user: User) -> None:
    user.git("branch", "-f", user.branch(), "main")

    assert approve(user) == 0

    assert landed(user) == ["step-1", "step-2"]


def test_a_commit_while_the_run_waits_for_an_approval_is_named_and_becomes_the_head(user: User) -> None:
    branch = user.branch()
    made = put_on_branch(user, branch)

    answered = user.drumline("answer", "approve-step-2", "approve", "--resume")

    assert answered.code == 0, answered.text
    assert f"{made[:10]} Mine (Kim)" in answered.text
    assert landed(user) == ["step-1", "step-2"]
    assert made in user.git("rev-list", branch)
    assert set(states_of(user.status()).values()) == {"done"}


def test_a_branch_that_was_squash_merged_and_removed_is_restored(user: User) -> None:
    branch = user.branch()
    user.git("merge", "--squash", "--quiet", branch)
    user.git(*KIM, "commit", "-q", "-m", "All in one")
    user.git("branch", "-D", branch)

    ran = approve_aloud(user)

    assert ran.code == 0, ran.text
    assert "the run branch was moved or deleted; it is back at" in ran.text
    assert landed(user) == ["step-1", "step-2"]


def test_a_branch_that_was_replaced_is_asked_about_and_what_is_missing_is_named(user: User) -> None:
    theirs = put_on_branch(user, "main")

    asked = approve_aloud(user)
    (gate,) = gates_of(user.status())
    answered = user.drumline("answer", gate, "restore", "--resume")

    assert asked.code == 2, asked.text
    assert "Missing on it: step-1." in asked.text
    assert answered.code == 0, answered.text
    assert landed(user) == ["step-1", "step-2"]
    assert theirs not in user.git("rev-list", user.branch())
    assert is_reachable(user, theirs)


def test_what_a_person_commits_while_nothing_is_at_work_is_named_and_becomes_the_head(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))
        kim.play({"match": {"step": "step-2"}, "say": "nothing to do"})
        blocked = kim.run("--retries", "0")
        mine = put_on_branch(kim, kim.branch())
        kim.play()

        resumed = kim.drumline("resume", "--step", "step-2")

    assert blocked.code == 2, blocked.text
    assert resumed.code == 0, resumed.text
    assert f"{mine[:10]} Mine (Kim)" in resumed.text
    assert landed(kim) == ["step-1", "step-2"]
    assert mine in kim.git("rev-list", kim.branch())


@pytest.mark.long
def test_a_branch_of_which_nothing_is_left_is_not_made_again_at_its_base(user: User) -> None:
    branch = user.branch()
    user.git("branch", "-D", branch)
    for ref in user.git("for-each-ref", "--format=%(refname)", "refs/drumline").splitlines():
        user.git("update-ref", "-d", ref)
    for line in user.git("worktree", "list", "--porcelain").splitlines():
        if line.startswith("worktree ") and line != f"worktree {user.repo}":
            user.git("worktree", "remove", "--force", line.removeprefix("worktree "))
    user.git("reflog", "expire", "--expire=now", "--all")
    user.git("gc", "--quiet", "--prune=now")

    ran = approve_aloud(user)

    assert ran.code == 2, ran.text
    assert f"the run branch {branch} is gone, and so is what landed on it" in ran.text
    assert user.git("branch", "--list", branch) == ""


MOVE = (
    "cd '{repo}' && test ! -e '{once}' && touch '{once}'"
    " && ref=$(git for-each-ref --format='%(refname)' refs/heads/drumline)"
    " && made=$(git -c user.name=A -c user.email=a@example.org commit-tree -p $ref -m Sneaked $ref^{{tree}})"
    " && git update-ref $ref $made"
)


UNHELD = {"DRUMLINE_SANDBOX": "off"}
"""A check that is held cannot reach the repository's refs."""


@pytest.mark.parametrize("mover", ["agent", "check"])
def test_what_an_agent_or_a_check_commits_on_the_branch_is_asked_about(tmp_path: Path, mover: str) -> None:
    move = "(" + MOVE.format(repo=tmp_path / "repo", once=tmp_path / "once") + ") || true"
    checks = [move, "test -f step-2.txt"] if mover == "check" else ["test -f step-2.txt"]
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"], checks=checks))
        rule = {"match": {"step": "step-2"}, "write": {"step-2.txt": "2\n"}}
        kim.play({**rule, "run": move} if mover == "agent" else rule)

        asked = kim.run(env=UNHELD)
        sneaked = kim.git("rev-parse", kim.branch())
        (gate,) = gates_of(kim.status())
        answered = kim.drumline("answer", gate, "restore", "--resume", env=UNHELD)

    assert asked.code == 2, asked.text
    assert f"{sneaked[:10]} Sneaked (A)" in asked.text
    assert answered.code == 0, answered.text
    assert landed(kim) == ["step-1", "step-2"]
    assert sneaked not in kim.git("rev-list", kim.branch())
    assert is_reachable(kim, sneaked)


def test_what_an_agent_commits_is_asked_about_if_the_driver_dies_as_soon_as_its_step_failed(tmp_path: Path) -> None:
    move = MOVE.format(repo=tmp_path / "repo", once=tmp_path / "once")
    run = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--retries", "0")
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1"))
        kim.play({"match": {"step": "step-1"}, "run": move})

        died = kim.rigged(*run, env={"STRIKE": "SIGKILL", "STRIKE_EVENT": "StepFinished"})
        sneaked = kim.git("rev-parse", kim.branch())
        resumed = kim.drumline("resume")
        gates = gates_of(kim.status())

    assert died.code == -signal.SIGKILL, died.text
    # The branch is looked at while the step ends: the driver that dies may have asked already.
    assert f"{sneaked[:10]} Sneaked (A)" in died.text + resumed.text
    assert f"drumline answer branch-{sneaked[:8]} restore" in resumed.text
    assert resumed.code == 2, resumed.text
    # What failed is asked about beside what the agent committed: each has an answer of its own.
    assert {gate.split("-")[0] for gate in gates} == {"failure", "branch"}
    assert len(gates) == 2


def test_a_commit_that_a_check_makes_on_the_branch_is_asked_about_and_kept(tmp_path: Path) -> None:
    tip = "tip=$(git for-each-ref '--format=%(refname)' refs/heads/drumline)"
    made = f"made=$(git {' '.join(KIM)} commit-tree -p $tip -m Theirs $tip^{{tree}})"
    check = f"{tip}; {made}; git log --format=%s $tip | grep -q Theirs || git update-ref $tip $made"
    with leaving_nothing(tmp_path):
        kim = make_user(tmp_path, step_text("step-1", checks=[check]))

        asked = kim.run(env=UNHELD)
        (gate,) = gates_of(kim.status())
        answered = kim.drumline("answer", gate, "keep", "--resume", env=UNHELD)

    assert asked.code == 2, asked.text
    assert gate.startswith("branch-")
    assert answered.code == 0, answered.text
    assert "Theirs" in kim.git("log", "--format=%s", kim.branch())
    assert set(states_of(kim.status()).values()) == {"done"}
