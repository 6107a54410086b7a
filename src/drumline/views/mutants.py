"""What became of mutants of a step's work, in words and as data. The rule: a survivor has its file and line."""

from __future__ import annotations

from drumline.core.events import MutantsTried
from drumline.core.mutants import Mutation, Survivor
from drumline.core.plaintext import name_some
from drumline.views.cells import count, flatten
from drumline.views.told import Told

MOST_NAMED = 3
"""How many survivors a line names."""


def describe_survivor(survivor: Survivor) -> str:
    """Where a change goes unnoticed, and which."""
    return f"{flatten(survivor.path)}:{survivor.line} ({describe_change(survivor.before, survivor.after)})"


def describe_change(before: str, after: str) -> str:
    """What goes unnoticed."""
    return f"`{flatten(before)}` could as well be `{flatten(after)}`"


def tell_survivors(mutation: Mutation) -> str:
    """The first survivors in one line; empty if there is none."""
    found = mutation.survivors
    if not found:
        return ""
    named = name_some(map(describe_survivor, found), MOST_NAMED)
    return f"{count(len(found), 'mutant')} of {mutation.tried} not noticed by its checks: {named}"


def tell_tried(event: MutantsTried) -> Told | None:
    """That mutants of a landed step were tried, if one survived."""
    if not event.found.survivors:
        return None
    data = {"step": event.step, "commit": event.commit, "mutants": mutants_json(event.found)}
    return Told(event="survivors", text=f"{event.step}: {tell_survivors(event.found)}", data=data)


def mutants_json(mutation: Mutation) -> dict[str, object]:
    """Mutants for programs."""
    survivors = [{"path": s.path, "line": s.line, "before": s.before, "after": s.after} for s in mutation.survivors]
    return {"tried": mutation.tried, "survivors": survivors}
