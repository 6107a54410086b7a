"""The events of questions to people: a gate that opened, and its first answer."""

from __future__ import annotations

from drumline.core.event import Event
from drumline.core.ids import NO_STEP, Commit, GateId, StepId
from drumline.core.proof import Level, Reason
from drumline.core.vocabulary import GateKind
from drumline.record import Record


class ManualItem(Record):
    """Something about a step that only a person can verify. `commit` is what the step landed."""

    step: StepId
    text: str
    commit: Commit | None = None


class Doubt(Record):
    """A step below the level that it must reach, for a person to accept.

    `commit` is what landed; None if the level was known before the run began. `by` are the steps that landed since,
    if one of its checks fails on the head of the run branch.
    """

    step: StepId
    level: Level
    why: tuple[Reason, ...] = ()
    commit: Commit | None = None
    by: tuple[StepId, ...] = ()


class GateOpened(Event):
    """A durable question to a person; `spent` is what the run had spent by then, if it is about its money.

    With `free` any text is an answer, if it keeps the `rule` on its length; an empty one stands for the `default`.
    `about` is the attempt or the round of the step that it asks about, `asks` what an agent asks in its own words,
    `permissions` what it asks leave for, `items` what a person has to verify, `doubts` the steps that a person is to
    accept, `paths` the files that it is about, `shown` the digests of the proposals that it shows whole.
    """

    gate: GateId
    kind: GateKind
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
    permissions: tuple[str, ...] = ()
    items: tuple[ManualItem, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    paths: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


class GateAnswered(Event):
    """The first answer to a gate; later ones are refused by the inbox.

    `items` are the numbers, from 1, of the gate's items that are not good.
    `spent` is what the run had spent by then, if the gate is about its money: it may have gone on meanwhile.
    """

    gate: GateId
    choice: str
    comment: str = ""
    by: str = ""
    channel: str = ""
    spent: float | None = None
    items: tuple[int, ...] = ()
