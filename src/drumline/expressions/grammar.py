"""Which expressions are legal: what is not in this table is refused before anything is evaluated.

A dot means a key (`review.score` is `review["score"]`), so that no attribute of a Python object is ever asked for.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import lru_cache

LONGEST = 2000
DEEPEST = 40
FUNCTIONS = ("len", "lower", "int", "float", "str", "get")

_LEGAL = (
    ast.Expression,
    ast.Constant,
    ast.Name,
    ast.Load,
    ast.List,
    ast.Tuple,
    ast.Subscript,
    ast.Call,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Mod,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.IfExp,
)
_PLAIN = (str, int, float, bool, type(None))


class Illegal(Exception):
    """The expression is not in the language."""


@lru_cache(maxsize=1024)
def parse(text: str) -> ast.expr:
    """The expression as a tree that holds nothing but what is legal; Illegal saying what is not."""
    if len(text) > LONGEST:
        raise Illegal(f"it has {len(text)} characters; the limit is {LONGEST}")
    try:
        with warnings.catch_warnings():
            # Python warns of odd but legal text, such as "\\d"; whoever runs a flow cannot do anything about it.
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Illegal(f"it cannot be read: {getattr(error, 'msg', error)}") from error
    for depth, node in _walk(tree):
        if depth > DEEPEST:
            raise Illegal(f"it is nested more than {DEEPEST} deep")
        _refuse_illegal(node)
    body: ast.expr = ast.fix_missing_locations(_KeysForAttributes().visit(tree)).body
    return body


def _walk(tree: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    """Every node with its depth; not recursive, so that no depth is too much for it."""
    waiting = [(0, tree)]
    while waiting:
        depth, node = waiting.pop()
        yield depth, node
        waiting.extend((depth + 1, child) for child in ast.iter_child_nodes(node))


def _refuse_illegal(node: ast.AST) -> None:
    if isinstance(node, ast.Attribute):
        if node.attr.startswith("_"):
            raise Illegal(f"{node.attr!r} is not legal: a key after a dot does not begin with an underscore")
    elif not isinstance(node, _LEGAL):
        raise Illegal(f"{type(node).__name__} is not legal")
    elif isinstance(node, ast.Constant) and not isinstance(node.value, _PLAIN):
        raise Illegal(f"{node.value!r} is not a JSON value")
    elif isinstance(node, ast.Call):
        _refuse_call(node)


def _refuse_call(node: ast.Call) -> None:
    if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords:
        raise Illegal(f"{ast.unparse(node)!r} is not legal; functions are {', '.join(FUNCTIONS)}")


class _KeysForAttributes(ast.NodeTransformer):
    """Turns `a.b` into `a["b"]`."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        inner = self.visit(node.value)
        return ast.Subscript(value=inner, slice=ast.Constant(value=node.attr), ctx=ast.Load())
