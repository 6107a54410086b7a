"""Changes of what later steps say: planned, written into the plan's files, and read back.

The rule: a change of scope is written only if a person was shown exactly that, and said yes to it.
"""

from __future__ import annotations

from shlex import quote

import anyio.to_thread

from drumline.core import events as ev
from drumline.core.flow.model import ANNOTATE, PlanNode
from drumline.core.ids import StepId
from drumline.core.needs import settled
from drumline.core.plan import Marks, Revision
from drumline.core.state import RunState
from drumline.core.sweeping import find_yes, split_diff
from drumline.core.sweeps import Sweep
from drumline.core.validation import validate
from drumline.core.vocabulary import PlanCause
from drumline.engine.refusals import explain_refusal
from drumline.errors import InvalidInput, NotNow
from drumline.ports.planfiles import PlanFiles
from drumline.record import replace


def plan_revisions(node: PlanNode, run: RunState, origin: StepId, sweep: Sweep) -> list[ev.RevisionPlanned]:
    """What a sweep wants changed: a line for each later step, or what a person has said yes to."""
    if node.edit == ANNOTATE:
        return [
            ev.RevisionPlanned(
                id=f"{origin}>{one.step}",
                about=one.step,
                step=one.step,
                cause=PlanCause.ANNOTATION,
                revision=Revision(origin=origin, text=one.text),
            )
            for one in sweep.annotations
        ]
    planned = []
    for one in sweep.proposals:
        gate = find_yes(run, origin, one)
        if gate is None or gate.answer is None or one.fault:
            continue
        revision = Revision(origin=origin, old=one.old, new=one.new)
        planned.append(
            ev.RevisionPlanned(
                id=f"{one.id}@{gate.opened.gate}",
                about=one.id,
                step=one.step,
                cause=PlanCause.PROPOSAL,
                revision=revision,
                diff=one.diff,
                gate=gate.opened.gate,
                by=gate.answer.by,
            )
        )
    return planned


async def file_revision(
    planfiles: PlanFiles, run: RunState, planned: ev.RevisionPlanned
) -> ev.PlanChanged | ev.RevisionRefused:
    """Write a revision into the plan's files, and say what the plan is from then on, or why it is not."""
    try:
        return await anyio.to_thread.run_sync(_file, planfiles, run, planned)
    except (InvalidInput, NotNow) as error:
        return ev.RevisionRefused(id=planned.id, step=planned.step, reason=str(error))
    except OSError as error:
        return ev.RevisionRefused(id=planned.id, step=planned.step, reason=explain_refusal(error))


def _file(planfiles: PlanFiles, run: RunState, planned: ev.RevisionPlanned) -> ev.PlanChanged:
    step, begun = run.define(planned.step), planned.cause is PlanCause.PROPOSAL and planned.step in run.working
    if settled(run, step.id) or begun:
        raise InvalidInput(f"{step.id} has begun meanwhile", hint=f"drumline why {step.id}")
    written = planned.cause is PlanCause.PROPOSAL and _is_written(planfiles, run, planned)
    diff = planned.diff if written else planfiles.revise(step, planned.revision, write=True)
    reading = planfiles.read()
    faults = [*reading.errors, *(p for p in validate(reading.plan) if p.severity.value == "error")]
    if faults:
        back = replace(planned.revision, old=planned.revision.new, new=planned.revision.old)
        if planned.cause is PlanCause.PROPOSAL:
            planfiles.revise(step, back, write=True)
        raise InvalidInput(
            f"the plan could not be run with it: {faults[0].where}: {faults[0].message}",
            hint=f"drumline validate {quote(run.begun.plan)}",
        )
    found = reading.plan.by_id[step.id]
    changed = (found,) if found.text_digest != step.text_digest else ()
    return ev.PlanChanged(
        changed=changed,
        order=tuple(one.id for one in reading.plan.steps if one.id in run.plan.by_id),
        digests={path: digest for path, digest in reading.digests.items() if path == found.path} if changed else {},
        marks={one.id: reading.marks.get(one.id, Marks()) for one in changed},
        cause=planned.cause,
        origin=planned.origin,
        gate=planned.gate,
        by=planned.by,
        revision=planned.id,
        diff=diff,
    )


def _is_written(planfiles: PlanFiles, run: RunState, planned: ev.RevisionPlanned) -> bool:
    """Whether a proposal stands there already; InvalidInput if it would not change exactly what a person saw."""
    step, revision = run.define(planned.step), planned.revision
    wanted = split_diff(planned.diff)
    try:
        if split_diff(planfiles.revise(step, revision, write=False)) == wanted:
            return False
    except InvalidInput:
        pass
    back = replace(revision, old=revision.new, new=revision.old)
    try:
        if split_diff(planfiles.revise(step, back, write=False)) == wanted[::-1]:
            return True
    except InvalidInput:
        pass
    raise InvalidInput(
        f"what {step.id} says is not what was shown any more; nothing was changed",
        hint=f"drumline validate {quote(run.begun.plan)}",
    )
