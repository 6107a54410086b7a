"""At a real terminal: commands that a repository brings are shown and asked about before anything starts."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, make_user, states_of, step_text
from tests.acceptance.terminals import Terminal, open_terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")

QUESTION = "Execute them in this run and later ones"
EDIT = "sed -i 's/test -f step-2.txt/test -s step-2.txt/' {}; touch step-1.txt"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with open_terminal(make_user(tmp_path, step_text("step-1"), step_text("step-2", ["step-1"]))) as made:
        yield made


def test_enter_accepts_the_commands_and_the_next_run_does_not_ask(terminal: Terminal) -> None:
    words = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    terminal.type_command(*words)
    asked = terminal.await_text(QUESTION)
    terminal.press("Enter")
    terminal.await_text("exit=0")
    terminal.type_another(*words, "--new")
    second = terminal.await_text("exit=0")

    assert "this repository brings 2 commands that you have not accepted yet" in asked
    assert f"check: test -f step-1.txt  ({PLAN}/step-1.md)" in asked
    assert QUESTION not in second


def test_a_no_starts_nothing_and_is_remembered_until_it_is_taken_back(terminal: Terminal) -> None:
    words = ("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot")
    terminal.type_command(*words)
    terminal.await_text(QUESTION)
    terminal.press("n", "Enter")
    refused = terminal.await_text("exit=2")
    without = terminal.user.drumline(*words)
    terminal.type_another(*words)
    asked = terminal.await_text(QUESTION)
    terminal.press("y", "Enter")
    terminal.await_text("exit=0")

    assert f"next: drumline trust {PLAN} --accept" in refused
    assert without.code == 2
    assert "a person refused 2 commands" in without.err
    assert "refused before" in asked


def unwrap(screen: str) -> str:
    """What was printed, without the breaks of a terminal that is narrower than the line."""
    return screen.replace("\n", "")


def test_only_what_changed_is_asked_about_again(terminal: Terminal) -> None:
    user = terminal.user
    (user.repo / "pack.sh").write_text("echo '{}'\n", encoding="utf-8")
    (user.repo / "f.yaml").write_text(
        "name: f\nstart: go\nnodes:\n  go: {type: script, script: pack.sh, next: over}\n"
        "  over: {type: end, output: walked}\n",
        encoding="utf-8",
    )
    terminal.type_command("flow", "run", "f.yaml")
    first = terminal.await_text(QUESTION)
    terminal.press("Enter")
    terminal.await_text("exit=0")
    (user.repo / "pack.sh").write_text("echo '{\"more\": 1}'\n", encoding="utf-8")
    terminal.type_another("flow", "run", "f.yaml")
    second = terminal.await_text(QUESTION)
    terminal.press("Enter")
    terminal.await_text("exit=0")

    assert "script: pack.sh" in first
    assert ", changed)" not in unwrap(first)
    assert ", changed)" in unwrap(second)


def test_a_plan_edited_in_mid_run_is_asked_about_at_a_gate(terminal: Terminal) -> None:
    user = terminal.user
    user.play({"match": {"step": "step-1"}, "run": EDIT.format(user.path("step-2"))})
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", "--mode", "sequential")
    terminal.await_text(QUESTION)
    terminal.press("Enter")
    asked = terminal.await_text("Answer:")
    terminal.press("yes", "Enter")
    terminal.await_text("exit=0")

    assert "brings commands that nobody has accepted yet. Execute them?" in asked
    assert "- check: test -s step-2.txt" in asked
    assert states_of(user.status()) == {"step-1": "done", "step-2": "done"}
