"""The mermaid drawing of a plan, as far as it can be compared: arrows between nodes that name steps.

A drawing with a node that names no step is not judged, for it may show anything, unless the node is called like one
(`step-9`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from drumline.core.plan import Step
from drumline.patterns import compile_late
from drumline.planfiles.correction import corrects
from drumline.record import Record

if TYPE_CHECKING:
    from markdown_it.token import Token

_ARROW = compile_late(r"(?:<?--+[->ox]|<?==+[=>]|<?-\.+->?|~~~)(?:\|[^|]*\|)?")
_LABELLED = compile_late(r"(--|==|-\.)\s+[^-=.>|][^->=]*?\s*(--+>|==+>|\.+->)")
_NODE = compile_late(r"\s*([A-Za-z0-9_]+(?:[-.][A-Za-z0-9_]+)*)\s*(.*)", re.DOTALL)
_STEP = compile_late(r"step[-_]?\d+\w*", re.IGNORECASE)
_HEADS = ("graph", "flowchart")
_OTHER = ("%%", "subgraph", "end", "direction", "classDef", "class ", "style ", "linkStyle", "click ")
# Beyond these a drawing is not compared: it would cost more than its length.
_MAX_ARROWS = 1_000
_MAX_LINE = 2_000


class Drawing(Record):
    """A drawing at `line`: the label of each node by its name, and arrows from a needed node to the one that waits."""

    line: int
    labels: dict[str, str]
    arrows: tuple[tuple[str, str], ...]

    def differs(self, steps: Sequence[Step]) -> str:
        """How the drawing and the steps disagree, in a sentence; "" if they agree or cannot be compared."""
        known = _spell([str(step.id) for step in steps])
        named = {name: _find_step(name, label, known) for name, label in self.labels.items()}
        strange = next((name for name, step in named.items() if not step and _STEP.fullmatch(name)), "")
        if strange and any(named.values()):
            return f"the drawing shows {strange!r}, which is not in the plan; the files count"
        if not named or not all(named.values()):
            return ""
        drawn = {(named[a], named[b]) for a, b in self.arrows}
        # Corrective steps come later than the drawing and need not be in it.
        hidden = {n for step in steps for n in step.needs if corrects(n, step.id)}.difference(named.values())
        shown = [step for step in steps if step.id not in hidden]
        meant = {(str(need), str(step.id)) for step in shown for need in step.needs if need not in hidden}
        extra, missing = sorted(drawn - meant), sorted(meant - drawn)
        if extra:
            return f"the drawing shows {_arrow(extra[0])}, which no step's file says; the files count"
        if missing:
            return f"the drawing does not show {_arrow(missing[0])}, which {missing[0][1]!r} says; the files count"
        return ""


def read_drawing(tokens: Sequence[Token], first_line: int) -> Drawing | None:
    """The first mermaid flowchart of the document."""
    for token in tokens:
        if token.type != "fence" or token.info.split()[:1] != ["mermaid"] or token.map is None:
            continue
        lines = token.content.split("\n")
        if max(map(len, lines)) <= _MAX_LINE and any(line.split()[:1] and line.split()[0] in _HEADS for line in lines):
            return _parse(lines, first_line + token.map[0] + 1)
    return None


def _parse(lines: Sequence[str], line: int) -> Drawing | None:
    labels: dict[str, str] = {}
    arrows: list[tuple[str, str]] = []
    for statement in _statements(lines):
        groups = [list(_nodes(part)) for part in _ARROW.split(_LABELLED.sub(r"\2", statement))]
        for name, label in (node for group in groups for node in group):
            labels[name] = label or labels.get(name, "")
        for left, right in pairwise(groups):
            if len(left) * len(right) > _MAX_ARROWS:
                return None
            arrows += [(a, b) for a, _ in left for b, _ in right]
    return Drawing(line=line, labels=labels, arrows=tuple(arrows))


def _statements(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        bare = line.strip()
        if bare and bare.split()[0] not in _HEADS and not bare.startswith(_OTHER):
            yield from (part for part in bare.split(";") if part.strip())


def _nodes(part: str) -> Iterator[tuple[str, str]]:
    for piece in part.split("&"):
        found = _NODE.match(piece)
        if found:
            yield found[1], found[2].split(":::")[0].strip("[](){}<>\"'/\\ ")


def _find_step(name: str, label: str, known: dict[str, str]) -> str:
    """The step a node stands for: by its name, or by the first word of its label."""
    word = re.split(r"[\s:<,(]", label.strip(), maxsplit=1)[0]
    spellings = (name, word, _key(name), _key(word))
    return next((known[each] for each in spellings if each in known), "")


def _spell(ids: Sequence[str]) -> dict[str, str]:
    """The steps by their ids, and without dots and dashes where that is the spelling of one id alone."""
    keys = Counter(map(_key, ids))
    return {_key(each): each for each in ids if keys[_key(each)] == 1} | {each: each for each in ids}


def _key(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _arrow(pair: tuple[str, str]) -> str:
    return f"{pair[0]} → {pair[1]}"
