"""What a text says about the things that it names: that it makes them, changes them, or works with them.

The rule: only the verb on the same line before a name counts; a name that is merely mentioned says nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from drumline.core.proselines import read_lines
from drumline.patterns import compile_late

_CODE = compile_late(r"`([^`\n]{3,120})`")
_SYMBOL = compile_late(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_TELLING = compile_late(r"_[a-z0-9]|[a-z0-9][A-Z]")
_LOCATED = compile_late(r"`([^`\n]{3,120})`,? (?:of|in|from|at|inside(?: of)?) `([^`\s]+)`")
_PATH = compile_late(r"(?:\./)?((?:[\w@.+-]+/)+[\w@+-][\w@.+-]*\.\w{1,8})(?::\d+(?:-\d+)?)?")
_CREATES = r"creates?|created|new|adds?|added|writes?|introduces?|introduced|defines?|implements?|generates?"
_CHANGES = (
    "modify|modifies|updates?|edits?|changes?|fix(?:es)?|removes?|deletes?|renames?|moves?|refactors?|replaces?"
    "|rewrites?|existing"
)
_USES = "extends?|migrates?|reuses?|calls?|calling|uses?|using|via|imports?|inherits?|wraps?|invokes?"
_VERB = compile_late(rf"\b(?:(?P<creates>{_CREATES})|(?P<changes>{_CHANGES})|{_USES})\b", re.IGNORECASE)
_TARGET = compile_late(r"\b(?:to|into|with|as|by|from|for)\b", re.IGNORECASE)
"""What stands before the new thing: rename A to B, replace A with B."""
_REACH = 80
"""How many letters before a name a verb may stand that is about it."""
_SPAN = compile_late(r"`[^`]*`")
OUTSIDE = frozenset(
    {"out of scope", "what we re not doing", "what is not done", "what we are not doing", "non-goals", "not in scope"}
)
"""Headings of what a step rules out."""
_WORD = compile_late(r"`([^`\s]+)`")
_ENTRY = compile_late(r"[\w@.+*?\[\]-]+(?:/[\w@.+*?\[\]-]*)+|[\w@+*-][\w@.+*-]*\.[A-Za-z*]\w{0,9}")


def is_created(name: str, text: str) -> bool:
    """Whether the text says that the thing is made."""
    verb = _find_verb(name, text)
    return verb is not None and bool(verb["creates"])


def is_assumed(name: str, text: str) -> bool:
    """Whether the text says that a thing is worked with that is there."""
    verb = _find_verb(name, text)
    return verb is not None and not verb["creates"]


def is_own(symbol: str, text: str) -> bool:
    """Whether the text says that the thing is changed: what is only used may be that of a library."""
    verb = _find_verb(symbol, text)
    if verb is None or not verb["changes"]:
        return False
    return not _TARGET.search(verb.string, verb.end())


def find_symbols(text: str) -> Iterator[str]:
    """Names in backticks that can only be code: with an underscore, a capital inside, or brackets behind them."""
    for code in _CODE.findall(text):
        if "/" in code or " " in code.strip().partition("(")[0]:
            continue
        words = _SYMBOL.findall(code.partition("(")[0])
        if len(words) > 1 and words[0] in sys.stdlib_module_names:
            continue
        called = "(" in code
        yield from (word for word in words[-1:] if called or _TELLING.search(word))


def find_located(text: str) -> Iterator[tuple[str, str]]:
    """Symbols of which the text says in which file they are: `name()` in `src/file.py`."""
    for found in _LOCATED.finditer(text):
        path = _PATH.fullmatch(found[2])
        yield from ((symbol, path[1]) for symbol in find_symbols(f"`{found[1]}`") if path)


def find_paths(text: str) -> list[str]:
    """Paths of files in backticks, each once; a name without a folder may be anything."""
    found = [match[1] for code in _CODE.findall(text) if (match := _PATH.fullmatch(code.strip()))]
    return list(dict.fromkeys(path for path in found if ".." not in path.split("/")))


def _find_verb(name: str, text: str) -> re.Match[str] | None:
    """The verb before the name where the text has it first: the last one on the same line that is not in backticks."""
    place = text.find(name)
    before = text[max(0, place - _REACH) : max(0, place)].rpartition("\n")[2]
    return next(reversed([*_VERB.finditer(_SPAN.sub(lambda code: " " * len(code[0]), before))]), None)


def list_ruled_out(text: str) -> tuple[str, ...]:
    """The paths and globs in backticks below the headings of a step's text that say what is not its task."""
    lines = (line.text for line in read_lines(text) if line.paragraph >= 0 and not OUTSIDE.isdisjoint(line.path))
    found = (word for line in lines for word in _WORD.findall(line))
    return tuple(dict.fromkeys(word.removeprefix("./") for word in found if _ENTRY.fullmatch(word.removeprefix("./"))))
