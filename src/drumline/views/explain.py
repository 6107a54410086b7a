"""What Drumline will do with a plan, on one screen: for people who bring a plan that another tool wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from drumline.core.ids import StepId
from drumline.core.outlook import count_proved
from drumline.core.plan import Marks, Reading, Status, Step
from drumline.core.profile import Profile
from drumline.views.cells import flatten

NOTES: Mapping[str, str] = {
    "dag": "one file per step; status, claims and ticked boxes are written into it",
    "phased": "one file per step; status and claims go into its frontmatter; a complete handoff counts as done",
    "speckit": "tasks with ids in phases; [P] runs side by side, stories after the phases above them; boxes are ticked",
    "taskmaster": "tasks and subtasks of one tag; dependencies as written; status is written there, claims beside it",
    "superpowers": "tasks in sections, each needs the one before; what must pass is the check; boxes are ticked there",
    "kiro": "numbered tasks; the order or the graph in the file counts, starred ones are optional; boxes are ticked",
    "openspec": "tasks of a change, each needs the one before; boxes are ticked, scenarios are verified at the end",
    "checklist": "every box is a step and needs the one before; boxes are ticked there, the rest is kept beside it",
    "implement": "steps in one document, each needs the one before; status is written there, claims beside it",
    "maestro": "phases with roles; a state file is kept current in its own style, other plans get a file beside them",
    "waves": "each wave needs all of the one before; the file is only read, status goes into a file beside it",
}
MOST = 6


def explain(reading: Reading, shape: Profile, configured: Sequence[str] = ()) -> list[str]:
    """At most a screen of sentences; a line says one thing. `configured` are checks that are run for every step."""
    plan = reading.plan
    note = NOTES.get(plan.format, "read and written in its own words")
    if plan.format == "dag" and plan.path.endswith(".md"):
        note = "phases in one document, each needs the one before; boxes are ticked there, the rest is kept beside it"
    here = [step for step in plan.steps if not step.elsewhere]
    lines = [
        f"{plan.title or plan.name} ({plan.path})",
        f"  format: {plan.format} — {note}",
        f"  steps: {_progress(here, reading.marks)}",
        *_elsewhere(plan.steps),
        f"  order: {_count(len(shape.batches), 'batch', 'batches')}, at most {_count(shape.width, 'step')} in one; "
        f"longest chain {_some(shape.critical_path, ' → ')}",
        f"  checks: {_checks(here)}",
        f"  {count_proved(reading, configured)}",
        *_agents(here),
        *_roles(here),
        *_by_hand(here),
        *(f"  not side by side: {_some(o.steps)} (they own {_some(o.paths)})" for o in shape.overlaps[:MOST]),
        f"  mode: {shape.mode} is recommended ({shape.reason})",
    ]
    if plan.express:
        lines[-1] = "  mode: sequential, as for every express plan"
    if plan.ticket:
        lines.append(f"  commits: name ticket {plan.ticket}")
    return lines


def _progress(steps: Sequence[Step], marks: Mapping[StepId, Marks]) -> str:
    found = Counter(marks.get(step.id, Marks()).status for step in steps)
    words = {
        Status.DONE: "done (declared, not proved here)",
        Status.CLAIMED: "in progress",
        Status.BLOCKED: "marked blocked, left alone until that changes",
        Status.FAILED: "marked failed, left alone until that changes",
        Status.SKIPPED: "skipped",
        Status.READY: "to do",
    }
    parts = [f"{found[status]} {word}" for status, word in words.items() if found[status]]
    return f"{len(steps)} here: {', '.join(parts) or 'none'}"


def _elsewhere(steps: Sequence[Step]) -> Iterable[str]:
    others = [f"{step.id} ({step.elsewhere})" for step in steps if step.elsewhere]
    if others:
        yield f"  not run here, other repositories have to do them: {_some(others)}"


def _checks(steps: Sequence[Step]) -> str:
    commands = list(dict.fromkeys(check.command for step in steps for check in step.checks))
    bare = [step.id for step in steps if not step.checks]
    ignored = sum(len(step.not_run) for step in steps)
    how_many = "1 command decides" if len(commands) == 1 else f"{len(commands)} different commands decide"
    text = f"{how_many} ({_some(commands)})" if commands else "none in the plan"
    if bare:
        text += f"; nothing proves {_some(bare)}"
    prose = "1 item is" if ignored == 1 else f"{ignored} items are"
    return text + (f"; {prose} prose and not run" if ignored else "")


def _agents(steps: Sequence[Step]) -> Iterable[str]:
    named: dict[str, list[str]] = {}
    for step in steps:
        if step.agent:
            named.setdefault(step.agent, []).append(step.id)
    for agent, ids in named.items():
        yield f"  agent: {flatten(agent)} works on {_some(ids)}, whatever --agent says"


def _roles(steps: Sequence[Step]) -> Iterable[str]:
    found = Counter(step.role for step in steps if step.role)
    if found:
        yield f"  roles: {_some([f'{role} ×{count}' for role, count in found.most_common()])}"


def _by_hand(steps: Sequence[Step]) -> Iterable[str]:
    count = sum(len(step.manual) for step in steps)
    if count:
        asked = "gates ask for them, or with autopilot the summary lists them"
        yield f"  by hand: {_count(count, 'item')} for a person to verify; {asked}"


def _count(number: int, noun: str, nouns: str = "") -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or noun + 's'}"


def _some(items: Sequence[str], between: str = ", ") -> str:
    flat = [" ".join(item.split()) for item in items[:MOST]]
    shown = between.join(item if len(item) <= 40 else item[:39] + "…" for item in flat)
    return f"{shown} and {len(items) - MOST:,} more" if len(items) > MOST else shown
