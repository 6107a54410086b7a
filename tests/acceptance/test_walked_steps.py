"""A step of a plan whose flow asks for text and lets agents work beside each other, as a person sees it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import (
    PLAN,
    SCRIPTED,
    User,
    leaving_nothing,
    make_user,
    step_text,
    write_plan,
    write_script,
)
from tests.acceptance.terminals import accept_commands

FLOW = """
name: asking
start: workspace
nodes:
  workspace: {type: workspace, next: name}
  name: {type: input, question: "Which name?", state_updates: {name: "{{input}}"}, next: both}
  both: {type: set, values: {greeting: "hello {{name}}"}, next: [look, implement]}
  look: {type: agent, agent: default, read_only: true, prompt: "look {{name}}", next: checks}
  implement: {type: agent, agent: default, prompt: "{{initial_prompt}} {{greeting}} {{history}}", next: checks}
  checks: {type: check, on_pass: approve, on_fail: bad}
  approve:
    type: approval
    question: "{{check.verdict}}. Land it?"
    options: [land, drop]
    routes: {land: land, drop: bad}
    on_other: bad
  land: {type: land, next: done}
  done: {type: end, status: done}
  bad: {type: end, status: blocked, output: "{{check.verdict}}"}
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path)
        write_plan(user.repo / PLAN, step_text("step-1", checks=["test -f made.txt"]))
        place = user.repo / ".drumline" / "flows" / "asking" / "graph.yaml"
        place.parent.mkdir(parents=True)
        place.write_text(FLOW, encoding="utf-8")
        rules: list[dict[str, object]] = [
            {"match": {"node": "look", "attempt": 2}, "say": "I have looked"},
            {"match": {"node": "look"}, "ask": "May I look?"},
            {"match": {}, "write": {"made.txt": "made\n"}, "say": "I have made it"},
        ]
        write_script(user.repo / "agent.yaml", rules)
        user.commit_all("prepared")
        accept_commands(user, PLAN)
        yield user


def test_a_step_takes_text_works_beside_a_question_and_shows_its_visits(user: User) -> None:
    begun = user.drumline("run", PLAN, "--flow", "asking", "--agent", SCRIPTED)
    named = user.drumline("answer", "step-1:name", "Ada Lovelace", "--resume")
    looked = user.drumline("answer", "step-1:look", "you may", "--comment", "but be quick", "--resume")
    landed = user.drumline("answer", "step-1:approve", "land", "--resume")
    logs, only = user.drumline("logs", "step-1").out, user.drumline("logs", "step-1/implement").out
    listed = user.drumline("logs", "step-1", "--json").json

    assert (begun.code, named.code, looked.code, landed.code) == (2, 2, 2, 0), looked.text + landed.text
    assert "step-1 waits for an answer to step-1:name\n" in begun.err
    assert "implement ended" in named.err  # beside the question
    assert "step-1:name Ada Lovelace by" in landed.out
    assert "step-1:look you may by" in landed.out
    assert ": but be quick" in landed.out
    shown = ["look#1: ended", "attempt-1.log", "I have looked", "implement#1: ended", "I have made it", "check-3-1.log"]
    assert [text for text in shown if text not in logs] == []
    assert "prompt-1.md" not in logs
    assert "I have made it" in only
    assert "I have looked" not in only
    visits, attempts = listed["visits"], listed["attempts"]
    assert isinstance(visits, list)
    assert isinstance(attempts, list)
    assert [visit["node"] for visit in visits][:3] == ["workspace", "name", "both"]
    assert len(attempts) == 3


def test_the_visits_of_a_step_that_names_no_flow_are_shown_by_their_names(user: User) -> None:
    ran = user.drumline("run", PLAN, "--agent", SCRIPTED)
    whole, visit = user.drumline("logs", "step-1").out, user.drumline("logs", "step-1/checks#1").out
    state = user.drumline("logs", "step-1/implement", "--state").out

    assert ran.code == 0
    assert whole.startswith("==> ")
    assert visit.startswith("checks#1: ended → weigh")
    assert "check-1-1.log" in visit
    assert "attempt-1.log" not in visit
    assert "attempt-1.log" in state
    assert "  state:" in state
    assert user.drumline("logs", "step-1/nowhere").code == 3


def test_a_flow_for_steps_is_told_how_it_is_walked(user: User) -> None:
    ran = user.drumline("flow", "validate", "asking")

    assert ran.code == 0
    assert "next: drumline run PLAN --flow asking" in ran.err


ADVISED = """
name: advised
start: workspace
nodes:
  workspace: {type: workspace, next: advise}
  advise: {type: llm, prompt: "advise {{step.id}}", state_updates: {advice: "{{output}}"}, next: implement}
  implement: {type: agent, agent: default, prompt: "{{initial_prompt}} {{advice}}", next: checks}
  checks: {type: check, on_pass: land, on_fail: bad}
  land: {type: land, next: done}
  done: {type: end, status: done}
  bad: {type: end, status: blocked}
"""


def test_what_models_answer_in_the_flows_of_steps_is_recorded_and_played(user: User, tmp_path: Path) -> None:
    made, more = step_text("step-1", checks=["test -f made.txt"]), step_text("step-2", checks=["test -f more.txt"])
    write_plan(user.repo / PLAN, made, more)
    place = user.repo / ".drumline" / "flows" / "advised" / "graph.yaml"
    place.parent.mkdir()
    place.write_text(ADVISED, encoding="utf-8")
    rules: list[dict[str, object]] = [
        {"match": {"step": "step-1", "node": "advise"}, "say": "begin with one"},
        {"match": {"step": "step-2", "node": "advise"}, "say": "continue with two"},
        {"match": {"step": "step-1"}, "write": {"made.txt": "made\n"}, "say": "made"},
        {"match": {"step": "step-2"}, "write": {"more.txt": "made\n"}, "say": "made"},
    ]
    write_script(user.repo / "agent.yaml", rules)
    user.commit_all("advised")
    accept_commands(user, PLAN)
    run = ("run", PLAN, "--flow", "advised", "--autonomy", "autopilot", "--require", "none")

    recorded = user.drumline(*run, "--agent", SCRIPTED, "--record", "played.yaml")
    (user.repo / "agent.yaml").unlink()
    user.git("checkout", "--", PLAN)
    played = user.drumline(*run, "--new", "--agent", "scripted:played.yaml")
    prompts = [user.drumline("logs", f"{name}/implement", "--prompt").out for name in ("step-1", "step-2")]

    assert recorded.code == 0, recorded.text
    assert "not complete" not in recorded.text
    assert played.code == 0, played.text
    assert ["begin with one" in prompts[0], "continue with two" in prompts[1]] == [True, True]
