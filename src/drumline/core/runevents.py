"""The events of a run's own stream: its plan, its gates, its steps begun and finished, its beginning and end."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.event import PROTOCOL, Event
from drumline.core.ids import NO_STEP, Commit, DriverId, GateId, StepId, Tree
from drumline.core.plan import Marks, Step
from drumline.core.proof import Facts, Level, Proof, Reason, settle
from drumline.record import Record, field


class RunStarted(Event):
    """A run began; everything it depends on is pinned here or in the `PlanPinned` beside it.

    `fallback` take over in order, `profiles` say who names stand for, above `budget` dollars a person is asked. A run
    that ends well is merged into the branch `merge`, if there is one; with `merge_asks` a person is asked first.
    `rigor` says how much is done around the work. `timeouts` are in seconds, `commands` the checks that flows name;
    `typed` are the settings that do not come from the configuration: they are never repinned.
    `flow` is the flow that steps walk which name none; empty for the shipped one.
    """

    plan: str
    plan_name: str
    plan_digest: str
    config_digest: str
    branch: str
    base: Commit
    agent: str
    mode: str
    autonomy: str
    retries: int
    checks: tuple[str, ...] = ()
    setup: str = ""
    subject: str = ""
    context: str = ""
    selection: tuple[StepId, ...] | None = None
    named: bool = False
    protocol: int = PROTOCOL
    fallback: tuple[str, ...] = ()
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    budget: float | None = None
    merge: str = ""
    merge_asks: bool = False
    rigor: str = ""
    flow: str = ""
    timeouts: Mapping[str, float] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    typed: tuple[str, ...] = ()


class ConfigRepinned(Event):
    """A person tries again what did not get through: what the configuration says now counts from here on.

    `changed` are the settings that differ from what the run had pinned before.
    """

    changed: tuple[str, ...]
    agent: str
    fallback: tuple[str, ...]
    profiles: Mapping[str, Mapping[str, str]]
    checks: tuple[str, ...]
    setup: str
    subject: str
    retries: int
    budget: float | None
    timeouts: Mapping[str, float]
    commands: Mapping[str, str]
    by: str = ""


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
    """A person edited the plan in mid-run; it was validated and is what counts from here on."""

    changed: tuple[Step, ...] = ()
    removed: tuple[StepId, ...] = ()
    order: tuple[StepId, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Marks] = field(default_factory=dict)


class StepsDeclared(Event):
    """Steps the plan files call done although this run has no proof of it."""

    steps: tuple[StepId, ...]


class ManualItem(Record):
    """Something about a step that only a person can verify."""

    step: StepId
    text: str


class GateOpened(Event):
    """A durable question to a person; `spent` is what the run had spent by then, if it is about its money.

    With `free` any text is an answer, if it keeps the `rule` on its length; an empty one stands for the `default`.
    `about` is the attempt or the round of the step that it asks about, `asks` what an agent asks in its own words,
    `items` are what a person has to verify.
    """

    gate: GateId
    kind: str
    question: str
    options: tuple[str, ...]
    step: StepId = NO_STEP
    person_only: bool = False
    free: bool = False
    rule: str = ""
    default: str = ""
    spent: float | None = None
    about: int = 0
    asks: str = ""
    items: tuple[ManualItem, ...] = ()


class GateAnswered(Event):
    """The first answer to a gate; later ones are refused by the inbox.

    `spent` is what the run had spent by then, if the gate is about its money: it may have gone on meanwhile.
    """

    gate: GateId
    choice: str
    comment: str = ""
    by: str = ""
    channel: str = ""
    spent: float | None = None


class StepStarted(Event):
    """A step was claimed for the first time in its round: it is in work until it finishes."""

    step: StepId
    round: int = 0


class StepFinished(Event):
    """A step needs no more driving: done, blocked, failed or skipped. One small event per finished step.

    `failure` is the class of check failure that blocks it, if that is the machine's and not the work's; `void` are the
    checks that passed but change the tree.
    `attempts`, `fixes`, `lost` attempts and `usage` are those of all its rounds.
    `unchanged` says that nothing landed but what was there when its agent began, or ignore files: whatever its checks
    say, that proves nothing. `hidden` are files that the plan asks for and that did not land, because git ignores
    them or, for those in `removed`, because only a check makes them; that proves nothing either. `ignored` are all that
    its agents made and that did not land.
    `level` and `why` are its proof if it is done; journals of earlier versions have `proved` instead.
    """

    step: StepId
    state: str
    reason: str = ""
    commit: Commit | None = None
    tree: Tree | None = None
    proved: bool = False
    attempts: int = 0
    fixes: int = 0
    checks_passed: int = 0
    checks_total: int = 0
    files: tuple[str, ...] = ()
    created: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    usage: Mapping[str, int | float] = field(default_factory=dict)
    rejected: bool = False
    notices: tuple[str, ...] = ()
    failure: str = ""
    lost: int = 0
    unchanged: bool = False
    void: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    level: Level | None = None
    why: tuple[Reason, ...] = ()

    @property
    def proof(self) -> Proof | None:
        """How much is known about the step; None if it is not done."""
        if self.state != "done":
            return None
        if self.level is not None:
            return Proof(level=self.level, why=self.why)
        facts = Facts(
            total=self.checks_total, passed=self.checks_passed, same_tree=self.proved, unchanged=self.unchanged
        )
        return Proof(level=Level.PROVED) if self.proved else settle(facts)

    @property
    def is_proved(self) -> bool:
        """Whether the step is done and its checks prove that."""
        return self.proof is not None and self.proof.is_proved


class StepDeferred(Event):
    """A step was given back until a time, in seconds since the epoch: the quota of its agents resets then.

    One that walks a flow is given back until one of its `gates` is answered, or until that time if there is one.
    """

    step: StepId
    until: float | None = None
    reason: str = ""
    gates: tuple[GateId, ...] = ()


class UsageCounted(Event):
    """What one agent has used for one step so far, all of it, with the number of `attempts` and of `unpriced` ones."""

    step: StepId
    agent: str
    usage: Mapping[str, int | float]


class StepReopened(Event):
    """A person, or a changed cause, gives a finished step another round; with `redo` one that has landed."""

    step: StepId
    reason: str = ""
    by: str = ""
    redo: bool = False


class PlanMirrored(Event):
    """What was written into one step's file: the marks, the ticked boxes, and the digest the file has now."""

    step: StepId
    marks: Marks
    path: str
    digest: str
    ticked: tuple[int, ...] = ()


class BranchSettled(Event):
    """The run branch was not where we left it; it stands at `new` from here on.

    `how` is `restored` or `kept`. `steps` are those whose landings were missing, `commits` what somebody else wrote.
    """

    how: str
    new: Commit
    old: Commit | None = None
    steps: tuple[StepId, ...] = ()
    commits: tuple[str, ...] = ()


class ModeChanged(Event):
    """Steps not yet started are scheduled differently from here on."""

    mode: str


class CancelRequested(Event):
    """A person stopped the run; drivers stop their steps and end it."""

    by: str = ""
    reason: str = ""


class RunParked(Event):
    """Nothing can go on until a gate is answered, or `until` a time, or a person does what `reason` says.

    No process and no claim is left. `quiet` says that the run branch was where we left it after the last one had ended.
    """

    gates: tuple[GateId, ...]
    until: float | None = None
    reason: str = ""
    quiet: bool = False


class RunResumed(Event):
    """A driver took up a run that was parked, interrupted or ended unfinished."""

    driver: DriverId


class RunEnded(Event):
    """The run is over: done, failed, blocked or cancelled.

    `quiet` says that the run branch was where we left it after the last process had ended.
    """

    state: str
    reason: str = ""
    quiet: bool = False
