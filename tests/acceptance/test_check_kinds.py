"""Kinds of checks in real runs: their order, which source counts, and what a formatter may change."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, User, make_user, step_text

UNHELD = {"DRUMLINE_SANDBOX": "off"}
"""Checks may write down that they ran."""
FORMATTER = """
for file in *.txt; do tr a-z A-Z < "$file" > .new && cat .new > "$file"; done
rm .new
"""


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    """Where checks write that they ran."""
    return tmp_path / "seen"


def told(seen: Path, word: str) -> str:
    """A command that writes down that it ran."""
    return f"echo {word} >> {seen}"


def make_project(tmp_path: Path, seen: Path, *, config: str = "") -> User:
    """A step that writes `mine.txt` into a project with a formatter that makes letters big, and `other.txt`."""
    user = make_user(tmp_path, step_text("step-1", checks=(f"test -f mine.txt && {told(seen, 'own')}",)))
    user.play({"match": {"step": "step-1"}, "write": {"mine.txt": "small\n"}})
    (user.repo / "format.sh").write_text(FORMATTER, encoding="utf-8")
    (user.repo / "other.txt").write_text("small\n", encoding="utf-8")
    user.commit_all("project")
    (user.repo / ".drumline").mkdir()
    (user.repo / ".drumline/config.toml").write_text(config, encoding="utf-8")
    return user


def test_checks_run_in_the_order_of_their_kinds_and_a_formatter_keeps_to_the_files_of_the_step(
    tmp_path: Path, seen: Path
) -> None:
    kinds = {kind: told(seen, kind) for kind in ("test", "build", "lint")}
    kinds["format"] = f"sh format.sh && {told(seen, 'format')}"
    table = "".join(f"{kind} = '{command}'\n" for kind, command in kinds.items())
    user = make_project(tmp_path, seen, config=f"[commands]\n{table}")

    ran = user.run(env=UNHELD)

    assert ran.code == 0, ran.text
    assert seen.read_text().split()[:5] == ["format", "lint", "build", "test", "own"]
    assert (user.landed("mine.txt"), user.landed("other.txt")) == ("SMALL", "small")
    assert "would format files that the step does not change; they were restored: other.txt" in ran.text
    assert "format, lint, build, test in [commands]" in ran.text
    assert user.step("step-1")["proof"] == {"level": "proved", "why": []}
    assert "proved by 4 of 4 checks" in user.type("why", "step-1").out


def test_the_environment_wins_over_step_plan_and_configuration_and_the_others_are_listed(
    tmp_path: Path, seen: Path
) -> None:
    user = make_project(tmp_path, seen, config=f"[commands]\ntest = '{told(seen, 'config')}'\n")
    root = user.repo / PLAN / "root.md"
    root.write_text(root.read_text().replace("---\n", f'---\ntest_cmd: "{told(seen, "plan")}"\n', 1), encoding="utf-8")
    user.edit("step-1", "status: ready", f'status: ready\ntest_cmd: "{told(seen, "step")}"')
    env = {"TEST_CMD": told(seen, "environment")}

    listed = user.type("checks", PLAN, env=env).out
    ran = user.run(env=UNHELD | env)

    assert ran.code == 0, ran.text
    assert {*seen.read_text().split()} == {"environment", "own"}
    for loser in ("step", "plan", "config"):
        assert f"not a check of every step: test: {told(seen, loser)}" in listed
    assert f"every step: test: {told(seen, 'environment')}\n    from TEST_CMD" in listed


def test_tests_of_all_steps_that_do_not_judge_a_compile_check_are_listed_with_that_reason(
    tmp_path: Path, seen: Path
) -> None:
    user = make_project(tmp_path, seen, config="[commands]\ntest = 'make test'\n")
    plan = user.repo / ".ai/specs/7-x/implement.md"
    plan.parent.mkdir(parents=True)
    step = "### Step 1: A\n**Status:** pending\n**Files:** `a.py`\n**What:** It.\n**Test:** compile check only\n"
    plan.write_text(f"# Implementation Plan: X\n\n## Steps\n\n{step}", encoding="utf-8")

    listed = user.type("checks", ".ai/specs/7-x/implement.md").out

    assert "not a check of every step: test: make test\n" in listed
    assert "\nevery step: test: make test" not in f"\n{listed}"
    assert "[commands] of .drumline/config.toml; a compile check only" in listed


def test_a_formatter_that_fails_goes_back_to_the_agent(tmp_path: Path, seen: Path) -> None:
    user = make_project(tmp_path, seen, config="[commands]\nformat = '! grep bad *.txt'\n")
    user.play(
        {"match": {"step": "step-1", "attempt": 1}, "write": {"mine.txt": "bad\n"}},
        {"match": {"step": "step-1", "attempt": 2}, "write": {"mine.txt": "fine\n"}},
    )

    ran = user.run(env=UNHELD)

    assert ran.code == 0, ran.text
    assert user.step("step-1")["fixes"] == 1
    assert "! grep bad *.txt" in user.prompt("step-1", attempt=2)


def test_a_formatter_that_failed_before_the_work_too_keeps_it_from_being_proved(tmp_path: Path, seen: Path) -> None:
    user = make_project(tmp_path, seen, config="[commands]\nformat = 'exit 3'\n")

    ran = user.run(env=UNHELD)

    step = user.step("step-1")
    assert ran.code == 0, ran.text
    assert (step["fixes"], step["proof"]) == (0, {"level": "kept", "why": ["red_before"]})
    assert step["checks"] == {"passed": 1, "total": 2}


def test_a_check_that_fails_and_then_passes_on_the_same_tree_burns_no_fix_and_is_told(
    tmp_path: Path, seen: Path
) -> None:
    flake = f"{told(seen, 'x')}; test $(wc -l < {seen}) -ne 1 || {{ echo timed out; exit 1; }}"
    user = make_project(tmp_path, seen, config=f"[commands]\ntest = '{flake}'\n")
    user.edit("step-1", f" && {told(seen, 'own')}", "")

    ran = user.run(env=UNHELD)
    listed = user.type("checks").out
    explained = user.type("why", "step-1").out

    step = user.step("step-1")
    assert (ran.code, step["attempts"], step["fixes"]) == (0, 1, 0), ran.text
    assert "is flaky: it failed and passed on the same tree" in ran.text
    assert "flaky checks:\n" in ran.text
    for shown in (ran.text, listed, explained):
        assert "flaky: 1 of 2 runs changed the verdict on the same tree" in shown


def test_what_a_plan_verifies_as_a_whole_runs_after_its_last_step_and_must_pass(tmp_path: Path, seen: Path) -> None:
    user = make_project(tmp_path, seen)
    root = user.repo / PLAN / "root.md"
    listed = "\n## Global Verification\n\n- [ ] `test -f never.txt`\n- [ ] the page looks right\n"
    root.write_text(root.read_text() + listed, encoding="utf-8")

    ran = user.run(env=UNHELD)

    assert ran.code == 2, ran.text
    assert user.step("step-1")["state"] == "done"
    assert "test -f never.txt fails on the head of the run branch" in ran.text
    assert "not run:\n  @final: the page looks right" in ran.text


def test_scenarios_of_the_agent_are_claims_with_their_own_figures(tmp_path: Path, seen: Path) -> None:
    user = make_project(tmp_path, seen)
    scenarios = "#### Automated QA:\n\n- [ ] log in\n- [ ] log out\n\n#### Automated Verification:"
    user.edit("step-1", "#### Automated Verification:", scenarios)
    user.play({"match": {"step": "step-1"}, "write": {"mine.txt": "x\n"}, "say": "Done.\nAutomated QA: 1/2 passed"})

    ran = user.run(env=UNHELD)

    claim = "Automated QA 1/2 by the word of its agent, not proved"
    assert ran.code == 0, ran.text
    assert claim in ran.text
    assert claim in user.type("why", "step-1").out
    assert user.step("step-1")["checks"] == {"passed": 1, "total": 1}
