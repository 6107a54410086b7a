"""The closed sets of words that a run's journal uses. The rule: a word that is not here is refused when it is read.

Each word is the text that journals, plan files and scripts have for it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

QUICK, STANDARD, FULL = "quick", "standard", "full"
"""The values of `rigor`: how much is done around the work."""


class StepEnd(StrEnum):
    """How a step ended."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    SKIPPED = "skipped"


PASSING = frozenset({StepEnd.DONE, StepEnd.SKIPPED})
"""How steps end that hold up nothing."""


class CheckKind(StrEnum):
    """What a check is for, in the order in which checks run: the step's own verification comes last.

    Only `format` may change the work.
    """

    FORMAT = "format"
    LINT = "lint"
    BUILD = "build"
    TEST = "test"
    OWN = ""


class RunEnd(StrEnum):
    """How a run ended."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WalkEnd(StrEnum):
    """How a walk ended: by the end that it came to. Only journals of earlier versions have cancelled ones."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELLED = "cancelled"

    @property
    def of_step(self) -> StepEnd:
        """How the step ended that walked so."""
        match self:
            case WalkEnd.DONE:
                return StepEnd.DONE
            case WalkEnd.BLOCKED:
                return StepEnd.BLOCKED
            case WalkEnd.FAILED | WalkEnd.REJECTED | WalkEnd.CANCELLED:
                return StepEnd.FAILED
            case _:
                assert_never(self)


class RunStanding(StrEnum):
    """How a run is: as it ended, or how it goes on. One that failed only because a person rejected work is rejected."""

    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"
    REJECTED = "rejected"
    INTERRUPTED = "interrupted"


class StepStanding(StrEnum):
    """How a step is: as it ended, or what it waits for. One that failed because a person rejected it is rejected."""

    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    PARKED = "parked"
    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    REJECTED = "rejected"
    SKIPPED = "skipped"


class Mode(StrEnum):
    """Whether independent steps run at the same time."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class Mutants(StrEnum):
    """Whether mutants of the work are tried: not, beside everything else, or before it lands."""

    OFF = "off"
    SHOW = "show"
    GATE = "gate"


class Ownership(StrEnum):
    """What becomes of changes to files that a step does not own.

    `foreign`: those of other unfinished steps go back. `strict`: so do all that are not its own. `warn`: all are told.
    """

    FOREIGN = "foreign"
    STRICT = "strict"
    WARN = "warn"


class Review(StrEnum):
    """Which steps another agent reviews before they land: those with a reason for it, all, or none."""

    RISK = "risk"
    ALL = "all"
    NONE = "none"


class Severity(StrEnum):
    """How much a finding matters: it keeps work from landing, is for a person to weigh, or is a remark."""

    BLOCKER = "blocker"
    CONCERN = "concern"
    NIT = "nit"


class Settlement(StrEnum):
    """What became of a finding: `step` says that a step of its own puts it right."""

    FIXED = "fixed"
    ACCEPTED = "accepted"
    DEFERRED = "deferred"
    WRONG = "wrong"
    STEP = "step"


class OnConflict(StrEnum):
    """Who is to make work fit that does not fit to what landed meanwhile: its agent, or a person is asked first."""

    AGENT = "agent"
    ASK = "ask"


class Place(StrEnum):
    """Where steps are worked on: each in a worktree, or one after the other in the checkout."""

    WORKTREE = "worktree"
    INPLACE = "inplace"


class Resettled(StrEnum):
    """What became of a run branch that was not where we left it."""

    RESTORED = "restored"
    KEPT = "kept"


class GateKind(StrEnum):
    """What a question to a person is about.

    `approval` and `input` are asked by nodes of those kinds, `approve` is the approval of a step before it lands.
    `failure` and `plan` are about a step that is blocked: nothing waits for the answer.
    """

    ACCEPT = "accept"
    APPROVAL = "approval"
    APPROVE = "approve"
    BLOCKED = "blocked"
    BRANCH = "branch"
    BUDGET = "budget"
    CLAIM = "claim"
    CONFLICT = "conflict"
    DENIED = "denied"
    EDIT = "edit"
    FAILURE = "failure"
    INPUT = "input"
    JUDGE = "judge"
    OWNERSHIP = "ownership"
    PLAN = "plan"
    PROCEED = "proceed"
    QUESTION = "question"
    REDO = "redo"
    TRUST = "trust"
    UNCHANGED = "unchanged"
    WAVE = "wave"


STUCK = frozenset({GateKind.FAILURE, GateKind.PLAN})
"""What is asked about a step that is blocked: the run is not parked for it, and may have ended meanwhile."""

OF_AGENTS = (GateKind.QUESTION, GateKind.BLOCKED)
"""Questions of agents: what is answered goes to the next attempt."""


class DropCause(StrEnum):
    """Why a step leaves the landing queue without landing."""

    CONFLICT = "conflict"
    LOST = "lost"
    RED = "red"


class PlanCause(StrEnum):
    """Why the plan of a run changed."""

    EDIT = "edit"
    HEAL = "heal"
    REVIEW = "review"
    MANUAL = "manual"
    ANNOTATION = "annotation"
    PROPOSAL = "proposal"
    REVISE = "revise"


class DocumentKind(StrEnum):
    """What a document is for."""

    BRIEF = "brief"
    HANDOFF = "handoff"
    SUMMARY = "summary"
    DIAGNOSIS = "diagnosis"
    NOTES = "notes"


class Hindrance(StrEnum):
    """What keeps a step from being claimed."""

    AGENT = "agent"
    BESIDE = "beside"
    FOREIGN = "foreign"
    GATE = "gate"
    MARKED = "marked"
    NEEDS = "needs"
    QUOTA = "quota"
    REFUSED = "refused"
    TURN = "turn"
    UNMERGED = "unmerged"
    UNOWNED = "unowned"
    UNTRUSTED = "untrusted"
    WAVE = "wave"
