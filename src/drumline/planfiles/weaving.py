"""Corrective steps that a plan's own file has no place for, put between the steps that the file has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from drumline.core.ids import StepId
from drumline.core.plan import ACCEPTED, Check, Step
from drumline.core.validation import normal_path
from drumline.planfiles.document import Parsed
from drumline.planfiles.sidecar import EVERY, Added
from drumline.planfiles.source import digest
from drumline.ports.planfiles import Correction
from drumline.record import replace

P = TypeVar("P", bound=Parsed)


def weave_beside(parsed: P, added: Sequence[Added]) -> P:
    """The document's steps with the corrective ones behind those they help."""
    if not added:
        return parsed
    texts = {one.correction.id: _text_of(one, parsed.texts.get(one.helps, "")) for one in added}
    return replace(parsed, steps=tuple(_woven(parsed.steps, added)), texts={**texts, **parsed.texts})


def add_checks(steps: Sequence[Step], checks: Mapping[StepId, Sequence[str]]) -> tuple[Step, ...]:
    """The steps with the checks kept beside the plan: their own, and those of every step that has none in the plan."""
    return tuple(_checked(step, checks) for step in steps) if checks else tuple(steps)


def _checked(step: Step, checks: Mapping[StepId, Sequence[str]]) -> Step:
    known = {check.command for check in step.checks}
    wanted = [*checks.get(step.id, ()), *(() if step.checks else checks.get(EVERY, ()))]
    added = [command for command in dict.fromkeys(wanted) if command not in known]
    if not added:
        return step
    return replace(
        step,
        checks=(*step.checks, *(Check(command=command, source=ACCEPTED) for command in added)),
        text_digest=digest("\0".join([step.text_digest, *added]).encode("utf-8", "replace")),
    )


def _woven(steps: Sequence[Step], added: Sequence[Added]) -> Iterator[Step]:
    """Each step, waiting for the corrective steps that help it, and these behind it with the needs it had before."""
    known = {step.id for step in steps}
    helpers: dict[StepId, list[Correction]] = {}
    for one in added:
        if one.correction.id not in known:
            known.add(one.correction.id)
            helpers.setdefault(one.helps, []).append(one.correction)
    waiting = list(reversed(steps))
    while waiting:
        step = waiting.pop()
        helping = helpers.pop(step.id, [])
        yield replace(step, needs=(*step.needs, *(correction.id for correction in helping)))
        waiting += [_new_step(correction, step) for correction in reversed(helping)]


def _new_step(correction: Correction, helped: Step) -> Step:
    said = (correction.title, correction.what, correction.why, correction.test, *correction.files, *correction.carried)
    commands = filter(None, (correction.test.strip(), *correction.carried))
    return replace(
        helped,
        id=correction.id,
        title=" ".join(correction.title.split()) or correction.id,
        files=tuple(normal_path(path) or path for path in correction.files),
        checks=tuple(Check(command=command) for command in commands),
        text_digest=digest("\0".join(said).encode("utf-8", "replace")),
    )


def _text_of(added: Added, helped: str) -> str:
    """A corrective step's prompt: what it should do, and the step it helps."""
    correction = added.correction
    commands = "; ".join(filter(None, (correction.test.strip(), *correction.carried)))
    judged = f"It is checked by: {commands}\n\n" if commands else ""
    head = f"# {correction.id}: {correction.title}\n\n{correction.what}\n\nWhy: {correction.why}\n\n{judged}"
    return f"{head}It helps this step:\n\n{helped}"
