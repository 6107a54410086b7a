"""A flow in a worktree of its own, killed at every write: its work becomes one commit, and the checkout stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import Strike, Walk, flow_text, flow_user, read_journal, walk_to_end, work_files
from tests.acceptance.cli_user import User

from drumline.processes import census

pytestmark = pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted")

NODES = {
    "build": {"type": "agent", "agent": "default", "prompt": "Go.", "next": "check"},
    "check": {"type": "script", "script": "check.sh", "next": "sure"},
    "sure": {
        "type": "approval",
        "question": "Sure?",
        "options": ["yes"],
        "routes": {"yes": "end"},
        "on_other": "end",
    },
    "end": {"type": "end", "output": "{{found}}"},
}
FILES = {
    "flow.yaml": flow_text("build", NODES),
    "check.sh": 'echo "{\\"found\\": \\"$(cat made.txt)\\"}"\n',
    "play.yaml": "default: {write: {made.txt: made}, say: built}\n",
}
COMMAND = ("flow", "run", "flow.yaml", "--agent", "scripted:play.yaml", "--worktree")
WRITES = 11
DELIVERY = 8
"""The write from which on delivering is at stake; what comes before is long."""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with flow_user(tmp_path, FILES) as user:
        yield user


def walk(user: User, strike: Strike) -> Walk:
    """Walk to the end, whatever happens on the way."""
    return walk_to_end(user, COMMAND, {"sure": "yes"}, strike)


def assert_delivered(user: User) -> None:
    """The work is one commit on the run's branch, and nowhere else."""
    status = user.status()
    branch = str(status["branch"])
    assert (status["state"], status["output"]) == ("done", "made")
    assert user.git("show", f"{branch}:made.txt") == "made"
    assert user.git("rev-list", "--count", f"HEAD..{branch}") == "1"
    assert len(user.git("worktree", "list").splitlines()) == 1
    assert work_files(user) == FILES
    assert set(read_journal(user).concluded.values()) == {1}


def test_the_enumeration_covers_every_write(user: User) -> None:
    walked = walk(user, Strike())

    assert walked.writes == WRITES
    assert_delivered(user)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    "nth",
    [
        *(pytest.param(nth, marks=pytest.mark.long) for nth in range(1, DELIVERY)),
        *range(DELIVERY, WRITES + 1),
    ],
)
def test_the_work_is_delivered_once_wherever_the_process_dies(user: User, nth: int, when: str) -> None:
    walked = walk(user, Strike(nth=nth, when=when))

    assert walked.kills == 1
    assert_delivered(user)


def test_gc_removes_the_worktree_of_a_cancelled_flow_and_a_resume_makes_it_again(user: User) -> None:
    parked = user.drumline(*COMMAND)
    early = user.drumline("gc")
    user.drumline("cancel")

    cleared = user.drumline("gc")

    worktrees = user.git("worktree", "list").splitlines()
    assert (parked.code, len(worktrees)) == (2, 1)
    assert "its flow is not finished" in early.out
    assert "what was in it is kept: git show" in cleared.out
    assert user.drumline("resume").code == 2
    assert user.drumline("answer", "sure", "yes", "--resume").code == 0
    assert_delivered(user)


def test_the_worktree_of_a_flow_that_has_failed_stays_until_gc_keeps_what_is_in_it(user: User) -> None:
    nodes = {**NODES, "check": {"type": "end", "status": "failed"}}
    (user.repo / "flow.yaml").write_text(flow_text("build", {name: nodes[name] for name in ("build", "check")}))
    failed = user.drumline(*COMMAND)
    run = user.status()["run"]
    user.drumline(*COMMAND)

    before = user.git("worktree", "list").splitlines()
    cleared = user.drumline("gc")

    assert failed.code == 1, failed.text
    assert len(before) == 3
    assert len(user.git("worktree", "list").splitlines()) == 1, cleared.text
    assert user.git("show", f"refs/drumline/{run}/flow/failed:made.txt") == "made"
