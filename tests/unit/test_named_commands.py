"""Commands that messages name can be pasted: what has a path in it is quoted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import drumline

SOURCES = Path(drumline.__file__).parent
COMMAND = re.compile(r"drumline (validate|run|flow run|flow validate|flow graph|graph|checks|trust)( --?[a-z-]+)* $")
QUOTES = {"quote", "name_plan", "name_typed"}


def find_unquoted(text: str) -> Iterator[tuple[int, str]]:
    """Where a path stands behind a command as it is."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for before, value in zip(node.values, node.values[1:], strict=False):
            if isinstance(before, ast.Constant) and COMMAND.search(str(before.value)) and _is_path(value):
                yield value.lineno, ast.unparse(value)


def _is_path(value: ast.expr) -> bool:
    if not isinstance(value, ast.FormattedValue):
        return False
    shown = value.value
    if isinstance(shown, ast.Call):
        return ast.unparse(shown.func).rpartition(".")[2] not in QUOTES
    return isinstance(shown, ast.Attribute) and shown.attr in ("path", "_path", "plan", "parent")


def test_paths_in_commands_are_quoted() -> None:
    found = [
        f"{file.relative_to(SOURCES)}:{line}: {value}"
        for file in sorted(SOURCES.rglob("*.py"))
        for line, value in find_unquoted(file.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_a_path_that_is_not_quoted_is_found() -> None:
    text = 'x = f"drumline validate {plan.path}"\ny = f"drumline run {quote(plan.path)} --new"\n'

    assert [line for line, _ in find_unquoted(text)] == [1]
