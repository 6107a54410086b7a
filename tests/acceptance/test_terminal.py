"""At a real terminal: the live board, questions that are asked and answered by typing, and Ctrl-C."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    make_user,
    processes_of,
    states_of,
    step_text,
    wait_for,
)
from tests.acceptance.terminals import Terminal, accept_commands, open_terminal

from drumline.views.states import SPINNER

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="a terminal is made with tmux, which is missing")

HOLD = "touch $HOME/started; while [ ! -e $HOME/go ]; do sleep 0.05; done; touch $DRUMLINE_STEP.txt"


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    user = make_user(tmp_path, step_text("step-1"), step_text("step-2"), step_text("step-3", ["step-1", "step-2"]))
    accept_commands(user, PLAN)
    with open_terminal(user) as made:
        yield made


def test_the_live_board_shows_the_run_while_it_goes_on_and_a_summary_at_its_end(terminal: Terminal) -> None:
    terminal.user.play({"match": {"step": "step-2"}, "run": HOLD})

    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--mode", "parallel")
    terminal.await_text("step 1 of 3 done")
    board = terminal.await_text("1/3")
    (terminal.user.folder / "home" / "go").touch()
    end = terminal.await_text("exit=0")

    assert "A small plan" in board
    assert "step-3 Make step-3" in board
    assert "3 of 3 steps landed" in end
    assert "1/3" not in end


def test_the_mode_is_asked_for_with_its_recommendation(terminal: Terminal) -> None:
    terminal.type_command("run", PLAN, "--agent", SCRIPTED)
    asked = terminal.await_text("Mode: ")
    terminal.press("sequential", "Enter")
    terminal.await_text("exit=0")

    assert "2 of 3 steps are free to run side by side" in asked
    assert "recommended" in asked
    assert terminal.user.status()["mode"] == "sequential"


def test_the_mode_question_names_steps_that_own_the_same_files(terminal: Terminal) -> None:
    terminal.user.path("step-4").write_text(step_text("step-4"), encoding="utf-8")
    terminal.user.path("step-5").write_text(step_text("step-5"), encoding="utf-8")
    terminal.user.edit("step-1", "status: ready", 'files: ["src/**"]\nstatus: ready')
    terminal.user.edit("step-2", "status: ready", "files: [./src/a.py]\nstatus: ready")
    accept_commands(terminal.user, PLAN)

    terminal.type_command("run", PLAN, "--agent", SCRIPTED)
    asked = terminal.await_text("Mode: parallel (recommended")
    terminal.press("Enter")
    terminal.await_text("exit=0")

    assert "3 of 5 steps are free to run side by side, in 2 waves." in asked
    assert "not side by side: step-1, step-2 (they own src/**)" in asked
    assert terminal.user.status()["mode"] == "parallel"


def test_the_mode_is_not_asked_for_when_one_step_is_left(terminal: Terminal) -> None:
    for step in ("step-1", "step-2"):
        terminal.user.edit(step, "status: ready", "status: done")

    terminal.type_command("run", PLAN, "--agent", SCRIPTED)
    end = terminal.await_text("exit=0")

    assert "Mode: " not in end


def test_a_gate_is_asked_and_answered_by_typing(terminal: Terminal) -> None:
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "verbose", "--step", "step-1")
    terminal.await_text("Answer:")
    asked = terminal.screen()
    terminal.press("revise", "Enter")
    terminal.await_text("What should change")
    terminal.press("In fewer words.", "Enter")
    wait_for(lambda: terminal.screen().count("Answer:") == 2, "not asked again")
    terminal.press("approve", "Enter")
    terminal.await_text("exit=0")

    assert "Land it?" in asked
    assert "In fewer words." in terminal.user.prompt("step-1", 2)
    assert states_of(terminal.user.status())["step-1"] == "done"


def test_manual_items_are_judged_one_by_one(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", manual="It reads well\n- [ ] It is short"))
    accept_commands(user, PLAN)
    with open_terminal(user) as terminal:
        terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "critical")
        terminal.await_text("1 of 2, step-1: It reads well. Good? (y/n):")
        terminal.press("y", "Enter")
        terminal.await_text("2 of 2, step-1: It is short. Good? (y/n):")
        terminal.press("y", "Enter")
        terminal.await_text("Comment")
        terminal.press("Enter")
        terminal.await_text("exit=0")

    assert "- [x] It reads well\n- [x] It is short" in user.file("step-1")


def test_a_gate_may_be_left_for_later(terminal: Terminal) -> None:
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "verbose", "--step", "step-1")
    terminal.await_text("Answer:")
    terminal.press("Enter")
    end = terminal.await_text("exit=2")

    assert "drumline answer approve-step-1" in end
    assert terminal.user.status()["state"] == "parked"


def test_ctrl_c_stops_the_run_and_leaves_a_readable_screen(terminal: Terminal) -> None:
    terminal.user.play({"match": {"step": "step-1"}, "run": HOLD})
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--mode", "sequential")
    wait_for((terminal.user.folder / "home" / "started").exists, "the agent did not start")

    terminal.press("C-c")
    end = terminal.await_text("exit=130")

    assert "Traceback" not in end
    assert "interrupted" in end
    assert "drumline resume" in end
    assert "status: ready" in terminal.user.file("step-1")


def test_ctrl_c_at_a_question_leaves_the_run_parked(terminal: Terminal) -> None:
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "verbose", "--step", "step-1")
    terminal.await_text("Answer:")

    terminal.press("C-c")
    end = terminal.await_text("exit=130")

    assert "Traceback" not in end
    assert "drumline answer approve-step-1 approve --resume" in end
    assert terminal.user.status()["state"] == "parked"


def test_a_run_left_behind_is_asked_about_with_its_age(terminal: Terminal) -> None:
    user = terminal.user
    user.play({"match": {"step": "step-1"}, "run": HOLD})
    process = user.start("run", PLAN, "--agent", SCRIPTED, "--mode", "sequential")
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")
    process.kill()
    process.communicate()
    wait_for(lambda: not processes_of(user.folder), "the agent outlived its driver")
    user.play()

    terminal.type_command("run", PLAN, "--agent", SCRIPTED)
    asked = terminal.await_text("Resume it, or start fresh")
    terminal.press("Enter")
    terminal.await_text("exit=0")

    assert "unfinished (interrupted); it last moved" in asked
    assert " ago" in asked
    assert len(user.drumline("runs").out.splitlines()) == 2


def test_attach_draws_the_board_of_a_detached_run(terminal: Terminal) -> None:
    user = terminal.user
    user.play({"match": {"step": "step-1"}, "run": HOLD})
    user.run("--detach")
    wait_for((user.folder / "home" / "started").exists, "the agent did not start")

    terminal.type_command("attach")
    board = terminal.await_text("step-3 Make step-3")
    (user.folder / "home" / "go").touch()
    end = terminal.await_text("exit=0")

    assert "A small plan" in board
    assert "3 of 3 steps landed" in end


def test_in_ci_nothing_is_asked_even_at_a_terminal(terminal: Terminal) -> None:
    terminal.type_command("run", PLAN, "--agent", SCRIPTED, "--autonomy", "verbose", before="CI=1 ")

    end = terminal.await_text("exit=2")

    assert "Answer:" not in end
    assert "Mode: " not in end


# --- flows ------------------------------------------------------------------------------------------------------


FLOW = r"""
name: shipping
start: pack
nodes:
  pack: {type: script, script: pack.sh, timeout: 300, next: review}
  review:
    type: approval
    question: "Ship {{initial_prompt}}?\n  It weighs {{weight}}.\e[2J"
    options: ["yes", "no"]
    routes: {"yes": who, "no": stopped}
    on_other: noted
    state_updates: {said: "{{choice}}"}
  who:
    type: input
    question: Who?
    validation: len(input) >= 3
    state_updates: {who: "{{input}}"}
    next: done
  noted: {type: end, output: "noted: {{said}}"}
  stopped: {type: end, output: stopped, status: rejected}
  done: {type: end, output: "shipped by {{who}}"}
