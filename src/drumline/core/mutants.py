"""Mutants of a program: copies that differ in one place, which good tests tell from the program.

A sample of the changed lines, never all of them. The rule: the same text and lines give the same mutants, each of which
can be parsed; a text that cannot be parsed has none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from itertools import zip_longest
from types import MappingProxyType

from drumline.record import Record

MOST = 8
"""How many mutants are tried of one change."""
MOST_EXPECTED = 2
"""How many of them change what a test expects."""
MOST_SHOWN = 80
"""How many letters of a place are told."""
MOST_LINES = 10_000
"""How many lines a text may have that is compared with another."""


class MutantKind(Enum):
    """What is changed, in the order in which kinds are tried on a line."""

    LIMIT = "limit"
    CONDITION = "condition"
    COMPARISON = "comparison"
    ARITHMETIC = "arithmetic"
    RETURN = "return"
    INTEGER = "integer"
    EXPECTATION = "expectation"


class Mutant(Record):
    """A changed program: on this line `before` has become `after`; `source` is the whole text."""

    line: int
    kind: MutantKind
    before: str
    after: str
    source: str


class Survivor(Record):
    """A mutant that a check did not notice: in this file, on this line, `before` could as well be `after`."""

    path: str
    line: int
    before: str
    after: str


class Mutation(Record):
    """What became of the mutants of a change: how many were tried within the time, and which survived."""

    tried: int = 0
    survivors: tuple[Survivor, ...] = ()


def choose_mutants(
    changed: Mapping[str, Sequence[Mutant]], expected: Mapping[str, Sequence[Mutant]] = MappingProxyType({})
) -> list[tuple[str, Mutant]]:
    """The mutants that are tried: a few of what tests expect, then those of changed lines, file by file in turn."""
    own, theirs = _take_turns(changed), _take_turns(expected)[:MOST_EXPECTED]
    return [*theirs, *own[: MOST - len(theirs)]]


def _take_turns(found: Mapping[str, Sequence[Mutant]]) -> list[tuple[str, Mutant]]:
    rounds = zip_longest(*([(path, mutant) for mutant in found[path]] for path in sorted(found)))
    return [pair for each in rounds for pair in each if pair is not None]


def list_changed_lines(before: str | None, after: str) -> set[int]:
    """The numbers of the lines of a text that the text before it does not have; all if there was none."""
    old, new = (before or "").splitlines(), after.splitlines()
    if before is None:
        return {*range(1, len(new) + 1)}
    if max(len(old), len(new)) > MOST_LINES:
        return set()
    from difflib import SequenceMatcher

    matcher = SequenceMatcher(a=old, b=new, autojunk=False)
    kinds = ("replace", "insert")
    return {line + 1 for kind, _, _, start, end in matcher.get_opcodes() if kind in kinds for line in range(start, end)}


def list_mutants(source: str, lines: Collection[int], *, most: int = MOST) -> list[Mutant]:
    """Mutants of these lines of a Python program: one of each line first, then a second one, up to `most`."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found: dict[int, list[Mutant]] = {}
    for edit in sorted(_find_edits(tree, _Text(source)), key=_rank):
        line = edit.line
        if line in lines and (mutant := _make(source, edit)) is not None:
            found.setdefault(line, []).append(mutant)
    rounds = zip_longest(*(found[line] for line in sorted(found)))
    return [mutant for each in rounds for mutant in each if mutant is not None][:most]


class _Edit(Record):
    """Put `after` in place of the text from `start` to `end`."""

    line: int
    kind: MutantKind
    start: int
    end: int
    after: str


class _Text:
    """A source with the places of its nodes as offsets into the text."""

    def __init__(self, source: str) -> None:
        self.source = source
        # Only these end a line for the parser.
        self._lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", source)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._find(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._find(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def cut(self, node: ast.expr) -> str:
        return self.source[self.start(node) : self.end(node)]

    def _find(self, line: int, column: int) -> int:
        text = self._lines[line - 1].encode("utf-8")[:column].decode("utf-8", "replace")
        return self._starts[line - 1] + len(text)


def _rank(edit: _Edit) -> tuple[int, int, int]:
    return edit.line, [*MutantKind].index(edit.kind), edit.start


def _make(source: str, edit: _Edit) -> Mutant | None:
    """The mutant, None if it would be the same program or none at all."""
    before = source[edit.start : edit.end]
    changed = source[: edit.start] + edit.after + source[edit.end :]
    try:
        ast.parse(changed)
    except (SyntaxError, ValueError, RecursionError):
        return None
    if changed == source:
        return None
    told = [text.strip()[:MOST_SHOWN] for text in (before, edit.after)]
    return Mutant(line=edit.line, kind=edit.kind, before=told[0], after=told[1], source=changed)


