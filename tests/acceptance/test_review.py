"""Work that deserves it is reviewed before it lands: blockers are confirmed, fixed, accepted, or block the step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import Rule, User, gates_of, make_user, states_of, step_text, write_script

BLOCKER = {
    "severity": "🔴 CRITICAL",
    "file": "src/auth/login.py",
    "line": 1,
    "title": "Everybody is let in",
    "detail": "check() is always true.",
}
CONCERN = {**BLOCKER, "severity": "🟡", "title": "The name is vague"}
WORK = {"write": {"step-1.txt": "1\n", "src/auth/login.py": "def check(): return True\n"}, "say": "done"}
FIXED = {"write": {"src/auth/login.py": "def check(name): return name == 'kim'\n"}, "say": "done"}
DECIDE, CONCERNS = "step-1:review#3/decide", "step-1:review#1/concerns"
ASKING = ("--autonomy", "critical")


def look(*findings: object, fixed: tuple[str, ...] = (), scope: str = "", **more: object) -> Rule:
    """What the reviewer answers; `scope` is the visit of the review."""
    match = {"node": "look", **({"scope": scope} if scope else {})}
    return {"match": match, "say": json.dumps({"findings": findings, "fixed": fixed}), **more}


def judge(*, confirmed: tuple[str, ...] = (), refuted: tuple[str, ...] = ()) -> Rule:
    """What who is asked about blockers answers."""
    said = {
        "confirmed": [{"id": name, "why": "line 1"} for name in confirmed],
        "refuted": [{"id": name, "why": "a test shows it"} for name in refuted],
    }
    return {"match": {"node": "confirm"}, "say": json.dumps(said)}


def open_user(folder: Path, *reviews: Rule, author: tuple[Rule, ...] = (), config: str = "") -> User:
    """A user whose only step touches authentication, with an agent of its own that reviews."""
    user = make_user(folder, step_text("step-1"))
    reviewer = '[agents.reviewer]\nagent = "scripted:reviewer.yaml"\n'
    write_files(user, {".drumline/config.toml": f"{config}{reviewer}"})
    write_script(user.repo / "reviewer.yaml", reviews)
    user.play(*author, {"match": {"node": "implement"}, **WORK})
    return user


def report_of(user: User) -> dict[str, Any]:
    """The report as scripts see it."""
    return user.drumline("report", "--json").json


def test_a_confirmed_blocker_goes_back_to_the_agent_and_the_reviewer_says_that_it_is_fixed(tmp_path: Path) -> None:
    reviews = (look(BLOCKER, scope="review#1"), look(fixed=("step-1-F1",), scope="review#2"))
    better = {"match": {"node": "implement", "attempt": 2}, **FIXED}
    user = open_user(tmp_path, *reviews, author=(judge(confirmed=("step-1-F1",)), better))

    ran = user.run()

    shown = user.prompt("step-1", 2)
    assert ran.code == 0, ran.text
    assert "def check(name)" in user.landed("src/auth/login.py")
    assert "it touches authentication (src/auth/login.py)" in shown
    assert "+def check(): return True" in shown
    assert "step-1-F1 [blocker] Everybody is let in (src/auth/login.py:1)" in user.prompt("step-1", 4)
    assert (user.step("step-1")["attempts"], user.step("step-1")["fixes"]) == (2, 0)
    report = report_of(user)
    assert (report["iterations"], report["hitReviewCap"], report["clean"]) == (1, False, True)
    assert report["unresolvedBlockers"] == []
    assert report["steps"][0]["reviewed"] == "reviewer (the configured reviewer)"


def test_a_blocker_that_the_reviewer_invented_is_refuted_and_the_work_lands(tmp_path: Path) -> None:
    user = open_user(tmp_path, look(BLOCKER, BLOCKER), author=(judge(refuted=("step-1-F1",)),))

    ran = user.run()

    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert user.step("step-1")["attempts"] == 1


def test_a_reviewer_that_edits_is_undone_and_its_answer_is_void(tmp_path: Path) -> None:
    user = open_user(tmp_path, look(BLOCKER, write={"src/auth/login.py": "mine\n"}), author=(judge(),))

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.landed("src/auth/login.py") == "def check(): return True"
    assert "may only read" in str(report_of(user)["steps"][0]["unreviewed"])
    assert user.step("step-1")["attempts"] == 1


def test_an_agent_that_does_not_fix_its_blocker_is_blocked_after_two_rounds_whatever_it_says(tmp_path: Path) -> None:
    stubborn = {"match": {"node": "implement"}, **WORK, "say": "step-1-F1 is fixed."}
    user = open_user(tmp_path, look(BLOCKER), author=(judge(confirmed=("step-1-F1",)), stubborn))

    ran = user.run()

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked"}
    assert user.step("step-1")["attempts"] == 3
    assert "Everybody is let in" in user.drumline("why", "step-1").out
    assert report_of(user)["hitReviewCap"]
    assert [one["id"] for one in report_of(user)["unresolvedBlockers"]] == ["step-1-F1"]


@pytest.mark.parametrize("choice", ["accept", pytest.param("by_hand", marks=pytest.mark.long)])
def test_a_person_decides_about_blockers_that_are_left(tmp_path: Path, choice: str) -> None:
    seen = look(fixed=("step-1-F1",), scope="review#4")
    user = open_user(tmp_path, seen, look(BLOCKER), author=(judge(confirmed=("step-1-F1",)),))

    parked = user.run(*ASKING)
    asked = gates_of(user.status())
    question = str(user.status()["gates"])
    report = report_of(user)
    if choice == "by_hand":
        folder = Path(question.split("by hand in ")[1].split(" and then")[0])
        (folder / "src/auth/login.py").write_text("def check(name): return name == 'hand'\n", encoding="utf-8")
    answered = user.drumline("answer", DECIDE, choice, "--resume")

    assert parked.code == 2, parked.text
    assert asked == [DECIDE]
    assert [one["id"] for one in report["unresolvedBlockers"]] == ["step-1-F1"]
    assert (report["hitReviewCap"], report["clean"]) == (True, False)
    assert answered.code == 0, answered.text
    assert report_of(user)["hitReviewCap"] is (choice == "accept")
    assert ("hand" in user.landed("src/auth/login.py")) is (choice == "by_hand")


def test_a_name_that_is_not_among_the_blockers_is_asked_about_again_and_the_reason_is_kept(tmp_path: Path) -> None:
    user = open_user(tmp_path, look(BLOCKER), author=(judge(confirmed=("step-1-F1",)),))

    user.run(*ASKING)
    mistyped = user.drumline("answer", DECIDE, "accept step-1-F9", "--resume")
    (gate,) = gates_of(user.status())
    asked = str(user.status()["gates"])
    accepted = user.drumline("answer", gate, "accept step-1-F1", "--comment", "known, ticket 7", "--resume")

    (left,) = report_of(user)["unresolvedBlockers"]
    assert (mistyped.code, gate) == (2, f"{DECIDE}#2"), mistyped.text
    assert "Not accepted: step-1-F9 is not among them." in asked
    assert user.step("step-1")["attempts"] == 3
    assert accepted.code == 0, accepted.text
    assert (left["settled"], left["why"]) == ("accepted", "known, ticket 7")


@pytest.mark.parametrize("choice", ["address", pytest.param("defer", marks=pytest.mark.long)])
def test_concerns_are_addressed_now_or_deferred(tmp_path: Path, choice: str) -> None:
    reviews = (look(CONCERN, scope="review#1"), look(fixed=("step-1-F1",)))
    better = {"match": {"node": "implement", "attempt": 2}, **FIXED}
    user = open_user(tmp_path, *reviews, author=(better,))

    parked = user.run(*ASKING)
    asked = gates_of(user.status())
    concerns = report_of(user)["concerns"]
    answered = user.drumline("answer", CONCERNS, choice, "--comment", "Ask for a name.", "--resume")

    assert asked == [CONCERNS]
    assert f"gate {CONCERNS} asks: Address these now, or defer them? (address, defer or any text)" in parked.err
    assert "\n  - step-1-F1 [concern] The name is vague (src/auth/login.py:1)" in parked.err
    assert [(one["id"], one["settled"]) for one in concerns] == [("step-1-F1", None)]
    if choice == "address":
        assert "A person said about it: Ask for a name." in user.prompt("step-1", 3)
    assert answered.code == 0, answered.text
    assert ("def check(name)" in user.landed("src/auth/login.py")) is (choice == "address")


@pytest.mark.long
@pytest.mark.parametrize("config", ['review = "none"\n', 'rigor = "quick"\n'])
def test_nobody_reviews_where_that_is_not_wanted(tmp_path: Path, config: str) -> None:
    user = open_user(tmp_path, look(BLOCKER), author=(judge(confirmed=("step-1-F1",)),), config=config)

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.step("step-1")["attempts"] == 1
