"""The modules of our package as syntax trees. The rule: a file is parsed once for all tests of a process."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from drumline.garbage import uncollected

Import = ast.Import | ast.ImportFrom


@cache
def parse_module(path: Path) -> ast.Module:
    """The tree of a file, which does not change while the tests run."""
    with uncollected(freeze=True):  # trees that are kept would be looked through by every collection from here on
        return ast.parse(path.read_text(encoding="utf-8"))


def walk_statements(path: Path) -> Iterator[ast.AST]:
    """What a file consists of without its expressions, in which there is neither an import nor a `def`."""
    left: list[ast.AST] = [parse_module(path)]
    while left:
        node = left.pop()
        yield node
        left.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


@cache
def list_imports(path: Path) -> Sequence[Import]:
    """Every import of a file, wherever in the file."""
    found = [node for node in walk_statements(path) if isinstance(node, Import)]
    return sorted(found, key=lambda node: node.lineno)
