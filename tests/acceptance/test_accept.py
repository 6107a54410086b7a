"""A run with steps that nothing proves waits for a person's yes, and every view says the same of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_user import PLAN, User, gates_of, make_user, step_text, write_plan

BARE = step_text("step-1").partition("### Success Criteria")[0]
RED = step_text("step-2", ["step-1"])


@pytest.fixture
def user(tmp_path: Path) -> User:
    return make_user(tmp_path, BARE, RED)


def test_every_view_names_the_level_the_reasons_and_the_answer(user: User) -> None:
    ran = user.run()

    status, why = user.status(), user.type("why", "step-1", "--json").json
    board = user.type("status").out
    assert (ran.code, status["state"], gates_of(status)) == (2, "parked", ["accept"]), ran.text
    unproved = {"level": "unproved", "why": ["no_checks"]}
    assert (user.step("step-1")["proof"], user.step("step-2")["proved"]) == (unproved, True)
    assert isinstance(status["gates"], list)
    gate = status["gates"][0]
    assert (gate["items"], gate["person_only"]) == ([{"step": "step-1", **unproved}], True)
    assert (why["state"], why["proof"], why["gate"]) == ("done", unproved, "accept")
    assert why["hint"] == "drumline answer accept no --resume"
    assert "? step-1" in board
    assert "unproved: no checks" in board
    assert "2 of 2 steps landed, 1 proved, 1 unproved" in ran.out
    assert "drumline answer accept no --resume  (no or yes)\n" in ran.out
    for words in ((), ("why", "step-1"), ("why",)):
        assert "drumline answer accept no --resume  (no or yes)\n" in user.type(*words).text, words


@pytest.mark.parametrize(("choice", "code", "state"), [("yes", 0, "done"), ("no", 1, "failed")])
def test_the_answer_decides_how_the_run_ends(user: User, choice: str, code: int, state: str) -> None:
    user.run()

    answered = user.drumline("answer", "accept", choice, "--resume")

    assert (answered.code, user.status()["state"]) == (code, state), answered.text


def test_who_resumes_a_run_that_was_not_accepted_is_asked_again(user: User) -> None:
    user.run()
    user.type("answer", "accept", "no", "--resume")

    resumed = user.type("resume")

    assert (resumed.code, gates_of(user.status())) == (2, ["accept.2"]), resumed.text


def test_a_no_stays_visible_as_that_of_the_person_who_gave_it(user: User) -> None:
    user.run()
    refused = user.type("answer", "accept", "no", "--resume")
    resumed = user.type("resume")

    again = user.type("answer", "accept", "yes")
    told: Any = user.type("report", "--json").json
    [first, second] = told["gates"]

    assert "accept no by " in refused.out
    assert " (withdrawn by a resume)" in resumed.out
    assert (first["choice"], first["withdrawn"], second["choice"]) == ("no", True, None)
    assert first["by"]
    assert "| no (withdrawn by a resume) |" in user.type("report").out
    assert "'no' by" in again.text
    assert "since then accept.2 asks again" in again.text
    assert "next: drumline answer accept.2 no --resume" in again.text
    assert "taken back" not in user.type("report").out + again.text


@pytest.mark.parametrize(
    ("root", "step", "flags", "code"),
    [
        ("require: none", "", (), 0),
        ("require: none", "", ("--require", "kept"), 2),
        ("require: proved", "require: none", (), 0),
        ("", "", ("--require", "none"), 0),
        ("require: sometimes", "", (), 2),
    ],
)
def test_run_plan_and_step_say_what_is_required(
    tmp_path: Path, root: str, step: str, flags: tuple[str, ...], code: int
) -> None:
    user = make_user(tmp_path, BARE)
    write_plan(user.repo / PLAN, BARE.replace("status: ready", f"{step}\nstatus: ready"))
    (user.repo / PLAN / "root.md").write_text(f"---\n{root}\n---\n# A plan\n", encoding="utf-8")

    ran = user.run(*flags)

    assert ran.code == code, ran.text


def test_a_single_step_that_waits_for_a_yes_says_how_to_give_it(user: User) -> None:
    ran = user.run("--step", "step-1")

    assert ran.code == 2, ran.text
    assert "next      drumline answer accept no --resume  (no or yes)\n" in ran.out
