"""The events of a run's stream about its plan and the plan's files, or about the flow that it walks instead."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.event import Event
from drumline.core.ids import NO_GATE, NO_STEP, GateId, StepId
from drumline.core.plan import Check, Correction, Marks, Revision, Step
from drumline.core.vocabulary import DocumentKind, PlanCause
from drumline.record import field


class PlanPinned(Event):
    """The plan as it was read when the run began, with the digest of every file.

    `marks` holds those that are not simply ready; `inherited` are the steps whose marks are leftovers of an earlier
    run of ours: they bind nobody.
    """

    format: str
    title: str
    steps: tuple[Step, ...]
    digests: Mapping[str, str]
    marks: Mapping[str, Marks] = field(default_factory=dict)
    inherited: tuple[StepId, ...] = ()
    ticket: str = ""
    complexity: str = ""
    express: bool = False
    preamble: str = ""
    preflight: tuple[Check, ...] = ()
    final: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()


class FlowPinned(Event):
    """This run walks one flow by itself, in `folder`; its nodes' events are in the stream of the step `flow`.

    `agent` and `model`, where given, override what the flow names; `worktree` says that the folder is ours.
    """

    flow: str
    path: str
    digest: str
    folder: str
    prompt: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    agent: str = ""
    model: str = ""
    worktree: bool = False


class PlanChanged(Event):
    """The plan is another one from here on: a person edited it in mid-run, or the engine did.

    What changed was validated. `origin` is the step whose walk asked for the change, `by` who allowed it at `gate`.
    `revision` is the planned one that this is; its `diff` was written. `preamble`, `preflight`, `final` and `not_run`
    are what the plan says as a whole from here on, None where that is as before.
    """

    changed: tuple[Step, ...] = ()
    removed: tuple[StepId, ...] = ()
    order: tuple[StepId, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Marks] = field(default_factory=dict)
    cause: PlanCause = PlanCause.EDIT
    origin: StepId = NO_STEP
    gate: GateId = NO_GATE
    by: str = ""
    revision: str = ""
    diff: str = ""
    preamble: str | None = None
    preflight: tuple[Check, ...] | None = None
    final: tuple[Check, ...] | None = None
    not_run: tuple[str, ...] | None = None


class CorrectionPlanned(Event):
    """Intent: a corrective step is written into the plan's files, for a step that waits for it from then on.

    The walk of `origin` asks for it, in a visit of `node`; `round` is that of the step that it `helps`, whose last work
    is kept under the ref `kept`, and `origin_round` that of the walk. `items` are what a person has to verify about it
    once more, `findings` those of a review that it puts right. `PlanChanged` follows once it is written,
    `CorrectionRefused` if it cannot be.
    """

    correction: Correction
    helps: StepId
    cause: PlanCause
    origin: StepId
    node: str
    visit: int
    scope: str = ""
    round: int = 0
    kept: str = ""
    items: tuple[str, ...] = ()
    origin_round: int = 0
    findings: tuple[str, ...] = ()


class CorrectionRefused(Event):
    """The plan's files cannot take a corrective step: it is in no plan."""

    step: StepId
    reason: str


class RevisionPlanned(Event):
    """Intent: what a later step says is changed in the plan's files, by a line about edge cases or as a person saw it.

    The walk of `origin` asks for it: `about` is the step that it says a line to, or its proposal. `gate` is where a
    person said yes to `diff`, and `by` who that was. `PlanChanged` follows once it is written, `RevisionRefused` if it
    cannot be.
    """

    id: str
    about: str
    step: StepId
    cause: PlanCause
    revision: Revision
    diff: str = ""
    gate: GateId = NO_GATE
    by: str = ""

    @property
    def origin(self) -> StepId:
        """The step whose sweep asks for it."""
        return self.revision.origin


class RevisionRefused(Event):
    """The plan's files do not take a revision, or are not any more what a person saw."""

    id: str
    step: StepId
    reason: str


class DocumentWritten(Event):
    """A document of a step, rendered and validated by the engine. With `path` the plan's files have a place for it."""

    step: StepId
    kind: DocumentKind
    text: str
    digest: str
    path: str = ""
    node: str = ""
    visit: int = 0
    scope: str = ""


class FileWritten(Event):
    """A document is in its place among the plan's files."""

    step: StepId
    path: str
    digest: str


class PlanMirrored(Event):
    """What was written into one step's file: the marks, the ticked boxes, and the digest the file has now."""

    step: StepId
    marks: Marks
    path: str
    digest: str
    ticked: tuple[int, ...] = ()
