"""The events of a run's own stream: its plan, its gates, its steps begun and finished, its beginning and end."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.event import PROTOCOL, Event
from drumline.core.findings import Found, Superseded
from drumline.core.ids import NO_STEP, Commit, DriverId, GateId, StepId, Tree
from drumline.core.learned import Fix, Lesson
from drumline.core.mutants import Mutation
from drumline.core.plan import RUN_WALKS, Check
from drumline.core.proof import Facts, Level, Proof, Reason, Require, settle
from drumline.core.strays import Foreign
from drumline.core.sweeps import Sweep
from drumline.core.tally import Tally
from drumline.core.vocabulary import Mode, Mutants, OnConflict, Ownership, Resettled, Review, RunEnd, StepEnd
from drumline.record import field


class RunStarted(Event):
    """A run began; everything it depends on is pinned here or in the `PlanPinned` beside it.

    `fallback` take over in order, `profiles` say who names stand for, above `budget` dollars a person is asked. A run
    that ends well is merged into the branch `merge`, if there is one; with `merge_asks` a person is asked first.
    `issue` is the number of the one that it resolves, 0 without one.
    `rigor` says how much is done around the work. `timeouts` are in seconds, `commands` the checks that flows name;
    `typed` are the settings that do not come from the configuration: they are never repinned.
    `flow` is the flow that steps walk which name none; empty for the shipped one. `require` is the level that steps
    must reach which name none, `judge` are globs of files that are tests, too; `mutants` says whether such are tried.
    `ownership` says what becomes of changes to files of other steps, `shared` are globs of files that belong to all.
    `on_conflict` says who makes work fit to what landed meanwhile; without it the plan's format decides.
    `held_out` are files outside of the repository that judge every step and that agents do not see, as far as they are
    of the kinds in `jailed`. `kinds` are commands for kinds of checks, named for all steps.
    `flaky` are digests of commands of checks that have changed their verdict on one tree in earlier runs.
    `lessons` are those that were known when it began, `durations` the seconds that steps took in earlier runs.
    `review` says which steps another agent reviews before they land. `checkout` is the folder in which steps are
    worked on, on the branch of the run; without it each has a worktree.
    """

    plan: str
    plan_name: str
    plan_digest: str
    branch: str
    base: Commit
    agent: str
    mode: Mode
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
    issue: int = 0
    rigor: str = ""
    flow: str = ""
    require: str = Require.KEPT.value
    judge: tuple[str, ...] = ()
    provide: tuple[str, ...] = ()
    mutants: Mutants = Mutants.SHOW
    ownership: Ownership = Ownership.FOREIGN
    shared: tuple[str, ...] = ()
    on_conflict: OnConflict | None = None
    held_out: tuple[str, ...] = ()
    jailed: tuple[str, ...] = ()
    timeouts: Mapping[str, float] = field(default_factory=dict)
    commands: Mapping[str, str] = field(default_factory=dict)
    typed: tuple[str, ...] = ()
    kinds: tuple[Check, ...] = ()
    flaky: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    review: Review = Review.RISK
    durations: Mapping[str, float] = field(default_factory=dict)
    checkout: str = ""


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
    judge: tuple[str, ...] = ()
    provide: tuple[str, ...] = ()
    mutants: Mutants = Mutants.SHOW
    ownership: Ownership = Ownership.FOREIGN
    shared: tuple[str, ...] = ()
    on_conflict: OnConflict | None = None
    held_out: tuple[str, ...] = ()
    jailed: tuple[str, ...] = ()
    kinds: tuple[Check, ...] = ()
    review: Review = Review.RISK
    by: str = ""


class StepsDeclared(Event):
    """Steps the plan files call done although this run has no proof of it."""

    steps: tuple[StepId, ...]


class StepStarted(Event):
    """A step was claimed for the first time in its round: it is in work until it finishes."""

    step: StepId
    round: int = 0


class StepFinished(Event):
    """A step needs no more driving: done, blocked, failed or skipped. One small event per finished step.

    `failure` is the class of check failure that blocks it, if that is the machine's and not the work's; `void` are the
    checks that passed but change the tree, `outside` those that loaded code of the checkout in its place.
    `attempts`, `fixes`, `lost` attempts and `usage` are those of all its rounds.
    `unchanged` says that nothing landed but what was there when its agent began, or ignore files: whatever its checks
    say, that proves nothing. `hidden` are files that the plan asks for and that did not land, because git ignores
    them or, for those in `removed`, because only a check makes them; that proves nothing either. Neither do `links`
    that landed in place of files outside of the repository. `ignored` are all that its agents made and that did not
    land. `tests` are the files of its judge that it has changed, `new_tests` those with tests that it has added,
    `mutants` those of its work that were tried.
    `login` is what to type before it is tried again, if its agent is not logged in; `said` why a person rejected it.
    `level` and `why` are its proof if it is done; journals of earlier versions have `proved` instead. `base` is the
    commit that its own stands on. `superseded` are checks of steps that fail on the head of the run branch, if it is
    the last walk of the run itself. `landed_by` is the corrective step whose commit does what this one was to do.
    `failing` are the checks that its last work fails, `tried` its corrective steps that did not get through.
    `learned` is what came of its fixes.
    `tallies` are the figures of its checks. Of its scenarios, `claims`, its agent says that `claimed` passed.
    `findings` are those of its review, `reviews` counts the attempts at them, `reviewed` says who made it;
    `unreviewed` why there is none although there was to be one. `supersedes` are checks of steps that it needs which
    fail since it landed, `swept` is what a look for edge cases said. `coming` are files in which a conflict
    with another step was foreseen. `unread` are the nodes whose agents only read and gave no usable answer.
    """

    step: StepId
    state: StepEnd
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
    said: str = ""
    notices: tuple[str, ...] = ()
    coming: tuple[Foreign, ...] = ()
    failure: str = ""
    lost: int = 0
    unchanged: bool = False
    void: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    new_tests: tuple[str, ...] = ()
    mutants: Mutation = Mutation()
    level: Level | None = None
    why: tuple[Reason, ...] = ()
    login: str = ""
    base: Commit | None = None
    superseded: tuple[str, ...] = ()
    landed_by: StepId = NO_STEP
    failing: tuple[str, ...] = ()
    tried: tuple[StepId, ...] = ()
    tallies: tuple[Tally, ...] = ()
    claimed: int = 0
    claims: int = 0
    learned: tuple[Fix, ...] = ()
    findings: tuple[Found, ...] = ()
    reviews: int = 0
    reviewed: str = ""
    unreviewed: str = ""
    supersedes: tuple[Superseded, ...] = ()
    swept: Sweep | None = None
    unread: tuple[str, ...] = ()

    @property
    def proof(self) -> Proof | None:
        """How much is known about the step; None if it is not done, or is a walk of the run itself."""
        if self.state is not StepEnd.DONE or self.step in RUN_WALKS:
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


class MutantsTried(Event):
    """Mutants of what a step landed as `commit` were tried once it was done: it says no more about its level."""

    step: StepId
    commit: Commit
    found: Mutation


class LessonsChanged(Event):
    """What this run's fixes made of the repository's lessons, all of it: names of those promoted and demoted."""

    promoted: tuple[str, ...] = ()
    demoted: tuple[str, ...] = ()


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
    """A person, or a changed cause, gives a finished step another round; with `redo` one that has landed.

    With `heal` its last work is diagnosed at once. `agent` and `tier` work on it in this round instead of the step's
    own, and are told the `context`.
    """

    step: StepId
    reason: str = ""
    by: str = ""
    redo: bool = False
    heal: bool = False
    agent: str = ""
    tier: str = ""
    context: str = ""

    @property
    def is_special(self) -> bool:
        """Whether the round is another one than the step's first."""
        return self.heal or bool(self.agent or self.tier or self.context)


