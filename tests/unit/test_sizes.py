"""Functions stay within 40 lines, modules within 400, nesting within 3, and no module is a drawer for odds and ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.unit.sources import walk_statements

import drumline

ROOT = Path(drumline.__file__).parent
FUNCTION_LINES = 40
MODULE_LINES = 400
NESTING = 3
DRAWERS = frozenset({"utils", "helpers", "common", "base", "misc", "manager"})

Function = ast.FunctionDef | ast.AsyncFunctionDef
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)


def find_excesses(root: Path) -> list[str]:
    """Everything below `root` that is too long, too deep or badly named, as sentences."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if DRAWERS.intersection(path.relative_to(root).with_suffix("").parts):
            found.append(f"{place}: says nothing about what is in it")
        if (lines := len(text.splitlines())) > MODULE_LINES:
            found.append(f"{place}: {lines} lines")
        functions = sorted((n for n in walk_statements(path) if isinstance(n, Function)), key=lambda f: f.lineno)
        found.extend(f"{place}:{f.lineno}: {f.name} {excess}" for f in functions for excess in exceed(f))
    return found


def exceed(function: Function) -> Iterator[str]:
    """What is too much about one function."""
    if (lines := length(function)) > FUNCTION_LINES:
        yield f"has {lines} lines"
    if (levels := depth(function.body)) > NESTING:
        yield f"is nested {levels} deep"


def length(function: Function) -> int:
    """Lines after the docstring, or from `def` on when there is none."""
    last = function.end_lineno or function.lineno
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        return last - (first.end_lineno or first.lineno)
    return last - function.lineno + 1


def depth(body: list[ast.stmt]) -> int:
    """How many blocks stand inside each other; a further `elif` is not one more, nor is a function of its own."""
    return max((levels(statement) for statement in body), default=0)


def levels(statement: ast.stmt) -> int:
    """How deep one statement of a body goes."""
    if not isinstance(statement, BLOCKS):
        return 0
    inner = 0
    for branch in branches(statement):
        is_elif = isinstance(statement, ast.If) and branch is statement.orelse and starts_elif(statement, branch)
        inner = max(inner, depth(branch) - 1 if is_elif else depth(branch))
    return inner + 1


def starts_elif(statement: ast.If, branch: list[ast.stmt]) -> bool:
    """Whether the `else` branch is written as `elif`."""
    return len(branch) == 1 and isinstance(branch[0], ast.If) and branch[0].col_offset == statement.col_offset


def branches(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The bodies of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for name in ("handlers", "cases"):
        yield from (part.body for part in getattr(statement, name, []))


def test_nothing_is_too_long_too_deep_or_a_drawer() -> None:
    assert find_excesses(ROOT) == []


def test_what_is_too_long_is_named(tmp_path: Path) -> None:
    body = "    x = 1\n" * 41
    (tmp_path / "long.py").write_text(
        f"def run():\n{body}\n\nasync def told():\n    '''One.\n\n    Two.\n    '''\n{body}"
    )
    (tmp_path / "huge.py").write_text("x = 1\n" * 401)
    (tmp_path / "utils.py").write_text("")

    found = find_excesses(tmp_path)

    assert found == [
        "huge.py: 401 lines",
        "long.py:1: run has 42 lines",
        "long.py:45: told has 41 lines",
        "utils.py: says nothing about what is in it",
    ]


def test_a_docstring_does_not_count(tmp_path: Path) -> None:
    doc = "    '''One.\n" + "    more\n" * 30 + "    '''\n"
    (tmp_path / "fine.py").write_text("def run():\n" + doc + "    x = 1\n" * 40)

    assert find_excesses(tmp_path) == []


def test_what_is_nested_too_deep_is_named(tmp_path: Path) -> None:
    deep = "def run(a):\n if a:\n  for b in a:\n   with b:\n    try:\n     pass\n    finally:\n     pass\n"
    chain = "def choose(a):\n if a:\n  pass\n elif not a:\n  pass\n elif a:\n  pass\n elif a:\n  pass\n else:\n  pass\n"
    (tmp_path / "deep.py").write_text(deep)
    (tmp_path / "chain.py").write_text(chain)

    assert find_excesses(tmp_path) == ["deep.py:1: run is nested 4 deep"]
