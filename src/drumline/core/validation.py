"""What is wrong with a plan as a graph of steps. Everything is collected; nothing is repaired."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.ownership import overlaps
from drumline.core.plaintext import name_some
from drumline.core.plan import Marks, Plan, Problem, Severity, Status, Step
from drumline.core.routing import TIERS
from drumline.patterns import compile_late

MAX_STEPS_FOR_REDUNDANCY = 20_000

_OVER = (Status.DONE, Status.SKIPPED)
_ID = compile_late(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Locate = Callable[[Step, str], int]
"""The line of one of a step's fields in its file, asked only for steps with a problem."""


def validate(plan: Plan, *, locate: Locate | None = None, unread: Collection[StepId] = ()) -> list[Problem]:
    """Every problem of the plan, in plan order. `unread` are ids that exist but whose files could not be read."""
    find = locate or _step_line
    if not plan.steps and not unread:
        return [Problem(code="no_steps", message="the plan has no steps", where=f"{plan.path}:1")]
    known = {step.id for step in plan.steps}.union(unread)
    found = list(_duplicates(plan.steps, find))
    for step in plan.steps:
        found += _own_problems(step, find)
        found += _need_problems(step, known, find)
    return found + _graph_problems(plan, find, complete=not unread)


def drop_settled(problems: Iterable[Problem], plan: Plan, marks: Mapping[StepId, Marks]) -> list[Problem]:
    """The problems without those that no longer matter: that a step has no check, once it is done or skipped."""
    over = [step for step in plan.steps if not step.checks and marks.get(step.id, Marks()).status in _OVER]
    settled = {_unproved(step) for step in over}
    return [problem for problem in problems if problem not in settled]


def legal_id(text: str) -> bool:
    """Whether the text can name a step in files, git refs and commands."""
    return bool(_ID.fullmatch(text)) and ".." not in text and not text.endswith((".", ".lock"))


def normal_path(text: str) -> str | None:
    """The path or glob relative to the repository without `.` parts, or None if it leaves the repository."""
    if not text.isprintable() or text.startswith(("/", "~")) or re.match(r"[A-Za-z]:[\\/]", text):
        return None
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not parts or ".." in re.split(r"[\\/]", text) or parts[0].casefold() == ".git":
        return None
    return "/".join(parts) + ("/" if text.endswith("/") else "")


def _step_line(step: Step, _field: str) -> int:
    return step.line


def _at(step: Step, line: int) -> str:
    return f"{step.path}:{line}"


def _duplicates(steps: Sequence[Step], find: Locate) -> Iterator[Problem]:
    first: dict[StepId, Step] = {}
    for step in steps:
        other = first.setdefault(step.id, step)
        if other is not step:
            message = f"the id {step.id!r} is already used by {other.path}"
            yield Problem(code="duplicate_id", message=message, where=_at(step, find(step, "id")))


def _own_problems(step: Step, find: Locate) -> Iterator[Problem]:
    if not legal_id(step.id):
        message = (
            f"the id {step.id!r} is not legal: use up to 64 letters, digits, '.', '_' and '-', beginning with a "
            "letter or digit, without '..' and not ending in '.' or '.lock'"
        )
        yield Problem(code="bad_id", message=message, where=_at(step, find(step, "id")))
    if step.tier not in TIERS:
        message = f"the tier {step.tier!r} is not one of {', '.join(TIERS)}"
        yield Problem(code="bad_tier", message=message, where=_at(step, find(step, "tier")))
    if not (math.isfinite(step.estimate) and step.estimate > 0):
        message = f"the estimate {step.estimate!r} is not a number above 0"
        yield Problem(code="bad_estimate", message=message, where=_at(step, find(step, "estimate")))
    for path in step.files:
        if normal_path(path) is None:
            message = f"the path {path!r} is not inside the repository; write it relative to its root, without '..'"
            yield Problem(code="path_escape", message=message, where=_at(step, find(step, "files")))
    if not step.checks and not step.compiles:
        yield _unproved(step)


