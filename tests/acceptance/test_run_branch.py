"""What people do to the run branch in mid-run: nothing that landed is lost, and nothing of theirs is thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.userland import User, gates_of, leaving_nothing, make_user, states_of, step_text

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
    return user.drumline("answer", "approve-step-2", "approve", "--resume").code


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


def test_a_commit_on_the_branch_is_asked_about_and_kept(user: User) -> None:
    branch = user.branch()
    made = user.git(*KIM, "commit-tree", "-p", branch, "-m", "Mine", f"{branch}^{{tree}}")
    user.git("update-ref", f"refs/heads/{branch}", made)

    asked = approve(user)
    (gate,) = gates_of(user.status())
    answered = user.drumline("answer", gate, "keep", "--resume")

    assert asked == 2
    assert gate.startswith("branch-")
    assert answered.code == 0
    assert landed(user) == ["step-1", "step-2"]
    assert made in user.git("rev-list", branch)
    assert set(states_of(user.status()).values()) == {"done"}
