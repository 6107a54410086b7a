"""Flow files on disk: what is read, and what is said about what cannot be. Every problem has its line."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from tools.docs.flowformat import EXAMPLE

from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import (
    REDUCERS,
    AgentNode,
    ApprovalNode,
    CheckNode,
    EndNode,
    Flow,
    InputNode,
    LlmNode,
    MapNode,
    Node,
    NodeId,
    RagNode,
    RouteNode,
    ScriptNode,
    SetNode,
    Variable,
)
from drumline.flowfiles import FlowReading, check_flow, read_flow

SIMPLE = """\
name: simple
start: begin
nodes:
  begin: {type: agent, agent: coder, prompt: Go., next: finish}
  finish: {type: end}
"""
HEAD = "name: f\nstart: n\nnodes:\n"


def bomb() -> str:
    """Nine lines that stand for a billion texts."""
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 9)]
    return "\n".join(lines) + "\n" + HEAD + "  n: {type: end}\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(folder: Path, text: str) -> FlowReading:
    (folder / "graph.yaml").write_text(text, encoding="utf-8")
    return read_flow(Path("graph.yaml"))


def told(reading: FlowReading) -> list[tuple[str, str]]:
    return [(problem.where.removeprefix("graph.yaml:"), problem.code) for problem in reading.problems]


def sound(reading: FlowReading) -> Flow:
    assert reading.problems == ()
    assert reading.flow is not None
    return reading.flow


def only(folder: Path, node: str) -> Node:
    """The node `n` of a flow that has no other."""
    return sound(read(folder, f"{HEAD}  n: {node}\n")).nodes[NodeId("n")]


def test_a_simple_flow_is_read_with_ids_lines_and_defaults(folder: Path) -> None:
    found = sound(read(folder, SIMPLE))

    assert (found.name, found.start, found.version, found.path) == ("simple", "begin", "1.0", "graph.yaml")
    assert [(node.id, node.line) for node in found.nodes.values()] == [("begin", 4), ("finish", 5)]
    assert found.nodes[NodeId("begin")].next == ("finish",)
    assert (found.settings.max_loop_iterations, found.settings.max_concurrency) == (100, 8)
    assert (found.settings.log_state_snapshots, found.settings.validate_before_run) == (True, True)
    assert found.settings.timeout is None
    assert (found.reducers, found.initial_state, found.variables) == ({}, {}, ())


def test_the_digest_is_that_of_the_bytes(folder: Path) -> None:
    first = sound(read(folder, SIMPLE)).digest
    again = sound(read(folder, SIMPLE)).digest
    other = sound(read(folder, SIMPLE + "# more\n")).digest

    assert first == again != other


def test_keys_of_the_whole_flow_are_read(folder: Path) -> None:
    text = """\
        model: provider:m
        temperature: 0.5
        top_p: 1
        reasoning_effort: high
        global_tools: [fs_cat.sh]
        mcp_servers: [docs]
        skills_enabled: true
        enabled_skills: [code-review]
        inject_skill_instructions: false
        skill_instructions: Load them.
        conversation_starters: ["Do it"]
        enabled_macros: [ignored]
        variables:
          - {name: step, description: Which., default: next}
          - name: bare
        settings: {max_loop_iterations: 50, timeout: 300, log_state_snapshots: false, max_concurrency: 16}
        initial_state: {name: Alice, age: 42, ok: true, none: null, deep: {list: [1, 2.5, "3", yes]}}
        """
    found = sound(read(folder, SIMPLE + "\n".join(line[8:] for line in text.splitlines())))

    assert (found.model, found.temperature, found.top_p, found.reasoning_effort) == ("provider:m", 0.5, 1.0, "high")
    assert (found.global_tools, found.mcp_servers) == (("fs_cat.sh",), ("docs",))
    assert (found.skills_enabled, found.enabled_skills) == (True, ("code-review",))
    assert (found.inject_skill_instructions, found.skill_instructions) == (False, "Load them.")
    assert found.variables == (Variable(name="step", description="Which.", default="next"), Variable(name="bare"))
    assert (found.settings.max_loop_iterations, found.settings.timeout, found.settings.max_concurrency) == (50, 300, 16)
    assert (found.settings.log_state_snapshots, found.settings.validate_before_run) == (False, True)
    deep = {"list": [1, 2.5, "3", "yes"]}
    assert found.initial_state == {"name": "Alice", "age": 42, "ok": True, "none": None, "deep": deep}


def test_every_reducer_is_known(folder: Path) -> None:
    text = SIMPLE + "reducers: {" + ", ".join(f"{name}_key: {name}" for name in REDUCERS) + "}\n"

    assert sound(read(folder, text)).reducers == {f"{name}_key": name for name in REDUCERS}


NODES: Mapping[str, tuple[str, type[Node], Mapping[str, object]]] = {
    "agent": (
        "{type: agent, agent: coder, prompt: p}",
        AgentNode,
        {"agent": "coder", "prompt": "p", "timeout": 300.0, "output_schema": None, "state_updates": None},
    ),
    "agent with a fallback": (
        "{type: agent, agent: coder, prompt: p, fallback: n}",
        AgentNode,
        {"fallback": "n", "next": ()},
    ),
    "script": ("{type: script, script: s.sh}", ScriptNode, {"script": "s.sh", "fallback": None, "timeout": 30.0}),
    "script with everything": (
        "{id: n, type: script, description: d, script: s.py, fallback: n, timeout: 5, state_updates: {}, next: [n]}",
        ScriptNode,
        {"description": "d", "fallback": "n", "timeout": 5.0, "state_updates": {}, "next": ("n",)},
    ),
    "approval": (
        '{type: approval, question: q, options: ["yes", no], routes: {yes: n, "no": n}, on_other: n}',
        ApprovalNode,
        {"options": ("yes", "no"), "routes": {"yes": "n", "no": "n"}, "on_other": "n"},
    ),
    "input": ("{type: input, question: q}", InputNode, {"default": None, "validation": None}),
    "input with everything": (
        "{type: input, question: q, default: '{{d}}', validation: len(input) > 0, state_updates: {k: '{{input}}'}}",
        InputNode,
        {"default": "{{d}}", "validation": "len(input) > 0", "state_updates": {"k": "{{input}}"}},
    ),
    "llm": (
        "{type: llm, prompt: p}",
        LlmNode,
        {"max_attempts": 1, "max_iterations": 10, "tools": None, "timeout": None, "enabled_skills": None},
    ),
    "llm with everything": (
        "{type: llm, prompt: p, instructions: i, tools: [a, 'mcp:b'], model: m, temperature: 0, top_p: 0.9, "
        "reasoning_effort: low, fallback: n, max_attempts: 3, max_iterations: 4, timeout: 9, skills_enabled: true, "
        "enabled_skills: [s], output_schema: {type: object, properties: {a: {type: string}}}}",
        LlmNode,
        {
            "tools": ("a", "mcp:b"),
            "temperature": 0.0,
            "fallback": "n",
            "max_attempts": 3,
            "max_iterations": 4,
            "timeout": 9.0,
            "enabled_skills": ("s",),
            "output_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
    ),
    "map": (
        "{type: map, over: '{{items}}', as: item, branch: n, collect_into: all}",
        MapNode,
        {"over": "{{items}}", "item": "item", "branch": "n", "output_key": "output", "max_concurrency": None},
    ),
    "rag": (
        "{type: rag, documents: [./a/], query: '{{topic}}', top_k: 6, chunk_size: 1000, next: n}",
        RagNode,
        {"documents": ("./a/",), "query": "{{topic}}", "top_k": 6, "timeout": 120.0},
    ),
    "map with everything": (
        "{type: map, over: o, as: i, branch: n, collect_into: c, output_key: k, max_concurrency: 2}",
        MapNode,
        {"item": "i", "collect_into": "c", "output_key": "k", "max_concurrency": 2},
    ),
    "check": (
        "{type: check, checks: [make test], on_pass: n, on_fail: n}",
        CheckNode,
        {"checks": ("make test",), "passed": "n", "failed": "n", "into": "check", "timeout": 1200.0},
    ),
    "route": ("{type: route, cases: [{when: a > 1, to: n}], otherwise: n}", RouteNode, {"otherwise": "n"}),
    "set": ("{type: set, values: {a: 1, b: ['{{c}}']}}", SetNode, {"values": {"a": 1, "b": ["{{c}}"]}}),
    "end": ("{type: end}", EndNode, {"output": "", "status": None}),
    "end with everything": (
        "{type: end, output: '{{a}}', status: rejected, state_updates: {a: b}}",
        EndNode,
        {"output": "{{a}}", "status": "rejected", "state_updates": {"a": "b"}},
    ),
    "nothing written means the default": ("{type: end, output: , next: ~}", EndNode, {"output": "", "next": ()}),
    "unknown keys mean nothing": ("{type: end, colour: red}", EndNode, {"output": ""}),
}


@pytest.mark.parametrize(("text", "kind", "values"), NODES.values(), ids=NODES.keys())
def test_every_kind_of_node_is_read(folder: Path, text: str, kind: type[Node], values: Mapping[str, object]) -> None:
    node = only(folder, text)

    assert type(node) is kind
    assert {name: getattr(node, name) for name in values} == values


def test_a_list_of_one_next_is_that_one(folder: Path) -> None:
    one = only(folder, "{type: end, next: n}")
    several = only(folder, "{type: end, next: [n, n, n]}")

    assert one == only(folder, "{type: end, next: [n]}")
    assert several.next == ("n", "n", "n")


FAULTS: Mapping[str, tuple[str, list[tuple[str, str]], str]] = {
    "the start is not a node": (
        SIMPLE.replace("start: begin", "start: begn"),
        [("2", "unknown_start")],
        "'begn', which is not a node; did you mean 'begin'?",
    ),
    "the name is empty": (SIMPLE.replace("name: simple", 'name: ""'), [("1", "empty_name")], "give it one"),
    "there are no nodes": ("name: f\nstart: n\nnodes: {}\n", [("3", "no_nodes")], "has no nodes"),
    "nodes are a list": ("name: f\nstart: n\nnodes: [n]\n", [("3", "bad_value")], "mapping from ids to nodes"),
    "the version is another": (SIMPLE + 'version: "2.0"\n', [("6", "bad_version")], '"1.0"'),
    "the version is a number": (SIMPLE + "version: 1.0\n", [("6", "bad_value")], "put it in quotes"),
    "an id differs from its key": (f"{HEAD}  n:\n    type: end\n    id: m\n", [("6", "id_mismatch")], "'m'"),
    "a type nobody knows": (f"{HEAD}  n: {{type: nonsense}}\n", [("4", "unknown_type")], "use one of script, agent"),
    "a type nearly known": (f"{HEAD}  n: {{type: scrpt}}\n", [("4", "unknown_type")], "did you mean 'script'?"),
    "no type": (f"{HEAD}  n: {{next: n}}\n", [("4", "missing_field")], "lacks `type`"),
    "rag without documents": (f"{HEAD}  n:\n    type: rag\n", [("4", "missing_field")], "lacks `documents`"),
    "a node is a text": (f"{HEAD}  n: end\n", [("4", "bad_value")], "node 'n' must be a mapping, not 'end'"),
    "no start": (
        "name: f\nnodes:\n  n: {type: end}\n",
        [("1", "missing_field")],
        "lacks `start`; add the id of a node",
    ),
    "nothing but a comment": ("# nothing\n", [("1", "not_a_mapping")], "start with `name:`"),
    "an empty file": ("", [("1", "not_a_mapping")], "must be a mapping"),
    "no prompt": (f"{HEAD}  n: {{type: llm}}\n", [("4", "missing_field")], "node 'n' (llm) lacks `prompt`"),
    "an empty required key": (f"{HEAD}  n:\n    type: llm\n    prompt:\n", [("4", "missing_field")], "lacks `prompt`"),
    "a question without answers": (
        f"{HEAD}  n: {{type: approval, question: q}}\n",
        [("4", "missing_field")] * 3,
        "lacks `on_other`",
    ),
    "a text where a list is due": (
        f"{HEAD}  n: {{type: llm, prompt: p, tools: fs_cat}}\n",
        [("4", "bad_value")],
        "must be a list of texts, not 'fs_cat'; write ['fs_cat']",
    ),
    "a number among texts": (
        f"{HEAD}  n:\n    type: llm\n    prompt: p\n    tools:\n      - a\n      - 7\n",
        [("9", "bad_value")],
        "must be a text, not 7; put it in quotes",
    ),
    "a truth value for an update": (
        f"{HEAD}  n:\n    type: end\n    state_updates:\n      ok: true\n",
        [("7", "bad_value")],
        "must be a text, not true; put it in quotes",
    ),
    "a text for a flag": (SIMPLE + "skills_enabled: maybe\n", [("6", "bad_value")], "true or false"),
    "a truth value for a number": (
        SIMPLE + "settings:\n  max_concurrency: true\n",
        [("7", "bad_value")],
        "whole number",
    ),
    "a negative number": (SIMPLE + "settings: {max_concurrency: -1}\n", [("6", "bad_value")], "above 0, not -1"),
    "half a number": (SIMPLE + "settings: {max_concurrency: 1.5}\n", [("6", "bad_value")], "not 1.5"),
    "no time at all": (f"{HEAD}  n: {{type: script, script: s.sh, timeout: 0}}\n", [("4", "bad_value")], "above 0"),
    "a status nobody knows": (
        f"{HEAD}  n: {{type: end, status: great}}\n",
        [("4", "bad_value")],
        "one of done, failed, blocked, rejected, not 'great'",
    ),
    "a reducer nobody knows": (
        SIMPLE + "reducers:\n  a: append\n  b: avg\n",
        [("8", "bad_value")],
        "a reducer for 'b'",
    ),
    "a case without target": (
        f"{HEAD}  n:\n    type: route\n    otherwise: n\n    cases:\n      - when: a\n",
        [("8", "missing_field")],
        "lacks `to`",
    ),
    "a variable without name": (SIMPLE + "variables:\n  - default: 1\n", [("7", "missing_field")], "lacks `name`"),
    "a state that is a list": (SIMPLE + "initial_state: [1]\n", [("6", "bad_value")], "must be a mapping, not a list"),
    "a next that is a mapping": (f"{HEAD}  n: {{type: end, next: {{a: b}}}}\n", [("4", "bad_value")], "not a mapping"),
    "a next that is a number": (f"{HEAD}  n: {{type: end, next: 1}}\n", [("4", "bad_value")], "put it in quotes"),
    "an id that cannot be printed": (f'{HEAD}  n: {{type: end}}\n  "a\\nb": {{type: end}}\n', [("5", "bad_id")], ""),
    "a key that is written twice": (
        f"{HEAD}  n: {{type: end}}\n  n: {{type: end}}\n",
        [("5", "duplicate_key")],
        "keep one",
    ),
    "bad indentation": (f"{HEAD}  n:\n   type: end\n  id: n\n next: x\n", [("7", "bad_yaml")], "malformed YAML"),
    "an alias of nothing": (f"{HEAD}  n: {{type: end}}\n  m: *a\n", [("5", "yaml_alias")], "stands for nothing"),
    "a bomb of aliases": (bomb(), [("6", "yaml_alias")], "more than 1,000,000 values"),
    "a tag": (f"{HEAD}  n: !!python/name:os.system x\n", [("4", "yaml_tag")], "remove it"),
    "two documents": (SIMPLE + "---\n" + SIMPLE, [("6", "bad_yaml")], "a second YAML document"),
    "a list for a key": (f"{HEAD}  ? [a]\n  : b\n", [("4", "bad_yaml")], "used as a key"),
    "a control character": (SIMPLE + "description: a\x01b\n", [("6", "bad_yaml")], "character"),
    "too deep": (SIMPLE + "initial_state: {a: " + "[" * 60 + "]" * 60 + "}\n", [("6", "bad_yaml")], "levels deep"),
    "everything at once": (
        'name: ""\nversion: "3"\nstart: x\nnodes:\n  a: {type: llm}\n  b: {type: rags}\n',
        [
            ("2", "bad_version"),
            ("1", "empty_name"),
            ("5", "missing_field"),
            ("6", "unknown_type"),
            ("3", "unknown_start"),
        ],
        "",
    ),
}


@pytest.mark.parametrize(("text", "expected", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_what_cannot_be_read_is_told_with_its_line(
    folder: Path, text: str, expected: list[tuple[str, str]], said: str
) -> None:
    found = read(folder, text)

    assert told(found) == expected
    assert said in "\n".join(problem.message for problem in found.problems)
    assert [
        problem.message for problem in found.problems if ";" not in problem.message and ":" not in problem.message
    ] == []
    assert found.flow is None


MISSPELT: Mapping[str, tuple[str, str, str]] = {
    "in the flow": (SIMPLE + "initial_sate: {}\n", "6", "did you mean 'initial_state'?"),
    "in the settings": (SIMPLE + "settings:\n  max_concurency: 3\n", "7", "did you mean 'max_concurrency'?"),
    "in a node": (f"{HEAD}  n:\n    type: end\n    ouput: x\n", "6", "did you mean 'output'?"),
}


@pytest.mark.parametrize(("text", "line", "said"), MISSPELT.values(), ids=MISSPELT.keys())
def test_a_misspelt_key_is_worth_a_word_and_no_more(folder: Path, text: str, line: str, said: str) -> None:
    found = read(folder, text)

    assert told(found) == [(line, "misspelt_key")]
    assert said in found.problems[0].message
    assert found.flow is not None


def test_a_key_that_looks_like_one_that_is_there_is_not_misspelt(folder: Path) -> None:
    text = f"{HEAD}  n: {{type: end, output: a, outputs: b}}\n"

    assert told(read(folder, text)) == []


def test_files_that_are_none_are_refused(folder: Path) -> None:
    (folder / "dir.yaml").mkdir()
    os.mkfifo(folder / "pipe.yaml")
    (folder / "latin.yaml").write_bytes(b"name: f\nstart: caf\xe9\n")

    found = {name: read_flow(Path(f"{name}.yaml")).problems for name in ("dir", "pipe", "latin", "gone")}
    odd = read_flow(Path("a\0b")).problems

    assert {name: (p[0].where, p[0].code) for name, p in found.items()} == {
        "dir": ("dir.yaml:1", "not_a_file"),
        "pipe": ("pipe.yaml:1", "not_a_file"),
        "latin": ("latin.yaml:2", "not_utf8"),
        "gone": ("gone.yaml:1", "missing_file"),
    }
    assert [problem.code for problem in odd] == ["unreadable"]


def test_a_file_too_large_is_not_parsed(folder: Path) -> None:
    with (folder / "huge.yaml").open("wb") as file:
        file.truncate(17 * 1024 * 1024)

    assert [problem.code for problem in read_flow(Path("huge.yaml")).problems] == ["file_too_large"]


def test_marks_and_line_ends_of_other_systems_do_no_harm(folder: Path) -> None:
    (folder / "graph.yaml").write_bytes(b"\xef\xbb\xbf" + SIMPLE.replace("\n", "\r\n").encode())

    found = sound(read_flow(Path("graph.yaml")))

    assert [node.line for node in found.nodes.values()] == [4, 5]


def test_graph_rules_are_told_with_exact_lines_even_if_the_file_has_other_errors(folder: Path) -> None:
    text = """\
