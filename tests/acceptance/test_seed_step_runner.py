"""One step of a phased plan with every node: deviation, fix, review, approval, revision, handoff, and four endings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, Ran, Rule, User, gates_of, make_user, states_of, step_text
from tests.acceptance.test_approach import ANALYSED, MAJOR, ORIENTED
from tests.acceptance.test_review import BLOCKER

from drumline.core.documents import find_faults
from drumline.core.handoffdoc import SECTIONS

STEP = """---
step: {number}
title: Part {number}
depends_on: [{needs}]
status: pending
---

## Objective

Let people log in, part {number}.

## Test commands

- `grep -q right src/auth/p{number}.py`
"""
REPORT = "# Task Report\n\n- Status: success\n- Objective Achieved: {}\n\n# Downstream Context\n\nThe port is 4711.\n"
CLEAN = {"clean": True, "notes": ""}
SWEPT = {
    "edge_cases": [{"kind": "input", "title": "Nobody is there", "status": "deferred", "reason": "step 2 does it"}],
    "annotations": [{"step": "02", "text": "nobody may be there"}],
    "proposals": [],
}
FOUND = {**BLOCKER, "file": "src/auth/p1.py"}
HANDED = {
    "summary": "People log in by their name.",
    "completed": "- src/auth/p1.py lets kim in",
    "not_completed": "None",
    "deviations": "None",
    "downstream_updates": "- 02: call check() of src/auth/p1.py",
    "edge_cases": "None",
    "notes": "check() takes a name.",
}


def say(value: object, **match: object) -> Rule:
    """What an agent answers that only reads."""
    return {"match": match, "say": json.dumps(value)}


def write(text: str, number: int = 1, **match: object) -> Rule:
    """What an agent that works leaves."""
    return {"match": match, "write": {f"src/auth/p{number}.py": f"{text}\n"}, "say": REPORT.format(text)}


def open_user(folder: Path, *rules: Rule, config: str = "") -> User:
    """A phased plan of two steps; who reads finds nothing unless a rule says so."""
    user = make_user(folder, step_text("step-1"))
    steps = {f"plans/q/steps/0{n}-part.md": STEP.format(number=n, needs="1" if n == 2 else "") for n in (1, 2)}
    write_files(user, {**steps, ".drumline/config.toml": config})
    user.commit_all()
    nothing: dict[str, list[object]] = {"findings": [], "fixed": []}
    user.play(
        *rules,
        *(say(value, node=node) for node, value in (("orient", ORIENTED), ("analyse", ANALYSED), ("inspect", CLEAN))),
        say(nothing, node="look"),
        write("right", 1, step="01"),
        write("right", 2, step="02"),
    )
    return user


def go(user: User, step: str, *, autonomy: str = "critical") -> Ran:
    """Drive one step."""
    return user.drumline("run", "plans/q", "--agent", SCRIPTED, "--autonomy", autonomy, "--step", step)


def answer(user: User, answers: Mapping[str, str]) -> Ran:
    """Answer the only gate that is open, by what its name ends with."""
    (gate,) = gates_of(user.status())
    choice = next(text for name, text in answers.items() if name in gate)
    return user.drumline("answer", gate, choice, "--resume")


@pytest.mark.long
def test_a_step_walks_every_loop_and_leaves_a_handoff_of_evidence(tmp_path: Path) -> None:
    confirmed = {"confirmed": [{"id": "01-F1", "why": "line 1"}], "refuted": []}
    user = open_user(
        tmp_path,
        say(MAJOR, node="orient"),
        say({"findings": [FOUND], "fixed": []}, node="look", scope="review#1", step="01"),
        say({"findings": [], "fixed": ["01-F1"]}, node="look", step="01"),
        say(SWEPT, node="look_around"),
        say({**HANDED, "summary": "## Evidence\n\nall is well"}, node="hand_over", scope="handoff#1", visit=1),
        say(HANDED, node="hand_over"),
        say(confirmed, node="confirm"),
        write("wrong", node="implement", attempt=1),
        write("right, and open", node="implement", attempt=2),
        write("right, and shut", node="implement", attempt=3),
        write("right, and short", node="implement", attempt=4),
    )
    answers = {"deviation": "take the new module", "approve-01.2": "approve", "approve": "make it short"}

    parked = go(user, "01", autonomy="verbose")
    asked = []
    for _ in range(3):
        asked += gates_of(user.status())
        last = answer(user, answers)

    assert parked.code == 2, parked.text
    assert [name.partition("-01")[0].rpartition("/")[2] for name in asked] == ["deviation", "approve", "approve"], asked
    assert last.code == 0, last.text
    assert user.landed("src/auth/p1.py") == "right, and short"
    step = user.drumline("report", "--json").json["steps"][0]  # type: ignore[index]
    assert step["level"] == "proved"
    text = (user.repo / "plans/q/handoffs/01-part.md").read_text(encoding="utf-8")
    assert find_faults(text, sections=SECTIONS, most_bytes=20_000) == []
    assert "result: complete" in text
    assert "- `grep -q right src/auth/p1.py`: exit code 0, on tree " in text
    deviations = text.partition("## Deviations")[2].partition("## ")[0]
    for told in (
        str(MAJOR["staleness_report"]),
        "1 fix after the first attempt",
        "take the new module",
        "make it short",
        "put right after its review: Everybody is let in",
    ):
        assert told in deviations
    assert "- deferred: Nobody is there (input): step 2 does it" in text
    assert "> People log in by their name." in text.partition("## Summary")[2].partition("## ")[0]
    assert "all is well" not in text  # the words of an agent were refused once, and asked for again
    prompts = [path.read_text() for path in user.repo.rglob(".git/drumline/runs/*/01/prompt-*.md")]
    assert any("'Summary' has the heading '## Evidence'" in prompt for prompt in prompts)
    assert "- 02: nobody may be there" in text.partition("## Downstream plan updates")[2].partition("## ")[0]
    assert (user.repo / "plans/q/steps/02-part.md").read_text().count("From 01: nobody may be there") == 1
    assert "status: complete" in (user.repo / "plans/q/steps/01-part.md").read_text()


@pytest.mark.long
def test_the_next_step_is_held_to_the_handoff_and_reads_it(tmp_path: Path) -> None:
    user = open_user(tmp_path)

    early = go(user, "02", autonomy="autopilot")
    asked = gates_of(user.status())
    refused = user.drumline("answer", asked[0], "no", "--resume")
    first = user.drumline("run", "plans/q", "--agent", SCRIPTED, "--autonomy", "autopilot", "--new")
    states = states_of(user.status())

    assert (early.code, asked) == (2, ["proceed-02"])
    assert (refused.code, first.code) == (2, 0), first.text
    assert states == {"01": "done", "02": "done"}
    prompts = user.repo.rglob(".git/drumline/runs/*/02/prompt-*.md")
    assert any("The port is 4711." in path.read_text() for path in prompts)


@pytest.mark.long
def test_a_person_may_let_a_step_begin_although_what_it_needs_has_no_handoff(tmp_path: Path) -> None:
    user = open_user(tmp_path)

    early = go(user, "02", autonomy="autopilot")
    proceeded = answer(user, {"proceed": "yes"})

    assert early.code == 2, early.text
    assert proceeded.code == 0, proceeded.text
    assert states_of(user.status())["02"] == "done"
    assert "result: complete" in (user.repo / "plans/q/handoffs/02-part.md").read_text()
    assert not (user.repo / "plans/q/handoffs/01-part.md").exists()


@pytest.mark.parametrize(
    ("ending", "code", "result"),
    [pytest.param("failed", 2, "partial", marks=pytest.mark.long), ("rejected", 1, "blocked")],
)
def test_a_step_that_is_not_done_leaves_no_handoff_that_says_complete(
    tmp_path: Path, ending: str, code: int, result: str
) -> None:
    bad = [write("wrong", step="01")] if ending == "failed" else []
    user = open_user(tmp_path, say({"verdict": "none"}, node="diagnose"), *bad)

    ran = go(user, "01", autonomy="verbose")
    if ending == "rejected":
        ran = answer(user, {"approve": "reject"})
    shown = user.drumline("handoff", "01").out

    assert ran.code == code, ran.text
    assert not (user.repo / "plans/q/handoffs/01-part.md").exists()
    assert find_faults(shown, sections=SECTIONS, most_bytes=20_000) == []
    assert f"result: {result}" in shown
