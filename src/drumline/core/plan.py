"""A plan: steps that need each other. Definitions only; what happened to them is in the fold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from drumline.core.ids import FINAL, PREFLIGHT, StepId
from drumline.core.vocabulary import CheckKind
from drumline.record import Record, field, force_setattr, replace


class Severity(Enum):
    """How bad a problem is: errors stop a run, warnings are shown."""

    ERROR = "error"
    WARNING = "warning"


class Problem(Record):
    """One finding about a plan: a stable code, where it is (`file:line`) and a sentence."""

    code: str
    message: str
    where: str
    severity: Severity = Severity.ERROR

    @property
    def path(self) -> str:
        """The file that it is in."""
        return self.where.rpartition(":")[0]

    @property
    def line(self) -> int:
        """The line of that file; 0 if it is about all of it."""
        return int(self.where.rpartition(":")[2] or 0)


class Status(Enum):
    """What a plan file says of a step."""

    READY = "ready"
    CLAIMED = "claimed"
    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    SKIPPED = "skipped"


class Marks(Record, forbid_unknown_fields=True):
    """The engine-owned fields of a step in its file: who has it and how far it is."""

    status: Status = Status.READY
    assignee: str = ""
    claimed_at: str = ""
    reason: str = ""

    @property
    def waits(self) -> bool:
        """Whether the step is only held up, by a question or a quota, and nothing about it has failed."""
        return self.status is Status.BLOCKED and self.reason.startswith(WAITING)


WAITING = "waiting for "
"""How the reason of a step begins that is held up: the word of plans' files for it, which have no other."""


def wait_for(what: str) -> Marks:
    """The marks of a step that is held up."""
    return Marks(status=Status.BLOCKED, reason=f"{WAITING}{what}")


ACCEPTED = "accepted"
"""The source of checks that a person accepted and that are kept beside the plan."""


class Check(Record, forbid_unknown_fields=True):
    """A command the engine runs and judges by exit code. `line` is its list item in the step's file, 0 if none.

    `red_first` says that the plan expects it to fail before the work and to pass after it. `kind` says what it is for,
    where somebody has said that.
    """

    command: str
    line: int = 0
    source: str = "step"
    red_first: bool = False
    kind: CheckKind = CheckKind.OWN


NO_ESTIMATE = 1.0
"""The hours that a step counts for which says nothing about it."""


class Step(Record, omit_defaults=True, forbid_unknown_fields=True):
    """A unit of work as the plan defines it. `text_digest` covers everything but the engine-owned marks and boxes.

    `role` names a shipped profile of the agent, `alone` keeps every other step from running beside it, and
    `elsewhere` is the repository that has to do it if that is not this one. `binding` says whether `files` is a
    promise the plan makes or only harvested from prose. `ordered` says that `needs` follow from the place of the step
    in the plan: it then waits for everything before it, also across needs that are met. `text` is what to do, for a
    step that has no file. `flow` is the flow that it walks; empty for the shipped one. `require` is the level that it
    must reach; empty for that of its run. `tests` says that tests are part of it: at least one is added or changed.
    `manual_lines` are those of the boxes of `manual`, where the format has boxes for them: 0 for an item without one,
    and below zero for a line of the file that says what the plan is as a whole.
    `compiles` says that of the kinds of checks that are named for all steps no tests judge it, only the build.
    `qa` are scenarios that its agent plays by itself.
    """

    id: StepId
    title: str
    needs: tuple[StepId, ...] = ()
    files: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    manual: tuple[str, ...] = ()
    tier: str = "standard"
    agent: str = ""
    review: str = ""
    role: str = ""
    alone: bool = False
    elsewhere: str = ""
    binding: bool = True
    ordered: bool = False
    estimate: float = NO_ESTIMATE
    path: str = ""
    line: int = 1
    text_digest: str = ""
    text: str = ""
    flow: str = ""
    require: str = ""
    tests: bool = False
    manual_lines: tuple[int, ...] = ()
    compiles: bool = False
    qa: tuple[str, ...] = ()


