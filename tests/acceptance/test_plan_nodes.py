"""Flows that add a step to the plan and leave documents, in a real repository."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.cli_user import User, gates_of, make_user, states_of, step_text

HEALING = """
name: healing
start: workspace
nodes:
  workspace: {type: workspace, next: work}
  work: {type: agent, agent: default, prompt: "{{initial_prompt}}", next: checks}
  checks: {type: check, on_pass: land, on_fail: again}
  again: {type: route, cases: [{when: "step.heals < 1", to: heal}], otherwise: stuck}
  heal:
    type: plan
    cause: heal
    title: "Make {{step.id}} possible"
    what: "Write what `{{check.failed}}` needs."
    why: "It fails."
    test: "test -f ground.txt"
    next: healing
  healing: {type: end, status: blocked, output: "waits for {{plan.step}}"}
  land: {type: land, next: summary}
  summary: {type: document, kind: summary, template: "# {{step.id}} is done", next: done}
  done: {type: end, status: done}
  stuck: {type: end, status: blocked, output: "{{check.failed}} fails{{check.ways}}"}
"""
TELLING = """
name: telling
start: tell
nodes:
  tell: {type: document, kind: brief, template: "About {{initial_prompt}}", sections: [], next: done}
  done: {type: end, status: done, output: "{{document.text}}"}
"""


def write_flow(user: User, name: str, text: str) -> None:
    place = user.repo / ".drumline" / "flows" / f"{name}.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")
    user.commit_all(name)


def test_a_corrective_step_gets_a_file_and_its_step_another_round(tmp_path: Path) -> None:
    check = "test -f step-1.txt && test -f ground.txt"
    user = make_user(tmp_path, step_text("step-1", checks=[check]), step_text("step-2", ["step-1"]))
    write_flow(user, "healing", HEALING)
    user.play({"match": {"step": "step-1h"}, "write": {"ground.txt": "firm\n"}})

    asked = user.run("--flow", "healing")
    [gate] = gates_of(user.status())
    ran = user.drumline("answer", gate, "yes", "--resume")

    assert (asked.code, gate.startswith("trust-step-1h.")) == (2, True), asked.text
    assert "check: test -f ground.txt" in asked.err
    assert ran.code == 0, ran.text
    assert states_of(user.status()) == {"step-1": "done", "step-1h": "done", "step-2": "done"}
    assert "depends_on: [step-1h]" in user.file("step-1")
    assert "# step-1h: Make step-1 possible" in user.file("step-1h")
    assert "status: done" in user.file("step-1h")
    assert "step-1 adds to the plan (heal): step-1h" in asked.err
    assert "step-1 gets another round: its corrective step step-1h is done" in ran.err
    assert "step-2: summary written" in ran.err
    assert user.git("log", "--format=%s", f"main..{user.branch()}").splitlines()[-1] == "[step-1h] Make step-1 possible"


def test_a_step_that_fails_although_its_corrective_step_landed_says_what_was_tried(tmp_path: Path) -> None:
    user = make_user(tmp_path, step_text("step-1", checks=["test -f nowhere.txt"]), step_text("step-2", ["step-1"]))
    write_flow(user, "healing", HEALING)
    user.play({"match": {"step": "step-1h"}, "write": {"ground.txt": "firm\n"}})

    user.run("--flow", "healing")
    ran = user.drumline("answer", gates_of(user.status())[0], "yes", "--resume")

    assert ran.code == 2, ran.text
    assert states_of(user.status()) == {"step-1": "blocked", "step-1h": "done", "step-2": "waiting"}
    assert "test -f nowhere.txt fails; tried: step-1h (Make step-1 possible): done" in ran.err


def test_a_flow_by_itself_leaves_documents_too(tmp_path: Path) -> None:
    user = make_user(tmp_path)
    write_flow(user, "telling", TELLING)

    ran = user.drumline("flow", "run", "telling", "--prompt", "the weather")

    assert ran.code == 0, ran.text
    assert "About the weather" in ran.out
    assert "flow: brief written" in ran.err