def _unproved(step: Step) -> Problem:
    message = f"the step {step.id!r} has no check, so nothing will prove it; add a command that must exit with 0"
    return Problem(code="no_checks", message=message, where=_at(step, step.line), severity=Severity.WARNING)


def _need_problems(step: Step, known: Collection[StepId], find: Locate) -> Iterator[Problem]:
    seen: set[StepId] = set()
    for need in step.needs:
        if need == step.id:
            message = f"the step {step.id!r} needs itself"
            yield Problem(code="self_need", message=message, where=_at(step, find(step, "needs")))
        elif need not in known:
            message = f"the step {step.id!r} needs {need!r}, which is not in the plan"
            yield Problem(code="unknown_need", message=message, where=_at(step, find(step, "needs")))
        elif need in seen:
            yield _redundant(step, f"the need {need!r} is listed twice", find)
        seen.add(need)


def _redundant(step: Step, message: str, find: Locate) -> Problem:
    where = _at(step, find(step, "needs"))
    return Problem(code="redundant_need", message=message, where=where, severity=Severity.WARNING)


def _graph_problems(plan: Plan, find: Locate, *, complete: bool) -> list[Problem]:
    steps = [step for step in _unique(plan.steps) if step.id not in step.needs]
    circle = graph.cycle(steps)
    found: list[Problem] = []
    if circle:
        first = next(step for step in steps if step.id == circle[0])
        message = f"these steps wait for each other: {' → '.join(circle)}"
        found.append(Problem(code="cycle", message=message, where=_at(first, find(first, "needs"))))
    if complete and plan.steps and all(step.needs for step in plan.steps):
        first = plan.steps[0]
        message = "no step can start: every step needs another"
        found.append(Problem(code="no_root_step", message=message, where=_at(first, find(first, "needs"))))
    if not circle and len(steps) <= MAX_STEPS_FOR_REDUNDANCY:
        found += _redundant_needs(steps, find)
        found += _overlaps(steps, find)
    return found


def _overlaps(steps: Sequence[Step], find: Locate) -> Iterator[Problem]:
    """Steps that may run at the same time and own the same files: they are not run side by side, which costs time."""
    by_id = {step.id: step for step in steps}
    for found in overlaps([step for step in steps if not step.elsewhere and not step.alone]):
        second = by_id[found.steps[1]]
        named, paths = name_some(found.steps, 3), name_some(found.paths, 3)
        message = (
            f"{named} may run at the same time and own the same files ({paths}); they will run one after the other"
        )
        where = _at(second, find(second, "files"))
        yield Problem(code="file_overlap", message=message, where=where, severity=Severity.WARNING)


def _unique(steps: Sequence[Step]) -> list[Step]:
    first: dict[StepId, Step] = {}
    for step in steps:
        first.setdefault(step.id, step)
    return list(first.values())


def _redundant_needs(steps: Sequence[Step], find: Locate) -> Iterator[Problem]:
    """Needs that another need already implies, by sets of ancestors kept as bits: a word operation per 30 steps."""
    if all(len(step.needs) < 2 for step in steps):
        return
    by_id = {step.id: step for step in steps}
    order = graph.topological(steps)
    bit = {step_id: 1 << number for number, step_id in enumerate(order)}
    above: dict[StepId, int] = {}
    for step_id in order:
        needs = [need for need in dict.fromkeys(by_id[step_id].needs) if need in above]
        implied = 0
        for need in needs:
            implied |= above[need]
        above[step_id] = implied
        written = [] if by_id[step_id].ordered else needs  # nobody wrote those that follow from the order
        for need in needs:
            above[step_id] |= bit[need]
        for need in written:
            via = next((o for o in needs if above[o] & bit[need] and not o.startswith(f"{step_id}h")), None)
            if via is not None:
                yield _redundant(by_id[step_id], f"the need {need!r} is already implied by {via!r}", find)
