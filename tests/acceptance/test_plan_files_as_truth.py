"""The plan's files say what is done: what a run writes into them, and what it makes of what people write there."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
    gates_of,
    leaving_nothing,
    make_user,
    states_of,
    step_text,
    wait_for,
)

HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch $DRUMLINE_STEP.txt"


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]), step_text("step-3"))


def let_go(user: User) -> None:
    """End what the holding agent waits for."""
    (user.folder / "home" / "go").touch()


def utc(seconds_ago: float) -> str:
    """A time as the plan's files write it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds_ago))


def claim_by_hand(user: User, step: str, *, ago: float) -> None:
    """Somebody else marks a step as theirs."""
    user.edit(step, "status: ready", f"status: claimed\nassignee: somebody-else\nclaimed_at: {utc(ago)}")


# --- what a run writes ------------------------------------------------------------------------------------------


def test_a_step_in_work_is_claimed_in_its_file_and_given_back_on_interrupt(user: User) -> None:
    before = user.file("step-1")
    user.play({"match": {"step": "step-1"}, "run": HOLD})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")
    wait_for(lambda: "status: claimed" in user.file("step-1"), "never claimed")

    claimed = user.file("step-1")
    process.send_signal(signal.SIGINT)
    process.communicate()

    assert f"assignee: drumline/{user.status()['run']}\n" in claimed
    assert re.search(r"^claimed_at: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", claimed, re.MULTILINE)
    assert process.returncode == 130
    assert user.file("step-1") == before


def test_a_done_step_changes_only_its_status_and_the_boxes_of_passed_checks(user: User) -> None:
    text = step_text("step-1", checks=["test -f step-1.txt", "true"], manual="look at it")
    text = text.replace("name: Make step-1\n", "name: 'Make step-1'  # keep me\nextra: {a: [1, 2]}\n")
    text += "\n```\n- [ ] it holds: `test -f step-1.txt`\nstatus: ready\n```\n   trailing blanks   \n\n"
    user.path("step-1").write_text(text, encoding="utf-8")

    ran = user.run("--step", "step-1")

    expected = text.replace("status: ready", "status: done", 1).replace("- [ ] it holds", "- [x] it holds", 2)
    assert ran.code == 0
    assert user.file("step-1") == expected


@pytest.mark.parametrize("form", ["crlf", "bom", "no newline at the end"])
def test_every_other_byte_stays(user: User, form: str) -> None:
    text = user.path("step-1").read_bytes()
    before = {
        "crlf": text.replace(b"\n", b"\r\n"),
        "bom": b"\xef\xbb\xbf" + text,
        "no newline at the end": text.rstrip(b"\n"),
    }[form]
    user.path("step-1").write_bytes(before)

    ran = user.run("--step", "step-1")

    expected = before.replace(b"status: ready", b"status: done").replace(b"- [ ]", b"- [x]")
    assert ran.code == 0
    assert user.path("step-1").read_bytes() == expected


def test_other_files_of_the_plan_and_other_steps_stay_as_they_are(user: User) -> None:
    root = user.repo / PLAN / "root.md"
    before = (root.read_bytes(), user.file("step-2"), user.file("step-3"))

    user.run("--step", "step-1")

    assert (root.read_bytes(), user.file("step-2"), user.file("step-3")) == before
    assert sorted(path.name for path in root.parent.iterdir()) == ["root.md", "step-1.md", "step-2.md", "step-3.md"]


