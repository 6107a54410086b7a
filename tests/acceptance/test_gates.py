"""Questions to people: when they are asked, how they are answered, and what each answer does."""

from __future__ import annotations

import shlex
import sys
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


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]), step_text("step-3"))


def test_a_wave_that_left_something_to_look_at_is_asked_about(user: User) -> None:
    _add_something_to_look_at(user)

    ran = user.run("--autonomy", "critical")

    assert ran.code == 2
    assert "the colours are nice" in ran.text
    assert gates_of(user.status()) == ["wave-1"]
    assert states_of(user.status()) == {"step-1": "done", "step-2": "waiting", "step-3": "done"}
    assert "wave-1" in user.drumline("why", "step-2").out
    assert user.drumline("answer", "wave-1", "continue", "--resume").code == 0
    assert set(states_of(user.status()).values()) == {"done"}


def test_stopping_at_a_wave_ends_the_run(user: User) -> None:
    _add_something_to_look_at(user)
    user.run("--autonomy", "critical")

    answered = user.drumline("answer", "wave-1", "stop", "--comment", "they are not", "--resume")

    assert answered.code == 1
    assert user.status()["state"] == "failed"
    assert "they are not" in str(user.status()["reason"])


def test_autopilot_asks_nothing_about_waves(user: User) -> None:
    _add_something_to_look_at(user)

    assert user.run("--autonomy", "autopilot").code == 0


def test_the_plan_may_say_how_often_people_are_asked(user: User) -> None:
    root = user.repo / PLAN / "root.md"
    root.write_text("---\nautonomy: verbose\n---\n# A small plan\n", encoding="utf-8")

    ran = user.drumline("run", PLAN, "--agent", SCRIPTED, "--step", "step-3")

    assert ran.code == 2
    assert gates_of(user.status()) == ["approve-step-3"]


def test_verbose_asks_before_each_landing_and_approval_lands(user: User) -> None:
    ran = user.run("--autonomy", "verbose", "--step", "step-3")
    before = user.step("step-3")

    answered = user.drumline("answer", "approve-step-3", "approve", "--resume")

    assert (ran.code, answered.code) == (2, 0)
    assert before["state"] == "parked"
    assert before["commit"] is None
    assert user.landed("step-3.txt") == "3"


def test_a_revision_reaches_the_prompt_and_is_asked_about_again(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    revised = user.drumline("answer", "approve-step-3", "revise", "--comment", "Use fewer words.", "--resume")

    assert revised.code == 2
    assert "Use fewer words." in user.prompt("step-3", 2)
    assert gates_of(user.status()) == ["approve-step-3.2"]
    assert user.drumline("answer", "approve-step-3.2", "approve", "--resume").code == 0


def test_a_rejected_step_and_its_run_say_so(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    rejected = user.drumline("answer", "approve-step-3", "reject", "--comment", "not like this", "--resume")

    assert rejected.code == 1
    assert (user.step("step-3")["state"], user.status()["state"]) == ("rejected", "rejected")
    assert "step-3 rejected: not like this" in rejected.err
    assert "rejected: not like this" in user.drumline("why", "step-3").out
    assert "status: ready" in user.file("step-3")


def test_an_answer_outside_the_options_is_refused_with_what_is_legal(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    odd = user.drumline("answer", "approve-step-3", "aprove")
    unknown = user.drumline("answer", "approve-step-9", "approve")

    assert (odd.code, unknown.code) == (3, 3)
    assert "approve, revise, reject" in odd.err
    assert "approve-step-3" in unknown.err


def test_of_two_answers_at_once_one_counts_and_the_other_is_told(user: User) -> None:
    user.run("--autonomy", "verbose", "--step", "step-3")

    typed = [user.start("answer", "approve-step-3", choice) for choice in ("approve", "reject")]
    told = [process.communicate()[1] for process in typed]

    codes = [process.returncode for process in typed]
    assert sorted(codes) == [0, 3]
    winner, loser = codes.index(0), codes.index(3)
    assert ("approve", "reject")[winner] in told[loser]
    assert "approve-step-3" in told[loser]


def test_a_live_driver_picks_up_an_answer_given_elsewhere(user: User) -> None:
    user.play({"match": {"step": "step-1"}, "run": "while [ ! -e $HOME/go ]; do sleep 0.05; done; touch step-1.txt"})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--autonomy", "verbose", "--only", "step-1,step-3")
    wait_for(lambda: user.drumline("status").code == 0, "no run")
    wait_for(lambda: gates_of(user.status()) == ["approve-step-3"], "no gate")

    answered = user.drumline("answer", "approve-step-3", "approve")
    wait_for(lambda: user.step("step-3")["state"] == "done", "the answer was not picked up")
    (user.folder / "home" / "go").touch()
    _, err = process.communicate()

    assert answered.code == 0
    assert "next:" not in answered.err
    assert process.returncode == 2
    assert "answered approve" in err


def test_a_parked_run_tells_somebody_through_the_configured_command(user: User) -> None:
    config = user.repo / ".drumline" / "config.toml"
    config.parent.mkdir()
    config.write_text("notify = 'cat > $HOME/told; echo $DRUMLINE_GATES >> $HOME/told'\n", encoding="utf-8")

    user.run("--autonomy", "verbose", "--step", "step-3")

    told = (user.folder / "home" / "told").read_text(encoding="utf-8")
    assert "Land it?" in told
    assert "approve-step-3" in told


def _add_something_to_look_at(user: User) -> None:
    """The first wave is step-1 and step-3; the second needs both."""
    user.path("step-1").write_text(step_text("step-1", manual="the colours are nice"), encoding="utf-8")
    user.path("step-2").write_text(step_text("step-2", ["step-1", "step-3"]), encoding="utf-8")


HIDDEN = 'env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$HOME/state" setsid --wait'
"""A command begins so that has none of its agent's environment, and a session of its own."""


@pytest.mark.parametrize(
    ("lead", "sandbox"),
    [
        ("", "auto"),
        pytest.param(HIDDEN, "auto", marks=pytest.mark.long),  # a jail hides the journal, too, and so tells
        pytest.param(HIDDEN, "off", marks=pytest.mark.long),
    ],
    ids=["plain", "jailed", "hidden"],
)
def test_an_agent_does_not_answer_in_a_persons_place(user: User, lead: str, sandbox: str) -> None:
    answering = f"{lead} {shlex.quote(sys.executable)} -m drumline answer proceed-step-2 yes".strip()
    asking = f"{answering}; echo x > $DRUMLINE_STEP.txt"
    user.path("step-3").unlink()
    user.path("step-2").write_text(step_text("step-2", ["step-4"]), encoding="utf-8")
    user.path("step-4").write_text(step_text("step-4"), encoding="utf-8")

    ran = user.run("--only", "step-1,step-2", agent=f"command:{asking}", env={"DRUMLINE_SANDBOX": sandbox})

    assert ran.code == 2
    assert gates_of(user.status()) == ["proceed-step-2"]
    assert states_of(user.status())["step-1"] == "done"
    assert "a person has to say this" in user.drumline("logs", "step-1").out