SIDECAR = ".drumline.json"
"""What the name of a file ends with that has what a plan's own file has no place for."""
RUN_WALKS: Mapping[StepId, Step] = MappingProxyType(
    {
        PREFLIGHT: Step(id=PREFLIGHT, title="before the first step", flow="preflight", alone=True),
        FINAL: Step(id=FINAL, title="after the last step", flow="final", alone=True),
    }
)
"""The walks of a run itself as steps: they are claimed and walked like those, and belong to no plan."""


class Plan(Record):
    """All steps in plan order. `name` is what branches and people call it; `path` is relative to the repository.

    `ticket` is the id of the work item it belongs to, `express` plans are always sequential, and `complexity` is what
    the plan declares about itself. `preamble` is what it says of itself as a whole, for prompts. `preflight` are
    commands that must succeed before the first step begins, `final` those that must after the last one, and `not_run`
    what it lists there and is not a command. `flow` is what steps walk that name no flow, `require` the
    level that steps must reach that name none. `kinds` are the commands that it names for kinds of checks, for all
    steps. `branch` is the one that other tools of its format would work on, `repositories` are others that
    have a part in it.
    """

    name: str
    path: str
    format: str = "dag"
    title: str = ""
    autonomy: str = ""
    ticket: str = ""
    express: bool = False
    complexity: str = ""
    preamble: str = ""
    preflight: tuple[Check, ...] = ()
    final: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    flow: str = ""
    require: str = ""
    kinds: tuple[Check, ...] = ()
    branch: str = ""
    repositories: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    by_id: Mapping[StepId, Step] = field(default_factory=dict)

    def __post_init__(self) -> None:
        force_setattr(self, "by_id", {step.id: step for step in self.steps})

    def with_steps(self, steps: Sequence[Step]) -> Plan:
        """The same plan with other steps."""
        return replace(self, steps=tuple(steps))


def find_run_walk(name: StepId, plan: Plan) -> Step | None:
    """The walk of a run of this plan itself that has this name, with the plan's own commands for it."""
    walk = RUN_WALKS.get(name)
    if walk is None:
        return None
    checks = plan.preflight if name == PREFLIGHT else plan.final
    return replace(walk, checks=checks, text_digest="\n".join(check.command for check in checks))


def list_around(plan: Plan) -> tuple[Step, ...]:
    """The walks of a run of this plan itself that the plan has commands for."""
    walks = (find_run_walk(name, plan) for name in RUN_WALKS)
    return tuple(walk for walk in walks if walk is not None and walk.checks)


class Correction(Record, forbid_unknown_fields=True):
    """A corrective step to be inserted: it inherits the needs of the step it helps, which waits for it from then on.

    Ids follow the field's custom: `3h`, `3h2` for step 3; `R1`, `R1b` for review findings. `test` is a command of its
    own; `checks` are those of the step that it helps, which judge it too.
    """

    id: StepId
    title: str
    what: str
    why: str
    files: tuple[str, ...] = ()
    test: str = ""
    checks: tuple[Check, ...] = ()

    @property
    def carried(self) -> tuple[str, ...]:
        """The commands of `checks` that have no kind and are not its own `test`."""
        found = dict.fromkeys(check.command for check in self.checks if check.kind is CheckKind.OWN)
        return tuple(command for command in found if command != self.test.strip())


class Revision(Record, forbid_unknown_fields=True):
    """A change of what a later step says, for which the sweep of `origin` asks.

    `text` is one more line about edge cases. Without it, `new` takes the place of `old`.
    """

    origin: StepId
    text: str = ""
    old: str = ""
    new: str = ""


class Acceptance(Record):
    """One thing that a step must satisfy in the words of the plan; `name` is what the plan calls it."""

    step: StepId
    name: str
    words: str


class Reading(Record):
    """What one pass over the plan's files found: definitions, marks, file digests, and every problem.

    `acceptance` are criteria that the plan has beside the steps themselves, such as scenarios.
    """

    plan: Plan
    marks: Mapping[StepId, Marks]
    digests: Mapping[str, str]
    problems: tuple[Problem, ...] = ()
    acceptance: tuple[Acceptance, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that stop a run."""
        return tuple(p for p in self.problems if p.severity is Severity.ERROR)
