"""The events of a step's stream: who holds its claim, its workspace, its attempts, its checks and its landing."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.event import Event
from drumline.core.gitdeeds import NO_DEEDS, GitDeeds
from drumline.core.ids import NO_DRIVER, NO_TREE, Commit, DriverId, StepId, Tree
from drumline.core.judge import Touched
from drumline.core.mutants import Mutation
from drumline.core.products import tell_ignored
from drumline.core.proof import Against, Compared
from drumline.core.strays import NOTHING, Foreign, Strayed, tell_coming
from drumline.core.testids import Report
from drumline.record import field


class StepClaimed(Event):
    """A driver holds the claim from here on."""

    driver: DriverId
    token: int


class StepReleased(Event):
    """The driver gave the claim back with the step unfinished; nobody takes it before `until`."""

    reason: str
    until: float | None = None


class StepRestarted(Event):
    """A new round begins: fresh workspace, fresh budgets; attempts keep counting.

    With `keeps` what reviewers found stays open: it is about what has landed, and not about the workspace.
    """

    round: int
    keeps: bool = False


class StepRechecked(Event):
    """A new round begins with the work as it is: its checks could not be run before, or it is to be diagnosed.

    With `anew` the walk begins from its start, because the one before came to its end.
    """

    round: int
    anew: bool = False


class WorkspaceAssigned(Event):
    """Intent: a worktree at this path, from this commit. Recorded before it is made, adopted on retry."""

    path: str
    base: Commit


class WorkspaceReady(Event):
    """The worktree stands and its setup command has run. `ignored` are files of that command that git ignores.

    `fingerprints` are of those that the plan names: a file whose fingerprint is another one was written since.
    `left` counts the files of that command that git does not ignore, by the folder at the top; one that is
    alone there is named itself. They land with the work.
    """

    tree: Tree
    ignored: tuple[str, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)


class WorkspaceFailed(Event):
    """The worktree or its setup command failed."""

    reason: str


class AttemptStarted(Event):
    """Intent: an agent is asked after `delay` seconds, with the work tree as `tree` says, if there is one.

    It is made in a visit of a node. `agent` is empty where it is the run's own, or the one that the node names.
    `session` is the one it continues, `new_session` the id chosen for a new one, `budget` the dollars it was given.
    With `by_visit` the visit decides who is asked and counts what that costs, else the step does; `who` is then the
    name of that agent, under which it is counted. `complaint` is what
    is wrong with the work before it, where no check says so. Who only `reads` changes nothing: what was judged stays
    so. One that `revises` work as a person asks has fresh budgets.
    With `doubts` the complaint is that the agent's word and the checks disagree, with `oversteps` that the work changes
    files of others, with `reviewed` what a review found, with `supersedes` that it breaks checks of steps that it
    needs: none of these uses up a fix.
    `lessons` are the names of those that its prompt has, by the signatures of failures.
    """

    node: str
    attempt: int
    tree: Tree = NO_TREE
    tier: str = "standard"
    delay: float = 0.0
    agent: str = ""
    session: str = ""
    new_session: str = ""
    budget: float | None = None
    by_visit: bool = False
    who: str = ""
    complaint: str = ""
    scope: str = ""
    visit: int = 0
    reads: bool = False
    revises: bool = False
    doubts: bool = False
    oversteps: bool = False
    lessons: Mapping[str, str] = field(default_factory=dict)
    reviewed: bool = False
    supersedes: bool = False


class SessionOpened(Event):
    """The agent at work calls its session by another id than the one chosen for it."""

    session: str
    node: str = ""
    scope: str = ""
    visit: int = 0


class AttemptUsed(Event):
    """What the attempt under way has used so far, all of it, `seconds` after it began; spent also if it is lost."""

    usage: Mapping[str, int | float]
    seconds: float = 0.0
    node: str = ""
    scope: str = ""
    visit: int = 0


class AttemptEnded(Event):
    """An agent concluded. `failure` is empty or a class of the taxonomy; `tree` is what it left behind.

    `source` says who counted the `usage`, `model` is the one that was asked for or that answered, where that is
    known. A `question` is for a person and no failure; `resets_at` is when a quota is full again. `unchanged` says
    that the agent called itself done and had changed no file. `touched` are the files of the judge that the work has
    changed by now. `ignored` are files that it made and that do not land because git ignores them. `permissions` are
    what the question asks leave for, `login` is what a person types where nobody is logged in.

    With `stuck` the question is the agent's own report that it is blocked, with `wrong` that the plan is wrong.
    `denial` is what it says against its work, which is not a failure: the checks are heard beside it. `report` has the
    fields of the report that it ended with, `strayed` what the work changes by now beside the files of its step,
    `sharing` are the landed steps that share a file with it. `coming` are files in which it conflicted with what
    other steps had in their workspaces at that moment, `git` is what it did to git beside changing files.

    With `waits` the visit is not over: it goes on at once, at the time `until`, or when there is an answer, and another
    agent may act in it. `ran_dry` says that the agent had spent the money it was given, `spent` is the working time of
    the visit since the event before.
    """

    node: str
    attempt: int
    tree: Tree = NO_TREE
    failure: str = ""
    message: str = ""
    seconds: float = 0.0
    usage: Mapping[str, int | float] = field(default_factory=dict)
    source: str = ""
    session: str = ""
    question: str = ""
    resets_at: float | None = None
    unchanged: bool = False
    notices: tuple[str, ...] = ()
    touched: tuple[Touched, ...] = ()
    ignored: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    login: str = ""
    scope: str = ""
    visit: int = 0
    waits: bool = False
    until: float | None = None
    ran_dry: bool = False
    spent: float = 0.0
    stuck: bool = False
    denial: str = ""
    report: Mapping[str, str] = field(default_factory=dict)
    strayed: Strayed = NOTHING
    coming: tuple[Foreign, ...] = ()
    wrong: bool = False
    sharing: tuple[StepId, ...] = ()
    git: GitDeeds = NO_DEEDS
    model: str = ""

    @property
    def told(self) -> tuple[str, ...]:
        """Everything that was remarkable about it."""
        ignored = (tell_ignored(self.ignored),) if self.ignored else ()
        return (*self.notices, *ignored, *self.git.told, *self.strayed.told, *tell_coming(self.coming))


ATTEMPTS: tuple[type[Event], ...] = (AttemptStarted, SessionOpened, AttemptUsed, AttemptEnded)
"""What is recorded of an attempt, at a step as in a flow."""


class CheckStarted(Event):
    """Intent: a check runs on this tree."""

    check: int
    command: str
    tree: Tree


class CheckEnded(Event):
    """A check's verdict, bound to the trees before and after it. `exit_code` None means it was not run.

    `failure` is the class of a failing one (`core/checkfailure.py`), `evidence` the line that shows it. `created` are
    files that it left and that were removed, `altered` those that it changed and that were restored: if it passed
    nevertheless, it is void. `outside` are files of the checkout that it loaded as code in place of the tree: whatever
    it said is not about the work, so that it was not run. Of a formatter, `formatted` are files of the work that it
    changed and that stay so, and `restored` those that the work does not change. `left` names processes of it that
    could not be ended. `report` is what its test runners told, None if there was none that tells. `judge` is a digest
    of the files that decide, `environment` one of what it ran in, `log_digest` one of its log: a proof says what it is.
    A `flaky` one came to another verdict than the one before it on the same tree.
    `dependencies` are folders with packages that it found in the workspace as the agent left them.
    """

    check: int
    command: str
    tree: Tree
    tree_after: Tree
    exit_code: int | None
    seconds: float = 0.0
    output: str = ""
    log: str = ""
    failure: str = ""
    evidence: str = ""
    created: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()
    formatted: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    flaky: bool = False
    left: str = ""
    report: Report | None = None
    judge: str = ""
    environment: str = ""
    log_digest: str = ""
    outside: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it says that something is wrong, with the work or with this machine."""
        return self.exit_code != 0 and not self.outside

    @property
    def is_void(self) -> bool:
        """Whether it counts as tried and proves nothing: it changed the tree, or judged another one."""
        return bool(self.outside) or (self.exit_code == 0 and bool(self.altered))

    def tell_void(self) -> str:
        """Why that is so."""
        return f"{'loaded code of your checkout' if self.outside else 'changes the tree'} ({self.command})"


