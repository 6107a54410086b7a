"""Where the names of flows lead, what a run keeps of flows, and how the shipped flows end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import AgentNode, Json, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.state import FlowState
from drumline.core.flow.walk import RunNode, begin_flow, conclude, start_node, walk_on
from drumline.errors import InvalidFlow, InvalidInput
from drumline.expressions.evaluation import SafeExpressions
from drumline.flowfiles import check_flow
from drumline.flowfiles.library import SHIPPED, FlowLibrary, list_flows, locate_flow
from drumline.ports.library import Callee
from drumline.profiles import Profile, Profiles

FLOW = "name: {name}\nstart: end\nnodes:\n  end: {{type: end, output: {output}}}\n"
BROKEN = "name: broken\nstart: a\nnodes:\n  a: {type: script, script: gone.sh, next: ghost}\n  end: {type: end}\n"
PROFILES = Profiles(
    agents={
        "architect": Profile(agent="command:think", tier="strong"),
        "scribe": Profile(model="acme:small"),
        "coder": Profile(agent="command:type"),
    }
)


def write_flow(path: Path, *, name: str = "small", output: str = "hello") -> Path:
    """A flow of one node."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FLOW.format(name=name, output=output), encoding="utf-8")
    return path


def open_library(tmp_path: Path, **options: object) -> FlowLibrary:
    """A library of a repository in a folder, with a default agent unless the test says otherwise."""
    found: dict[str, object] = {"default": "command:usual", **options}
    return FlowLibrary(top=tmp_path / "repo", keep=tmp_path / "logs" / "flows", **found)  # type: ignore[arg-type]


@pytest.fixture
def caller(tmp_path: Path) -> Path:
    """The folder of the flow that calls."""
    folder = tmp_path / "repo" / "flows" / "caller"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("architect", Callee(agent="command:think", tier="strong")),
        ("scribe", Callee(agent="command:usual", model="acme:small")),
        ("coder", Callee(agent="command:type")),
        ("code-reviewer", Callee(flow=SHIPPED / "code-reviewer" / "graph.yaml")),
        ("default", Callee(agent="command:usual")),
        ("scripted:play.yaml", Callee(agent="scripted:play.yaml")),
    ],
)
def test_a_name_is_a_profile_a_spec_a_shipped_flow_or_the_default(
    tmp_path: Path, caller: Path, name: str, expected: Callee
) -> None:
    assert open_library(tmp_path, profiles=PROFILES).find_callee(name, around=caller) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("architect", Callee(agent="scripted:all.yaml", tier="strong")),
        ("scribe", Callee(agent="scripted:all.yaml")),
        ("code-reviewer", Callee(flow=SHIPPED / "code-reviewer" / "graph.yaml")),
        ("default", Callee(agent="scripted:all.yaml")),
        ("command:x", Callee(agent="scripted:all.yaml")),
    ],
)
def test_an_agent_given_for_the_run_replaces_agents_but_no_flows(
    tmp_path: Path, caller: Path, name: str, expected: Callee
) -> None:
    library = open_library(tmp_path, profiles=PROFILES, override="scripted:all.yaml")

    assert library.find_callee(name, around=caller) == expected


@pytest.mark.parametrize(
    "place",
    [
        "flows/tester/graph.yaml",
        "flows/tester/graph.yml",
        "flows/tester/flow.yaml",
        "flows/caller/tester/graph.yaml",
        "flows/caller/tester.yaml",
        ".drumline/flows/tester.yaml",
        ".drumline/flows/tester/graph.yaml",
    ],
)
def test_a_flow_is_found_beside_the_caller_or_among_the_repositorys_own(
    tmp_path: Path, caller: Path, place: str
) -> None:
    path = write_flow(tmp_path / "repo" / place)

    assert open_library(tmp_path).find_callee("tester", around=caller) == Callee(flow=path)


def test_the_nearest_flow_wins_and_a_shipped_one_comes_last(tmp_path: Path, caller: Path) -> None:
    own = write_flow(tmp_path / "repo" / ".drumline" / "flows" / "coder.yaml")

    from_own = open_library(tmp_path).find_callee("coder", around=caller)
    sibling = write_flow(tmp_path / "repo" / "flows" / "coder" / "graph.yaml")
    from_sibling = open_library(tmp_path).find_callee("coder", around=caller)

    assert (from_own.flow, from_sibling.flow) == (own, sibling)


def test_packages_are_searched_for_an_agent_only_if_nothing_else_explains_its_name(
    tmp_path: Path, caller: Path
) -> None:
    asked: list[str] = []

    def list_known() -> list[str]:
        asked.append("packages")
        return ["foreign"]

    library = open_library(tmp_path, profiles=PROFILES, list_known=list_known)
    usual = [library.find_callee(name, around=caller).agent for name in ("default", "command:x", "architect")]
    before = list(asked)

    assert usual == ["command:usual", "command:x", "command:think"]
    assert before == []
    assert library.find_callee("foreign", around=caller) == Callee(agent="foreign")
    assert asked == ["packages"]


