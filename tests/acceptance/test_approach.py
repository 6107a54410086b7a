"""What precedes the work on a step: it is compared with the code, and people decide about what does not fit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import Rule, User, gates_of, make_user, states_of, step_text

ORIENTED = {
    "plan_summary": "The file is written.",
    "implementation_brief": "src/old.py is called src/new.py by now: change that one.",
    "staleness_report": "src/old.py is gone.",
    "has_major_deviation": False,
    "deviation_summary": "",
}
MAJOR = {**ORIENTED, "has_major_deviation": True, "deviation_summary": "the module was taken out on purpose"}
ANALYSED = {"approach": "Write it.", "files_to_modify": [], "files_to_create": [], "complexity": 3, "risks": []}
ASKING = ("--autonomy", "critical")
GATE = "step-1:approach#1/deviation"
STALE = step_text("step-1").replace("Write the file of step-1.", "Modify `src/old.py` and write the file of step-1.")


REPORTED = {"write": {"step-1.txt": "1\n"}, "say": "# Task Report\n\n- Status: success\n"}


def say(node: str, value: object, **more: object) -> Rule:
    """What an agent answers at a node."""
    return {"match": {"node": node}, "say": json.dumps(value), **more}


def open_user(folder: Path, *rules: Rule, text: str = STALE, rigor: str = "standard") -> User:
    """A user whose only step, as it is shipped here, names a file that is not there."""
    user = make_user(folder, text)
    write_files(user, {".drumline/config.toml": f'rigor = "{rigor}"\n'})
    user.play(*rules, {"match": {"node": "implement"}, **REPORTED})
    return user


def test_a_step_that_names_what_is_missing_is_looked_at_first_and_gets_a_brief(tmp_path: Path) -> None:
    user = open_user(tmp_path, say("orient", ORIENTED))

    ran = user.run()

    asked, worked = user.prompt("step-1", 1), user.prompt("step-1", 2)
    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done"}
    assert "- `src/old.py` is not there; the step works with it" in asked
    assert "src/old.py is called src/new.py by now" in worked
    assert "the brief supersedes the plan" in worked
    assert user.step("step-1")["attempts"] == 1
    assert user.step("step-1")["proved"]


def test_a_major_deviation_is_asked_about_and_any_text_is_guidance(tmp_path: Path) -> None:
    user = open_user(tmp_path, say("orient", MAJOR))

    parked = user.run(*ASKING)
    asked = gates_of(user.status())
    answered = user.drumline("answer", GATE, "take src/new.py and leave the rest", "--resume")

    assert parked.code == 2, parked.text
    assert asked == [GATE]
    assert "step-1 (Make step-1) cannot be done as planned. Proceed as the brief says, abort, or say" in parked.err
    assert (
        "\n  It cannot be done as planned: the module was taken out on purpose\n  The brief: src/old.py is"
        in parked.err
    )
    assert answered.code == 0, answered.text
    assert "take src/new.py and leave the rest" in user.prompt("step-1", 2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("choice", "code", "told"), [("proceed", 0, "done"), ("abort", 1, "step-1 is rejected: not now")]
)
def test_a_major_deviation_can_be_accepted_or_aborted(tmp_path: Path, choice: str, code: int, told: str) -> None:
    user = open_user(tmp_path, say("orient", MAJOR))

    user.run(*ASKING)
    answered = user.drumline("answer", GATE, choice, "--resume", "--comment", "not now")

    assert answered.code == code, answered.text
    assert told in user.drumline("why", "step-1").out
    if choice == "proceed":
        assert "It overrules the plan and the brief.\n\nnot now" in user.prompt("step-1", 2)


@pytest.mark.long
def test_autopilot_asks_nobody_about_a_major_deviation_and_is_blocked(tmp_path: Path) -> None:
    user = open_user(tmp_path, say("orient", MAJOR))

    ran = user.run()

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked"}
    assert "cannot be done as planned: the module was taken out on purpose" in user.drumline("why", "step-1").out


def test_who_looks_first_and_changes_files_is_undone_and_void(tmp_path: Path) -> None:
    user = open_user(tmp_path, say("orient", MAJOR, write={"step-1.txt": "too early\n"}))

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.landed("step-1.txt") == "1"
    assert "## The brief" not in user.prompt("step-1", 2)
    assert "`src/old.py` is not there" in user.prompt("step-1", 2)


@pytest.mark.long
@pytest.mark.parametrize(("text", "rigor"), [(STALE, "quick"), (step_text("step-1"), "standard")])
def test_nobody_looks_first_in_quick_or_where_nothing_is_missing(tmp_path: Path, text: str, rigor: str) -> None:
    user = open_user(tmp_path, say("orient", MAJOR), text=text, rigor=rigor)

    ran = user.run()

    assert ran.code == 0, ran.text
    assert "Write the file of step-1" in user.prompt("step-1", 1) or "write the file of step-1" in user.prompt(
        "step-1", 1
    )
    assert user.step("step-1")["attempts"] == 1


def test_in_full_a_step_is_analysed_and_inspected_and_what_is_found_is_one_of_its_fixes(tmp_path: Path) -> None:
    found = {"clean": False, "notes": "step-1.txt:1 lacks the word two"}
    better = {**REPORTED, "match": {"node": "improve"}, "write": {"step-1.txt": "two\n"}}
    rules = (say("orient", ORIENTED), say("analyse", ANALYSED), say("inspect", found), better)
    user = open_user(tmp_path, *rules, text=step_text("step-1"), rigor="full")

    ran = user.run()

    assert ran.code == 0, ran.text
    assert user.landed("step-1.txt") == "two"
    assert (user.step("step-1")["attempts"], user.step("step-1")["fixes"]) == (2, 1)
    assert "## The approach\n\nWrite it." in user.prompt("step-1", 3)
    assert "step-1.txt:1 lacks the word two" in user.prompt("step-1", 5)


def test_an_agent_without_answers_for_readers_pays_nothing_and_counts_its_own_attempts(tmp_path: Path) -> None:
    asks = {"match": {"node": "implement", "attempt": 1}, "say": '{"blocked": "Which colour?"}'}
    writes = {**REPORTED, "match": {"node": "implement", "attempt": 2}}
    user = open_user(tmp_path, asks, writes, {"say": "I do not know what to say."}, rigor="full")
    played = tmp_path / "played.yaml"

    parked = user.run("--record", str(played))
    asked = gates_of(user.status())
    done = user.drumline("answer", "question-step-1", "blue", "--resume")

    assert (parked.code, asked) == (2, ["question-step-1"]), parked.text
    assert "analyse gave no usable answer" in parked.text
    assert "fix 1" not in parked.text + done.text
    assert done.code == 0, done.text
    assert user.step("step-1")["fixes"] == 0
    matches = [rule["match"] for rule in yaml.safe_load(played.read_text())["rules"]]
    assert {"step": "step-1", "node": "implement", "attempt": 1} in matches


@pytest.mark.long
def test_what_is_found_uses_up_no_fix_that_the_step_does_not_have(tmp_path: Path) -> None:
    found = {"clean": False, "notes": "step-1.txt:1 lacks the word two"}
    rules = (say("orient", ORIENTED), say("analyse", ANALYSED), say("inspect", found))
    user = open_user(tmp_path, *rules, text=step_text("step-1"), rigor="full")

    ran = user.run("--retries", "0")

    assert ran.code == 0, ran.text
    assert (user.step("step-1")["attempts"], user.step("step-1")["fixes"]) == (1, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("choice", "code", "told"),
    [("approve", 0, "done"), ("reject", 1, "rejected: by a person"), ("smaller steps", 0, "done")],
)
def test_a_complex_approach_is_for_a_person(tmp_path: Path, choice: str, code: int, told: str) -> None:
    complex_one = {**ANALYSED, "complexity": 8, "risks": ["it may break"]}
    rules = (say("orient", ORIENTED), say("analyse", complex_one), say("inspect", {"clean": True, "notes": ""}))
    user = open_user(tmp_path, *rules, text=step_text("step-1"), rigor="full")

    parked = user.run(*ASKING)
    asked = gates_of(user.status())
    answered = user.drumline("answer", asked[0], choice, "--resume")

    assert parked.code == 2, parked.text
    assert asked == ["step-1:approach#1/agree"]
    assert answered.code == code, answered.text
    assert told in user.drumline("why", "step-1").out


@pytest.mark.long
def test_what_a_person_said_about_an_approach_reaches_every_attempt(tmp_path: Path) -> None:
    rules = (
        say("orient", ORIENTED),
        say("analyse", {**ANALYSED, "complexity": 8}),
        say("inspect", {"clean": False, "notes": "too long"}),
        {"match": {"node": "improve"}, **REPORTED, "write": {"other.txt": "1\n"}},
        {"match": {"node": "implement", "attempt": 1}, **REPORTED, "write": {"other.txt": "0\n"}},
    )
    user = open_user(tmp_path, *rules, text=step_text("step-1"), rigor="full")
    user.run(*ASKING)

    answered = user.drumline("answer", "step-1:approach#1/agree", "smaller steps", "--resume")

    assert answered.code == 0, answered.text
    asked = [path.read_text() for path in sorted(user.repo.rglob(".git/drumline/runs/*/step-1/prompt-*.md"))]
    working = [text for text in asked if "## How it will be judged" in text and "Change nothing" not in text]
    assert len(working) == 3
    assert ["smaller steps" in text for text in working] == [True, True, True]


@pytest.mark.long
def test_autopilot_does_not_ask_about_a_complex_approach(tmp_path: Path) -> None:
    rules = (
        say("orient", ORIENTED),
        say("analyse", {**ANALYSED, "complexity": 9}),
        say("inspect", {"clean": True, "notes": ""}),
    )
    user = open_user(tmp_path, *rules, text=step_text("step-1"), rigor="full")

    ran = user.run()

    assert ran.code == 0, ran.text


def test_a_report_that_is_missing_is_asked_for_once(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    write_files(user, {".drumline/config.toml": 'rigor = "full"\n'})
    rules = (say("orient", ORIENTED), say("analyse", ANALYSED), say("inspect", {"clean": True, "notes": ""}))
    user.play(
        *rules, {"match": {"node": "implement"}, "write": {"step-1.txt": "1\n"}, "say": "## Task Report\nall good"}
    )

    ran = user.run()

    assert ran.code == 0, ran.text
    assert (user.step("step-1")["attempts"], user.step("step-1")["fixes"]) == (2, 0)
    assert "## What to report" in user.prompt("step-1", 3)
    assert "Your last message has no report." in user.prompt("step-1", 4)
