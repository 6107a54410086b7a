"""The step runner's graph by the command line: it comes to each of its ends, wherever it is killed on the way.

The scripts are bash and jq, agents and models play a file, and nobody sits at a terminal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import yaml
from tests.acceptance.cli_flows import (
    KILLED,
    Strike,
    Walk,
    flow_user,
    needs_jq,
    read_journal,
    walk_to_end,
    work_files,
)
from tests.acceptance.cli_user import Ran, User, gates_of
from tests.acceptance.seedgraph import HERE, SCENARIOS, UNDEFINED, Scenario, lay_out

from drumline.processes import census

pytestmark = [
    needs_jq,
    pytest.mark.skipif(not census.LINUX, reason="complete only where orphans can be adopted"),
]

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
GRAPH_FILE = HERE / "stepper" / "graph.yaml"
STEP = "plans/steps/01-farewell.md"
HANDOFF = "plans/handoffs/01-farewell.md"
PROGRAM = "src/farewell.sh"
WORK = {STEP, HANDOFF, PROGRAM}
COMPLETE = "Step 1 (Say goodbye) is complete after 0 fixes and {} revisions.\nHandoff: ./plans/handoffs/01-farewell.md"
ENDS = {
    "complete": (COMPLETE.format(0), WORK),
    "blocked": ("Step 2 (Say it loudly) waits for others: step 1 has left no handoff. ", set()),
    "rejected": ("Step 1 (Say goodbye) was not carried out. The coder rejected it.", {STEP}),
    "failed": ("Step 1 (Say goodbye) failed. Two fixes did not help.", {STEP, PROGRAM}),
    "loops": (COMPLETE.format(1), WORK),
    "deviation": (COMPLETE.format(0), WORK),
    "refused": ("Step 1 (Say goodbye) was not carried out. The deviation was answered with: reject", {STEP}),
    "nobody": (COMPLETE.format(0), WORK),
}
"""What each scenario says below its word, and the files it changes."""
STATES = {
    "STEP_COMPLETE": ("done", "done"),
    "STEP_BLOCKED": ("blocked", "blocked"),
    "STEP_REJECTED": ("rejected", "rejected"),
    "STEP_FAILED": ("failed", "failed"),
}
"""The run's state and the end's status by the word of the end."""
WRITES = {"complete": 23, "loops": 60}
"""How many times a run that nobody disturbs writes to the journal."""


@pytest.fixture
def scenario(request: pytest.FixtureRequest) -> Scenario:
    """The scenario whose name a test is given."""
    return BY_NAME[request.param]


@pytest.fixture
def user(tmp_path: Path, scenario: Scenario) -> Iterator[User]:
    """Somebody with the project, the graph and the plays of a scenario."""
    lay_out(tmp_path / "repo", agents=scenario.agents)
    with flow_user(tmp_path) as user:
        yield user


def play(user: User, scenario: Scenario) -> Ran:
    """Run the scenario to its end, each answer from a process of its own; what the last one said."""
    ran = user.drumline(*scenario.command)
    for gate, answer in scenario.answers:
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert gates_of(user.status()) == [gate]
        ran = user.drumline("answer", gate, answer, "--resume")
    return ran


@pytest.mark.parametrize("scenario", BY_NAME, indirect=True)
def test_the_graph_comes_to_its_end_without_a_terminal(user: User, scenario: Scenario) -> None:
    before = work_files(user)

    ran = play(user, scenario)

    text, changed = ENDS[scenario.name]
    assert ran.code == scenario.exit_code, ran.err
    assert ran.out == f"{scenario.word}\n{text}\n"
    told = [line for line in ran.err.splitlines() if line.startswith("warning: the end ")]
    assert len(told) == (scenario.word != "STEP_COMPLETE"), ran.err
    status = user.status()
    assert (status["state"], status["status"]) == STATES[scenario.word]
    assert status["output"] == ran.out
    visits = status["visits"]
    assert isinstance(visits, dict)
    assert {node: visits.get(node, 0) for node in scenario.visits} == scenario.visits
    after = work_files(user)
    assert {name for name in after if after[name] != before.get(name)} == changed
    assert before.keys() <= after.keys()


@pytest.mark.parametrize("scenario", ["complete"], indirect=True)
def test_a_complete_step_leaves_its_work_its_handoff_and_its_status(user: User, scenario: Scenario) -> None:
    play(user, scenario)

    files = work_files(user)
    assert files[PROGRAM] == 'echo "goodbye $1"\n'
    assert "\nresult: complete\n" in files[HANDOFF]
    assert "\nstatus: complete\n" in files[STEP]


@pytest.mark.parametrize("scenario", ["nobody"], indirect=True)
def test_names_that_nobody_defines_are_warned_of_once_each(user: User, scenario: Scenario) -> None:
    ran = user.drumline(*scenario.command)

    warnings = [line for line in ran.err.splitlines() if line.startswith("warning: ")]
    assert [name for name in UNDEFINED.values() if sum(repr(name) in line for line in warnings) != 1] == []
    assert len(warnings) == len(UNDEFINED)


COMMON = {"id", "type", "description", "state_updates"}
FORMAT_KEYS = {
    "script": {*COMMON, "script", "timeout", "fallback", "next"},
    "llm": {
        *COMMON,
        *("instructions", "prompt", "tools", "output_schema", "temperature", "timeout", "max_attempts"),
        *("max_iterations", "skills_enabled", "enabled_skills", "fallback", "next"),
    },
    "agent": {*COMMON, "agent", "prompt", "timeout", "next"},
    "approval": {*COMMON, "question", "options", "routes", "on_other"},
    "end": {*COMMON, "output"},
}
"""Keys of nodes in graphs that others wrote for the format."""


def test_the_copy_has_no_key_that_the_format_lacks() -> None:
    nodes = yaml.safe_load(GRAPH_FILE.read_text())["nodes"]

    added = {f"{name}.{key}" for name, node in nodes.items() for key in node.keys() - FORMAT_KEYS[node["type"]]}

    assert added == set()


# --- killed at every write ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Trail:
    """What a walk left: its output, its visits by the journal and by `status`, and the project's files."""

    output: object
    state: object
    concluded: Counter[tuple[str, str, int]]
    visits: object
    files: Mapping[str, str]