def test_a_name_that_nobody_has_is_the_default_agent_and_the_warning_says_what_to_write(
    tmp_path: Path, caller: Path
) -> None:
    library = open_library(tmp_path)

    plain = library.find_callee("wizard", around=caller)
    odd = library.find_callee("the wizard", around=caller)

    assert (plain.agent, plain.flow) == ("command:usual", None)
    assert "'wizard'" in plain.warning
    assert ".drumline/config.toml: [agents.wizard]" in plain.warning
    assert '[agents."the wizard"]' in odd.warning


@pytest.mark.parametrize("name", ["default", "wizard", "scribe"])
def test_without_any_agent_the_error_says_how_to_name_one(tmp_path: Path, caller: Path, name: str) -> None:
    library = open_library(tmp_path, default="", profiles=PROFILES)

    with pytest.raises(InvalidInput) as caught:
        library.find_callee(name, around=caller)

    assert f"{name!r}" in str(caught.value)
    assert "--agent" in caught.value.hint


def test_no_name_leads_out_of_the_repository(tmp_path: Path) -> None:
    top = tmp_path / "repo"
    top.mkdir()
    write_flow(tmp_path / "outside" / "graph.yaml")
    (top / "link").symlink_to(tmp_path / "outside")
    (top / ".drumline").mkdir()
    (top / ".drumline" / "flows").symlink_to(tmp_path / "outside")
    library = open_library(tmp_path)

    names = ("outside", "../outside", "link", "..", ".", "graph", "")
    found = [library.find_callee(name, around=top).flow for name in names]

    assert found == [None] * len(names)


def test_the_flows_that_can_be_named_are_listed_and_nothing_else(tmp_path: Path, caller: Path) -> None:
    top = tmp_path / "repo"
    write_flow(caller / "near.yaml")
    write_flow(caller.parent / "sibling" / "graph.yaml")
    write_flow(top / ".drumline" / "flows" / "own.yml")
    write_flow(tmp_path / "outside" / "graph.yaml")
    (caller / "play.yaml").write_text("default: {say: done}\n", encoding="utf-8")

    found = list_flows(around=caller, top=top)

    assert sorted(found) == [
        "approach",
        "code-reviewer",
        "coder",
        "final",
        "near",
        "own",
        "preflight",
        "sibling",
        "step",
        "step-handoff",
        "step-review",
        "step-sweep",
    ]
    assert list_flows(around=top, top=top).keys() == {
        "approach",
        "code-reviewer",
        "coder",
        "final",
        "own",
        "preflight",
        "step",
        "step-handoff",
        "step-review",
        "step-sweep",
    }


def test_a_name_that_no_flow_has_is_told_the_nearest(
    tmp_path: Path, caller: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flow(caller / "release.yaml")
    monkeypatch.chdir(caller)

    with pytest.raises(InvalidInput, match=r"no flow is called 'relase' \(there are: .*release") as refused:
        locate_flow(Path("relase"), top=tmp_path / "repo")

    assert refused.value.hint == "drumline flow run release"
    assert str(caller) in str(refused.value)
    assert locate_flow(Path("gone.yaml"), top=tmp_path / "repo") == Path("gone.yaml")


def test_a_flow_with_errors_is_refused_with_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)

    with pytest.raises(InvalidFlow) as caught:
        open_library(tmp_path).load(path)

    errors = [problem for problem in caught.value.problems if problem.severity.value == "error"]
    assert [problem.where for problem in errors] == [f"{path}:4", f"{path}:4"]
    assert caught.value.hint == f"drumline flow validate {path}"
    assert caught.value.exit_code == 3
    assert not (tmp_path / "logs").exists()


def test_a_flow_that_wants_no_validation_only_has_to_be_readable(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN + "settings: {validate_before_run: false}\n")

    assert open_library(tmp_path).load(path).name == "broken"

    unreadable = tmp_path / "unreadable.yaml"
    unreadable.write_text(BROKEN.replace("script: gone.sh, ", "") + "settings: {validate_before_run: false}\n")
    with pytest.raises(InvalidFlow):
        open_library(tmp_path).load(unreadable)


def test_an_edit_in_mid_run_counts_for_the_next_run(tmp_path: Path) -> None:
    path = write_flow(tmp_path / "one.yaml", output="first")
    loaded = open_library(tmp_path).load(path)
    write_flow(path, output="second")

    again = open_library(tmp_path).load(path)
    recalled = open_library(tmp_path).recall(loaded.path, loaded.digest)
    next_run = FlowLibrary(top=tmp_path, keep=tmp_path / "other").load(path)

    assert again == recalled == loaded
    assert recalled.path == str(path)
    assert next_run.digest != loaded.digest
    assert (tmp_path / "logs" / "flows" / f"{loaded.digest}.yaml").is_file()
    assert [file.name for file in (tmp_path / "logs" / "flows").glob(".*")] == []


