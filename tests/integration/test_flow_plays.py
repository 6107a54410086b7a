"""The step runner's graph and the example flows come to their ends when they are played."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.acceptance.seedgraph import GRAPH, SCENARIOS, UNDEFINED, Scenario, lay_out
from tests.integration.playing import Stage, make_repository

import drumline
from drumline.core.flow.events import NodeEnded
from drumline.core.flow.inspection import Surroundings
from drumline.core.plan import Severity
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles import check_flow

EXAMPLES = Path(drumline.__file__).parents[2] / "examples" / "flows"
FLOWS = [*sorted(EXAMPLES.glob("*/graph.yaml")), *sorted(Path(drumline.__file__).parent.glob("flows/*/graph.yaml"))]

STATES = {
    "STEP_COMPLETE": "done",
    "STEP_BLOCKED": "blocked",
    "STEP_REJECTED": "rejected",
    "STEP_FAILED": "failed",
}

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="the scripts of the graph need jq")


def show_example(tmp_path: Path, name: str, *, script: str = "") -> Stage:
    """An example in a repository of its own, played by its own script unless there is another."""
    shutil.copytree(EXAMPLES, tmp_path / "repo" / "examples" / "flows")
    repo = make_repository(tmp_path / "repo")
    folder = f"examples/flows/{name}"
    return Stage(repo=repo, flow=repo / folder / "graph.yaml", script=f"scripted:{script or folder + '/play.yaml'}")


# The command line plays every scenario in `make test`, and more is asserted there (test_flow_seedgraph.py).
PLAYED = [
    pytest.param(scenario, id=scenario.name, marks=() if scenario.name == "complete" else (pytest.mark.long,))
    for scenario in SCENARIOS
]


@needs_jq
@pytest.mark.parametrize("scenario", PLAYED)
def test_the_step_runner_comes_to_its_end(tmp_path: Path, scenario: Scenario) -> None:
    repo = make_repository(lay_out(tmp_path / "repo", agents=scenario.agents))
    stage = Stage(repo=repo, flow=repo / GRAPH, script=scenario.script, variables=scenario.variables)

    end = stage.play(scenario.answers)

    assert end.output.splitlines()[0] == scenario.word, end
    assert end.status == STATES[scenario.word]
    assert {node: stage.visits[node] for node in scenario.visits} == scenario.visits


@needs_jq
def test_a_complete_step_leaves_its_work_its_handoff_and_its_status(tmp_path: Path) -> None:
    repo = make_repository(lay_out(tmp_path / "repo"))

    Stage(repo=repo, flow=repo / GRAPH, script="scripted:plays/complete.yaml").play([("ask_person", "approve")])

    assert (repo / "src/farewell.sh").read_text() == 'echo "goodbye $1"\n'
    assert "\nresult: complete\n" in (repo / "plans/handoffs/01-farewell.md").read_text()
    assert "\nstatus: complete\n" in (repo / "plans/steps/01-farewell.md").read_text()
    assert sorted(path.name for path in (repo / "plans").rglob("*.new")) == []


@needs_jq
def test_agents_that_nobody_defines_are_the_default_agent_with_a_warning(tmp_path: Path) -> None:
    repo = make_repository(lay_out(tmp_path / "repo", agents=UNDEFINED))
    stage = Stage(repo=repo, flow=repo / GRAPH, script="scripted:plays/nobody.yaml")

    stage.play([("ask_person", "approve")])

    assert [name for name in UNDEFINED.values() if not any(repr(name) in text for text in stage.warnings)] == []


def test_an_agent_works_until_the_checks_pass(tmp_path: Path) -> None:
    stage = show_example(tmp_path, "fix-until-green")

    end = stage.play()

    assert (end.status, end.output) == ("done", "The checks pass after 2 tries.")
    assert (stage.repo / "answer.txt").read_text() == "42\n"


def test_an_agent_that_never_gets_it_right_stops_after_three_tries(tmp_path: Path) -> None:
    stage = show_example(tmp_path, "fix-until-green", script="wrong.yaml")
    (stage.repo / "wrong.yaml").write_text("default: {write: {answer.txt: nothing}}\n")

    end = stage.play()

    assert end.status == "failed"
    assert stage.visits["work"] == 3


def test_release_notes_are_saved_when_a_person_likes_them(tmp_path: Path) -> None:
    stage = show_example(tmp_path, "release-notes")
    stage.variables = {"release": "1.2"}

    end = stage.play([("read", "shorter, please"), ("read#2", "save")])

    assert (end.status, end.output) == ("done", "notes-1.2.md is written.")
    assert "; the window" in (stage.repo / "notes-1.2.md").read_text()


def test_release_notes_that_nobody_wants_are_not_saved(tmp_path: Path) -> None:
    stage = show_example(tmp_path, "release-notes")

    end = stage.play([("read", "stop")])

    assert end.status == "rejected"
    assert list(stage.repo.glob("notes*")) == []


def test_every_changed_file_is_reviewed(tmp_path: Path) -> None:
    stage = show_example(tmp_path, "review-each-file")
    for name in ("a.py", "b.py", "c.py"):
        (stage.repo / name).write_text("pass\n")

    end = stage.play()

    assert end.status == "failed"
    assert end.output.startswith("1 critical findings.")
    items = {e.scope: e.output for e in stage.events if isinstance(e, NodeEnded) and e.node == "look"}
    assert [items[scope] for scope in sorted(items)] == ["nothing", "🔴 it deletes what it should keep", "nothing"]


def test_without_changed_files_nobody_is_asked(tmp_path: Path) -> None:
    end = show_example(tmp_path, "review-each-file").play()

    assert (end.status, end.output) == ("done", "No file has changed.")


def test_the_how_to_shows_the_examples_as_they_are() -> None:
    page = (EXAMPLES.parents[1] / "docs" / "how-to" / "write-your-own-flow.md").read_text(encoding="utf-8")
    graphs = [path.read_text(encoding="utf-8") for path in EXAMPLES.glob("*/graph.yaml")]

    shown = re.findall(r"```yaml\n(.*?)```", page, flags=re.DOTALL)

    assert len(shown) > 10
    assert [block for block in shown if not any(block in text for text in graphs)] == []


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.parent.name)
def test_examples_and_shipped_flows_have_no_problems(path: Path) -> None:
    reading = check_flow(path, around=Surroundings(parse_expression=SafeExpressions().check))

    assert reading.problems == ()


def test_the_step_runner_has_no_errors(tmp_path: Path) -> None:
    lay_out(tmp_path / "repo")

    problems = check_flow(tmp_path / "repo" / GRAPH).problems

    assert [problem.code for problem in problems] == ["unreachable", "derived_status"]
    assert {problem.severity for problem in problems} == {Severity.WARNING}
