"""Commands that a repository brings, told apart by digest: what a person accepted stays accepted until it changes.

The rule: the digest covers everything that decides what is executed and that a person can see here: the kind, the text,
and the content of a script. What a command starts in turn (`make test`) is not covered.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drumline.core.plan import Step
from drumline.patterns import compile_late

SETUP, CHECK, AGENT, SCRIPT, SERVER, NOTIFY, GRANT = "setup", "check", "agent", "script", "server", "notify", "grant"
KINDS = (SETUP, CHECK, AGENT, SCRIPT, SERVER, NOTIFY, GRANT)
COMMANDS = ("command", "acp")
"""Agents whose spec is a command."""
SHORT = 8
"""Digits of a digest that people see."""
_SPACES = compile_late(" {9,}")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and signs that look like spaces."""


def spell_out(text: str) -> str:
    """A text of the repository on one line, with what a terminal would not show spelled out."""
    seen = (c if c.isprintable() and c not in _BLANK else c.encode("unicode_escape").decode("ascii") for c in text)
    return _SPACES.sub(lambda run: f" [{len(run[0])} spaces] ", "".join(seen))


@dataclass(frozen=True, kw_only=True, slots=True)
class Brought:
    """One command that a repository brings, and where it is written; `place` does not count for its digest.

    `content` is a digest of what `text` only names, such as a script. `slot` is what stays the same when the command
    changes: the name of a setting, of a script, of a server.
    """

    kind: str
    text: str
    place: str = ""
    content: str = ""
    slot: str = field(default="", compare=False)

    @property
    def digest(self) -> str:
        """What it is remembered by."""
        told = json.dumps([self.kind, self.text, self.content], ensure_ascii=True)
        return hashlib.sha256(told.encode("ascii")).hexdigest()

    @property
    def id(self) -> str:
        """The beginning of its digest, for people."""
        return self.digest[:SHORT]

    @property
    def shown(self) -> str:
        """Its text so that nothing in it can hide."""
        return spell_out(self.text)


TYPED = "typed"
"""The source of a check that a person typed with a task: it is theirs, not the repository's."""


def list_checks(steps: Iterable[Step]) -> list[Brought]:
    """The checks of steps that are run here, without those that a person typed."""
    return [
        Brought(kind=CHECK, text=check.command, place=step.path or step.id)
        for step in steps
        if not step.elsewhere
        for check in step.checks
        if check.source != TYPED
    ]


def find_spec(name: str, profiles: Mapping[str, Mapping[str, str]]) -> str:
    """The agent that a name stands for."""
    return profiles.get(name, {}).get("agent") or name


def distinct(found: Iterable[Brought]) -> list[Brought]:
    """Each command once, in the order of kinds; the first place counts."""
    once: dict[str, Brought] = {}
    for item in found:
        once.setdefault(item.digest, item)
    return sorted(once.values(), key=lambda item: KINDS.index(item.kind))


def digest_all(found: Iterable[Brought]) -> str:
    """One digest for several commands."""
    return hashlib.sha256("\n".join(sorted(item.digest for item in found)).encode("ascii")).hexdigest()