"""


def walk_at(terminal: Terminal, *, pack: str = "") -> None:
    """Type the command that walks the flow."""
    (terminal.user.repo / "graph.yaml").write_text(FLOW, encoding="utf-8")
    (terminal.user.repo / "pack.sh").write_text(f"{pack}\necho '{{\"weight\": 7}}'\n", encoding="utf-8")
    accept_commands(terminal.user, "graph.yaml")
    terminal.type_command("flow", "run", "graph.yaml", "--prompt", "the box")


def test_a_flow_shows_its_nodes_asks_until_the_answer_is_legal_and_prints_its_output(terminal: Terminal) -> None:
    walk_at(terminal, pack="while [ ! -e $HOME/go ]; do sleep 0.05; done")
    wait_for(lambda: any(f"{sign} pack" in terminal.screen() for sign in SPINNER), "no board")
    board = terminal.screen()
    (terminal.user.folder / "home" / "go").touch()
    asked = terminal.await_text("Answer:")
    terminal.press("yes", "Enter")
    terminal.await_text("Who?")
    wait_for(lambda: terminal.screen().count("Answer:") == 2, "not asked")
    terminal.press("me", "Enter")
    refused = terminal.await_text("legal is len(input) >= 3")
    terminal.press("kim", "Enter")
    end = terminal.await_text("exit=0")

    assert "shipping" in board
    assert "Ship the box?" in asked
    assert "It weighs 7." in asked
    assert "yes, no, or anything else in your own words" in asked
    assert "Traceback" not in refused
    assert "shipped by kim" in end


def test_a_question_of_a_flow_takes_ones_own_words(terminal: Terminal) -> None:
    walk_at(terminal)
    terminal.await_text("Answer:")

    terminal.press("only on Mondays", "Enter")
    end = terminal.await_text("exit=0")

    assert "noted: only on Mondays" in end


@pytest.mark.parametrize("key", ["C-d", "Enter"])
def test_a_question_of_a_flow_may_be_left_for_later(terminal: Terminal, key: str) -> None:
    walk_at(terminal)
    terminal.await_text("Answer:")

    terminal.press(key)
    end = terminal.await_text("exit=2")

    assert "drumline answer review yes --resume" in end
    assert terminal.user.status()["state"] == "parked"


def test_ctrl_c_at_a_question_of_a_flow_leaves_it_parked(terminal: Terminal) -> None:
    walk_at(terminal)
    terminal.await_text("Answer:")

    terminal.press("C-c")
    end = terminal.await_text("exit=130")

    assert "Traceback" not in end
    assert "drumline answer review yes --resume" in end
    assert terminal.user.status()["state"] == "parked"


def test_the_terminal_notices_an_answer_from_elsewhere_and_goes_on(terminal: Terminal) -> None:
    walk_at(terminal)
    terminal.await_text("Answer:")
    terminal.press("half a thou")

    answered = terminal.user.drumline("answer", "review", "yes")
    terminal.await_text("review was answered 'yes' by kim meanwhile")
    wait_for(lambda: terminal.screen().count("Answer:") == 2, "the next question was not asked")
    terminal.press("sam", "Enter")
    end = terminal.await_text("exit=0")

    assert answered.code == 0
    assert "shipped by sam" in end


def test_the_terminal_waits_for_somebody_who_answers_and_drives_on(terminal: Terminal) -> None:
    walk_at(terminal)
    terminal.await_text("Answer:")

    answered = terminal.user.drumline("answer", "review", "not now", "--resume")
    end = terminal.await_text("exit=0")

    assert answered.code == 0
    assert "answered 'not now' by kim meanwhile" in end
    assert "noted: not now" in end


def test_the_terminal_asks_no_more_once_the_run_is_cancelled(terminal: Terminal) -> None:
    walk_at(terminal)
    terminal.await_text("Answer:")

    terminal.user.drumline("cancel")
    end = terminal.await_text("exit=1")

    assert "review is not asked any more" in end
    assert terminal.user.status()["state"] == "cancelled"
