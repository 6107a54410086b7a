"""What the core asks the shell to do next. Commands carry decisions; the shell adds only what it must look up."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.blocked import Reply
from drumline.core.events import GateOpened
from drumline.core.ids import NO_STEP, Commit, GateId, StepId, Tree
from drumline.core.plan import Check
from drumline.core.proof import Against
from drumline.core.vocabulary import DropCause, Resettled, RunEnd, StepEnd
from drumline.record import Record, field


class Command(Record):
    """Something to do."""


# --- for one step, by the driver that holds its claim -----------------------------------------------------------


class Restart(Command):
    """Begin a new round with a fresh workspace and fresh budgets."""

    round: int


class Recheck(Command):
    """Begin a new round with the work as it is and fresh budgets: its checks could not be run before.

    With `anew` the work is to be diagnosed, in a walk of its own.
    """

    round: int
    anew: bool = False


class Prepare(Command):
    """Make the workspace at the head of the run branch and run the setup command in it."""


class Attempt(Command):
    """Ask the agent, after waiting `delay` seconds.

    `session` is the one to continue with, `budget` how many dollars are left. `answers` are what a person said to the
    questions asked so far, `complaint` what is wrong with the work where no check says so; `revises` says that
    a person asks for a change of work that passes;
    with `doubts` only the agent itself says that something is wrong, with `oversteps` the work changes files of others,
    with `reviewed` a reviewer found it.
    `lessons` are the names of those that may help, by the signatures of failures.
    """

    node: str
    attempt: int
    tier: str
    agent: str = ""
    delay: float = 0.0
    comment: str = ""
    session: str = ""
    budget: float | None = None
    answers: tuple[Reply, ...] = ()
    scope: str = ""
    visit: int = 0
    complaint: str = ""
    revises: bool = False
    doubts: bool = False
    oversteps: bool = False
    lessons: Mapping[str, str] = field(default_factory=dict)
    reviewed: bool = False
    supersedes: bool = False


class RunCheck(Command):
    """Run one check on the tree as it is, after waiting `delay` seconds."""

    number: int
    check: Check
    delay: float = 0.0


class Compare(Command):
    """Run these checks on another tree than that of the work."""

    against: Against
    checks: tuple[int, ...]


class Undo(Command):
    """Put these files of the work back as they were before it: a person does not want them changed."""

    paths: tuple[str, ...]


class Mutate(Command):
    """Try mutants of the work before it lands."""


class Land(Command):
    """Bring the step's commit onto the run branch."""


class TakeTicket(Command):
    """Line up to land; `head` is where git says that the run branch stands."""

    head: Commit | None = None


class Rebase(Command):
    """Form the step's candidate: put its change on the head of the run branch, or on the candidate before it.

    `ahead` are the steps whose candidates it then stands on; `head` is where git says that the run branch stands.
    """

    onto: Commit
    ahead: tuple[StepId, ...] = ()
    head: Commit | None = None


class ProveCandidate(Command):
    """Say that the step's candidate passes these checks, while others are ahead of it."""

    commands: tuple[str, ...]


class DropTicket(Command):
    """Let a step leave the landing queue: this one, or one that no driver holds any more."""

    step: StepId
    cause: DropCause


class AwaitTurn(Command):
    """Wait until the landing queue changes; `step` is the one that is waited for."""

    step: StepId


class Park(Command):
    """Give the claim back until a gate is answered; open the gate first if it is not open yet."""

    gate: GateId
    opens: GateOpened | None = None


class Defer(Command):
    """Give the claim back until a time."""

    until: float
    reason: str


class Release(Command):
    """Give the claim back at once: something about the run is to be settled before the step can go on."""

    reason: str


class Finish(Command):
    """The step needs no more driving. `failure` is the class of a check failure that is not the work's.

    `opens` is a question about a blocked one, whose answer reopens it; `login` what to type before it is tried again,
    `said` why a person has rejected it.
    """

    state: StepEnd
    reason: str = ""
    rejected: bool = False
    said: str = ""
    failure: str = ""
    opens: GateOpened | None = None
    login: str = ""


# --- for the run, by any driver ---------------------------------------------------------------------------------


class ClaimStep(Command):
    """Take a step and drive it."""

    step: StepId


class Declare(Command):
    """Record that the plan files call these steps done."""

    steps: tuple[StepId, ...]


class Reopen(Command):
    """Give a settled step another round; with `redo` one that has landed, with `heal` to diagnose its last work."""

    step: StepId
    reason: str
    redo: bool = False
    heal: bool = False


class Ask(Command):
    """Open a gate."""

    opens: GateOpened


class Close(Command):
    """Finish a step that no driver has to touch. `tried` are its corrective steps that did not get through.

    `opens` is a question about a blocked one.
    """

    step: StepId
    state: StepEnd
    reason: str
    rejected: bool = False
    tried: tuple[StepId, ...] = ()
    opens: GateOpened | None = None


class Heal(Command):
    """Call a blocked step done, because what landed with its corrective step `by` passes all its checks."""

    step: StepId
    by: StepId


class SettleBranch(Command):
    """Let the run branch stand at `to` from here on; `how` says what becomes of it.

    `steps` are those whose landings were missing, `commits` what somebody else had written. `culprit` is the step whose
    agent was at work when it was moved, if that is known, `beside` are those whose agents were, too.
    """

    how: Resettled
    to: Commit
    steps: tuple[StepId, ...] = ()
    commits: tuple[str, ...] = ()
    culprit: StepId = NO_STEP
    beside: tuple[StepId, ...] = ()


class Adopt(Command):
    """Record a landing that is on the branch and that the journal does not know."""

    step: StepId
    commit: Commit
    tree: Tree


class ParkRun(Command):
    """Nothing can go on until one of these gates is answered, or until a time, or until `reason` does not hold."""

    gates: tuple[GateId, ...]
    until: float | None = None
    reason: str = ""


class EndRun(Command):
    """The run is over. `step` is the one for whose reason it is not done, if it is one's."""

    state: RunEnd
    reason: str = ""
    step: StepId = NO_STEP


class Wait(Command):
    """Nothing to do now, but something is under way elsewhere or a timer runs, to `until` if that is known."""

    reason: str
    until: float | None = None
