"""A step that stays red gets another way: a diagnosis, a corrective step in the plan, and an end that names it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import PLAN, Rule, User, gates_of, make_user, states_of, step_text

DIAGNOSIS = {
    "verdict": "heal",
    "cause": "the file is written in the wrong place",
    "evidence": "step-1.txt:1",
    "title": "Write it where it belongs",
    "approach": "Write step-1.txt at the top.",
}


def open_user(folder: Path, *rules: Rule, check: str = "grep right step-1.txt") -> User:
    """Two steps, of which the first is never right by itself."""
    user = make_user(folder, step_text("step-1", checks=[check]), step_text("step-2", ["step-1"]))
    wrong = {"match": {"step": "step-1"}, "write": {"step-1.txt": "wrong\n"}}
    user.play(*rules, wrong)
    return user


def answer(**more: object) -> Rule:
    """What the agent says that is asked for a diagnosis."""
    return {"match": {"step": "step-1", "node": "diagnose"}, "say": json.dumps({**DIAGNOSIS, **more})}


def steps_of(user: User) -> dict[str, dict[str, object]]:
    """The steps of the run by their ids."""
    listed = user.status()["steps"]
    assert isinstance(listed, list)
    return {step["id"]: step for step in listed}


def test_two_strikes_then_another_way_that_lands_for_the_step(tmp_path: Path) -> None:
    right = {"match": {"step": "step-1h"}, "write": {"step-1.txt": "right\n"}}
    user = open_user(tmp_path, answer(), right)

    ran = user.run()

    status = steps_of(user)
    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done", "step-1h": "done", "step-2": "done"}
    assert (status["step-1"]["landed_by"], status["step-1"]["commit"]) == ("step-1h", None)
    assert "→ diagnose by scripted:agent.yaml; landed by step-1h" in user.drumline("logs", "--errors").out
    assert status["step-1"]["proved"]
    assert status["step-1h"]["proved"]
    assert "step-1 adds to the plan (heal): step-1h" in ran.err
    assert "done: step-1 Make step-1 (landed by step-1h, checks 1/1, proved)" in ran.err
    assert "# step-1h: Write it where it belongs" in user.file("step-1h")
    assert "- [x] `grep right step-1.txt`" in user.file("step-1h")
    assert "status: done" in user.file("step-1")
    assert "landed by step-1h" in user.drumline("why", "step-1").out
    assert user.git("log", "--format=%s", f"main..{user.branch()}").splitlines() == [
        "[step-2] Make step-2",
        "[step-1h] Write it where it belongs",
    ]


def test_a_corrective_step_that_landed_and_was_taken_out_of_the_plan_is_still_told_of(tmp_path: Path) -> None:
    right = {"match": {"step": "step-1h"}, "write": {"step-1.txt": "right\n"}, "say": "It is right now."}
    ask = {"match": {"step": "step-2", "attempt": 1}, "ask": "Tabs or spaces?"}
    user = open_user(tmp_path, answer(), right, ask)
    before = user.file("step-1")

    parked = user.run()
    (user.repo / PLAN / "step-1h.md").unlink()
    (user.repo / PLAN / "step-1.md").write_text(before, encoding="utf-8")
    ran = user.drumline("answer", gates_of(user.status())[0], "tabs", "--resume")

    report = json.loads(user.drumline("report", "--json").out)
    handoff = user.drumline("handoff", "step-1")
    assert parked.code == 2, parked.text
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}, ran.text
    assert (report["steps"][0]["landed_by"], report["steps"][0]["summary"]) == ("step-1h", "It is right now.")
    assert report["perChunk"][0]["testsPassed"] is True
    assert "step-1h did it in another way\n" in handoff.out, handoff.text


def test_a_corrective_step_that_is_blocked_is_not_healed_itself_but_a_second_one_is_planned(tmp_path: Path) -> None:
    wrong = {"match": {"step": "step-1h"}, "write": {"step-1.txt": "still wrong\n"}}
    right = {"match": {"step": "step-1h2"}, "write": {"step-1.txt": "right\n"}}
    user = open_user(tmp_path, answer(), wrong, right)

    ran = user.run()

    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done", "step-1h": "skipped", "step-1h2": "done", "step-2": "done"}
    assert "landed by step-1h2" in user.drumline("why", "step-1").out
    prompt = next(user.repo.rglob(".git/drumline/runs/*/step-1h2/prompt-1.md")).read_text()
    shown = re.search(r"`git show (\w+)` shows it", prompt)
    assert shown is not None
    assert user.git("show", f"{shown[1]}:step-1.txt") == "wrong"
    asked = [path.read_text() for path in user.repo.rglob(".git/drumline/runs/*/step-1/prompt-*.md")]
    assert any("step-1h (Write it where it belongs): still failing after 2 fixes" in text for text in asked)


@pytest.mark.long
def test_after_two_ways_a_person_hears_what_was_tried_and_can_ask_for_another(tmp_path: Path) -> None:
    wrong: list[Rule] = [
        {"match": {"step": step}, "write": {"step-1.txt": "still wrong\n"}} for step in ("step-1h", "step-1h2")
    ]
    user = open_user(tmp_path, answer(), *wrong, {"match": {"step": "step-1h3"}, "write": {"step-1.txt": "right\n"}})

    ran = user.run()
    why = user.drumline("why", "step-1").out
    refused = user.drumline("heal", "step-1h2")
    healed = user.drumline("heal", "step-1", "--resume")

    assert ran.code == 2, ran.text
    assert "tried: step-1h (Write it where it belongs)" in why
    assert "(Write it where it belongs): still failing after 2 fixes (validation): grep right step-1.txt" in why
    assert "next: drumline retry step-1 --context TEXT" in why
    assert refused.code == 3
    assert "step-1h2 is a corrective step for step-1" in refused.err
    assert healed.code == 0, healed.text
    assert states_of(user.status()) == {
        **dict.fromkeys(("step-1", "step-1h3", "step-2"), "done"),
        **dict.fromkeys(("step-1h", "step-1h2"), "skipped"),
    }


def test_whoever_skips_a_step_skips_its_corrective_steps_with_it(tmp_path: Path) -> None:
    wrong = {"match": {"step": "step-1h"}, "write": {"step-1.txt": "still wrong\n"}}
    user = open_user(tmp_path, answer(), wrong, {**wrong, "match": {"step": "step-1h2"}})

    ran = user.run("--retries", "1")
    stuck = states_of(user.status())
    skipped = user.drumline("skip", "step-1", "--reason", "not needed", "--resume")

    assert ran.code == 2, ran.text
    assert "blocked" in {stuck[name] for name in stuck if name.startswith("step-1h")}
    assert skipped.code == 0, skipped.text
    left = {name: state for name, state in states_of(user.status()).items() if name != "step-2"}
    assert set(left.values()) == {"skipped"}
    assert states_of(user.status())["step-2"] == "done"
    assert "step-1 is skipped" in user.drumline("why", "step-1h2").out


def test_a_plan_that_is_wrong_is_for_people(tmp_path: Path) -> None:
    right = {"match": {"step": "step-1", "attempt": 4}, "write": {"step-1.txt": "right\n"}}
    user = open_user(tmp_path, answer(verdict="plan", cause="step-0 does it already", evidence="src/a.py:3"), right)

    ran = user.run()
    asked = user.status()["gates"]
    why = user.drumline("why", "step-1").out
    shown = [user.drumline(*words).text for words in ((), ("status",), ("why",), ("why", "step-1"))]
    silent = user.drumline("answer", "plan-step-1", "adapt")
    said = user.drumline("answer", "plan-step-1", "adapt", "--comment", "Use what step-0 has.", "--resume")

    assert ran.code == 2, ran.text
    assert isinstance(asked, list)
    assert asked[0]["options"] == ["adapt", "proceed", "skip", "stop"]
    assert "the plan may be wrong, says the diagnosis: step-0 does it already src/a.py:3" in asked[0]["question"]
    assert "says the diagnosis: step-0 does it already src/a.py:3" in why
    assert "gate plan-step-1 asks what to do: adapt, proceed, skip or stop" in why
    onward = "drumline answer plan-step-1 adapt --comment TEXT --resume"
    assert [onward in text for text in (ran.text, *shown)] == [True] * 5
    assert (silent.code, "needs a text" in silent.err) == (3, True)
    assert said.code == 0, said.text
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}
    prompt = next(user.repo.rglob(".git/drumline/runs/*/step-1/prompt-5.md")).read_text()
    assert "Use what step-0 has." in prompt


def test_that_a_diagnosis_gave_no_usable_answer_is_told_where_the_step_ends(tmp_path: Path) -> None:
    half = {"match": {"step": "step-1", "node": "diagnose"}, "say": '{"cause": "it is wrong on purpose"}'}
    user = open_user(tmp_path, half)

    ran = user.run()
    why = user.drumline("why", "step-1").out
    asked = user.status()["gates"]

    told = "healing was tried, and the diagnosis gave no usable answer: "
    assert ran.code == 2, ran.text
    assert f"{told}agent failed: no answer fitted the schema" in ran.text
    assert told in why
    assert isinstance(asked, list)
    assert told in asked[0]["question"]
    assert "cut short" not in user.drumline("logs", "step-1").out


def test_a_diagnosis_that_changes_files_is_void(tmp_path: Path) -> None:
    user = open_user(tmp_path, {**answer(), "write": {"step-1.txt": "right\n"}})

    ran = user.run()

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked", "step-2": "waiting"}


def test_in_quick_and_without_fixes_nobody_is_asked(tmp_path: Path) -> None:
    user = open_user(tmp_path, answer())

    without = user.run("--retries", "0")
    write_files(user, {".drumline/config.toml": 'rigor = "quick"\n'})
    quick = user.run("--new")

    assert without.code == quick.code == 2
    assert "diagnose" not in without.err + quick.err
    assert states_of(user.status()) == {"step-1": "blocked", "step-2": "waiting"}


def test_a_stop_at_the_gate_of_a_blocked_run_ends_it_as_failed_until_it_is_resumed(tmp_path: Path) -> None:
    user = open_user(tmp_path)

    ran = user.run("--autonomy", "critical", env={"DRUMLINE_RETRIES": "0"})
    [gate] = gates_of(user.status())
    stopped = user.type("answer", gate, "stop", "--resume")
    state = user.status()["state"]
    resumed = user.type("resume")

    assert (ran.code, stopped.code, state) == (2, 1, "failed"), stopped.text
    assert f"stopped by a person at gate {gate}" in stopped.out
    assert f"{gate} stop by " in stopped.out
    assert (resumed.code, user.status()["state"]) == (2, "blocked"), resumed.text
    assert gates_of(user.status()) == [f"{gate}.2"]
    assert f"{gate} stop by " in resumed.out
    assert "(withdrawn by a resume)" in resumed.out