def test_a_flow_is_parsed_once_however_often_a_process_looks_at_it(tmp_path: Path) -> None:
    path = write_flow(tmp_path / "one.yaml")
    checked = check_flow(path).flow

    loaded = [open_library(tmp_path).load(path) for _ in range(2)]
    recalled = [open_library(tmp_path).recall(str(path), flow.digest) for flow in loaded]

    assert checked is not None
    assert all(flow is checked for flow in (*loaded, *recalled))


def test_a_lost_copy_is_made_up_for_by_the_file_as_long_as_it_is_the_same(tmp_path: Path) -> None:
    path = write_flow(tmp_path / "one.yaml", output="first")
    library = open_library(tmp_path)
    loaded = library.load(path)
    (tmp_path / "logs" / "flows" / f"{loaded.digest}.yaml").unlink()

    assert library.recall(loaded.path, loaded.digest) == loaded

    write_flow(path, output="second")
    with pytest.raises(InvalidInput, match="not the one this run began with"):
        library.recall(loaded.path, loaded.digest)


def test_a_flow_that_is_gone_is_still_recalled(tmp_path: Path) -> None:
    path = write_flow(tmp_path / "one.yaml")
    loaded = open_library(tmp_path).load(path)
    path.unlink()

    assert open_library(tmp_path).recall(loaded.path, loaded.digest) == loaded


def run_script(node: ScriptNode, values: Mapping[str, Json], *, flow: str) -> Outcome:
    """Start a flow's script as the engine does."""
    argv = [sys.executable, str(Path(flow).parent / node.script)]
    env = {**os.environ, "GRAPH_STATE": json.dumps(dict(values))}
    ended = subprocess.run(argv, env=env, check=True, capture_output=True, text=True)
    return Outcome(output=json.loads(ended.stdout))


def play(name: str, outcome: Outcome) -> tuple[FlowEnded, list[str]]:
    """Walk a shipped flow whose agent comes to this outcome; how it ended, and the prompts the agent got."""
    reading = check_flow(SHIPPED / name / "graph.yaml", around=Surroundings(parse_expression=SafeExpressions().check))
    assert reading.flow is not None
    assert reading.problems == ()
    chart = Chart(reading.flow)
    state = fold_flow(FlowState(chart=chart), [begin_flow(chart, prompt="add a search box")])
    asked: list[str] = []

    def act(command: RunNode) -> Outcome:
        if isinstance(command.node, ScriptNode):
            return run_script(command.node, state.view(command.key), flow=chart.flow.path)
        assert isinstance(command.node, AgentNode)
        assert command.node.agent == "default"
        asked.append(command.node.prompt)
        return outcome

    while state.ended is None:
        due = walk_on(state, SafeExpressions().evaluate).due
        fold_flow(state, [start_node(command) for command in due])
        for command in due:
            fold_flow(state, conclude(state, command.key, act(command)))
    return state.ended, asked


LIES = "CODER_COMPLETE CODER_REJECTED CODER_FAILED all at once"


@pytest.mark.parametrize(
    ("outcome", "status", "word"),
    [
        (Outcome(output=LIES), "done", "CODER_COMPLETE"),
        (Outcome(failure=LIES, failure_class="permanent"), "rejected", "CODER_REJECTED"),
        (Outcome(failure=LIES, failure_class="validation"), "failed", "CODER_FAILED"),
        (Outcome(failure=LIES, failure_class="transient"), "failed", "CODER_FAILED"),
        (Outcome(failure=LIES), "failed", "CODER_FAILED"),
    ],
    ids=["concluded", "permanent", "validation", "transient", "no class"],
)
def test_the_coders_verdict_is_the_engines_whatever_the_agent_says(outcome: Outcome, status: str, word: str) -> None:
    ended, asked = play("coder", outcome)

    assert ended.status == status
    assert ended.output.splitlines()[0] == word
    assert [w for w in ("CODER_COMPLETE", "CODER_REJECTED", "CODER_FAILED") if w in ended.output] == [word]
    assert "all at once" in ended.output
    assert "{{initial_prompt}}" in asked[0]


def test_a_review_is_complete_when_the_reviewer_has_concluded() -> None:
    ended, _ = play("code-reviewer", Outcome(output="🟢 fine"))

    assert ended.status == "done"
    assert ended.output.splitlines() == ["🟢 fine", "", "REVIEW_COMPLETE"]


def test_a_reviewer_that_fails_fails_the_flow() -> None:
    ended, _ = play("code-reviewer", Outcome(failure="REVIEW_COMPLETE, or so it said", failure_class="crash"))

    assert (ended.status, ended.node, ended.output) == ("failed", "", "")