def read_trail(user: User) -> Trail:
    """Everything a walk should leave the same however often it was killed."""
    status = user.status()
    return Trail(
        output=status["output"],
        state=status["state"],
        concluded=read_journal(user).concluded,
        visits=status["visits"],
        files=work_files(user),
    )


@cache
def undisturbed(folder: Path, name: str) -> tuple[Trail, int]:
    """What a scenario leaves if nobody disturbs it, and how many writes that takes."""
    place = folder / name
    lay_out(place / "repo")
    with flow_user(place) as user:
        walked = walk(user, BY_NAME[name], Strike())
        return read_trail(user), walked.writes


def walk(user: User, scenario: Scenario, strike: Strike) -> Walk:
    """Walk the scenario to its end through the rigged program."""
    return walk_to_end(user, scenario.command, dict(scenario.answers), strike)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the undisturbed walks are made, once per process."""
    return tmp_path_factory.mktemp("undisturbed")


def check_strike(user: User, scenario: Scenario, strike: Strike, measured: Path) -> None:
    """Kill once, bring the run to its end, and find nothing but the same."""
    expected, _ = undisturbed(measured, scenario.name)

    walked = walk(user, scenario, strike)

    assert walked.kills == 1, walked.ran[-1].err
    last = walked.ran[-1]
    assert (last.code, last.out) in ((scenario.exit_code, expected.output), (KILLED, "")), last.err
    assert [ran.out for ran in walked.ran[:-1]] == [""] * (len(walked.ran) - 1)
    found = read_trail(user)
    assert found == expected
    assert set(found.concluded.values()) == {1}


@pytest.mark.parametrize("name", ["complete", pytest.param("loops", marks=pytest.mark.long)])
def test_the_enumeration_covers_every_write(name: str, measured: Path) -> None:
    trail, writes = undisturbed(measured, name)

    assert writes == WRITES[name]
    assert trail.state == "done"
    assert set(trail.concluded.values()) == {1}


def list_strikes(name: str) -> list[object]:
    """Both sides of every write. All are long but five of `complete`, from one side each, which take turns.

    A kill after one write and a kill before the next leave the same journal.
    """
    found: list[object] = []
    for nth in range(1, WRITES[name] + 1):
        for when in ("before", "after"):
            short = name == "complete" and nth % 8 == {"after": 1, "before": 4}[when]
            marks = () if short else (pytest.mark.long,)
            found.append(pytest.param(name, Strike(nth=nth, when=when), id=f"{name}-{when}-{nth}", marks=marks))
    return found


@pytest.mark.parametrize(
    ("scenario", "strike"), [*list_strikes("complete"), *list_strikes("loops")], indirect=["scenario"]
)
def test_a_run_ends_the_same_wherever_it_is_killed(
    user: User, scenario: Scenario, strike: Strike, measured: Path
) -> None:
    check_strike(user, scenario, strike, measured)
