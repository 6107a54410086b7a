"""What Drumline will do with a plan, on one screen: for people who bring a plan that another tool wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from drumline.core.ids import StepId
from drumline.core.outlook import Outlook
from drumline.core.parallelism import Parallelism
from drumline.core.plan import Marks, Reading, Status, Step
from drumline.record import Record
from drumline.views.cells import flatten


class Note(Record):
    """How one format is read: what its steps and their order are, what counts as a check, what is written back."""

    read: str
    check: str
    ticked: str


_VERIFICATION = "a command in backticks below Automated Verification"
_ITEM = "an item below a task that is a label and one command, as in Run: `make test`"
_BESIDE = "claims and reasons are kept in a file beside it"
_BOXES = f"the box of a task that has landed, and those of its items; {_BESIDE}"
_GROUPS = f"the box of a task that has landed, its items', and a group's with its last task; {_BESIDE}"
NOTES: Mapping[str, Note] = {
    "dag": Note(
        read="one file per step; depends_on is the order",
        check=_VERIFICATION,
        ticked="status, claims and boxes of checks, in the step's file",
    ),
    "phased": Note(
        read="one file per step; depends_on is the order; a complete handoff counts as done",
        check="a command below Test commands",
        ticked="status and claims, in the frontmatter of the step's file",
    ),
    "speckit": Note(
        read="boxes with ids in phases; [P] runs side by side, stories after the phases above them",
        check=_ITEM,
        ticked=_GROUPS,
    ),
    "taskmaster": Note(
        read="tasks and subtasks of one tag; dependencies as written",
        check="a line of testStrategy that is a label and one command, or an entry of checks",
        ticked=f"status, a group's with its last subtask; {_BESIDE}",
    ),
    "superpowers": Note(
        read="tasks in sections, each needs the one before",
        check="a Run: command that is expected to pass; expected to fail, it must fail without the work",
        ticked=f"all boxes of a task that has landed; {_BESIDE}",
    ),
    "kiro": Note(
        read="numbered boxes; the order or the graph in the file counts, starred ones are optional",
        check=_ITEM,
        ticked=_GROUPS,
    ),
    "openspec": Note(
        read="boxes of a change, each needs the one before; scenarios are verified at the end",
        check=_ITEM,
        ticked=_GROUPS,
    ),
    "checklist": Note(
        read="every box is a step and needs the one before; boxes below Acceptance criteria and the like judge them",
        check=_ITEM,
        ticked=_GROUPS,
    ),
    "implement": Note(
        read="steps in one document, each needs the one before",
        check="a command in backticks below Test or Verification",
        ticked=f"the status of a step and the boxes of its checks; {_BESIDE}",
    ),
    "maestro": Note(
        read="phases with roles; blocked_by is the order",
        check="an entry of checks, or a command below Validation",
        ticked="a state file is kept current in its own style; other plans get a file beside them",
    ),
    "waves": Note(
        read="each wave needs all of the one before",
        check="an entry of checks",
        ticked="nothing: status goes into a file beside it",
    ),
}
LINEAR = Note(
    read="phases in one document, each needs the one before",
    check=_VERIFICATION,
    ticked=f"the boxes of the checks of a phase that has landed; {_BESIDE}",
)
MOST = 6


def explain(reading: Reading, shape: Parallelism, outlook: Outlook) -> list[str]:
    """At most a screen of sentences; a line says one thing."""
    plan = reading.plan
    note = LINEAR if plan.format == "dag" and plan.path.endswith(".md") else NOTES[plan.format]
    here = [step for step in plan.steps if not step.elsewhere]
    lines = [
        f"{plan.title or plan.name} ({plan.path})",
        f"  format: {plan.format} — {note.read}",
        f"  a check is: {note.check}",
        f"  written back: {note.ticked}",
        f"  steps: {_progress(here, reading.marks)}",
        *_elsewhere(plan.steps),
        f"  order: {_count(len(shape.waves), 'wave')}, at most {_count(shape.width, 'step')} in one; "
        f"longest chain {_some(shape.critical_path, ' → ')}",
        f"  checks: {_checks(outlook)}",
        f"  {outlook.in_words()}",
        *list_caveats(outlook, shape),
        *_agents(here),
        *_roles(here),
        *_by_hand(here),
        *(["  not run at the end: " + _some(plan.not_run)] if plan.not_run else []),
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


def _checks(outlook: Outlook) -> str:
    """The commands of the steps still to do."""
    commands = list(dict.fromkeys(check.command for step in outlook.left for check in step.checks))
    bare = [step.id for step in outlook.unproved]
    ignored = sum(len(step.not_run) for step in outlook.left)
    how_many = "1 command decides" if len(commands) == 1 else f"{len(commands)} different commands decide"
    text = f"{how_many} ({_some(commands)})" if commands else "none in the plan"
    if bare:
        text += f"; nothing proves {_some(bare)}"
    prose = "1 item is" if ignored == 1 else f"{ignored} items are"
    return text + (f"; {prose} prose and not run" if ignored else "")


def list_caveats(outlook: Outlook, shape: Parallelism) -> Iterable[str]:
    """When a step that is counted is not proved after all."""
    if outlook.proved:
        yield "    a check proves a step only if it fails without the step's work; otherwise the step ends as kept"


def _agents(steps: Sequence[Step]) -> Iterable[str]:
    named: dict[str, list[str]] = {}
    for step in steps:
        if step.agent:
            named.setdefault(step.agent, []).append(step.id)
    for agent, ids in named.items():
        yield f"  agent: {flatten(agent)} works on {_some(ids)}, as the plan says, whatever --agent is"


def _roles(steps: Sequence[Step]) -> Iterable[str]:
    found = Counter(step.role for step in steps if step.role)
    if found:
        yield f"  roles: {_some([f'{role} ×{count}' for role, count in found.most_common()])}"


def _by_hand(steps: Sequence[Step]) -> Iterable[str]:
    count = sum(len(step.manual) for step in steps)
    if count:
        asked = "gates ask for them, or with autopilot the summary lists them"
        yield f"  by hand: {_count(count, 'item')} for a person to verify; {asked}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _some(items: Sequence[str], between: str = ", ") -> str:
    flat = (" ".join(item.split()) for item in items[:MOST])
    shown = list(dict.fromkeys(item if len(item) <= 40 else item[:39] + "…" for item in flat))
    more = len(items) - len(shown)
    return between.join(shown) + (f" and {more:,} more" if more else "")