class BranchMisplaced(Event):
    """The run branch was not where we left it when an attempt of the step had ended.

    `beside` are the steps that were in work as well: their agents may have moved it.
    """

    step: StepId
    tip: Commit | None = None
    beside: tuple[StepId, ...] = ()


class BranchSettled(Event):
    """The run branch was not where we left it; it stands at `new` from here on.

    `steps` are those whose landings were missing, `commits` what somebody else wrote. `culprit` is the step whose agent
    was at work when it was moved, if that is known, `beside` are those whose agents were, too.
    """

    how: Resettled
    new: Commit
    old: Commit | None = None
    steps: tuple[StepId, ...] = ()
    commits: tuple[str, ...] = ()
    culprit: StepId = NO_STEP
    beside: tuple[StepId, ...] = ()


class ModeChanged(Event):
    """Steps not yet started are scheduled differently from here on."""

    mode: Mode


class CancelRequested(Event):
    """A person stopped the run; drivers stop their steps and end it."""

    by: str = ""
    reason: str = ""


class PauseRequested(Event):
    """A person paused the run: nothing new begins, what is at work ends its node, then the run is parked."""

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
    """The run is over. `step` is the one for whose reason it is not done, if it is one's.

    `quiet` says that the run branch was where we left it after the last process had ended.
    """

    state: RunEnd
    reason: str = ""
    quiet: bool = False
    step: StepId = NO_STEP
