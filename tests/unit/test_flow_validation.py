"""Flows as graphs: what is legal, what is not, and what is only worth a word. One table per family of rules."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Collection, Mapping
from importlib.resources import files
from pathlib import Path

import pytest
from tools.docs.flowproblems import FLOW_PROBLEMS
from tools.docs.flowschema import flow_schema, render_schema

import drumline
from drumline.core.flow.edges import EdgeKind, edges_of, fan_out, plain_cycles, reachable
from drumline.core.flow.fields import FLOW_FIELDS
from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.kinds import KINDS, kind_name
from drumline.core.flow.model import (
    AgentNode,
    ApprovalNode,
    Case,
    CheckNode,
    DocumentNode,
    EndNode,
    Flow,
    FlowSettings,
    InputNode,
    Json,
    LandNode,
    LlmNode,
    MapNode,
    Node,
    NodeId,
    PlanNode,
    RagNode,
    RouteNode,
    ScriptNode,
    SetNode,
    SettleNode,
    WorkspaceNode,
)
from drumline.core.flow.validation import validate
from drumline.core.plan import Problem, Severity
from drumline.record import replace

SOURCE = Path(drumline.__file__).parent
OBJECT: Mapping[str, Json] = {"type": "object", "properties": {"summary": {"type": "string"}}}


def ids(*names: str) -> tuple[NodeId, ...]:
    return tuple(NodeId(name) for name in names)


def script(name: str, *following: str, fallback: str = "", updates: Mapping[str, str] | None = None) -> ScriptNode:
    back = NodeId(fallback) if fallback else None
    return ScriptNode(id=NodeId(name), script="s.sh", next=ids(*following), fallback=back, state_updates=updates)


def agent(
    name: str,
    *following: str,
    prompt: str = "go",
    called: str = "coder",
    fallback: str = "",
    updates: Mapping[str, str] | None = None,
) -> AgentNode:
    back = NodeId(fallback) if fallback else None
    return AgentNode(
        id=NodeId(name), agent=called, prompt=prompt, next=ids(*following), fallback=back, state_updates=updates
    )


def llm(
    name: str,
    *following: str,
    prompt: str = "go",
    fallback: str = "",
    updates: Mapping[str, str] | None = None,
    schema: Mapping[str, Json] | None = None,
    tools: tuple[str, ...] | None = None,
    model: str | None = None,
    skills: tuple[str, ...] | None = None,
    attempts: int = 1,
) -> LlmNode:
    return LlmNode(
        id=NodeId(name),
        prompt=prompt,
        next=ids(*following),
        fallback=NodeId(fallback) if fallback else None,
        state_updates=updates,
        output_schema=schema,
        tools=tools,
        model=model,
        enabled_skills=skills,
        max_attempts=attempts,
    )


def approval(name: str, *, options: str = "yes no", other: str = "end", **routes: str) -> ApprovalNode:
    targets = {answer: NodeId(target) for answer, target in routes.items()}
    words = tuple(options.split())
    return ApprovalNode(id=NodeId(name), question="?", options=words, routes=targets, on_other=NodeId(other))


def ask(name: str, *following: str, validation: str | None = None) -> InputNode:
    return InputNode(id=NodeId(name), question="?", validation=validation, next=ids(*following))


def over(
    name: str,
    branch: str,
    *following: str,
    items: str = "{{items}}",
    key: str = "output",
    cap: int | None = None,
    into: str = "all",
) -> MapNode:
    return MapNode(
        id=NodeId(name),
        over=items,
        item="item",
        branch=NodeId(branch),
        collect_into=into,
        output_key=key,
        max_concurrency=cap,
        next=ids(*following),
    )


def check(name: str, passed: str, failed: str, *commands: str) -> CheckNode:
    return CheckNode(id=NodeId(name), checks=commands or ("true",), passed=NodeId(passed), failed=NodeId(failed))


def route(name: str, otherwise: str, **cases: str) -> RouteNode:
    found = tuple(Case(when=when, to=NodeId(to)) for when, to in cases.items())
    return RouteNode(id=NodeId(name), cases=found, otherwise=NodeId(otherwise))


def put(name: str, *following: str, **values: Json) -> SetNode:
    return SetNode(id=NodeId(name), values=values, next=ids(*following))


def end(name: str = "end") -> EndNode:
    return EndNode(id=NodeId(name))


def flow(
    *nodes: Node, reducers: Mapping[str, str] | None = None, skills: tuple[str, ...] | None = None, **settings: int
) -> Flow:
    """A flow that starts at its first node; everything is on line 1."""
    return Flow(
        name="f",
        path="f.yaml",
        start=nodes[0].id,
        nodes={node.id: node for node in nodes},
        reducers=reducers or {},
        enabled_skills=skills,
        settings=FlowSettings(**settings),  # type: ignore[arg-type]
    )


def told(problems: Collection[Problem]) -> list[str]:
    return [f"{'E' if problem.severity is Severity.ERROR else 'W'} {problem.code}" for problem in problems]


def fan(*workers: Node, reducers: Mapping[str, str] | None = None) -> Flow:
    """A start that leads to all workers at the same time, which lead to the end."""
    return flow(put("start", *(worker.id for worker in workers)), *workers, end(), reducers=reducers)


GRAPHS: Mapping[str, tuple[Flow, list[str], str]] = {
    "a simple flow": (flow(agent("a", "end"), end()), [], ""),
    "next leads nowhere": (
        flow(agent("n1", "nope"), end()),
        ["E unknown_node", "W unreachable", "W end_unreachable"],
        "'nope'",
    ),
    "an answer leads nowhere": (flow(approval("a", yes="missing", no="end"), end()), ["E unknown_node"], "'missing'"),
    "any other answer leads nowhere": (
        flow(approval("a", yes="end", no="end", other="nowhere"), end()),
        ["E unknown_node"],
        "`on_other` leads to 'nowhere'",
    ),
    "a script falls back to nowhere": (
        flow(script("s", "end", fallback="ghost"), end()),
        ["E unknown_node"],
        "'ghost'",
    ),
    "an agent falls back to nowhere": (
        flow(agent("a", "end", fallback="ghost"), end()),
        ["E unknown_node"],
        "`fallback`",
    ),
    "an llm falls back to nowhere": (flow(llm("m", "end", fallback="ghost"), end()), ["E unknown_node"], "`fallback`"),
    "one of several leads nowhere": (
        flow(agent("start", "a", "ghost"), agent("a", "end"), end()),
        ["E unknown_node"],
        "node 'start': `next` leads to 'ghost'",
    ),
    "a map has no such branch": (flow(over("m", "no_such_node", "end"), end()), ["E unknown_node"], "`branch`"),
    "a case leads nowhere": (flow(route("r", "end", x="ghost"), end()), ["E unknown_node"], "`cases`"),
    "otherwise leads nowhere": (flow(route("r", "ghost", x="end"), end()), ["E unknown_node"], "`otherwise`"),
    "a verdict leads nowhere": (flow(check("c", "end", "ghost"), end()), ["E unknown_node"], "`on_fail`"),
    "a name that is nearly right": (
        flow(agent("a", "finsh"), end("finish")),
        ["E unknown_node", "W unreachable", "W end_unreachable"],
        "did you mean 'finish'?",
    ),
    "two nodes follow each other": (
        flow(agent("a", "b"), agent("b", "a"), end()),
        ["E illegal_cycle", "W unreachable", "W end_unreachable"],
        "a → b → a",
    ),
    "a node follows itself": (
        flow(agent("a", "a"), end()),
        ["E illegal_cycle", "W unreachable", "W end_unreachable"],
        "a → a",
    ),
    "a diamond is no cycle": (
        flow(put("s", "a", "b"), agent("a", "j"), agent("b", "j"), agent("j", "end"), end()),
        [],
        "",
    ),
    "a cycle of fallbacks": (
        flow(script("a", "end", fallback="b"), llm("b", "end", fallback="a"), end()),
        ["E illegal_cycle"],
        "a → b → a",
    ),
    "a cycle through the fallback of an agent": (
        flow(agent("a", "end", fallback="b"), agent("b", "a"), end()),
        ["E illegal_cycle"],
        "a → b → a",
    ),
    "a cycle through a map": (
        flow(over("m", "w", "end"), script("w", fallback="m"), end()),
        ["E illegal_cycle"],
        "m → w → m",
    ),
    "a cycle through a route": (flow(agent("a", "r"), route("r", "end", again="a"), end()), [], ""),
    "a cycle through a check": (flow(agent("a", "c"), check("c", "end", "a"), end()), [], ""),
    "a cycle through an approval": (flow(agent("a", "g"), approval("g", yes="end", no="a"), end()), [], ""),
    "a cycle through an answer that is not an option": (
        flow(agent("a", "g"), approval("g", yes="end", no="end", other="a"), end()),
        [],
        "",
    ),
    "a cycle that only a script closes": (flow(agent("a", "s"), script("s", fallback="end"), end()), [], ""),
    "a node nobody leads to": (
        flow(agent("a", "end"), agent("orphan", "end"), end()),
        ["W unreachable"],
        "node 'orphan'",
    ),
    "every one of several is reached": (
        flow(put("s", "a", "b", "c"), agent("a", "end"), agent("b", "end"), agent("c", "end"), end()),
        [],
        "",
    ),
    "there is no end": (flow(agent("a", "b"), agent("b")), ["E no_end", "W dead_end"], "`type: end`"),
    "the end is out of reach": (
        flow(ask("i"), end()),
        ["W unreachable", "W end_unreachable", "W dead_end"],
        "no declared edge leads to an end (end)",
    ),
    "a branch of a map needs no next": (flow(over("m", "w", "end"), llm("w"), end()), [], ""),
    "a node of unknown kind is not judged": (flow(Node(id=NodeId("x"))), [], ""),
}


@pytest.mark.parametrize(("graph", "expected", "said"), GRAPHS.values(), ids=GRAPHS.keys())
def test_a_flow_as_a_graph(graph: Flow, expected: list[str], said: str) -> None:
    found = validate(graph)

    assert told(found) == expected
    assert said in "\n".join(problem.message for problem in found)


def find_script_fault(path: str) -> str:
    return "" if path == "s.sh" else "is not there"


def parse_expression(text: str) -> str:
    return "it ends too early" if text.endswith("==") else ""


KNOWN = Surroundings(
    find_script_fault=find_script_fault,
    parse_expression=parse_expression,
    find_agent_fault=lambda name: "" if name == "coder" else f"no agent or flow is called {name!r}",
    tools=["read_query", "fs_cat.sh"],
    mcp_servers=["pubmed-search"],
    find_model_fault=lambda name: "" if name == "provider:known" else f"{name!r} does not name a model",
    find_skill_fault=lambda name, path: (
        "" if name in ("code-review", "git-master") else f"no skill is called {name!r} (looked beside {path})"
    ),
)
NOTHING = Surroundings()
REVIEW = ("code-review",)


def lone(node: Node) -> Flow:
    return flow(node, end())


def with_script(path: str) -> Flow:
    return lone(ScriptNode(id=NodeId("s"), script=path, next=ids("end")))


NODES: Mapping[str, tuple[Flow, Surroundings, list[str], str]] = {
    "a script is there": (with_script("s.sh"), KNOWN, [], ""),
    "a script is missing": (with_script("gone.py"), KNOWN, ["E missing_script"], "node 's': the script 'gone.py'"),
    "scripts cannot be looked for": (with_script("gone.py"), NOTHING, [], ""),
    "a script nobody can run": (with_script("s.xyz"), NOTHING, ["E bad_script_type"], ".sh, .py, .ts"),
    "a script outside the folder": (with_script("../s.sh"), NOTHING, ["W script_outside"], "'../s.sh'"),
    "a script at an absolute path": (with_script("/opt/s.sh"), NOTHING, ["W script_outside"], "'/opt/s.sh'"),
    "an agent is known": (lone(agent("a", "end")), KNOWN, [], ""),
    "an agent is unknown": (
        lone(agent("a", "end", called="who")),
        KNOWN,
        ["W unknown_agent"],
        "'who'; the default agent",
    ),
    "agents are not known": (lone(agent("a", "end", called="who")), NOTHING, [], ""),
    "a session of its own": (lone(replace(agent("a", "end"), session=NodeId("a"))), NOTHING, [], ""),
    "a session of nobody": (
        lone(replace(agent("a", "end"), session=NodeId("b"))),
        NOTHING,
        ["E unknown_session"],
        "no agent node 'b'",
    ),
    "a session of no agent": (
        lone(replace(agent("a", "end"), session=NodeId("end"))),
        NOTHING,
        ["E unknown_session"],
        "no agent node 'end'",
    ),
    "a session of who may only read": (
        lone(replace(agent("a", "end"), session=NodeId("a"), read_only=True)),
        NOTHING,
        ["E session_of_reader"],
        "may only read",
    ),
    "an option has no route": (
        lone(approval("g", yes="end")),
        NOTHING,
        ["E option_without_route"],
        "'no' has no route",
    ),
    "a route has no option": (
        lone(approval("g", yes="end", no="end", maybe="end")),
        NOTHING,
        ["W route_without_option"],
        "the route 'maybe'",
    ),
    "a tool is unknown": (lone(llm("m", "end", tools=("nope",))), KNOWN, ["W unknown_tool"], "'nope'"),
    "a tool is known": (lone(llm("m", "end", tools=("read_query",))), KNOWN, [], ""),
    "a tool is known by its file": (lone(llm("m", "end", tools=("fs_cat", "read_query.sh"))), KNOWN, [], ""),
    "several tools are unknown": (
        lone(llm("m", "end", tools=("nope", "fs_cat", "neither"))),
        KNOWN,
        ["W unknown_tool"],
        "'nope', 'neither' (known: fs_cat.sh, read_query); the model works without",
    ),
    "an unknown tool that the flow's own list lacks, too": (
        replace(lone(llm("m", "end", tools=("nope",))), global_tools=("fs_cat.sh",)),
        KNOWN,
        ["W unknown_tool"],
        "'nope'",
    ),
    "documents are not searched": (
        lone(RagNode(id=NodeId("r"), documents=("a.md",), next=ids("end"))),
        NOTHING,
        ["W rag_not_run"],
        "the node finds nothing and the flow goes on",
    ),
    "a server is unknown": (lone(llm("m", "end", tools=("mcp:x",))), KNOWN, ["W unknown_mcp_server"], "'x'"),
    "a server is known": (lone(llm("m", "end", tools=("mcp:pubmed-search",))), KNOWN, [], ""),
    "a model is unknown": (lone(llm("m", "end", model="provider:x")), KNOWN, ["E unknown_model"], "'provider:x'"),
    "a model is known": (lone(llm("m", "end", model="provider:known")), KNOWN, [], ""),
    "tools, servers and models are not known": (
        lone(llm("m", "end", tools=("nope", "mcp:x"), model="provider:x")),
        NOTHING,
        [],
        "",
    ),
    "the flow's model is unknown": (replace(lone(llm("m", "end")), model="x"), KNOWN, ["E unknown_model"], "'x'"),
    "a tool that the flow has not": (
        replace(lone(llm("m", "end", tools=("fs_cat", "read_query"))), global_tools=("fs_cat.sh",)),
        KNOWN,
        ["E tool_not_listed"],
        "'read_query' is not among the flow's own `global_tools`",
    ),
    "a server that the flow has not": (
        replace(lone(llm("m", "end", tools=("mcp:x",))), mcp_servers=("y",)),
        NOTHING,
        ["E tool_not_listed"],
        "'mcp:x' is not among the flow's own `mcp_servers`",
    ),
    "a skill of the flow": (flow(llm("m", "end", skills=REVIEW), end(), skills=REVIEW), NOTHING, [], ""),
    "a skill that the flow has not": (
        flow(llm("m", "end", skills=("git-master",)), end(), skills=REVIEW),
        NOTHING,
        ["E skill_not_enabled"],
        "'git-master'",
    ),
    "a skill without a name": (
        flow(llm("m", "end", skills=("",)), end(), skills=REVIEW),
        NOTHING,
        ["E bad_skill_name"],
        "'' cannot be the name of a skill",
    ),
    "a skill with a path for a name": (flow(end(), skills=("../x",)), NOTHING, ["E bad_skill_name"], "'../x'"),
    "a skill where the flow has no list": (flow(llm("m", "end", skills=REVIEW), end()), NOTHING, [], ""),
    "a skill where the flow's list is empty": (
        flow(llm("m", "end", skills=REVIEW), end(), skills=()),
        NOTHING,
        ["E skill_not_enabled"],
        "'code-review'",
    ),
    "a skill nobody has": (flow(end(), skills=("tidy",)), KNOWN, ["E unknown_skill"], "'tidy'"),
    "an answer of the right length": (lone(ask("i", "end", validation="  len(input)   >=   1  ")), NOTHING, [], ""),
    "an answer by pattern": (
        lone(ask("i", "end", validation="matches /[a-z]+/")),
        NOTHING,
        ["E bad_validation"],
        "len",
    ),
    "an answer without comparison": (lone(ask("i", "end", validation="len(input)")), NOTHING, ["E bad_validation"], ""),
    "an answer without number": (lone(ask("i", "end", validation="len(input) >")), NOTHING, ["E bad_validation"], ""),
    "an answer longer than a word": (
        lone(ask("i", "end", validation="len(input) >= abc")),
        NOTHING,
        ["E bad_validation"],
        "",
    ),
    "a condition that can be read": (lone(route("r", "end", ok="end")), KNOWN, [], ""),
    "a condition that cannot": (lone(route("r", "end", **{"n ==": "end"})), KNOWN, ["E bad_expression"], "too early"),
    "a check of nothing": (
        lone(CheckNode(id=NodeId("c"), checks=(), passed=NodeId("end"), failed=NodeId("end"))),
        NOTHING,
        ["E empty_check"],
        "",
    ),
    "a blank check": (lone(check("c", "end", "end", "true", "  ")), NOTHING, ["E empty_check"], ""),
    "nothing at the same time": (flow(end(), max_concurrency=0), NOTHING, ["E zero_limit"], "`max_concurrency`"),
    "eight at the same time": (flow(end()), NOTHING, [], ""),
    "no visits": (flow(end(), max_loop_iterations=0), NOTHING, ["E zero_limit"], "`max_loop_iterations`"),
    "a map of nothing at the same time": (
        flow(over("m", "w", "end", cap=0), llm("w"), end()),
        NOTHING,
        ["E zero_limit"],
        "node 'm'",
    ),
    "a map with the usual cap": (flow(over("m", "w", "end"), llm("w"), end()), NOTHING, [], ""),
    "a model that is never asked": (lone(llm("m", "end", attempts=0)), NOTHING, ["E zero_limit"], "`max_attempts`"),
}


@pytest.mark.parametrize(("graph", "around", "expected", "said"), NODES.values(), ids=NODES.keys())
def test_a_node_by_itself(graph: Flow, around: Surroundings, expected: list[str], said: str) -> None:
    found = validate(graph, around=around)

    assert told(found) == expected
    assert said in "\n".join(problem.message for problem in found)


def mapped(branch: Node, key: str = "output") -> Flow:
    return flow(over("m", branch.id, "end", key=key), branch, end())


OUTPUT = "{{output}}"
PARALLEL: Mapping[str, tuple[Flow, list[str], str]] = {
    "two write the same key": (
        fan(llm("worker_a", "end", updates={"summary": "x"}), llm("worker_b", "end", updates={"summary": "y"})),
        ["E parallel_writes"],
        "nodes [worker_a, worker_b] all write key 'summary'",
    ),
    "two write the same key with a reducer": (
        fan(
            llm("worker_a", "end", updates={"summary": "x"}),
            llm("worker_b", "end", updates={"summary": "y"}),
            reducers={"summary": "concat"},
        ),
        [],
        "",
    ),
    "two write keys of their own": (
        fan(llm("a", "end", updates={"a_out": "x"}), llm("b", "end", updates={"b_out": "y"})),
        [],
        "",
    ),
    "keys of an answer count as written": (
        fan(llm("a", "end", schema=OBJECT), llm("b", "end", schema=OBJECT)),
        ["E parallel_writes"],
        "'summary'",
    ),
    "three write the same key": (
        fan(*(llm(name, "end", updates={"k": "x"}) for name in "abc")),
        ["E parallel_writes"],
        "nodes [a, b, c]",
    ),
    "values that are set count as written": (
        fan(put("a", "end", k=1), put("b", "end", k=2)),
        ["E parallel_writes"],
        "'k'",
    ),
    "results of checks count as written": (
        fan(check("a", "end", "end"), check("b", "end", "end")),
        ["E parallel_writes"],
        "'check'",
    ),
    "two maps collect under the same key": (
        flow(put("s", "m", "n"), over("m", "w", "end"), over("n", "w", "end"), llm("w"), end()),
        ["E parallel_writes"],
        "'all'",
    ),
    "an approval beside others": (
        fan(approval("ap", yes="end", no="end"), agent("other", "end")),
        ["E gate_in_fan_out"],
        "node 'ap'",
    ),
    "an input beside others": (fan(ask("in", "end"), agent("other", "end")), ["E gate_in_fan_out"], "node 'in'"),
    "an approval after others": (
        flow(put("s", "a", "b"), agent("a", "g"), agent("b", "g"), approval("g", yes="end", no="end"), end()),
        [],
        "",
    ),
    "a list of one is no fan-out": (flow(put("s", "g"), approval("g", yes="end", no="end"), end()), [], ""),
    "the same node twice is no fan-out": (flow(put("s", "w", "w"), script("w", "end"), end()), [], ""),
    "a script beside others says nothing": (
        fan(script("worker_a", "end"), agent("other", "end")),
        ["E script_in_fan_out"],
        "node 'worker_a'",
    ),
    "a script beside others says what it writes": (fan(script("w", "end", updates={}), agent("o", "end")), [], ""),
    "a script by itself": (flow(script("w", "end"), end()), [], ""),
    "one reads what another writes": (
        fan(llm("worker_a", "end", prompt="{{summary}}"), llm("worker_b", "end", updates={"summary": "x"})),
        ["E parallel_read"],
        "node 'worker_a': it reads the key 'summary' while its sibling 'worker_b' writes it",
    ),
    "one reads a part of what another writes": (
        fan(llm("a", "end", prompt="{{k.x[0]}}"), llm("b", "end", updates={"k": "x"})),
        ["E parallel_read"],
        "'k'",
    ),
    "both read what came before": (
        fan(llm("a", "end", prompt="{{topic}}"), llm("b", "end", prompt="{{topic}}")),
        [],
        "",
    ),
    "one reads what it writes itself": (
        fan(llm("a", "end", prompt="{{k}}", updates={"k": "x"}), llm("b", "end")),
        [],
        "",
    ),
    "its own result is not read from the state": (
        fan(llm("a", "end", updates={"a_key": OUTPUT}), llm("b", "end", updates={"output": "x"})),
        [],
        "",
    ),
    "the class of its own failure is not read from the state": (
        fan(
            agent("a", "end", fallback="end", updates={"a_key": "{{failure}}"}),
            llm("b", "end", updates={"failure": "x"}),
        ),
        [],
        "",
    ),
    "without a fallback there is no such class": (
        fan(agent("a", "end", updates={"a_key": "{{failure}}"}), llm("b", "end", updates={"failure": "x"})),
        ["E parallel_read"],
        "'failure'",
    ),
    "a result in a prompt is read from the state": (
        fan(llm("a", "end", prompt=OUTPUT), llm("b", "end", updates={"output": "x"})),
        ["E parallel_read"],
        "'output'",
    ),
    "a map reads what another writes": (
        flow(put("s", "m", "p"), over("m", "w", "end"), script("p", "end", updates={"items": "x"}), llm("w"), end()),
        ["E parallel_read"],
        "node 'm'",
    ),
    "a value that is set reads what another writes": (
        fan(put("a", "end", deep={"list": ["{{k}}"]}), llm("b", "end", updates={"k": "x"})),
        ["E parallel_read"],
        "node 'a'",
    ),
    "the list of a map may be read beside it": (
        flow(put("s", "m", "p"), over("m", "w", "end"), llm("p", "end", prompt="{{all}}"), llm("w"), end()),
        [],
        "",
    ),
    "a map over approvals": (mapped(approval("g", yes="end", no="end")), ["E bad_map_branch"], "node 'm'"),
    "a map over inputs": (mapped(ask("i", "end")), ["E bad_map_branch"], "node 'm'"),
    "a map over ends": (mapped(end("over")), ["E bad_map_branch"], "cannot be collected"),
    "a map over routes": (mapped(route("r", "end")), ["E bad_map_branch"], "a route node"),
    "a map over maps": (
        flow(over("outer", "inner", "end"), over("inner", "w"), llm("w"), end()),
        ["E bad_map_branch"],
        "node 'outer': the branch 'inner' is itself a map node",
    ),
    "a branch with a next": (mapped(llm("br", "end")), ["E map_branch_next"], "node 'br': it is atomic"),
    "a branch that writes its output": (mapped(llm("br", updates={"output": OUTPUT})), [], ""),
    "a branch that writes the map's key": (mapped(llm("br", updates={"found": OUTPUT}), key="found"), [], ""),
    "a branch that writes something else": (
        mapped(llm("br", updates={"not_output": OUTPUT})),
        ["E map_branch_writes"],
        "node 'br': it writes 'not_output'",
    ),
    "a branch with a schema": (mapped(llm("br", schema=OBJECT)), ["E map_branch_schema"], "top-level properties"),
    "a branch with a schema of no properties": (mapped(llm("br", schema={"type": "array"})), [], ""),
}


@pytest.mark.parametrize(("graph", "expected", "said"), PARALLEL.values(), ids=PARALLEL.keys())
def test_nodes_at_the_same_time(graph: Flow, expected: list[str], said: str) -> None:
    found = validate(graph)

    assert told(found) == expected
    assert said in "\n".join(problem.message for problem in found)


def test_all_problems_are_told_at_once() -> None:
    graph = flow(agent("a", "nope"), agent("b", "gone"), end())

    found = validate(graph)

    assert [p.message.split(";")[0] for p in found if p.code == "unknown_node"] == [
        "node 'a': `next` leads to 'nope', which is not a node",
        "node 'b': `next` leads to 'gone', which is not a node",
    ]


def test_every_problem_says_where_it_is_and_what_to_do() -> None:
    tables = [(graph, NOTHING) for graph, *_ in [*GRAPHS.values(), *PARALLEL.values()]]
    tables += [(graph, around) for graph, around, *_ in NODES.values()]

    found = [problem for graph, around in tables for problem in validate(graph, around=around)]

    assert {problem.where for problem in found} == {"f.yaml:1"}
    assert [problem.message for problem in found if ";" not in problem.message] == []


def test_the_caller_may_know_better_where_things_are() -> None:
    graph = flow(approval("g", yes="end", no="ghost"), end())
    asked: list[tuple[str, tuple[str | int, ...]]] = []

    def locate(owner: str, place: tuple[str | int, ...]) -> int:
        asked.append((owner, place))
        return 42

    found = validate(graph, locate=locate)

    assert asked == [("g", ("routes", "no"))]
    assert [problem.where for problem in found] == ["f.yaml:42"]


def test_every_separate_cycle_is_named_and_what_leads_to_one_is_not() -> None:
    graph = flow(
        put("s", "a", "x"), agent("a", "b"), agent("b", "a"), agent("x", "y"), agent("y", "z"), agent("z", "y")
    )

    found = plain_cycles(graph)

    assert found == [["a", "b", "a"], ["y", "z", "y"]]


def test_a_long_cycle_is_cut_in_the_middle() -> None:
    nodes = [agent(f"n{i}", f"n{(i + 1) % 1000}") for i in range(1000)]

    found = [problem.message for problem in validate(flow(*nodes, end())) if problem.code == "illegal_cycle"]

    assert len(found) == 1
    assert "n5 → … 989 more … → n995" in found[0]


def test_edges_have_a_reason_and_a_place() -> None:
    found = [(e.kind, e.target, e.place, e.plain) for e in edges_of(approval("g", yes="a", other="b"))]

    assert found == [
        (EdgeKind.ANSWER, "a", ("routes", "yes"), False),
        (EdgeKind.OTHER, "b", ("on_other",), False),
    ]


def test_what_the_file_left_empty_is_no_edge() -> None:
    assert edges_of(approval("g", yes="", other="")) == []


def test_reach_goes_by_every_kind_of_edge() -> None:
    graph = flow(
        put("s", "a", "b"),
        script("a", fallback="c"),
        check("b", "d", "m"),
        end("c"),
        end("d"),
        over("m", "w"),
        llm("w"),
    )

    assert list(reachable(graph)) == ["s", "a", "b", "c", "d", "m", "w"]
    assert fan_out(graph.nodes[NodeId("s")]) == ("a", "b")
    assert fan_out(agent("x", "y", "y")) == ()


def test_every_kind_of_node_has_a_word() -> None:
    nodes = [script("n"), agent("n"), llm("n"), approval("n"), ask("n"), over("n", "b"), check("n", "a", "b")]
    stepping: list[Node] = [
        WorkspaceNode(id=NodeId("n")),
        LandNode(id=NodeId("n")),
        PlanNode(id=NodeId("n"), cause="heal", title="t", what="w", why="y"),
        DocumentNode(id=NodeId("n"), kind="handoff", template="t"),
        SettleNode(id=NodeId("n"), how="deferred", severity="concern"),
    ]
    nodes_of_ours: list[Node] = [*nodes, *stepping, route("n", "a"), put("n"), end("n")]
    nodes_of_ours.insert(5, RagNode(id=NodeId("n"), documents=()))

    assert [kind_name(node) for node in nodes_of_ours] == list(KINDS)
    assert kind_name(Node(id=NodeId("n"))) == ""


def for_steps(failed: str = "out", start: str = "ws") -> Flow:
    """A flow for steps of plans, whose check leads to `failed` if it fails."""
    nodes: list[Node] = [
        WorkspaceNode(id=NodeId("ws"), next=(NodeId("c"),)),
        replace(check("c", "land", failed), checks=()),
        LandNode(id=NodeId("land"), next=(NodeId("done"),)),
        EndNode(id=NodeId("done"), status="done"),
        EndNode(id=NodeId("out"), status="blocked"),
    ]
    return Flow(name="steps", start=NodeId(start), nodes={node.id: node for node in nodes})


def test_a_flow_for_steps_may_leave_its_checks_to_the_step() -> None:
    assert validate(for_steps()) == []


def test_a_flow_for_steps_begins_with_their_workspace() -> None:
    assert "no_workspace" in {problem.code for problem in validate(for_steps(start="c"))}


def test_no_way_leads_around_the_landing_to_an_end_that_is_done() -> None:
    assert "unlanded_end" in {problem.code for problem in validate(for_steps("done"))}


def chain(count: int) -> Flow:
    """A long chain with a check in it and a wide fan-out at its head, all of it legal."""
    wide = [llm(f"w{i}", "n0", prompt="{{topic}}", updates={f"k{i}": "x"}) for i in range(count // 10)]
    nodes: list[Node] = [put("s", *(node.id for node in wide)), *wide]
    for i in range(count - len(nodes)):
        here, there = f"n{i}", f"n{i + 1}"
        nodes.append(check(here, there, "n0") if i % 7 == 0 else llm(here, there, prompt="{{a.b}} and {{c}}"))
    return flow(*nodes, end(f"n{count - len(wide) - 1}"))


@pytest.mark.long
def test_a_node_costs_the_same_in_a_flow_ten_times_as_large() -> None:
    small, large = chain(1_000), chain(10_000)
    ratios: list[float] = []

    for _ in range(5):
        started = time.perf_counter()
        for _ in range(10):
            assert validate(small) == []
        between = time.perf_counter()
        assert validate(large) == []
        ratios.append((time.perf_counter() - between) / (between - started))

    assert min(ratios) <= 1.5


def test_the_shipped_schema_is_the_one_the_code_gives() -> None:
    """When this fails: write render_schema() of tools.docs.flowschema into the file."""
    shipped = files("drumline").joinpath("schemas", "flow.schema.json").read_text(encoding="utf-8")

    assert shipped == render_schema()


def test_the_schema_knows_every_kind_and_key_of_the_reader() -> None:
    schema = json.loads(json.dumps(flow_schema()))

    assert list(schema["properties"]) == [rule.name for rule in FLOW_FIELDS]
    assert schema["$defs"]["node"]["properties"]["type"]["enum"] == list(KINDS)
    for name, kind in KINDS.items():
        assert list(schema["$defs"][name]["properties"]) == [rule.name for rule in kind.fields]
        assert schema["$defs"][name]["required"] == [rule.name for rule in kind.fields if rule.required]


def test_the_schema_tells_the_defaults_of_the_model() -> None:
    schema = json.loads(render_schema())["$defs"]

    assert schema["settings"]["properties"]["max_concurrency"]["default"] == 8
    assert schema["script"]["properties"]["timeout"]["default"] == 30.0
    assert schema["map"]["properties"]["output_key"]["default"] == "output"
    assert "default" not in schema["llm"]["properties"]["timeout"]
    assert "default" not in schema["set"]["properties"]["values"]


def codes_in(module: Path) -> set[str]:
    """Every `code="…"` of a module."""
    calls = (node for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    values = (word.value for call in calls for word in call.keywords if word.arg == "code")
    return {value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def test_the_table_of_problems_is_complete() -> None:
    modules = [*(SOURCE / "core" / "flow").glob("*.py"), *(SOURCE / "flowfiles").glob("*.py")]

    in_code = {code for module in modules for code in codes_in(module)}

    assert {code for code, _, _ in FLOW_PROBLEMS} == in_code
