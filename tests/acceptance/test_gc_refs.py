"""`gc` removes branches and refs of runs that are over, once a person agrees and nothing is lost with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, leaving_nothing, make_user, step_text


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        made = make_user(tmp_path, step_text("step-1"))
        done = made.run()
        assert done.code == 0, done.text
        yield made


def list_refs(user: User) -> list[str]:
    return user.git("for-each-ref", "--format=%(refname)", "refs/heads/drumline", "refs/drumline").splitlines()


def test_work_that_is_nowhere_else_stays_until_it_is_discarded(user: User) -> None:
    before = list_refs(user)

    plain, shown, kept = user.drumline("gc"), user.drumline("gc", "--dry-run"), user.drumline("gc", "--yes")
    after = list_refs(user)
    discarded = user.drumline("gc", "--yes", "--discard")

    assert any(ref.startswith("refs/heads/drumline/") for ref in before)
    assert f"{len(before)} of runs that are over stay; drumline gc --dry-run says why" in plain.out
    assert "nothing else has its work; --discard removes it" in shown.out
    assert (kept.code, after) == (0, before)
    assert (discarded.code, list_refs(user)) == (0, []), discarded.text


@pytest.mark.parametrize("way", ["merge", "squash"])
def test_work_that_reached_a_branch_goes_once_a_person_agrees(user: User, way: str) -> None:
    user.git("-c", "user.name=Kim", "-c", "user.email=k@example.org", "merge", "-q", *_spell(way), user.branch())
    if way == "squash":
        user.git("-c", "user.name=Kim", "-c", "user.email=k@example.org", "commit", "-q", "-m", "all of it")
    before = list_refs(user)

    asked, unchanged = user.drumline("gc"), list_refs(user)
    agreed = user.drumline("gc", "--yes")

    assert "of runs that are over; drumline gc --yes removes them" in asked.out
    assert unchanged == before
    assert (agreed.code, list_refs(user)) == (0, []), agreed.text
    if way == "merge":
        assert "+++ b/step-1.txt" in user.drumline("diff").out
        verified = user.drumline("verify", "--no-checks")
        assert verified.code == 0, verified.text


def _spell(way: str) -> list[str]:
    return ["--squash"] if way == "squash" else ["--no-edit"]
