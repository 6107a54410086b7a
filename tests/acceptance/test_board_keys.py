"""The board at a real terminal: its keys, what an agent does at this moment, and windows of several sizes."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, leaving_nothing, make_user, states_of, step_text, wait_for
from tests.acceptance.terminals import Terminal, accept_commands, open_terminal
from tests.acceptance.test_doctor import RESULT, WORKS, put_on_path

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")

INIT = {"type": "system", "subtype": "init", "session_id": "s-1"}
USE = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"command": "make all"}}
AGENT = f"""\
#!/bin/bash
if [ "$1" = --version ]; then echo '9.8.7 (Claude Code)'; exit; fi
read -r _
echo {shlex.quote(json.dumps(INIT))}
echo {shlex.quote(json.dumps({"type": "assistant", "message": {"content": [USE]}}))}
while [ ! -e $HOME/go ]; do sleep 0.05; done
touch step-2.txt
echo '{RESULT}'
"""
HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch $DRUMLINE_STEP.txt"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    user = make_user(tmp_path, step_text("step-1"), step_text("step-2"), step_text("step-3", ["step-1", "step-2"]))
    accept_commands(user, PLAN)
    with open_terminal(user) as made:
        yield made


def begin(terminal: Terminal, *args: str) -> None:
    """Run the plan until the agent of its second step is at work."""
    terminal.user.play({"match": {"step": "step-2"}, "run": HOLD})
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--mode", "parallel", *args)
    wait_for((terminal.user.folder / "home" / "started").exists, "the agent did not start")


def test_keys_open_rows_show_reasons_answer_a_gate_and_pause(terminal: Terminal) -> None:
    begin(terminal, "--autonomy", "verbose")
    terminal.await_text("? approve-step-1")
    terminal.press("Down", "Enter")
    opened = terminal.await_text("    next: drumline answer approve-step-1")
    terminal.press("d")
    diff = terminal.await_text("diff step-1")
    terminal.press("q", "w")
    why = terminal.await_text("step-1 is parked")
    terminal.press("q", "a")
    asked = terminal.await_text("Answer: ")
    terminal.press("approvee", "Enter")
    refused = terminal.await_text("did you mean 'approve'?")
    terminal.press("approve", "Enter")
    wait_for(lambda: states_of(terminal.user.status())["step-1"] == "done", "the answer did not count")
    terminal.press("p")
    terminal.await_text("pausing")
    (terminal.user.folder / "home" / "go").touch()
    end = terminal.await_text("exit=2")

    assert "↑↓ choose · enter open" in opened
    assert "?▸step-1" in opened
    assert "step-1.txt" in diff
    assert "why step-1" in why
    assert "approve, revise, reject" in asked
    assert "Answer: " in refused
    assert "drumline resume" in end
    assert terminal.user.status()["state"] == "parked"


def test_the_row_of_a_step_says_what_its_agent_does_and_logs_are_read_over_the_board(terminal: Terminal) -> None:
    env = put_on_path(terminal.user, claude=AGENT, bwrap=WORKS)
    before = f"PATH={shlex.quote(env['PATH'])} "
    terminal.type_command("run", PLAN, "--agent", "claude", "--step", "step-2", before=before)
    row = terminal.await_text("attempt 1: $ make all ")  # and then how long it has been at this node
    terminal.press("Down", "Down", "l")
    logs = terminal.await_text("logs step-2")
    terminal.press("q", "q")
    left = terminal.await_text("no longer showing the board")
    (terminal.user.folder / "home" / "go").touch()
    terminal.await_text("exit=0")

    assert "◐ step-2" in row.replace("◓", "◐").replace("◑", "◐").replace("◒", "◐")
    assert "attempt-1.log" in logs
    assert "goes on here" in left


def test_q_stops_watching_and_not_the_run(terminal: Terminal) -> None:
    user = terminal.user
    user.play({"match": {"step": "step-1"}, "run": HOLD})
    user.run("--detach")
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")

    terminal.type_command("attach")
    terminal.await_text("· q quit")
    terminal.press("q")
    end = terminal.await_text("exit=0")
    state = user.status()["state"]
    (user.folder / "home" / "go").touch()
    user.drumline("wait")

    assert "no longer watching" in end
    assert state == "running"


@pytest.mark.long
@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_five_hundred_steps_fit_any_window(tmp_path: Path, size: tuple[int, int]) -> None:
    user = make_user(tmp_path, *(step_text(f"step-{number}") for number in range(1, 501)))
    accept_commands(user, PLAN)
    with leaving_nothing(tmp_path), open_terminal(user) as made:
        terminal = dataclasses.replace(made, size=size)
        user.play({"match": {}, "run": HOLD})
        terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--mode", "parallel")
        terminal.await_text("· q quit")
        terminal.press("End")
        terminal.await_text("▸step-500")
        seen = terminal.shown().splitlines()
        terminal.press("C-c")
        terminal.await_text("exit=130")

    # The terminal cuts what does not fit: the first and the last row are there only if all rows between fit, too.
    (top,) = (number for number, line in enumerate(seen) if line.startswith("A small plan "))
    rows = [int(line.partition("step-")[2].split()[0]) for line in seen[top:] if "step-" in line]
    assert seen[-1].startswith("↑↓ choose")
    assert all(len(line) <= size[0] for line in seen)
    assert rows == [*range(501 - len(rows), 501)]
    assert len(rows) > size[1] - 12
