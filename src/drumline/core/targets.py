"""The targets of a makefile: which lines of it a command executes.

Rules are told from the rest by their form alone. The rule: what is not understood belongs to every target.
"""

from __future__ import annotations

from collections.abc import Sequence

from drumline.patterns import compile_late
from drumline.record import Record

_RULE = compile_late(r"(?P<names>[^\s:#=][^:#=]*)::?(?!=)(?P<needs>[^=]*?)(?:;.*)?$")
_SPECIAL = ".PHONY"
_SETS = compile_late(r"\.[A-Z_]+")
"""Names of targets that say how all others are made, such as `.IGNORE`."""


class Makefile(Record):
    """The rules of a makefile by target: what they need and their lines. `loose` are all other lines."""

    needs: dict[str, tuple[str, ...]]
    lines: dict[str, tuple[str, ...]]
    loose: tuple[str, ...]
    first: str


def read_makefile(text: str) -> Makefile:
    """The rules in a text."""
    needs: dict[str, tuple[str, ...]] = {}
    lines: dict[str, tuple[str, ...]] = {}
    loose: list[str] = []
    here: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t") and here:
            for name in here:
                lines[name] += (line.rstrip(),)
            continue
        rule = _RULE.fullmatch(line.rstrip())
        here = rule["names"].split() if rule and _has_targets(rule["names"]) else []
        for name in here:
            needs[name] = (*needs.get(name, ()), *rule["needs"].split()) if rule else ()
            lines[name] = (*lines.get(name, ()), line.rstrip())
        if not here and line.strip() and not line.lstrip().startswith("#"):
            loose.append(line.rstrip())
    first = next((name for name in needs if not name.startswith(".")), "")
    return Makefile(needs=needs, lines=lines, loose=tuple(loose), first=first)


def _has_targets(names: str) -> bool:
    """Whether a rule has targets of its own, and is not about those of others."""
    special = {name for name in names.split() if _SETS.fullmatch(name)} - {_SPECIAL}
    return "%" not in names and not special


def cut_targets(text: str, goals: Sequence[str]) -> tuple[str, ...] | None:
    """The lines that these goals, or the first target, are made by; None where one of them has no rule."""
    made = read_makefile(text)
    wanted = list(goals) or [made.first]
    if any(goal not in made.lines for goal in wanted):
        return None
    for name in wanted:
        wanted += [need for need in made.needs.get(name, ()) if need not in wanted]
    phony = {*made.needs.get(_SPECIAL, ())}
    listed = [line for name in wanted for line in made.lines.get(name, ())]
    return (*made.loose, *listed, *(f"{_SPECIAL} {name}" for name in wanted if name in phony))
