"""What is wrong with single nodes: scripts, agents, models, questions, conditions, schemas, skills and limits.

A rule about the world outside the file is applied only if the caller knows that part of the world.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from drumline.core.flow.inspection import Inspection
from drumline.core.flow.lengths import OPERATORS, parse_length_rule
from drumline.core.flow.model import (
    CORRECT,
    INSERT,
    AgentNode,
    ApprovalNode,
    CheckNode,
    InputNode,
    Json,
    LlmNode,
    MapNode,
    Node,
    PlanNode,
    RagNode,
    RouteNode,
    ScriptNode,
    is_for_runs,
    is_for_steps,
)
from drumline.core.plaintext import name_some
from drumline.errors import InvalidInput

SCRIPT_TYPES = (".sh", ".py", ".ts")
MCP = "mcp:"

SKILL_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""What a skill, and so its folder, may be called."""


def check_nodes(inspection: Inspection) -> None:
    """Each node by itself, and the model that they share."""
    _check_model(inspection, None, inspection.flow.model)
    for node in inspection.flow.nodes.values():
        if isinstance(node, ScriptNode):
            _check_script(inspection, node)
        elif isinstance(node, AgentNode):
            _check_agent(inspection, node)
        elif isinstance(node, ApprovalNode):
            _check_approval(inspection, node)
        elif isinstance(node, InputNode):
            _check_input(inspection, node)
        elif isinstance(node, LlmNode):
            _check_llm(inspection, node)
        elif isinstance(node, RagNode):
            _check_rag(inspection, node)
        elif isinstance(node, RouteNode):
            _check_route(inspection, node)
        elif isinstance(node, CheckNode):
            _check_commands(inspection, node)
        elif isinstance(node, PlanNode):
            _check_plan(inspection, node)
        if isinstance(node, AgentNode | LlmNode) and node.output_schema is not None:
            _check_schema(inspection, node, node.output_schema)


def check_skills(inspection: Inspection) -> None:
    """Names of skills, for the flow and for each node that has its own."""
    whole = inspection.flow.enabled_skills
    _check_skill_names(inspection, None, whole or ())
    for node in inspection.flow.nodes.values():
        if not isinstance(node, LlmNode) or node.enabled_skills is None:
            continue
        _check_skill_names(inspection, node, node.enabled_skills)
        for number, name in enumerate(node.enabled_skills):
            if name and whole is not None and name not in whole:
                message = f"the skill {name!r} is not among the flow's own `enabled_skills`; add it there, too"
                inspection.error(node, ("enabled_skills", number), code="skill_not_enabled", message=message)


def check_limits(inspection: Inspection) -> None:
    """Limits that would allow nothing at all."""
    settings = inspection.flow.settings
    for name in ("max_loop_iterations", "max_concurrency", "max_tokens"):
        _check_limit(inspection, None, name, getattr(settings, name))
    for node in inspection.flow.nodes.values():
        if isinstance(node, MapNode):
            _check_limit(inspection, node, "max_concurrency", node.max_concurrency)
        elif isinstance(node, AgentNode):
            _check_limit(inspection, node, "turns", node.turns)
        elif isinstance(node, LlmNode):
            _check_limit(inspection, node, "max_attempts", node.max_attempts)
            _check_limit(inspection, node, "max_iterations", node.max_iterations)


def _check_limit(inspection: Inspection, node: Node | None, name: str, limit: int | None) -> None:
    if limit is not None and limit < 1:
        place = (name,) if node else ("settings", name)
        message = f"`{name}` is {limit}, which allows nothing; write at least 1, or leave it out"
        inspection.error(node, place, code="zero_limit", message=message)


def _check_script(inspection: Inspection, node: ScriptNode) -> None:
    if not node.script.endswith(SCRIPT_TYPES):
        message = f"{node.script!r} cannot be run by its ending; use one of {', '.join(SCRIPT_TYPES)}"
        inspection.error(node, ("script",), code="bad_script_type", message=message)
    elif fault := inspection.around.find_script_fault(node.script):
        message = f"the script {node.script!r} {fault}; its path starts at the flow's folder"
        inspection.error(node, ("script",), code="missing_script", message=message)
    if node.script.startswith("/") or ".." in node.script.split("/"):
        message = (
            f"the script {node.script!r} is outside the flow's folder; keep it beside the flow, so they move as one"
        )
        inspection.warn(node, ("script",), code="script_outside", message=message)


def _check_agent(inspection: Inspection, node: AgentNode) -> None:
    if fault := inspection.around.find_agent_fault(node.agent):
        inspection.warn(node, ("agent",), code="unknown_agent", message=f"{fault}; the default agent does the work")
    if node.records and not (node.read_only and node.output_schema is not None):
        message = (
            "what it answers is recorded, so that it may only read and its answer has a form; "
            "add `read_only: true` and an `output_schema`"
        )
        inspection.error(node, ("records",), code="records_of_writer", message=message)
    if node.session is None:
        return
    source = inspection.flow.nodes.get(node.session)
    if not isinstance(source, AgentNode):
        message = f"there is no agent node {node.session!r} to go on from; name one of this flow, or remove `session`"
        inspection.error(node, ("session",), code="unknown_session", message=message)
    elif node.read_only or source.read_only:
        message = (
            f"{'it' if node.read_only else repr(node.session)} may only read: who judges work begins anew; "
            "remove `session`"
        )
        inspection.error(node, ("session",), code="session_of_reader", message=message)


def _check_approval(inspection: Inspection, node: ApprovalNode) -> None:
    for number, option in enumerate(node.options):
        if option not in node.routes:
            message = f"the option {option!r} has no route; say under `routes` where it leads"
            inspection.error(node, ("options", number), code="option_without_route", message=message)
    for answer in node.routes:
        if answer not in node.options:
            message = f"the route {answer!r} is for an answer that is not an option; add it to `options`, or remove it"
            inspection.warn(node, ("routes", answer), code="route_without_option", message=message)


