"""What the rules of validation share: the flow, what is known of the world around it, and how a finding is told.

The world is asked through functions and collections that the caller gives; what the caller does not know is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from drumline.core.flow.edges import Place
from drumline.core.flow.model import Flow, Json, Node
from drumline.core.plan import Problem, Severity
from drumline.record import Record, field

Locate = Callable[[str, Place], int]
"""The line of something in a node's part of the file; "" instead of a node's id for the flow's own keys."""


def find_no_fault(_text: str) -> str:
    """Nothing is wrong, as far as anybody knows."""
    return ""


def find_no_schema_fault(_schema: Mapping[str, Json]) -> str:
    """Nothing is wrong with a schema, as far as anybody knows."""
    return ""


def find_no_skill_fault(_name: str, _path: str) -> str:
    """Nothing is wrong with a skill that the flow in a file names, as far as anybody knows."""
    return ""


class Surroundings(Record):
    """What a flow can rely on. None stands for "not known": the rules about it are left out.

    `parse_expression` and the `find_…_fault` return what is wrong with a condition, a script's path, a schema, a check,
    or the name of an agent, a model or a skill of the flow in a file, "" if nothing.
    """

    parse_expression: Callable[[str], str] = find_no_fault
    find_script_fault: Callable[[str], str] = find_no_fault
    find_schema_fault: Callable[[Mapping[str, Json]], str] = find_no_schema_fault
    find_check_fault: Callable[[str], str] = find_no_fault
    find_agent_fault: Callable[[str], str] = find_no_fault
    find_model_fault: Callable[[str], str] = find_no_fault
    tools: Collection[str] | None = None
    mcp_servers: Collection[str] | None = None
    find_skill_fault: Callable[[str, str], str] = find_no_skill_fault


class Inspection(Record):
    """One look at a flow. Findings are kept in the order they are made."""

    flow: Flow
    around: Surroundings
    locate: Locate
    found: list[Problem] = field(default_factory=list)

    def error(self, node: Node | None, place: Place, *, code: str, message: str) -> None:
        """Keep something that stops a run; None for the flow itself."""
        self._keep(node, place, Problem(code=code, message=message, where=""))

    def warn(self, node: Node | None, place: Place, *, code: str, message: str) -> None:
        """Keep something to think about."""
        self._keep(node, place, Problem(code=code, message=message, where="", severity=Severity.WARNING))

    def _keep(self, node: Node | None, place: Place, problem: Problem) -> None:
        line = self.locate(node.id if node else "", place)
        told = f"node {node.id!r}: {problem.message}" if node else problem.message
        where = f"{self.flow.path}:{line}"
        self.found.append(Problem(code=problem.code, message=told, where=where, severity=problem.severity))
