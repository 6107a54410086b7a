"""What a person is asked at a node, and which answers are accepted. A refused answer is asked for again."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.flow.lengths import parse_length_rule
from drumline.core.flow.model import ApprovalNode, InputNode, Json
from drumline.core.flow.templates import render_lenient, render_strict
from drumline.errors import InvalidInput


def write_question(node: ApprovalNode | InputNode, values: Mapping[str, Json]) -> str:
    """The question with its references filled in, and the default where it says something; InvalidInput if a path
    leads nowhere.
    """
    question = render_strict(node.question, values)
    default = find_default(node, values) if isinstance(node, InputNode) else ""
    return f"{question} [default: {default}]" if default.strip() else question


def find_default(node: InputNode, values: Mapping[str, Json]) -> str:
    """What counts when a person types nothing."""
    return "" if node.default is None else render_lenient(node.default, values)


def accept_input(node: InputNode, values: Mapping[str, Json], typed: str) -> str:
    """The text that counts, default included; InvalidInput if it breaks the node's rule."""
    text = typed or find_default(node, values)
    if node.validation is not None and not parse_length_rule(node.validation).holds(text):
        raise InvalidInput(
            f"the answer to {node.id!r} has {len(text.encode('utf-8', 'surrogatepass'))} bytes; legal is "
            f"{node.validation.strip()}",
            hint="drumline answer GATE TEXT",
        )
    return text
