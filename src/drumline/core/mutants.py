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

from drumline.record import Record

MOST = 8
"""How many mutants are tried of one change."""


class MutantKind(Enum):
    """What is changed, in the order in which kinds are tried on a line."""

    CONDITION = "condition"
    COMPARISON = "comparison"
    ARITHMETIC = "arithmetic"
    RETURN = "return"
    INTEGER = "integer"


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


def spread(found: Mapping[str, Sequence[Mutant]], *, most: int = MOST) -> list[tuple[str, Mutant]]:
    """The mutants of several files in turn, up to `most`."""
    rounds = zip_longest(*([(path, mutant) for mutant in found[path]] for path in sorted(found)))
    return [pair for each in rounds for pair in each if pair is not None][:most]


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
    return Mutant(line=edit.line, kind=edit.kind, before=before.strip(), after=edit.after.strip(), source=changed)


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


def _is_text(*sides: ast.expr) -> bool:
    """Whether text is put together: any other operator is an error that every test sees."""
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in sides
    )
