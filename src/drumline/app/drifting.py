"""What a plan takes for granted and the head no longer has: paths and symbols its steps name, since it was read first.

A plan is written against some commit: the base of its first run. Work that its own runs landed is not drift.
"""

from __future__ import annotations

import re
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
_CREATED = re.compile(r"\b(?:create|creates|new|add)\b[^`\n]{0,30}:?\s*$", re.IGNORECASE)
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
    """What a plan is compared with: the head, the commit of its first run if there was one, what its runs landed."""

    head: Commit
    base: Commit | None = None
    landed: frozenset[Commit] = frozenset()


def find_drift(reading: Reading, text_of: Callable[[Step], str], history: History, ground: Ground) -> list[Problem]:
    """A warning for each thing that a step still to do names and the head has changed or lost."""
    now = history.paths_at(ground.head)
    before = history.paths_at(ground.base) if ground.base else now
    if ground.base and not before:
        message = f"the commit {ground.base[:12]} that the plan was first run on is not in this repository"
        return [_warning(reading.plan.path, 1, message)]
    changed = history.changed_since(ground.base, besides=ground.landed) if ground.base else ()
    found: list[Problem] = []
    symbols: dict[str, Step] = {}
    for step in todo(reading):
        text = text_of(step)
        found += [_at(step, message) for message in _paths(step, text, now=now, before=before, changed=changed)]
        for symbol in _find_symbols(text):
            symbols.setdefault(symbol, step)
    if ground.base:
        named = list(symbols.items())[:MOST_SYMBOLS]
        own = tuple(reading.digests)
        lost = [symbol for symbol, _ in named if _is_lost(symbol, history, ground.base, ground.head, own=own)]
        told = "is gone; the commit the plan was first run on had it"
        found += [_at(symbols[symbol], f"the symbol {symbol!r} {told}") for symbol in lost]
    return found


def _paths(
    step: Step, text: str, *, now: Collection[str], before: Collection[str], changed: Collection[str]
) -> Iterator[str]:
    for path in step.files:
        if _GLOB.search(path):
            continue
        created = _is_created(path, text)
        if path in now and path in changed:
            yield f"{path} has changed since the plan was first run"
        elif path in now and created and path not in before:
            yield f"{path} is to be created, but is there already"
        elif path not in now and path in before:
            yield f"{path} is gone"


def _is_created(path: str, text: str) -> bool:
    """Whether the text says that the file is made by the step."""
    place = text.find(path)
    return place >= 0 and bool(_CREATED.search(text[max(0, place - 60) : place].rstrip("`")))


def _find_symbols(text: str) -> Iterator[str]:
    """Names in backticks that can only be code: with an underscore, a capital inside, or brackets behind them."""
    for code in _CODE.findall(text):
        if "/" in code or " " in code.strip().partition("(")[0]:
            continue
        words = _SYMBOL.findall(code.partition("(")[0])
        called = "(" in code
        yield from (word for word in words[-1:] if called or _TELLING.search(word))


def _is_lost(symbol: str, history: History, base: Commit, head: Commit, *, own: Collection[str]) -> bool:
    """Whether the base had the symbol and the head has not; the plan's own files name it in any case."""
    return history.mentions(base, symbol, outside=own) and not history.mentions(head, symbol, outside=own)


def _at(step: Step, message: str) -> Problem:
    return _warning(step.path, step.line, f"step {step.id}: {message}")


def _warning(path: str, line: int, message: str) -> Problem:
    return Problem(code="drift", message=message, where=f"{path}:{line}", severity=Severity.WARNING)