name: f
start: gate
settings:
  max_concurrency: 0
nodes:
  gate:
    type: approval
    question: Go on?
    options:
      - go
      - stop
    routes:
      go: work
      halt: done
    on_other: done
  work:
    type: script
    script: scripts/work.sh
    next:
      - done
      - dnoe
  choose:
    type: route
    cases:
      - when: good
        to: done
      - when: "bad =="
        to: done
    otherwise: done
  broken:
    type: llm
  done:
    type: end
"""
    (folder / "graph.yaml").write_text(text)
    around = Surroundings(parse_expression=lambda when: "ends too early" if when.endswith("==") else "")

    found = check_flow(Path("graph.yaml"), around=around)

    assert told(found) == [
        ("30", "missing_field"),
        ("21", "unknown_node"),
        ("22", "unreachable"),
        ("30", "dead_end"),
        ("11", "option_without_route"),
        ("14", "route_without_option"),
        ("18", "missing_script"),
        ("27", "bad_expression"),
        ("4", "zero_limit"),
    ]
    assert found.flow is None
    assert found.draft is not None


def test_scripts_are_looked_for_beside_the_flow(folder: Path) -> None:
    (folder / "flows" / "scripts").mkdir(parents=True)
    (folder / "flows" / "scripts" / "work.sh").write_text("echo {}\n")
    flow = folder / "flows" / "graph.yaml"
    flow.write_text(f"{HEAD}  n: {{type: script, script: scripts/work.sh, next: e}}\n  e: {{type: end}}\n")

    before = check_flow(flow)
    (folder / "flows" / "scripts" / "work.sh").unlink()
    after = check_flow(flow)

    assert before.problems == ()
    assert before.flow is not None
    assert [problem.code for problem in after.problems] == ["missing_script"]


def test_a_flow_with_a_fix_loop_and_a_revision_loop_is_valid(folder: Path) -> None:
    """The shape of a whole step: scripts that route, gates, agents, models, and two ways back to the work."""
    for name in ("find", "weigh", "judge", "lint", "test", "again"):
        (folder / f"{name}.sh").write_text("echo {}\n")
    (folder / "graph.yaml").write_text(STEP)

    found = check_flow(Path("graph.yaml"))

    assert found.errors == ()
    assert {problem.code for problem in found.problems} == {"unreachable"}
    assert found.flow is not None
    assert len(found.flow.nodes) == 16


def test_the_example_of_the_reference_page_is_valid(folder: Path) -> None:
    (folder / "graph.yaml").write_text(EXAMPLE.removeprefix("```yaml\n").removesuffix("```"), encoding="utf-8")

    found = check_flow(Path("graph.yaml"))

    assert found.problems == ()


STEP = """\
name: one-step
version: "1.0"
variables:
  - {name: step, description: Which one., default: next}