def _check_input(inspection: Inspection, node: InputNode) -> None:
    if node.validation is None:
        return
    try:
        parse_length_rule(node.validation)
    except InvalidInput:
        known = ", ".join(OPERATORS)
        message = f"the validation {node.validation!r} is not known; write `len(input) OP N`, OP one of {known}"
        inspection.error(node, ("validation",), code="bad_validation", message=message)


def _check_rag(inspection: Inspection, node: RagNode) -> None:
    message = (
        "documents are not indexed here: the node finds nothing and the flow goes on; look them up in a `script` "
        "node, or give an `llm` node tools to read them"
    )
    inspection.warn(node, ("type",), code="rag_not_run", message=message)


def _check_llm(inspection: Inspection, node: LlmNode) -> None:
    missing: list[str] = []
    servers: list[str] = []
    for number, tool in enumerate(node.tools or ()):
        server = tool.removeprefix(MCP)
        if server != tool:
            servers += [server] if _is_unknown(server, inspection.around.mcp_servers) else []
        else:
            missing += [tool] if _is_unknown(_bare(tool), inspection.around.tools) else []
        _check_listed(inspection, node, number)
    if missing:
        known = _known(inspection.around.tools or ())
        message = f"no tool is called {_quoted(missing)} (known: {known}); the model works without it"
        inspection.warn(node, ("tools",), code="unknown_tool", message=message)
    if servers:
        known = _known(inspection.around.mcp_servers or ())
        message = (
            f"no MCP server is called {_quoted(servers)} (configured: {known}); the model works without its tools; "
            f"to have them, add [mcp.{servers[0]}] to .drumline/config.toml"
        )
        inspection.warn(node, ("tools",), code="unknown_mcp_server", message=message)
    _check_model(inspection, node, node.model)


def _check_model(inspection: Inspection, node: Node | None, model: str | None) -> None:
    if model is not None and (fault := inspection.around.find_model_fault(model)):
        inspection.error(node, ("model",), code="unknown_model", message=f"{fault}; change or remove it")


def _is_unknown(name: str, known: Collection[str] | None) -> bool:
    return known is not None and name not in {_bare(one) for one in known}


def _check_listed(inspection: Inspection, node: LlmNode, number: int) -> None:
    """A tool or server that there is, but that the flow's own list, where it has one, lacks: a run refuses it."""
    tool = (node.tools or ())[number]
    from_server = tool.startswith(MCP)
    key, around = ("mcp_servers" if from_server else "global_tools"), inspection.around
    name, whole = _bare(tool.removeprefix(MCP)), getattr(inspection.flow, key)
    if not whole or name in {_bare(one) for one in whole}:
        return
    if not _is_unknown(name, around.mcp_servers if from_server else around.tools):
        message = f"{tool!r} is not among the flow's own `{key}`; add it there, too"
        inspection.error(node, ("tools", number), code="tool_not_listed", message=message)


def _check_schema(inspection: Inspection, node: Node, schema: Mapping[str, Json]) -> None:
    if fault := inspection.around.find_schema_fault(schema):
        message = f"`output_schema` is not a JSON Schema (draft 2020-12): {fault}; no answer could be judged by it"
        inspection.error(node, ("output_schema",), code="bad_output_schema", message=message)


def _check_route(inspection: Inspection, node: RouteNode) -> None:
    for number, case in enumerate(node.cases):
        if fault := inspection.around.parse_expression(case.when):
            message = f"the condition {case.when!r} cannot be read: {fault}; fix it, or quote texts inside it"
            inspection.error(node, ("cases", number, "when"), code="bad_expression", message=message)


def _check_commands(inspection: Inspection, node: CheckNode) -> None:
    if not node.checks and not is_for_steps(inspection.flow) and not is_for_runs(inspection.flow):
        message = "`checks` is empty, and nothing would pass for everything; give it a command that must exit with 0"
        inspection.error(node, ("checks",), code="empty_check", message=message)
    for number, command in enumerate(node.checks):
        if not command.strip():
            message = "a check is blank; write the command to run, or remove it"
            inspection.error(node, ("checks", number), code="empty_check", message=message)
        elif fault := inspection.around.find_check_fault(command):
            inspection.error(node, ("checks", number), code="unknown_check", message=fault)


def _check_plan(inspection: Inspection, node: PlanNode) -> None:
    lacking = [name for name in ("title", "what", "why") if not getattr(node, name)]
    if node.edit in (INSERT, CORRECT) and lacking:
        message = f"a corrective step needs a {lacking[0]}; give the node a template for it"
        inspection.error(node, (lacking[0],), code="missing_field", message=message)


def _check_skill_names(inspection: Inspection, node: Node | None, names: Collection[str]) -> None:
    around, path = inspection.around, inspection.flow.path
    for number, name in enumerate(names):
        place = ("enabled_skills", number)
        if not SKILL_NAME.fullmatch(name):
            message = f"{name!r} cannot be the name of a skill; use small letters, digits and '-'"
            inspection.error(node, place, code="bad_skill_name", message=message)
        elif fault := around.find_skill_fault(name, path):
            inspection.error(node, place, code="unknown_skill", message=f"{fault}; add or fix it, or remove the name")


def _bare(tool: str) -> str:
    """Tools are named by their file or by its stem: `fs_cat.sh` is `fs_cat`."""
    return tool.removesuffix(".sh")


def _quoted(names: Collection[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _known(names: Collection[str]) -> str:
    return name_some(sorted(names)) or "none"
