"""The loop over the steps of an implement.md: run state, branch, two strikes, healing, a stop, and what is learned."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import NO_RUN, SCRIPTED, Ran, Rule, User, make_user, states_of, step_text
from tests.acceptance.terminals import accept_commands, open_terminal

from drumline.walltimes import write_iso

SPEC = ".ai/specs/2416553-add-layout-switcher"
TICKET = "2416553"
STEP = """### Step {number}: Write part {number}
**Status:** pending
**Files:** `p{number}.txt`
**What:** Write the word good.
**Test:** `grep -q good p{number}.txt || (echo "error: the word is not good"; exit 1)`
"""
REMEDY = "Write the word good instead of the word bad."
DIAGNOSIS = {
    "verdict": "heal",
    "cause": "the word is in the wrong case",
    "evidence": "p2.txt:1",
    "title": "Write the word in small letters",
    "approach": "Write good into p2.txt.",
}


def open_user(folder: Path, steps: int, *rules: Rule) -> User:
    """A repository of that toolkit with a ticket of so many steps."""
    user = make_user(folder, step_text("step-1"))
    listed = "\n".join(STEP.format(number=number) for number in range(1, steps + 1))
    heading = (
        "# Implementation Plan: Add a layout switcher\n\n**Other repos required:** Payments (API), Shop\n\n## Steps\n\n"
    )
    write_files(user, {f"{SPEC}/implement.md": heading + listed, ".ai/learning/raw/.keep": ""})
    user.commit_all()
    user.play(*rules, *(put(number, "good") for number in range(1, steps + 1)))
    return user


def put(number: int, word: str, step: str = "", **match: object) -> Rule:
    """An agent that writes a word into the file of a part."""
    found = {"step": step or str(number), **match}
    return {"match": found, "write": {f"p{number}.txt": f"{word}\n"}, "say": f"Done.\n\nFix: {REMEDY}"}


def diagnose(step: str) -> Rule:
    """What is said to the step that stays red."""
    return {"match": {"step": step, "node": "diagnose"}, "say": json.dumps(DIAGNOSIS)}


def go(user: User, *args: str) -> Ran:
    """Type the ticket, and let nobody ask."""
    return user.drumline("run", TICKET, "--agent", SCRIPTED, "--autonomy", "autopilot", *args)


def plan_of(user: User) -> str:
    """The plan as it is now."""
    return (user.repo / SPEC / "implement.md").read_text(encoding="utf-8")


def ledger(user: User, name: str) -> list[dict[str, object]]:
    """The lines of a ledger of that toolkit."""
    text = (user.repo / ".ai" / "learning" / "raw" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.long
def test_a_ticket_is_run_to_its_end_with_a_fix_a_heal_and_a_record_of_both(tmp_path: Path) -> None:
    state = f"{tmp_path}/repo/{SPEC}/run-state.json"
    look = f"""until grep -q '"step": "3"' '{state}'; do sleep 0.1; done; cp '{state}' '{tmp_path}/seen.json'"""
    files = {"p3.txt": "good\n", "tests/test_p3.py": "def test_p3():\n    assert True\n"}
    watched: Rule = {**put(3, "good"), "write": files, "run": look}
    user = open_user(
        tmp_path, 3, put(1, "bad", attempt=1), diagnose("2"), put(2, "good", "2h"), put(2, "GOOD"), watched
    )

    ran = go(user)

    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"1": "done", "2": "done", "2h": "done", "3": "done"}
    assert user.branch() == "feature/2416553-add-layout-switcher"
    assert (user.repo / SPEC / ".branch").read_text() == "feature/2416553-add-layout-switcher\n"
    assert user.git("branch", "--show-current") == "main"
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert (seen["ticket"], seen["step"], seen["completed_phases"]) == (TICKET, "3", ["1", "2", "2h"])
    assert seen["files_modified"] == ["p1.txt", "p2.txt"]
    assert not (user.repo / SPEC / "run-state.json").exists()
    plan = plan_of(user)
    assert plan.index("### Step 2h: ") > plan.index("### Step 2: ")
    assert plan.index("### Step 2h: ") < plan.index("### Step 3: ")
    assert plan.count("**Status:** done") == 4
    assert "2 adds to the plan (heal): 2h" in ran.err
    assert "  Payments: there, type: drumline run 2416553" in ran.out
    assert "  Shop: there, type: drumline run 2416553" in ran.out
    assert f"3 commits on {user.branch()}, " in ran.out
    assert f"  not committed: marks in {SPEC}/implement.md" in ran.out
    assert "3 fixes logged" in ran.out
    assert "tests added: tests/test_p3.py" in ran.out
    subjects = user.git("log", "--format=%s", f"main..{user.branch()}").splitlines()
    assert subjects == [
        f"#{TICKET} [3] Write part 3",
        f"#{TICKET} [2h] Write the word in small letters",
        f"#{TICKET} [1] Write part 1",
    ]
    fixes = ledger(user, "fixes.jsonl")
    assert next((row["ticket"], row["step"], row["result"]) for row in fixes) == (TICKET, "1", "success")
    (row,) = ledger(user, "runs.jsonl")
    assert (row["flow"], row["total_steps"], row["steps_completed"]) == ("step-all", 4, 4)
    assert row["heal_cycles"] == {"succeeded": 1, "failed": 0}
    assert [one["result"] for one in fixes] == ["success", "failed", "failed"]
    assert row["fix_attempts"] == {"succeeded": 1, "failed": 2}


@pytest.mark.long
def test_after_two_strikes_and_two_heals_the_loop_stops_for_a_person_and_goes_on_where_it_was(tmp_path: Path) -> None:
    still = [put(2, "Good", "2h"), put(2, "gOOd", "2h2")]
    user = open_user(tmp_path, 3, diagnose("2"), *still, put(2, "GOOD"))

    ran = go(user)
    state = json.loads((user.repo / SPEC / "run-state.json").read_text())
    why = user.drumline("why", "2").out
    again = go(user)
    user.play(put(2, "good"), put(3, "good"))
    resumed = user.drumline("retry", "2", "--context", "Use small letters.", "--resume")

    assert ran.code == 2, ran.text
    assert "tried: 2h (Write the word in small letters)" in why
    assert (state["skill"], state["completed_phases"]) == ("drumline", ["1"])
    assert again.code == 2
    assert "drumline resume" in again.err
    assert resumed.code == 0, resumed.text
    assert states_of(user.status())["3"] == "done"
    assert not (user.repo / SPEC / "run-state.json").exists()


def test_a_branch_that_exists_is_left_alone_and_another_can_be_named(tmp_path: Path) -> None:
    user = open_user(tmp_path, 1)
    user.git("branch", "feature/2416553-add-layout-switcher")

    taken = go(user, "--branch", "feature/2416553-add-layout-switcher")
    ran = go(user)
    fell_back = user.branch()
    named = go(user, "--new", "--branch", "work/mine")

    assert (taken.code, ran.code) == (3, 0), taken.text + ran.text
    assert "a branch of that name exists" in taken.err
    assert fell_back.startswith("drumline/2416553-add-layout-switcher-")
    assert user.git("rev-parse", "feature/2416553-add-layout-switcher") == user.git("rev-parse", "main")
    assert (named.code, user.branch()) == (0, "work/mine"), named.text


def leave_state(user: User, *, minutes: int) -> None:
    """Another tool has begun the ticket so long ago, and has not said that it is over."""
    began = write_iso(time.time() - minutes * 60)
    state = {"skill": "dx-step-all", "ticket": TICKET, "started": began, "step": 1}
    (user.repo / SPEC / "run-state.json").write_text(json.dumps(state), encoding="utf-8")


@pytest.mark.parametrize(
    ("minutes", "new"),
    [(10, False), pytest.param(10, True, marks=pytest.mark.long), (180, False)],
)
def test_a_run_of_another_tool_is_left_alone_for_two_hours_unless_a_person_wants_it(
    tmp_path: Path, minutes: int, new: bool
) -> None:
    user = open_user(tmp_path, 1)
    leave_state(user, minutes=minutes)
    before = (user.repo / SPEC / "run-state.json").read_text()

    ran = go(user, *(["--new"] if new else []))

    refused = minutes == 10 and not new
    told = "more than two hours ago" if minutes == 180 else "dx-step-all began this plan 10 minutes ago at step 1"
    assert ran.code == (2 if refused else 0), ran.text
    assert told in ran.err
    assert ("--new" in ran.err) is refused
    assert (user.status() == NO_RUN) is refused
    state = user.repo / SPEC / "run-state.json"
    assert (state.read_text() == before) if refused else not state.exists()


@pytest.mark.long
@pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")
@pytest.mark.parametrize(("answer", "code"), [("resume", 0), ("stop", 2)])
def test_a_person_says_whether_the_other_tool_has_ended(tmp_path: Path, answer: str, code: int) -> None:
    user = open_user(tmp_path, 1)
    leave_state(user, minutes=10)
    accept_commands(user, SPEC)

    with open_terminal(user) as terminal:
        terminal.type_command("run", TICKET, "--agent", SCRIPTED, "--autonomy", "autopilot")
        asked = terminal.await_text("Resume from the marks if it has ended, or stop")
        terminal.press(answer, "Enter")
        terminal.await_text(f"exit={code}")

    assert "10 minutes ago at step 1" in " ".join(asked.split())
    assert (user.status() == NO_RUN) is (answer == "stop")


@pytest.mark.long
def test_a_fix_that_worked_in_three_tickets_is_known_in_the_fourth(tmp_path: Path) -> None:
    user = open_user(tmp_path, 1)
    said = []
    for number in range(1, 5):
        place = f".ai/specs/{number}-part"
        heading = "# Implementation Plan: A part\n\n## Steps\n\n"
        write_files(user, {f"{place}/implement.md": heading + STEP.format(number=1).replace("p1", f"q{number}")})
        user.commit_all()
        tries = [(put(number, word, "1", attempt=try_), word) for try_, word in ((1, "bad"), (2, "good"))]
        user.play(*({**rule, "write": {f"q{number}.txt": f"{word}\n"}} for rule, word in tries))
        ran = user.drumline("run", place, "--agent", SCRIPTED, "--autonomy", "autopilot")
        assert ran.code == 0, ran.text
        said.append(ran.text)
        user.git("merge", "-q", "--ff-only", user.branch())

    lessons = user.drumline("lessons", "list", "--json").json["lessons"]

    assert ["promoted: " in text for text in said] == [False, False, True, False]
    assert "1 lesson loaded" in said[3]
    assert f"> {REMEDY}" in user.prompt("1", 2)
    assert isinstance(lessons, list)
    assert [(one["successes"], one["helped"]) for one in lessons] == [(3, 1)]
    assert [row["ticket"] for row in ledger(user, "runs.jsonl")] == ["1", "2", "3", "4"]
