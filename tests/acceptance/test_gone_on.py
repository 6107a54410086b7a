"""What people say and write after the fact: a landed step set back, a stop that is gone on from, words at approvals."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, gates_of, make_user, states_of, step_text

LOOK = "the lines are short"


@pytest.fixture
def user(tmp_path: Path) -> User:
    """Two steps in a row with something to look at in the first and in the last wave."""
    return make_user(
        tmp_path, step_text("step-1", manual=LOOK), step_text("step-2", ["step-1"], manual="it reads well")
    )


def run(user: User, *args: str, autonomy: str = "critical") -> int:
    ran = user.type("run", PLAN, "--agent", SCRIPTED, "--autonomy", autonomy, *args)
    return ran.code


def test_the_items_of_the_last_wave_are_asked_about(user: User) -> None:
    codes = [run(user), user.type("answer", "wave-1", "continue", "--resume").code]
    asked = gates_of(user.status())
    done = user.type("answer", "wave-2", "continue", "--resume")

    assert codes == [2, 2]
    assert asked == ["wave-2"]
    assert done.code == 0, done.text
    assert "verify by hand" not in done.out


def test_a_run_stopped_at_a_wave_can_be_gone_on_from(user: User) -> None:
    run(user)
    stopped = user.type("answer", "wave-1", "stop", "--comment", "too long", "--resume")
    why = user.type("why", "step-2")
    again = user.type("run", PLAN, "--agent", SCRIPTED)

    resumed = user.type("resume")

    assert stopped.code == 1
    assert "  drumline resume" in stopped.out
    assert "drumline resume" in why.text
    assert again.code == 2
    assert "is unfinished (failed)" in again.err
    assert resumed.code == 2, resumed.text
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}
    assert gates_of(user.status()) == ["wave-2"]


def test_a_comment_at_continue_is_kept_and_shown(user: User) -> None:
    run(user)
    going = user.type("answer", "wave-1", "continue", "--comment", "fine, but name the units", "--resume")

    told = user.type("answer", "wave-2", "continue", "--resume", "--json")

    assert "wave-1 continue by kim: fine, but name the units" in going.out
    assert "fine, but name the units" in user.prompt("step-2")
    remarks = next(line["remarks"] for line in told.lines if "remarks" in line)
    assert remarks == [
        {"gate": "wave-1", "choice": "continue", "comment": "fine, but name the units", "by": "kim", "withdrawn": False}
    ]


def test_any_text_at_an_approval_is_a_revision(user: User) -> None:
    run(user, "--step", "step-1", autonomy="verbose")

    revised = user.type("answer", "approve-step-1", "use fewer words", "--resume")

    assert revised.code == 2, revised.text
    assert "use fewer words" in user.prompt("step-1", 2)
    assert gates_of(user.status()) == ["approve-step-1.2"]


def test_a_revision_without_words_and_a_slip_are_refused(user: User) -> None:
    run(user, "--step", "step-1", autonomy="verbose")

    bare = user.type("answer", "approve-step-1", "revise")
    slip = user.type("answer", "approve-step-1", "aprove")
    shouted = user.type("answer", "approve-step-1", "Approve", "--resume")

    assert bare.code == slip.code == 3
    assert "'revise' at gate 'approve-step-1' needs a text that says what to change" in bare.err
    assert "drumline answer approve-step-1 revise --comment TEXT" in bare.err
    assert "did you mean 'approve'?" in slip.err
    assert shouted.code == 0, shouted.text


def test_the_first_approval_has_the_plain_name_also_after_a_fix(user: User) -> None:
    user.play({"match": {"step": "step-1", "attempt": 1}, "write": {"other.txt": "x\n"}})
    user.commit_all("a script")

    run(user, "--step", "step-1", autonomy="verbose")

    assert user.step("step-1")["attempts"] == 2
    assert gates_of(user.status()) == ["approve-step-1"]


def set_back(user: User, step: str) -> None:
    user.edit(step, "status: done", "status: ready")


def test_a_landed_step_that_is_set_back_is_asked_about_and_done_again(user: User) -> None:
    user.play({"match": {"step": "step-1", "attempt": 2}, "write": {"step-1.txt": "again\n"}})
    user.commit_all("a script")
    run(user)
    set_back(user, "step-1")

    asked = user.type("answer", "wave-1", "continue", "--resume")
    gates = gates_of(user.status())
    again = user.type("answer", "redo-step-1", "again", "--resume")

    assert asked.code == 2, asked.text
    assert "redo-step-1" in gates
    assert "status: done" in user.file("step-1"), again.text
    assert user.landed("step-1.txt") == "again"
    assert user.step("step-1")["attempts"] == 2


def test_a_landed_step_that_is_set_back_and_kept_is_marked_done_again(user: User) -> None:
    run(user)
    for gate in ("redo-step-1", "redo-step-1.2"):
        set_back(user, "step-1")
        user.type("resume")
        assert gate in gates_of(user.status())
        user.type("answer", gate, "keep", "--resume")
        assert "status: done" in user.file("step-1")

    assert user.step("step-1")["attempts"] == 1


def test_a_blocked_step_that_is_set_back_is_tried_again(user: User) -> None:
    user.play({"match": {"step": "step-1", "attempt": 1}, "write": {"other.txt": "x\n"}})
    user.commit_all("a script")
    blocked = run(user, "--retries", "0", autonomy="autopilot")
    before = user.step("step-1")["state"]
    text = user.file("step-1")
    user.path("step-1").write_text(
        "\n".join(
            line for line in text.replace("status: blocked", "status: ready").split("\n") if "reason:" not in line
        )
    )

    resumed = user.type("resume")

    assert (blocked, before) == (2, "blocked")
    assert resumed.code == 0, resumed.text