settings: {max_loop_iterations: 20, timeout: 7200}
initial_state: {feedback: "", tries: 0}
start: find
nodes:
  find: {type: script, script: find.sh, fallback: lost, next: look}
  blocked: {type: approval, question: "{{reason}}", options: [go, stop], routes: {go: look, stop: held}, on_other: held}
  look:
    type: llm
    prompt: "{{plan}}"
    tools: [fs_cat, execute_command]
    output_schema: {type: object, properties: {brief: {type: string}}, required: [brief]}
    fallback: lost
    next: weigh
  weigh: {type: script, script: weigh.sh, timeout: 5, fallback: work}
  work:
    type: agent
    agent: coder
    prompt: "{{brief}} {{feedback}}"
    timeout: 3600
    state_updates: {result: "{{output}}"}
    next: judge
  judge: {type: script, script: judge.sh, fallback: lost}
  lint: {type: script, script: lint.sh, fallback: again}
  test: {type: script, script: test.sh, fallback: again}
  again: {type: script, script: again.sh, fallback: lost}
  sweep: {type: llm, prompt: "{{result}}", fallback: report, next: report}
  report: {type: llm, prompt: "{{result}}", fallback: lost, next: review}
  review:
    type: approval
    question: Good?
    options: [approve, revise]
    routes: {approve: done, revise: ask}
    on_other: ask
    state_updates: {feedback: "{{choice}}"}
  ask: {type: input, question: What?, validation: len(input) > 0, state_updates: {feedback: "{{input}}"}, next: work}
  done: {type: end, output: "DONE {{result}}"}
  held: {type: end, output: HELD, status: blocked}
  lost: {type: end, output: LOST, status: failed}
