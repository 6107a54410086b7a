"""Which flow a step walks: that of the step, of the command or of the configuration, else one called `step`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, leaving_nothing, make_user, step_text, write_plan
from tests.acceptance.terminals import accept_commands

FLOW = """
name: NAME
start: workspace
nodes:
  workspace: {type: workspace, next: at-NAME}
  at-NAME: {type: set, values: {seen: true}, next: implement}
  implement: {type: agent, agent: default, prompt: "{{initial_prompt}}", next: checks}
  checks: {type: check, on_pass: land, on_fail: bad}
  land: {type: land, next: done}
  done: {type: end, status: done}
  bad: {type: end, status: blocked}
"""


def write_flow(user: User, name: str) -> None:
    """A flow whose visits tell its name."""
    place = user.repo / ".drumline" / "flows" / name / "graph.yaml"
    place.parent.mkdir(parents=True)
    place.write_text(FLOW.replace("NAME", name), encoding="utf-8")


def flow_of(user: User, step: str) -> str:
    """What the flow is called that a step has walked; empty for the shipped one."""
    visits = user.drumline("logs", step, "--json").json["visits"]
    assert isinstance(visits, list)
    return next((visit["node"].removeprefix("at-") for visit in visits if visit["node"].startswith("at-")), "")


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path)
        own = step_text("step-2").replace("status: ready\n", "status: ready\nflow: own\n")
        write_plan(user.repo / PLAN, step_text("step-1"), own, step_text("step-3"))
        write_flow(user, "own")
        write_flow(user, "typed")
        yield user


def run_plan(user: User, *args: str) -> None:
    """Run the plan with what is there now, and see it land."""
    user.commit_all("prepared")
    accept_commands(user, PLAN)
    ran = user.drumline("run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot", *args)
    assert ran.code == 0, ran.text


def test_a_flow_called_step_replaces_the_shipped_one_and_a_step_s_own_flow_counts_more(user: User) -> None:
    write_flow(user, "step")

    run_plan(user)

    assert [flow_of(user, f"step-{number}") for number in (1, 2, 3)] == ["step", "own", "step"]


def test_the_configuration_names_a_flow_and_the_command_another_one_for_one_step(user: User) -> None:
    (user.repo / ".drumline" / "config.toml").write_text('flow = "own"\n', encoding="utf-8")

    run_plan(user, "--step", "step-3", "--flow", "typed")
    run_plan(user, "--new", "--step", "step-1")

    assert (flow_of(user, "step-1"), user.status()["state"]) == ("own", "done")
    listed = user.drumline("runs", "--json").json["runs"]
    assert isinstance(listed, list)
    [earlier] = {run["run"] for run in listed} - {user.status()["run"]}
    assert "at-typed" in user.drumline("logs", "step-3", "--run", earlier).out
