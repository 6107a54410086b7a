"""What a plan takes for granted and the head does not have: paths and symbols that its steps name.

A plan is written against some commit: the base of its first run, and before that the one that has its files as they
are. Work that its own runs landed is not drift.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

from drumline.core.ids import Commit
from drumline.core.namings import find_symbols, is_assumed, is_created, is_own
from drumline.core.outlook import todo
from drumline.core.plan import Problem, Reading, Severity, Step
from drumline.record import Record

MOST_SYMBOLS = 100
"""How many symbols of a plan are looked up."""
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
    made = {path for step, text in told for path in step.files if is_created(path, text)}
    for step, text in told:
        paths = _Paths(now=now, before=before, changed=changed, made=made, since=ground.since)
        found += [_at(step, message) for message in paths.compare(step, text)]
        for symbol in find_symbols(text):
            symbols.setdefault(symbol, step)
            assumed |= {symbol} if is_own(symbol, text) else set()
    made = {symbol for symbol in symbols for _, text in told if is_created(symbol, text)}
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
            elif path in self.now and path not in self.before and is_created(path, text):
                yield f"{path} is to be created, but is there already"
            elif path not in self.now and path in self.before and self.before is not self.now:
                yield f"{path} is gone; it was there when the plan {self.since}"
            elif path not in self.now and path not in self.made and is_assumed(path, text):
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


def _at(step: Step, message: str) -> Problem:
    return _warning(step.path, step.line, f"step {step.id}: {message}")


def _warning(path: str, line: int, message: str) -> Problem:
    return Problem(code="drift", message=message, where=f"{path}:{line}", severity=Severity.WARNING)
