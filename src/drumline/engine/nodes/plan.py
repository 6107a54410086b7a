"""Edits of the plan that a flow asks for: a corrective step is planned, written into the plan's files, and read back.

The rule: what is about to be written is in the journal before; writing it again changes nothing, so who finds it
unwritten writes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from shlex import quote

import anyio.to_thread

from drumline.core import events as ev
from drumline.core.checklist import list_carried
from drumline.core.corrections import name_correction
from drumline.core.finalreview import Cluster, cluster_due, describe_cluster, name_review_steps
from drumline.core.flow.model import Json, PlanNode
from drumline.core.flow.templates import render_strict, resolve_raw
from drumline.core.flow.values import overlay
from drumline.core.ids import StepId
from drumline.core.plaintext import strip_controls
from drumline.core.plan import RUN_WALKS, Correction, Marks
from drumline.core.reviewing import list_due
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.validation import validate
from drumline.core.vocabulary import PlanCause
from drumline.engine.nodes.visit import Visit
from drumline.engine.refusals import explain_refusal
from drumline.errors import InvalidInput, NotNow
from drumline.ports.planfiles import PlanFiles
from drumline.record import replace

HINT = "drumline flow validate FILE"
MOST_TITLE, MOST_TEXT = 200, 16_000
"""Characters of what a corrective step is called, and of what it says."""


def plan_correction(node: PlanNode, visit: Visit, run: RunState, *, kept: str = "") -> ev.CorrectionPlanned:
    """The corrective step that a node asks for; InvalidInput if it cannot be made of its templates.

    `kept` is the ref of the last work on the step that it helps.
    """
    values = visit.values
    helps = StepId(render_strict(node.helps, values).strip()) if node.helps else visit.step
    if helps != visit.step and visit.step not in RUN_WALKS:
        raise InvalidInput(f"the walk of {visit.step} can help no other step than its own, and not {helps}", hint=HINT)
    if helps not in run.plan.by_id:
        known = ", ".join(list(run.plan.by_id)[:10])
        raise InvalidInput(f"there is no step {helps!r} that could be helped (there are {known})", hint=HINT)
    return replace(_plan(node, visit, run, helps=helps, name=name_correction(run, helps)), kept=kept)


def _plan(node: PlanNode, visit: Visit, run: RunState, *, helps: StepId, name: StepId) -> ev.CorrectionPlanned:
    values = visit.values
    title = _read(node.title, values, most=MOST_TITLE, name="title")
    test = strip_controls(render_strict(node.test, values)).strip() if node.test else ""
    correction = Correction(
        id=name,
        title=" ".join(title.split()),
        what=_read(node.what, values, most=MOST_TEXT, name="what"),
        why=_read(node.why, values, most=MOST_TEXT, name="why"),
        files=_list_files(node, values),
        test=test,
        checks=() if test else list_carried(run, run.plan.by_id[helps]),
    )
    return ev.CorrectionPlanned(
        correction=correction,
        helps=helps,
        cause=PlanCause(node.cause),
        origin=visit.step,
        node=visit.key.node,
        visit=visit.key.visit,
        scope=visit.key.scope,
        round=run.rounds.get(helps, 0),
        origin_round=run.rounds.get(visit.step, 0),
    )


def plan_review_steps(node: PlanNode, visit: Visit, run: RunState, state: StepState) -> list[ev.CorrectionPlanned]:
    """The corrective steps for the confirmed findings about what has landed; InvalidInput if there are none."""
    clusters = cluster_due(run, list_due(state))
    if not clusters:
        raise InvalidInput("no confirmed finding about a landed step is left to be put right", hint=HINT)
    names = name_review_steps(run, clusters)
    return [_plan_review_step(node, visit, run, cluster, name) for cluster, name in zip(clusters, names, strict=True)]


def _plan_review_step(
    node: PlanNode, visit: Visit, run: RunState, cluster: Cluster, name: StepId
) -> ev.CorrectionPlanned:
    values = overlay({"cluster": describe_cluster(run, cluster)}, visit.values)
    planned = _plan(node, visit._replace(values=values), run, helps=cluster.helps, name=name)
    return replace(planned, findings=cluster.ids)


async def file_correction(
    planfiles: PlanFiles, run: RunState, planned: ev.CorrectionPlanned, *, beside: Collection[StepId] = ()
) -> ev.PlanChanged | ev.CorrectionRefused:
    """Write a corrective step into the plan's files, and say what the plan is from then on, or why it is not.

    `beside` are others that are written at the same time.
    """
    try:
        return await anyio.to_thread.run_sync(partial(_file, planfiles, run, planned, beside=beside))
    except (InvalidInput, NotNow) as error:
        return ev.CorrectionRefused(step=planned.correction.id, reason=str(error))
    except OSError as error:
        return ev.CorrectionRefused(step=planned.correction.id, reason=explain_refusal(error))


def _file(
    planfiles: PlanFiles, run: RunState, planned: ev.CorrectionPlanned, *, beside: Collection[StepId]
) -> ev.PlanChanged:
    name, helped = planned.correction.id, run.define(planned.helps)
    planfiles.insert(planned.correction, helps=helped)
    reading = planfiles.read()
    faults = [*reading.errors, *(p for p in validate(reading.plan) if p.severity.value == "error")]
    if faults or name not in reading.plan.by_id:
        why = f"{faults[0].where}: {faults[0].message}" if faults else "it is not in the plan"
        raise InvalidInput(
            f"the plan with {name} cannot be run: {why}", hint=f"drumline validate {quote(run.begun.plan)}"
        )
    changed = tuple(reading.plan.by_id[step] for step in (name, planned.helps))
    paths = {step.path for step in changed}
    return ev.PlanChanged(
        changed=changed,
        order=tuple(step.id for step in reading.plan.steps if step.id in {*run.plan.by_id, *beside, name}),
        digests={path: digest for path, digest in reading.digests.items() if path in paths},
        marks={step.id: reading.marks.get(step.id, Marks()) for step in changed},
        cause=planned.cause,
        origin=planned.origin,
    )


def _read(template: str, values: Mapping[str, Json], *, most: int, name: str) -> str:
    text = strip_controls(render_strict(template, values)).strip()
    if not text:
        raise InvalidInput(f"`{name}` of a corrective step must not be empty", hint=HINT)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _list_files(node: PlanNode, values: Mapping[str, Json]) -> tuple[str, ...]:
    """The files, of which each entry may be a list."""
    found: list[str] = []
    for entry in node.files:
        value = resolve_raw(entry, values)
        found += [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
    return tuple(dict.fromkeys(path.strip() for path in found if path.strip()))
