"""A fix that worked in three runs is a lesson, which the fourth run's agent reads and which counts when it helps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.cli_user import Ran, User, make_user, step_text

REMEDY = "Write the word right instead of wrong into the file."


def run_once(user: User, number: int) -> Ran:
    """One more step that is wrong at first and right after a fix, in a run of its own."""
    name = f"step-{number}"
    target = f"{name}.txt"
    user.path(name).write_text(step_text(name, checks=[f"grep right {target} || (echo error: no right word; exit 1)"]))
    user.play(
        {"match": {"step": name, "attempt": 1}, "write": {target: "wrong\n"}, "say": "done"},
        {"match": {"step": name, "attempt": 2}, "write": {target: "right\n"}, "say": f"All good.\n\nFix: {REMEDY}"},
    )
    ran = user.run()
    assert ran.code == 0, ran.text
    user.git("merge", "--quiet", "--ff-only", user.branch())
    return ran


def test_a_lesson_is_promoted_after_three_runs_and_helps_in_the_fourth(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=["true"]))
    (user.repo / ".ai" / "learning").mkdir(parents=True)
    early = [run_once(user, number) for number in range(1, 4)]

    lesson = user.drumline("lessons", "list", "--json").json["lessons"][0]  # type: ignore[index]
    fourth = run_once(user, 4)

    assert [f"promoted: {lesson['name']}" in ran.text for ran in early] == [False, False, True]
    assert ", 1 lesson loaded" in fourth.err
    prompt = user.prompt("step-4", attempt=2)
    assert "## What helped before" in prompt
    assert f"> {REMEDY}" in prompt
    assert "What helped before" not in user.prompt("step-4", attempt=1)
    assert (lesson["state"], lesson["successes"], lesson["helped"]) == ("active", 3, 0)
    helped = user.drumline("lessons", "show", lesson["name"], "--json").json["lesson"]
    assert isinstance(helped, dict)
    assert helped["helped"] == 1
    ledgers = [user.repo / ".git" / "drumline" / "learning", user.repo / ".ai" / "learning" / "raw"]
    for folder in ledgers:
        rows = [json.loads(line) for line in (folder / "fixes.jsonl").read_text().splitlines()]
        assert [(row["step"], row["result"]) for row in rows] == [(f"step-{n}", "success") for n in range(1, 5)]
        runs = [json.loads(line) for line in (folder / "runs.jsonl").read_text().splitlines()]
        assert [row["fix_attempts"] for row in runs] == [{"succeeded": 1, "failed": 0}] * 4


@pytest.mark.long
def test_a_forgotten_lesson_stays_forgotten_and_others_can_be_exported(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=["true"]))
    for number in range(1, 4):
        run_once(user, number)
    name = user.drumline("lessons", "list", "--json").json["lessons"][0]["name"]  # type: ignore[index]

    user.drumline("lessons", "export", "--to", ".claude/rules")
    user.drumline("lessons", "export", "--to", "AGENTS.md")
    user.drumline("lessons", "forget", str(name))
    run_once(user, 4)

    assert REMEDY in (user.repo / ".claude" / "rules" / f"learned-fix-{name}.md").read_text()
    assert REMEDY in (user.repo / "AGENTS.md").read_text()
    assert user.drumline("lessons", "list", "--json").json["lessons"] == []


def test_a_ledger_that_makes_no_new_lesson_is_said_to_count(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1"))
    fix = {
        "ticket": "1",
        "step": 1,
        "error_type": "compilation",
        "fix_description": "Add the import",
        "result": "success",
    }
    lines = [json.dumps({**fix, "ticket": str(number)}) for number in (1, 2, 3)]
    (user.repo / "one.jsonl").write_text(f"{lines[0]}\n", encoding="utf-8")
    (user.repo / "two.jsonl").write_text("\n".join(lines[1:]), encoding="utf-8")

    first = user.type("lessons", "import", "one.jsonl")
    second = user.type("lessons", "import", "two.jsonl")

    assert (first.code, first.err) == (0, "its fixes count now, and no new lesson came of them\n")
    assert second.err == "imported compilation-add-the-import\n"
