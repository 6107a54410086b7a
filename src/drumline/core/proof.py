"""How much is known about a landed step: its level, and the reasons why that is not more.

The rule: a level is settled once, from what the engine saw itself, and journaled with its reasons; only a person's yes
raises it afterwards, and no view computes another one.
"""

from __future__ import annotations

from enum import Enum

from drumline.core.testids import Difference, Report
from drumline.record import Record


class Level(Enum):
    """How much is known about a step that is done, from most to least."""

    PROVED = "proved"
    KEPT = "kept"
    UNPROVED = "unproved"
    DECLARED = "declared"
    READ_ONLY = "read_only"


class Reason(Enum):
    """Why a level is not `proved`."""

    RED_BEFORE = "red_before"
    GREEN_BEFORE = "green_before"
    TESTS_CHANGED = "tests_changed"
    BASE_UNKNOWN = "base_unknown"
    SURVIVORS = "survivors"
    NO_CHECKS = "no_checks"
    NOT_RUN = "not_run"
    UNCHANGED = "unchanged"
    SUPERSEDED = "superseded"
    IGNORED = "ignored"

    @property
    def words(self) -> str:
        """The reason as people read it."""
        return self.value.replace("_", " ")


class Require(Enum):
    """The level that a step must reach for its run to be done without a person's yes."""

    NONE = "none"
    KEPT = "kept"
    PROVED = "proved"


class Against(Enum):
    """A tree that the work is compared with.

    The one before the work, with all that setup made; the same with the work's own tests; the work with the tests,
    the configuration of the runners and the scripts as they were before.
    """

    BASE = "base"
    BASE_SOURCE = "base_source"
    BASE_JUDGE = "base_judge"

    __hash__ = object.__hash__  # asked for every check; that of Enum is a call of Python


class Colour(Enum):
    """What a check says about a tree that the work is compared with."""

    GREEN = "green"
    RED = "red"
    UNKNOWN = "unknown"


class Compared(Record):
    """A check on a tree that the work is compared with; `evidence` is the line that leaves its colour unknown.

    `absent` says that it fails because there is nothing to judge by: no tests, no such target. `report` is what
    its test runners told, `difference` how that differs from what they tell of the work.
    """

    check: int
    command: str
    colour: Colour
    evidence: str = ""
    seconds: float = 0.0
    log: str = ""
    absent: bool = False
    report: Report | None = None
    difference: Difference | None = None


class Proof(Record):
    """A level with its reasons, in the order of `Reason`."""

    level: Level
    why: tuple[Reason, ...] = ()

    @property
    def is_proved(self) -> bool:
        """Whether the checks prove the work."""
        return self.level is Level.PROVED

    def is_enough(self, required: Require) -> bool:
        """Whether nobody has to be asked about a step with this proof.

        What its file declared, or what may only read, was never to be proved.
        """
        if required is Require.NONE or self.level in (Level.DECLARED, Level.READ_ONLY, Level.PROVED):
            return True
        return required is Require.KEPT and self.level is Level.KEPT

    def after_review(self) -> Proof:
        """The proof once a person has said yes to the tests that the work changed."""
        why = tuple(reason for reason in self.why if reason is not Reason.TESTS_CHANGED)
        if self.level is not Level.KEPT or why == self.why:
            return self
        return Proof(level=Level.KEPT, why=why) if why else Proof(level=Level.PROVED)


class Facts(Record):
    """What is known of a step at its landing.

    `passed` of its `total` items passed as checks on the tree that it ended with, `inherited` others fail there as
    they did before; `same_tree` says that this is the tree that landed. `unchanged` says that nothing of its own
    landed, `declared` that a person said that there was nothing left to do, `read_only` that its role may change
    nothing, `tests_changed` that the checks pass only with tests that
    the work has changed, which nobody has reviewed. `before` is what the checks that count say about the tree
    without the work, `red_first` what those say that the plan expects to fail there.
    `survivors` says that its checks do not notice mutants of the work, which was looked at before it landed.
    `hidden` says that git ignores a file that the plan asks for, or that a link leads out, so that it did not land.
    """

    total: int
    passed: int
    same_tree: bool
    inherited: int = 0
    unchanged: bool = False
    declared: bool = False
    read_only: bool = False
    tests_changed: bool = False
    survivors: bool = False
    before: tuple[Colour, ...] = ()
    red_first: tuple[Colour, ...] = ()
    hidden: bool = False


def settle(facts: Facts) -> Proof:
    """The level of a step that has landed."""
    if facts.read_only and facts.unchanged:
        return Proof(level=Level.READ_ONLY)
    if facts.declared and facts.unchanged:
        return Proof(level=Level.DECLARED, why=(Reason.UNCHANGED,))
    missing = _list_missing(facts)
    if missing:
        return Proof(level=Level.UNPROVED, why=missing)
    doubts = _list_doubts(facts)
    return Proof(level=Level.KEPT, why=doubts) if doubts else Proof(level=Level.PROVED)


def _list_missing(facts: Facts) -> tuple[Reason, ...]:
    """Why nothing proves the tree that landed."""
    if facts.unchanged:
        return (Reason.UNCHANGED,)
    if facts.hidden:
        return (Reason.IGNORED,)
    if not facts.total:
        return (Reason.NO_CHECKS,)
    return () if facts.passed + facts.inherited == facts.total and facts.same_tree else (Reason.NOT_RUN,)


def _list_doubts(facts: Facts) -> tuple[Reason, ...]:
    """Why the checks, none of which fails through the work, do not show that the work did something."""
    missed: set[Colour] = {colour for colour in facts.red_first if colour is not Colour.RED}
    if Colour.RED not in facts.before:
        missed |= {*facts.before} or {Colour.UNKNOWN}
    found = {_DOUBTS[colour] for colour in missed}
    if facts.inherited:
        found.add(Reason.RED_BEFORE)
    if facts.tests_changed:
        found.add(Reason.TESTS_CHANGED)
    if facts.survivors:
        found.add(Reason.SURVIVORS)
    return tuple(reason for reason in Reason if reason in found)


_DOUBTS = {Colour.GREEN: Reason.GREEN_BEFORE, Colour.UNKNOWN: Reason.BASE_UNKNOWN}