def test_a_step_that_waits_for_an_answer_says_for_which(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    head = user.file("step-3").partition("\n---\n")[0]

    assert "status: blocked\n" in head
    assert "reason: waiting for gate approve-step-3" in head
    assert "assignee" not in head


def test_the_file_of_a_retried_step_loses_its_reason(user: User) -> None:
    before = user.file("step-1")
    user.play({"match": {"step": "step-1"}, "fail": {"class": "permanent", "message": "no: way # at 'all'"}})
    user.run("--step", "step-1")
    failed = user.file("step-1")
    user.play()

    user.drumline("retry", "step-1", "--resume")

    assert "status: failed\n" in failed
    assert "no: way # at" in failed
    assert user.file("step-1") == before.replace("ready", "done").replace("[ ]", "[x]")


# --- what a run makes of what people write ----------------------------------------------------------------------


def test_a_step_already_done_is_skipped_and_shown_as_declared(user: User) -> None:
    user.edit("step-1", "status: ready", "status: done")

    ran = user.run("--mode", "sequential")

    assert ran.code == 0
    assert "already done in the plan, not proved by this run: step-1" in ran.err
    found = user.step("step-1")
    assert (found["state"], found["declared"], found["proved"]) == ("done", True, False)
    assert user.step("step-2")["proved"] is True
    assert "no proof" in user.drumline("why", "step-1").out
    assert user.git("ls-tree", "--name-only", user.branch(), "step-1.txt") == ""


def test_a_fresh_claim_of_somebody_else_is_respected_and_named(user: User) -> None:
    claim_by_hand(user, "step-1", ago=60)
    claimed = user.file("step-1")
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    wait_for(lambda: "status: done" in user.file("step-3"), "the rest did not go on")

    told = user.drumline("why", "step-1")
    user.path("step-1").write_text(claimed.replace("claimed\n", "done\n", 1), encoding="utf-8")
    process.communicate()

    assert "somebody-else" in told.out
    assert process.returncode == 0
    assert user.step("step-1")["declared"] is True
    assert states_of(user.status())["step-2"] == "done"


@pytest.mark.parametrize(("ago", "settings"), [(2 * 3600, {}), (60, {"DRUMLINE_STALE_CLAIM": "30s"})])
def test_a_stale_claim_is_taken_over(user: User, ago: float, settings: dict[str, str]) -> None:
    claim_by_hand(user, "step-1", ago=ago)

    ran = user.run(env=settings)

    assert ran.code == 0
    assert states_of(user.status())["step-1"] == "done"
    assert "somebody-else" not in user.file("step-1")


def test_a_claim_that_gets_stale_while_a_run_waits_is_taken_over(user: User) -> None:
    claim_by_hand(user, "step-1", ago=0)

    ran = user.run("--step", "step-1", env={"DRUMLINE_STALE_CLAIM": "3s"})

    assert ran.code == 0
    assert states_of(user.status())["step-1"] == "done"


@pytest.mark.parametrize(("answer", "code", "state"), [("take", 0, "done"), ("leave", 2, "waiting")])
def test_a_claim_without_a_time_is_asked_about(user: User, answer: str, code: int, state: str) -> None:
    user.edit("step-1", "status: ready", "status: claimed\nassignee: somebody-else")

    ran = user.run("--step", "step-1")
    gates = gates_of(user.status())
    answered = user.drumline("answer", "claim-step-1", answer, "--resume")

    assert ran.code == 2
    assert gates == ["claim-step-1"]
    assert answered.code == code
    assert states_of(user.status())["step-1"] == state


def test_a_step_that_people_marked_blocked_is_left_alone_and_retry_overrules_it(user: User) -> None:
    user.edit("step-1", "status: ready", "status: blocked\nreason: waiting for the paint to dry")

    ran = user.run()
    told = user.drumline("why", "step-1")
    retried = user.drumline("retry", "step-1", "--resume")

    assert (ran.code, retried.code) == (2, 0)
    assert "waiting for the paint to dry" in told.out
    assert set(states_of(user.status()).values()) == {"done"}


# --- edits while a run is on ------------------------------------------------------------------------------------


@pytest.fixture
def busy(user: User) -> Iterator[User]:
    """A run that is in the middle of step-1."""
    user.play({"match": {"step": "step-1"}, "run": HOLD})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--mode", "sequential")
    wait_for((user.folder / "home" / "started").exists, "never started")
    yield user
    let_go(user)
    process.communicate()


def finish(user: User) -> None:
    """Let the run of `busy` go on to its end."""
    let_go(user)
    user.drumline("wait")


def test_an_edit_of_a_waiting_step_counts(busy: User) -> None:
    busy.edit("step-2", "Write the file of step-2.", "Write it in verse.")
    busy.edit("step-2", "`test -f step-2.txt`", "`test -f step-2.txt -a -f step-1.txt`")

    finish(busy)

    assert busy.status()["state"] == "done"
    assert "Write it in verse." in busy.prompt("step-2")
    assert "test -f step-2.txt -a -f step-1.txt" in busy.prompt("step-2")


@pytest.mark.parametrize("first", ["the edit", "the retry"])
def test_an_edit_of_a_step_that_is_to_be_tried_again_counts(tmp_path: Path, first: str) -> None:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1", checks=["no-such-program-zz --check"]))
        blocked = user.run()
        for act in ("the edit", "the retry") if first == "the edit" else ("the retry", "the edit"):
            if act == "the edit":
                user.edit("step-1", "`no-such-program-zz --check`", "`test -f step-1.txt`")
            else:
                user.drumline("retry", "step-1")

        resumed = user.drumline("resume")

    assert (blocked.code, resumed.code) == (2, 0), resumed.text
    assert "checks 1/1" in resumed.text


def test_a_step_marked_done_by_hand_while_it_waits_is_declared(busy: User) -> None:
    busy.edit("step-3", "status: ready", "status: done")

    finish(busy)

    assert busy.step("step-3")["declared"] is True


def test_an_edit_that_breaks_the_plan_does_not_stop_the_run(busy: User) -> None:
    whole = busy.file("step-3")
    busy.edit("step-3", "depends_on: []", "depends_on: [step-77]")
    wait_for(lambda: busy.status()["problems"], "the problem is not shown")

    shown = str(busy.status()["problems"])
    let_go(busy)
    wait_for(lambda: "status: done" in busy.file("step-2"), "the rest did not go on")
    busy.path("step-3").write_text(whole, encoding="utf-8")
    waited = busy.drumline("wait")

    assert "step-3.md:4" in shown
    assert waited.code == 0


def test_an_added_step_is_run_and_a_removed_one_is_not(busy: User) -> None:
    (busy.repo / PLAN / "step-4.md").write_text(step_text("step-4", ["step-1"]), encoding="utf-8")
    busy.path("step-3").unlink()
    wait_for(lambda: "step-4" in states_of(busy.status()), "the new step is not seen")

    finish(busy)

    assert states_of(busy.status()) == {"step-1": "done", "step-2": "done", "step-4": "done"}
    assert not busy.path("step-3").exists()


@pytest.mark.parametrize("answer", ["restart", "continue"])
def test_an_edit_of_a_step_in_work_is_asked_about(busy: User, answer: str) -> None:
    busy.edit("step-1", "Write the file of step-1.", "Write it in verse.")
    wait_for(lambda: gates_of(busy.status()), "no gate")

    gate = gates_of(busy.status())[0]
    finish(busy)
    parked = busy.status()
    answered = busy.drumline("answer", gate, answer, "--resume")

    assert gate.startswith("edit-step-1.")
    assert states_of(parked)["step-1"] == "parked"
    assert answered.code == 0
    assert busy.step("step-1")["state"] == "done"
    assert ("Write it in verse." in busy.drumline("logs", "step-1", "--prompt").out) == (answer == "restart")
    assert "Write it in verse." in busy.file("step-1")
    assert "status: done" in busy.file("step-1")


def test_an_edit_during_a_slow_setup_does_not_slip_into_the_prompt(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text(f"setup = '{HOLD.replace('touch $DRUMLINE_STEP.txt', 'true')}'\n", encoding="utf-8")
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--step", "step-1")
    wait_for((user.folder / "home" / "started").exists, "never started")
    user.edit("step-1", "Write the file of step-1.", "Write it in verse.")
    wait_for(lambda: gates_of(user.status()), "no gate")

    user.drumline("answer", gates_of(user.status())[0], "continue")
    wait_for(lambda: not gates_of(user.status()), "not answered")
    let_go(user)
    process.communicate()

    assert process.returncode == 0
    assert "Write it in verse." not in user.prompt("step-1")