"""


def write_chain(path: Path, count: int) -> Path:
    lines = ["name: chain", "start: n0", "nodes:"]
    for i in range(count):
        lines += [f"  n{i}:", "    type: llm", "    prompt: '{{a}}'", f"    next: n{i + 1}"]
    path.write_text("\n".join([*lines, f"  n{count}:", "    type: end", ""]))
    return path


@pytest.mark.long
def test_a_node_costs_the_same_in_a_file_ten_times_as_large(folder: Path) -> None:
    small, large = write_chain(folder / "small.yaml", 1_000), write_chain(folder / "large.yaml", 10_000)
    ratios: list[float] = []

    for _ in range(3):
        started = time.perf_counter()
        for _ in range(10):
            assert check_flow(small).flow is not None
        between = time.perf_counter()
        assert check_flow(large).flow is not None
        ratios.append((time.perf_counter() - between) / (between - started))

    assert min(ratios) <= 1.5


def test_aliases_and_merged_keys_mean_what_they_stand_for(folder: Path) -> None:
    text = (
        "name: f\nstart: a\nbase: &base {type: script, script: s.sh, timeout: 7}\nnodes:\n"
        "  a: {<<: *base, next: b}\n  b: {<<: *base, timeout: 9, next: &last [c]}\n"
        "  d: {<<: [{timeout: 1}, *base], next: *last}\n  c: {type: end}\n"
    )

    flow = sound(read(folder, text))

    scripts = {name: node for name, node in flow.nodes.items() if isinstance(node, ScriptNode)}
    assert {name: (node.script, node.timeout, node.next) for name, node in scripts.items()} == {
        "a": ("s.sh", 7.0, ("b",)),
        "b": ("s.sh", 9.0, ("c",)),
        "d": ("s.sh", 1.0, ("c",)),
    }
