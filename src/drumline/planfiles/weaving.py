"""Corrective steps that a plan's own file has no place for, put between the steps that the file has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from drumline.core.ids import StepId
from drumline.core.plan import Check, Step
from drumline.core.validation import normal_path
from drumline.planfiles.document import Parsed
from drumline.planfiles.sidecar import Added
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
    said = (correction.title, correction.what, correction.why, correction.test, *correction.files)
    test = correction.test.strip()
    return replace(
        helped,
        id=correction.id,
        title=" ".join(correction.title.split()) or correction.id,
        files=tuple(normal_path(path) or path for path in correction.files),
        checks=(Check(command=test),) if test else (),
        text_digest=digest("\0".join(said).encode("utf-8", "replace")),
    )


def _text_of(added: Added, helped: str) -> str:
    """A corrective step's prompt: what it should do, and the step it helps."""
    correction = added.correction
    test = f"It is checked by: {correction.test}\n\n" if correction.test.strip() else ""
    head = f"# {correction.id}: {correction.title}\n\n{correction.what}\n\nWhy: {correction.why}\n\n{test}"
    return f"{head}It helps this step:\n\n{helped}"
