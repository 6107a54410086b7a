"""What a finished phase tells those that come after it: five lists, read from the agent's own words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from drumline.planfiles.maestro_markdown import blocks
from drumline.planfiles.maestro_vocabulary import split_label

if TYPE_CHECKING:
    from markdown_it.token import Token

FIELDS = ("key_interfaces_introduced", "patterns_established", "integration_points", "assumptions", "warnings")
_ABSENT = frozenset({"", "none", "n/a", "not applicable"})
_HEADING = "downstream context"
MAX_CHARS = 256 * 1024

Context = Mapping[str, tuple[str, ...]]


def canonical(context: object) -> Context:
    """The five lists of a context as somebody wrote it; whatever is not a text with content is left out."""
    given = context if isinstance(context, Mapping) else {}
    return {name: _words(given.get(name)) for name in FIELDS}


def populated(context: Context) -> bool:
    """Whether any of the lists says something."""
    return any(context.get(name) for name in FIELDS)


def read_context(said: str) -> Context:
    """The context in an agent's report: the section called Downstream Context, wherever it stands."""
    found: dict[str, list[str]] = {name: [] for name in FIELDS}
    field = ""
    for text in _section(blocks().parse(said[:MAX_CHARS])):
        label, value = split_label(text)
        name = "_".join(label.casefold().split())
        if name in found:
            field = name
            text = value
        if field:
            found[field].append(text)
    return canonical(found)


def _section(tokens: Sequence[Token]) -> Iterator[str]:
    """Every heading and line of text below the heading, up to the next one of its level."""
    level = 0
    for number, token in enumerate(tokens):
        if token.type != "inline":
            continue
        opened = tokens[number - 1]
        if opened.type == "heading_open":
            depth = int(opened.tag[1:])
            if token.content.strip(" *_:#").casefold() == _HEADING:
                level = depth
                continue
            level = level if depth > level else 0
        if level:
            yield from token.content.split("\n")


def _words(value: object) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value if isinstance(value, Sequence) else []
    words = [word.strip() for word in listed if isinstance(word, str)]
    return tuple(word for word in words if word.casefold() not in _ABSENT)
