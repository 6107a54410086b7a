"""Plans whose order is the dependency: nothing behind a step that stands still starts, whatever lies between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.cli_user import User, make_user, states_of

WORKS = "command:test $DRUMLINE_STEP = 3 || echo good > $DRUMLINE_STEP.txt"
TAGS = {"other repository": "4: Publish it [Web-Shop]", "here": "4: Publish it [This repo]"}


def implement(*, fourth: str, statuses: dict[int, str]) -> str:
    """An implement.md of five steps for two repositories."""
    head = "# Implementation Plan: Orders\n\n**Repo:** api\n**Other repos required:** Web-Shop\n\n"
    titles = {1: "1: Read it", 2: "2: Store it", 3: "3: Count it", 4: TAGS[fourth], 5: "5: Show it"}
    return head + "".join(
        f"### Step {title}\n**Status:** {statuses.get(n, 'pending')}\n**Files:** `{n}.txt`\n**What:** Write it.\n"
        f"**Why:** Wanted.\n**Test:** `grep -q good {n}.txt`\n\n"
        for n, title in titles.items()
    )


def setup(folder: Path, text: str, name: str = ".ai/specs/7-orders/implement.md") -> User:
    user = make_user(folder)
    path = user.repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    user.commit_all("the plan")
    return user


@pytest.mark.parametrize(
    ("fourth", "status"),
    [("other repository", "pending"), ("other repository", "done"), ("here", "done"), ("here", "skipped")],
)
def test_nothing_behind_a_blocked_step_starts_across_a_step_that_is_not_run(
    tmp_path: Path, fourth: str, status: str
) -> None:
    user = setup(tmp_path, implement(fourth=fourth, statuses={1: "done", 4: status}))

    ran = user.type("run", "orders", "--agent", WORKS, "--retries", "0", "--autonomy", "autopilot")
    why = user.type("why", "5")

    assert ran.code == 2, ran.text
    assert states_of(user.status())["3"] == "blocked"
    assert states_of(user.status())["5"] == "waiting"
    assert "needs 3 (blocked)" in why.out or "needs 3, which is blocked" in why.out, why.text


@pytest.mark.parametrize("status", ["blocked", "in-progress"])
def test_nothing_starts_behind_a_step_that_stands_still_in_another_repository(tmp_path: Path, status: str) -> None:
    user = setup(tmp_path, implement(fourth="other repository", statuses={1: "done", 2: "done", 3: "done", 4: status}))

    ran = user.type("run", "orders", "--agent", WORKS, "--autonomy", "autopilot")
    why = user.type("why", "5")

    assert ran.code == 2, ran.text
    assert states_of(user.status())["5"] == "waiting"
    assert "needs 4" in why.out
    assert f"its file marks it {'blocked' if status == 'blocked' else 'claimed'}" in why.out, why.text


def test_a_wave_waits_for_all_waves_before_it_also_across_chunks_that_name_their_needs(tmp_path: Path) -> None:
    chunk = {"files": [], "model": "sonnet", "tests": False, "checks": ["true"]}
    waves = [
        [{"id": "a", "scope": "A", **chunk}, {"id": "b", "scope": "B", **chunk, "checks": ["false"]}],
        [{"id": "c", "scope": "C", "dependsOn": ["a"], **chunk}],
        [{"id": "d", "scope": "D", **chunk}],
    ]
    user = setup(tmp_path, json.dumps({"description": "Waves", "waves": waves}), "chunks.json")

    ran = user.type("run", "chunks.json", "--agent", WORKS, "--retries", "0", "--autonomy", "autopilot")

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"a": "done", "b": "blocked", "c": "done", "d": "waiting"}