class ComparisonStarted(Event):
    """Intent: checks run on another tree than that of the work."""

    against: Against


class ComparisonEnded(Event):
    """What checks say about a tree that the work is compared with."""

    against: Against
    tree: Tree
    found: tuple[Compared, ...]


class MutantsStarted(Event):
    """Intent: mutants of the work are tried before it lands."""

    tree: Tree


class MutantsEnded(Event):
    """Which mutants of the work its checks did not notice."""

    found: Mutation
    seconds: float = 0.0


class LandingStarted(Event):
    """Intent: this commit goes onto the run branch; `head` is the one that it was judged on."""

    commit: Commit
    tree: Tree
    head: Commit


class LandingRefused(Event):
    """The commit could not be landed. With `retry` it can be once the run branch is settled.

    `behind` is the head of the run branch if that has moved since the base of the work: nothing is known yet of the
    work together with what landed meanwhile.
    """

    reason: str
    conflicts: tuple[str, ...] = ()
    retry: bool = False
    behind: Commit | None = None


class StepLanded(Event):
    """The step's commit is on the run branch. Journals of earlier versions say `merged` of one that nobody judged."""

    commit: Commit
    tree: Tree
    merged: bool = False
    adopted: bool = False


class WorkRebased(Event):
    """The step's change was put on `base`, the head of the run branch or the candidate before it; its tree is `ready`.

    `tree` is what came of it. `conflicts` are files that both sides changed; they have conflict markers in them.
    `since` are the steps that landed since its agent began, or are about to, `sharing` those that landed, or are about
    to, and share a file with it. `change` is the work as its agent left it.
    """

    base: Commit
    ready: Tree
    tree: Tree
    conflicts: tuple[str, ...] = ()
    since: tuple[StepId, ...] = ()
    change: Commit | None = None
    sharing: tuple[StepId, ...] = ()


class WorkChanged(Event):
    """Something else than an attempt, such as a script of the flow that the step walks, changed the work.

    `undone` are files that were put back as they were before it, because a person wants them so. `sharing` are the
    landed steps that share a file with the work.
    """

    tree: Tree
    node: str = ""
    strayed: Strayed = NOTHING
    undone: tuple[str, ...] = ()
    sharing: tuple[StepId, ...] = ()


class WorkLost(Event):
    """What was open was cut short: with its driver, or because `killed` says what was killed from outside.

    It counts as no attempt; what its agent had used is spent.
    """

    what: str
    driver: DriverId = NO_DRIVER
    killed: str = ""
