"""Scopes name where in a walk something happens, so that every act has a key of its own.

"" is the flow itself, `fix#2` a flow called at the second visit of `fix`, `each#1[3]` the fourth item of a map; they
nest with `/`. Signs with a meaning are escaped in node ids, so that a scope can be taken apart again.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drumline.core.flow.model import NodeId

_ESCAPES: Mapping[int, str] = MappingProxyType({ord(sign): f"%{ord(sign):02X}" for sign in "%/#[]"})


def call_scope(scope: str, node: NodeId, visit: int) -> str:
    """The scope of a flow that a node calls."""
    name = f"{node.translate(_ESCAPES)}#{visit}"
    return f"{scope}/{name}" if scope else name


def item_scope(visit: str, index: int) -> str:
    """The scope of one item of a map, whose visit has the scope `visit`."""
    return f"{visit}[{index}]"


def split_item(scope: str) -> tuple[str, int] | None:
    """The scope of the map's visit and the index, if the scope is that of an item."""
    if not scope.endswith("]"):
        return None
    visit, _, index = scope[:-1].rpartition("[")
    return visit, int(index)


def parent_scope(scope: str) -> str:
    """The scope of the flow around it."""
    return scope.rpartition("/")[0]
