"""Chunks in waves, built without a person: tiers, reviewers, a cap on blockers, one structured result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.cli_flows import write_files
from tests.acceptance.cli_user import SCRIPTED, Rule, User, make_user, states_of, step_text, write_script


def chunk(number: int, model: str, **more: object) -> dict[str, object]:
    """One chunk of the input."""
    files = [f"{number}.py"]
    return {"id": f"c{number}", "scope": f"Do {number}", "files": files, "model": model, "checks": [], **more}


WAVES = [
    [chunk(1, "haiku"), chunk(2, "opus", opusReview=True)],
    [chunk(3, "sonnet", dependsOn=["c1"]), chunk(4, "sonnet", dependsOn=["c2"])],
]

LOOK = "echo $DRUMLINE_STEP $DRUMLINE_TIER >> $HOME/looks"
"""A reviewer leaves outside of the worktree which chunk it looked at, and in which tier."""
NOTHING: Rule = {"match": {"node": "look"}, "run": LOOK, "say": json.dumps({"findings": [], "fixed": []})}


def finding(severity: str, title: str, number: int) -> dict[str, object]:
    """What a reviewer says of a chunk."""
    return {"severity": severity, "file": f"{number}.py", "line": 1, "title": title, "detail": "see there"}


def look(number: int, *findings: object, fixed: tuple[str, ...] = (), **match: object) -> Rule:
    """What the reviewer of a chunk answers."""
    found = {"step": f"c{number}", "node": "look", **match}
    return {"match": found, "run": LOOK, "say": json.dumps({"findings": findings, "fixed": fixed})}


def open_user(folder: Path, *reviews: Rule) -> User:
    """Four chunks in two waves, and an agent that reviews."""
    user = make_user(folder, step_text("step-1"))
    waves = [[{**one, "checks": [f"grep -q good {one['id'][1:]}.py"]} for one in wave] for wave in WAVES]  # type: ignore[index]
    config = '[agents.reviewer]\nagent = "scripted:reviewer.yaml"\n'
    write_files(user, {"chunks.json": json.dumps({"waves": waves}), ".drumline/config.toml": config})
    user.commit_all()
    write_script(user.repo / "reviewer.yaml", [*reviews, NOTHING])
    names = {f"c{n}": [{"id": f"c{n}-F1", "why": "line 1"}] for n in (1, 2, 3, 4)}
    confirm: list[Rule] = [
        {"match": {"step": step, "node": "confirm"}, "say": json.dumps({"confirmed": found, "refuted": []})}
        for step, found in names.items()
    ]
    said = "# Task Report\n\n- Status: success\n- Objective Achieved: Part {} is written.\n"
    writes: list[Rule] = [
        {"match": {"step": f"c{n}"}, "write": {f"{n}.py": "good\n"}, "say": said.format(n)} for n in (1, 2, 3, 4)
    ]
    user.play(*confirm, *writes)
    return user


def go(user: User) -> tuple[int, dict[str, Any]]:
    """Build, and read the result."""
    ran = user.drumline("run", "chunks.json", "--agent", SCRIPTED, "--autonomy", "autopilot")
    return ran.code, user.drumline("report", "--json").json


@pytest.mark.long
def test_waves_are_built_reviewed_and_told_as_one_result(tmp_path: Path) -> None:
    user = open_user(
        tmp_path,
        look(1, finding("blocker", "It is lost", 1), scope="review#1"),
        look(1, fixed=("c1-F1",)),
        look(3, finding("concern", "It is vague", 3), finding("nit", "A blank", 3)),
        look(4, {**finding("nit", "Elsewhere, too", 4), "step": "c9"}),
    )

    code, result = go(user)

    assert code == 0, result
    assert states_of(user.status()) == dict.fromkeys(("c1", "c2", "c3", "c4"), "done")
    assert (result["iterations"], result["hitReviewCap"], result["clean"]) == (1, False, False)
    assert result["unresolvedBlockers"] == []
    assert [(one["chunkId"], one["title"]) for one in result["concerns"]] == [("c3", "It is vague")]
    assert [one["title"] for one in result["deferred"]] == ["It is vague"]
    assert [one["title"] for one in result["nits"]] == ["A blank", "Elsewhere, too"]
    assert [(one["step"], one["chunkId"]) for one in result["unassigned"]] == [("", "c9")]
    looks = (tmp_path / "home" / "looks").read_text().splitlines()
    assert sorted(looks[:-1]) == ["c1 standard", "c1 standard", "c2 standard", "c3 standard", "c4 standard"]
    assert looks[-1] == "@final strong"  # all flagged chunks together
    assert "It is lost" in user.prompt("c1", 4)
    shown = ("chunkId", "ok", "attempts", "model", "summary", "testsPassed")
    assert [tuple(chunk[key] for key in shown) for chunk in result["perChunk"]] == [
        ("c1", True, 2, "haiku", "Part 1 is written.", True),
        ("c2", True, 1, "opus", "Part 2 is written.", True),
        ("c3", True, 1, "sonnet", "Part 3 is written.", True),
        ("c4", True, 1, "sonnet", "Part 4 is written.", True),
    ]
    assert result["filesChanged"] == ["1.py", "2.py", "3.py", "4.py"]
    assert json.loads((user.repo / "chunks.json").read_text())["waves"][0][0]["id"] == "c1"
    assert user.git("log", "--format=%s", "main") == "more\nstart"  # nothing is merged unasked


@pytest.mark.long
def test_a_blocker_that_stays_reaches_the_cap_and_what_needs_the_chunk_is_not_built(tmp_path: Path) -> None:
    user = open_user(tmp_path, look(2, finding("blocker", "Everybody is let in", 2)))

    code, result = go(user)

    assert code == 2, result
    assert states_of(user.status()) == {"c1": "done", "c2": "blocked", "c3": "done", "c4": "waiting"}
    assert (result["iterations"], result["hitReviewCap"], result["clean"]) == (2, True, False)
    assert [(one["step"], one["title"]) for one in result["unresolvedBlockers"]] == [("c2", "Everybody is let in")]
    assert user.step("c2")["attempts"] == 3
    assert "- c2: blocker open: Everybody is let in (2.py:1)" in user.drumline("report", "--md").out
    write_script(user.repo / "reviewer.yaml", [look(2, fixed=("c2-F1",)), NOTHING])
    again = user.drumline("retry", "c2", "--context", "Ask for a name.", "--resume")
    assert again.code == 0, again.text
    assert states_of(user.status()) == dict.fromkeys(("c1", "c2", "c3", "c4"), "done")
    assert user.drumline("report", "--json").json["unresolvedBlockers"] == []


def test_a_chunk_that_fails_twice_is_tried_one_tier_up(tmp_path: Path) -> None:
    user = open_user(tmp_path)
    note = "echo $DRUMLINE_TIER >> $HOME/tiers"
    tries = [("bad", 1), ("bad", 2), ("good", 3)]
    user.play(
        *({"match": {"step": "c1", "attempt": n}, "write": {"1.py": f"{word}\n"}, "run": note} for word, n in tries),
        *({"match": {"step": f"c{n}"}, "write": {f"{n}.py": "good\n"}} for n in (2, 3, 4)),
    )

    code, result = go(user)

    assert code == 0, result
    assert user.step("c1")["fixes"] == 2
    assert (tmp_path / "home" / "tiers").read_text().split() == ["fast", "fast", "standard"]
