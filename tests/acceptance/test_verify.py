"""`drumline verify`: an untouched run is proved again, and every kind of tampering is named."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text

Tamper = Callable[[User], object]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    folder = tmp_path_factory.mktemp("finished")
    with leaving_nothing(folder):
        user = make_user(folder, step_text("step-1", checks=["test -f step-1.txt; echo looked"]), step_text("step-2"))
        ran = user.run("--mode", "sequential")
        assert ran.code == 0, ran.text
        yield user


@pytest.fixture
def user(finished: User, tmp_path: Path) -> User:
    shutil.copytree(finished.folder, tmp_path / "copy", symlinks=True)
    return User(folder=tmp_path / "copy", repo=tmp_path / "copy" / "repo")


def change(user: User, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(user.repo / ".git" / "drumline" / "state.db")) as store, store:
        assert store.execute(statement, values).rowcount == 1


def rewrite(user: User, kind: str, old: str, new: str) -> None:
    only = "SELECT min(seq) FROM events WHERE kind = ? AND instr(body, ?)"
    change(user, f"UPDATE events SET body = replace(body, ?, ?) WHERE seq = ({only})", old, new, kind, old)  # noqa: S608


def first_landed(user: User) -> str:
    return user.git("rev-list", "--reverse", f"main..{user.branch()}").split()[0]


def find_log(user: User) -> Path:
    return next(user.repo.glob(".git/drumline/runs/*/step-1/check-*.log"))


def amend(user: User) -> None:
    made = user.git(
        "-c",
        "user.name=u",
        "-c",
        "user.email=u@example.org",
        "commit-tree",
        "-p",
        "main",
        "-m",
        "other",
        f"{first_landed(user)}^{{tree}}",
    )
    user.git("update-ref", f"refs/heads/{user.branch()}", made)


def forget_branch(user: User) -> None:
    run = user.git("for-each-ref", "--format=%(refname)", "refs/drumline/*/@head")
    branch = user.branch()
    user.git("update-ref", "-d", f"refs/heads/{branch}")
    user.git("update-ref", "-d", run)


TAMPERING: dict[str, tuple[Tamper, str]] = {
    "branch reset": (lambda u: u.git("branch", "-f", u.branch(), "main"), "branch drumline/"),
    "branch rewritten": (amend, "branch drumline/"),
    "branch and its head gone": (forget_branch, "branch drumline/"),
    "log edited": (lambda u: find_log(u).write_text("all is well\n"), "log of 'test -f step-1.txt; echo looked'"),
    "log removed": (lambda u: find_log(u).unlink(), "found no log"),
    "verdict changed": (lambda u: rewrite(u, "CheckEnded", '"exit_code":0', '"exit_code":1'), "journal up to event"),
    "level changed": (
        lambda u: rewrite(u, "StepFinished", '"level":"kept"', '"level":"proved"'),
        "journal up to event",
    ),
    "attempts changed": (lambda u: rewrite(u, "StepFinished", '"attempts":1', '"attempts":2'), "journal up to event"),
    "event removed": (
        lambda u: change(
            u, "DELETE FROM events WHERE seq = (SELECT max(seq) FROM events WHERE step = 'step-1' AND kind != ?)", ""
        ),
        "journal up to event",
    ),
    "time changed": (lambda u: change(u, "UPDATE events SET at = at + 60 WHERE seq = ?", 2), "journal up to event"),
    "commit exchanged": (
        lambda u: rewrite(u, "StepFinished", first_landed(u), u.git("rev-parse", u.branch())),
        "step-1: ",
    ),
    "tree exchanged": (
        lambda u: rewrite(
            u, "StepFinished", u.git("rev-parse", f"{first_landed(u)}^{{tree}}"), u.git("rev-parse", "main^{tree}")
        ),
        "tree of the commit",
    ),
}


def test_an_untouched_run_is_proved_again_without_its_agent_its_plan_and_its_branch(user: User) -> None:
    (user.repo / "agent.yaml").unlink()
    shutil.rmtree(user.repo / "plans")
    user.git("branch", "-D", user.branch())

    verified = user.drumline("verify")
    one = user.drumline("verify", str(user.status()["run"]), "step-2", "--json")
    alone = user.drumline("verify", "step-2", "--no-checks")
    whole = user.drumline("diff", str(user.status()["run"]), "--stat")

    assert verified.code == 0, verified.text
    assert verified.out.splitlines() == [
        "step-1: the same (commit, logs: 1, checks run again: 1)",
        "step-2: the same (commit, logs: 1, checks run again: 1)",
        "2 landed steps are as the journal says",
    ]
    assert one.code == 0
    assert [step["step"] for step in one.json["steps"]] == ["step-2"]  # type: ignore[attr-defined]
    assert alone.out.splitlines()[-1] == "1 landed step is as the journal says"
    assert "step-1.txt" in whole.out
    assert "step-2.txt" in whole.out
    assert user.git("worktree", "list").count("\n") == 0


@pytest.mark.parametrize("pruned", [False, True])
def test_a_run_whose_work_was_squashed_is_compared_as_far_as_it_is_there(user: User, pruned: bool) -> None:
    kim = ("-c", "user.name=Kim", "-c", "user.email=k@example.org")
    user.git("merge", "-q", "--squash", user.branch())
    user.git(*kim, "commit", "-q", "-m", "all of it")
    assert user.drumline("gc", "--yes").code == 0
    if pruned:
        user.git("reflog", "expire", "--expire=now", "--all")
        user.git("gc", "--quiet", "--prune=now")

    verified = user.drumline("verify")
    user.git("reset", "-q", "--hard", "HEAD~1")
    lost = user.drumline("verify", "--no-checks")

    assert verified.code == 2, verified.text
    assert "it was removed, its work is there by other commits" in verified.err
    assert ("it is not in the repository any more" in verified.err) is pruned
    assert ("checks run again: 1" in verified.out) is not pruned
    assert verified.out.splitlines()[-1].endswith("not everything could be compared here")
    assert lost.code == 1, lost.text


@pytest.mark.parametrize("kind", TAMPERING)
def test_what_somebody_tampered_with_is_named(user: User, kind: str) -> None:
    tamper, named = TAMPERING[kind]
    tamper(user)

    verified = user.drumline("verify", "--no-checks")

    assert verified.code == 1, verified.text
    assert named in verified.text
    assert verified.out.splitlines()[-1].startswith("differs: ")


def test_a_commit_that_was_replaced_is_seen_as_it_was(user: User) -> None:
    user.git("replace", first_landed(user), user.git("rev-parse", "main"))

    assert user.drumline("verify", "--no-checks").code == 0
