"""Checks for plans that name none: commands found in the repository, and those that the plan's own words name.

Nothing is run and nothing is written here; a person looks at the proposals first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from drumline.app.detection import JUDGES, Detected
from drumline.core.ids import StepId
from drumline.core.outlook import never_fails, todo
from drumline.core.plan import Reading
from drumline.planfiles.acting import acts
from drumline.planfiles.criterion import find_told
from drumline.planfiles.sidecar import EVERY
from drumline.record import Record


class Proposal(Record):
    """A command that could be a check: of one step, or of every step without one if `step` is empty."""

    command: str
    step: StepId
    why: str


def propose(reading: Reading, detected: Detected, configured: Sequence[str] = ()) -> list[Proposal]:
    """What could prove steps that are still to do: for those without a check what the repository has for all.

    Where checks are `configured` for every step, only what the plan's own words name is proposed.
    """
    left = todo(reading)
    bare = not configured and any(not step.checks for step in left)
    found = detected.of(*JUDGES) if bare else ()
    every = [Proposal(command=each.command, step=StepId(""), why=each.place) for each in found]
    known = {(step.id, check.command) for step in left for check in step.checks}
    own: dict[tuple[StepId, str], Proposal] = {}
    for one in _find_named(reading):
        if (one.step, one.command) not in known:
            own.setdefault((one.step, one.command), one)
    return [*every, *own.values()]


def as_checks(proposals: Sequence[Proposal]) -> Mapping[StepId, tuple[str, ...]]:
    """The proposals as a sidecar keeps them."""
    found: dict[StepId, tuple[str, ...]] = {}
    for one in proposals:
        place = one.step or EVERY
        found[place] = tuple(dict.fromkeys([*found.get(place, ()), one.command]))
    return found


def _find_named(reading: Reading) -> Iterator[Proposal]:
    """Commands that a step's title, what a person should verify, or a criterion of acceptance tells to run."""
    told: dict[StepId, list[tuple[str, str]]] = {}
    for one in reading.acceptance:
        told.setdefault(one.step, []).append((one.words, one.name))
    for step in todo(reading):
        manual = [(item, "what is to be verified") for item in step.manual]
        for words, why in [(step.title, "its title"), *told.get(step.id, ()), *manual]:
            command = find_told(words)
            if command and not never_fails(command) and not acts(command):
                yield Proposal(command=command, step=step.id, why=why)
