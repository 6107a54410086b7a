"""What a plan takes for granted and the head does not have: paths and symbols that its steps name.

A plan is written against some commit: the base of its first run, and before that the one that has its files as they
are. Work that its own runs landed is not drift.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

from drumline.core.ids import Commit
from drumline.core.outlook import todo
from drumline.core.plan import Problem, Reading, Severity, Step
from drumline.record import Record

MOST_SYMBOLS = 100
"""How many symbols of a plan are looked up."""
_CODE = re.compile(r"`([^`\n]{3,120})`")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_TELLING = re.compile(r"_[a-z0-9]|[a-z0-9][A-Z]")
_CREATES = r"creates?|new|adds?|writes?|introduces?|defines?|implements?|generates?"
_CHANGES = (
    "modify|modifies|updates?|edits?|changes?|fix(?:es)?|removes?|deletes?|renames?|moves?|refactors?|replaces?"
    "|rewrites?|existing"
)
_USES = "extends?|migrates?|reuses?|calls?|calling|uses?|using|via|imports?|inherits?|wraps?|invokes?"
_VERB = re.compile(rf"\b(?:(?P<creates>{_CREATES})|(?P<changes>{_CHANGES})|{_USES})\b", re.IGNORECASE)
_TARGET = re.compile(r"\b(?:to|into|with|as|by|from|for)\b", re.IGNORECASE)
"""What stands before the new thing: rename A to B, replace A with B."""
_REACH = 80
"""How many letters before a name a verb may stand that is about it."""
_SPAN = re.compile(r"`[^`]*`")
_GLOB = re.compile(r"[*?\[\]{}]|/$")


class History(Protocol):
    """What a repository tells about its commits."""

    def paths_at(self, commit: Commit) -> Collection[str]:
        """The paths of all files of a commit; none if it is not there."""
        ...

    def changed_since(self, commit: Commit, *, besides: Collection[Commit]) -> Collection[str]:
        """The paths that commits since this one changed, without those of the commits in `besides`."""
        ...

    def mentions(self, commit: Commit, word: str, *, outside: Collection[str]) -> bool:
        """Whether a file of the commit has this word; the paths in `outside` are not looked at."""
        ...


class Ground(Record):
    """What a plan is compared with: the head, the commit it was written against if one is known, what its runs landed.

    `since` says which commit that is: when the plan "was first run" or "was last committed".
    """

    head: Commit
    base: Commit | None = None
    since: str = "was first run"
    landed: frozenset[Commit] = frozenset()


def find_drift(reading: Reading, text_of: Callable[[Step], str], history: History, ground: Ground) -> list[Problem]:
    """A warning for each thing that a step still to do names and the head has changed, lost or never had."""
    now = history.paths_at(ground.head)
    before = history.paths_at(ground.base) if ground.base else now
    if ground.base and not before:
        message = f"the commit {ground.base[:12]} at which the plan {ground.since} is not in this repository"
        return [_warning(reading.plan.path, 1, message)]
    changed = history.changed_since(ground.base, besides=ground.landed) if ground.base else ()
    found: list[Problem] = []
    symbols: dict[str, Step] = {}
    assumed: set[str] = set()
    told = [(step, text_of(step)) for step in todo(reading)]
    made = {path for step, text in told for path in step.files if _is_created(path, text)}
    for step, text in told:
        paths = _Paths(now=now, before=before, changed=changed, made=made, since=ground.since)
        found += [_at(step, message) for message in paths.compare(step, text)]
        for symbol in _find_symbols(text):
            symbols.setdefault(symbol, step)
            assumed |= {symbol} if _is_own(symbol, text) else set()
    made = {symbol for symbol in symbols for _, text in told if _is_created(symbol, text)}
    named = list(symbols.items())[:MOST_SYMBOLS]
    words = _Words(history=history, ground=ground, own=tuple(reading.digests), assumed=assumed - made)
    return found + [_at(step, message) for symbol, step in named if (message := words.compare(symbol))]


class _Paths(Record):
    """The files of the head and of the commit before it, what changed, and what steps say that they create."""

    now: Collection[str]
    before: Collection[str]
    changed: Collection[str]
    made: Collection[str]
    since: str

    def compare(self, step: Step, text: str) -> Iterator[str]:
        """What is not as the step's text has it."""
        for path in (path for path in step.files if not _GLOB.search(path)):
            if path in self.now and path in self.changed and path in self.before:
                yield f"{path} has changed since the plan {self.since}"
            elif path in self.now and path not in self.before and _is_created(path, text):
                yield f"{path} is to be created, but is there already"
            elif path not in self.now and path in self.before and self.before is not self.now:
                yield f"{path} is gone; it was there when the plan {self.since}"
            elif path not in self.now and path not in self.made and _is_assumed(path, text):
                yield f"{path} is not there, and no step creates it"


class _Words(Record):
    """Where symbols are looked for; `assumed` are those of this repository that the plan takes for granted."""

    history: History
    ground: Ground
    own: Collection[str]
    assumed: Collection[str]

    def compare(self, symbol: str) -> str:
        """What is wrong about a symbol; "" if nothing is. The plan's own files name it in any case."""
        base = self.ground.base
        if symbol not in self.assumed and base is None:
            return ""
        if self.history.mentions(self.ground.head, symbol, outside=self.own):
            return ""
        if base is not None and self.history.mentions(base, symbol, outside=self.own):
            return f"the symbol {symbol!r} is gone; it was there when the plan {self.ground.since}"
        return f"the symbol {symbol!r} is not there, and no step creates it" if symbol in self.assumed else ""


def _is_created(name: str, text: str) -> bool:
    """Whether the text says that the step makes the thing."""
    verb = _find_verb(name, text)
    return verb is not None and bool(verb["creates"])


def _is_assumed(name: str, text: str) -> bool:
    """Whether the text says that the step works with a thing that is there."""
    verb = _find_verb(name, text)
    return verb is not None and not verb["creates"]


def _is_own(symbol: str, text: str) -> bool:
    """Whether the text says that the step changes the thing: what is only used may be that of a library."""
    verb = _find_verb(symbol, text)
    if verb is None or not verb["changes"]:
        return False
    return not _TARGET.search(verb.string, verb.end())


def _find_verb(name: str, text: str) -> re.Match[str] | None:
    """The verb before the name where the text has it first: the last one on the same line that is not in backticks."""
    place = text.find(name)
    before = text[max(0, place - _REACH) : max(0, place)].rpartition("\n")[2]
    return next(reversed([*_VERB.finditer(_SPAN.sub(lambda code: " " * len(code[0]), before))]), None)


def _find_symbols(text: str) -> Iterator[str]:
    """Names in backticks that can only be code: with an underscore, a capital inside, or brackets behind them."""
    for code in _CODE.findall(text):
        if "/" in code or " " in code.strip().partition("(")[0]:
            continue
        words = _SYMBOL.findall(code.partition("(")[0])
        if len(words) > 1 and words[0] in sys.stdlib_module_names:
            continue
        called = "(" in code
        yield from (word for word in words[-1:] if called or _TELLING.search(word))


def _at(step: Step, message: str) -> Problem:
    return _warning(step.path, step.line, f"step {step.id}: {message}")


def _warning(path: str, line: int, message: str) -> Problem:
    return Problem(code="drift", message=message, where=f"{path}:{line}", severity=Severity.WARNING)