# --- what tests expect -------------------------------------------------------------------------------------------


def list_expectations(source: str, lines: Collection[int]) -> list[Mutant]:
    """Mutants of tests: a value that something is to be equal to is another one. No honest work passes with it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return []
    text = _Text(source)
    edits = [edit for node in ast.walk(tree) if (edit := _expect_other(node, text)) is not None]
    found = (_make(source, edit) for edit in sorted(edits, key=_rank) if edit.line in lines)
    return [mutant for mutant in found if mutant is not None][:MOST_EXPECTED]


def _expect_other(node: ast.AST, text: _Text) -> _Edit | None:
    match node:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            sides = [left, right]
        case ast.Call(func=ast.Attribute(attr="assertEqual" | "assertEquals" | "assert_equal"), args=[left, right, *_]):
            sides = [left, right]
        case _:
            return None
    values = [side for side in sides if isinstance(side, ast.Constant)]
    others = [side for side in sides if any(isinstance(part, ast.Call | ast.Name) for part in ast.walk(side))]
    if len(values) != 1 or len(others) != 1:
        return None
    after = _name_other(values[0].value)
    return _replace(values[0], text, MutantKind.EXPECTATION, after) if after else None


def _name_other(value: object) -> str:
    """Another value of the same kind, as Python writes it; empty if there is none."""
    match value:
        case bool():
            return repr(not value)
        case int() | float():
            return repr(value + 1) if value + 1 != value else ""
        case str():
            return repr(f"{value}?")
        case _:
            return ""


# --- the edits ---------------------------------------------------------------------------------------------------

_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.In: ("in", "not in"),
    ast.NotIn: (r"not\s+in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: (r"is\s+not", "is"),
}
_OPERATORS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.RShift: (">>", "<<"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}


def _find_edits(tree: ast.Module, text: _Text) -> Iterator[_Edit]:
    for node in ast.walk(tree):
        match node:
            case ast.If() | ast.While() | ast.IfExp():
                yield _negate(node.test, text)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                sign, other = _COMPARISONS[type(op)]
                pattern = sign if "\\" in sign else re.escape(sign)
                yield from _swap(text, (left, right), (pattern, other), MutantKind.COMPARISON)
                if isinstance(op, ast.Eq) and (_is_number(left) or _is_number(right)):
                    yield from _swap(text, (left, right), (pattern, ">="), MutantKind.LIMIT)
            case ast.BoolOp(op=op, values=[first, second, *_]):
                words = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
                yield from _swap(text, (first, second), words, MutantKind.CONDITION)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS and not _is_text(left, right):
                sign, other = _OPERATORS[type(op)]
                yield from _swap(text, (left, right), (re.escape(sign), other), MutantKind.ARITHMETIC)
            case ast.Return(value=ast.expr() as value):
                yield _return_other(value, text)
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                yield _replace(node, text, MutantKind.INTEGER, str(value + 1))


def _replace(node: ast.expr, text: _Text, kind: MutantKind, after: str) -> _Edit:
    return _Edit(line=node.lineno, kind=kind, start=text.start(node), end=text.end(node), after=after)


def _negate(test: ast.expr, text: _Text) -> _Edit:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _replace(test, text, MutantKind.CONDITION, text.cut(test.operand))
    return _replace(test, text, MutantKind.CONDITION, f"not ({text.cut(test)})")


def _return_other(value: ast.expr, text: _Text) -> _Edit:
    known = value.value if isinstance(value, ast.Constant) else ...
    after = "None" if known is not None else "1"
    return _replace(value, text, MutantKind.RETURN, str(not known) if isinstance(known, bool) else after)


def _swap(text: _Text, sides: tuple[ast.expr, ast.expr], words: tuple[str, str], kind: MutantKind) -> Iterator[_Edit]:
    """Another operator between the two sides; comments there leave it unclear which text is the operator."""
    left, right = sides
    start, end = text.end(left), text.start(right)
    gap = text.source[start:end]
    found = re.search(words[0], gap)
    if found is not None and "#" not in gap:
        line = (left.end_lineno or left.lineno) + gap[: found.start()].count("\n")
        yield _Edit(line=line, kind=kind, start=start + found.start(), end=start + found.end(), after=words[1])


def _is_number(side: ast.expr) -> bool:
    """Whether this is a number, or a tuple of numbers: what an answer is given for that is known beforehand."""
    if isinstance(side, ast.Tuple):
        return bool(side.elts) and all(map(_is_number, side.elts))
    return isinstance(side, ast.Constant) and isinstance(side.value, int | float) and not isinstance(side.value, bool)


def _is_text(*sides: ast.expr) -> bool:
    """Whether text is put together: any other operator is an error that every test sees."""
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in sides
    )
