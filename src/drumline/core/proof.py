"""How much is known about a landed step: its level, and the reasons why that is not more.

The rule: a level is settled once, from what the engine saw itself, and journaled with its reasons; no view computes
another one.
"""

from __future__ import annotations

from enum import Enum

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

    NO_CHECKS = "no_checks"
    NOT_RUN = "not_run"
    UNCHANGED = "unchanged"


class Proof(Record):
    """A level with its reasons, in the order of `Reason`."""

    level: Level
    why: tuple[Reason, ...] = ()

    @property
    def is_proved(self) -> bool:
        """Whether the checks prove the work."""
        return self.level is Level.PROVED


class Facts(Record):
    """What is known of a step at its landing.

    `passed` of its `total` items passed as checks on the tree that it ended with; `same_tree` says that this is the
    tree that landed. `unchanged` says that nothing of its own landed, `read_only` that its role may change nothing.
    """

    total: int
    passed: int
    same_tree: bool
    unchanged: bool = False
    read_only: bool = False


def settle(facts: Facts) -> Proof:
    """The level of a step that has landed."""
    if facts.read_only and facts.unchanged:
        return Proof(level=Level.READ_ONLY)
    missing = _list_missing(facts)
    return Proof(level=Level.UNPROVED, why=missing) if missing else Proof(level=Level.PROVED)


def _list_missing(facts: Facts) -> tuple[Reason, ...]:
    """Why nothing proves the tree that landed."""
    if facts.unchanged:
        return (Reason.UNCHANGED,)
    if not facts.total:
        return (Reason.NO_CHECKS,)
    return () if facts.passed == facts.total and facts.same_tree else (Reason.NOT_RUN,)
