"""Checks for plans that name none: commands found in the repository, and those that the steps' own words name.

Nothing is run and nothing is written here; a person looks at the proposals first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from drumline.app.detection import JUDGES, Detected
from drumline.core.ids import StepId
from drumline.core.outlook import unproved
from drumline.core.plan import Reading, Step
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.sidecar import EVERY
from drumline.record import Record

_VERB = re.compile(r"\b(?:run|runs|execute|verify|validate|ensure|confirm|check|returns?|passes)\b", re.IGNORECASE)


class Proposal(Record):
    """A command that could be a check: of one step, or of every step without one if `step` is empty."""

    command: str
    step: StepId
    why: str


def propose(reading: Reading, detected: Detected) -> list[Proposal]:
    """What could prove the steps that are still to do and have no check; nothing if each has one."""
    bare = [step for step in unproved(reading) if not step.checks]
    if not bare:
        return []
    own = [proposal for step in bare for proposal in _named_by(step)]
    every = [Proposal(command=found.command, step=StepId(""), why=found.place) for found in detected.of(*JUDGES)]
    return [*every, *own]


def as_checks(proposals: Sequence[Proposal]) -> Mapping[StepId, tuple[str, ...]]:
    """The proposals as a sidecar keeps them."""
    found: dict[StepId, tuple[str, ...]] = {}
    for one in proposals:
        place = one.step or EVERY
        found[place] = tuple(dict.fromkeys([*found.get(place, ()), one.command]))
    return found


def _named_by(step: Step) -> Iterator[Proposal]:
    """Commands that the step's title, or what a person should verify, tells to run."""
    for words, why in [(step.title, "its title"), *((item, "what is to be verified") for item in step.manual)]:
        command = read_criterion(words).command if "`" in words and _VERB.search(words) else ""
        if command:
            yield Proposal(command=command, step=step.id, why=why)
