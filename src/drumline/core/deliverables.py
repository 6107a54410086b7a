"""What a plan declares, matched with what landed. Pure. The rule: what nothing shows is listed, and nothing is assumed.

A declared file is matched by a landing that changed it, a check by its step's landing, because checks are proved on the
tree that landed. What only people or agents can speak of is matched by nothing that the engine knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from drumline.core.events import StepFinished
from drumline.core.ids import Commit, StepId
from drumline.core.ownership import names
from drumline.core.plan import Step
from drumline.core.proselines import read_lines
from drumline.core.state import RunState
from drumline.core.vocabulary import StepEnd
from drumline.core.waves import list_verified
from drumline.record import Record

FILE, CHECK, CRITERION, MANUAL, SCENARIO = "file", "check", "criterion", "manual", "scenario"
NOT_LANDED = "its step has not landed"
NOT_CHANGED = "no landing changed it"
NO_CHECK = "no command checks it"
BY_HAND = "for a person to verify"
CLAIMED = "only its agent can say"


CRITERIA = frozenset({"acceptance criteria", "success criteria", "acceptance", "definition of done"})
_ITEM = re.compile(r"\s*(?:[-*+]|[0-9]+[.)])\s+(?:\[.\]\s+)?(.+)")


class Declared(Record):
    """Something that the plan declares. `commit` is the landing that it is matched with, `why` why it is `open`."""

    step: StepId
    kind: str
    text: str
    commit: Commit | None
    open: bool
    why: str


def find_criteria(text: str) -> tuple[str, ...]:
    """The items of a step's text that stand below a heading such as Acceptance criteria."""
    below = (line.text for line in read_lines(text) if line.paragraph >= 0 and line.path and line.path[-1] in CRITERIA)
    return tuple(found[1].strip() for line in below if (found := _ITEM.fullmatch(line)))


def match_declared(run: RunState, criteria: Mapping[StepId, Sequence[str]]) -> tuple[Declared, ...]:
    """All that the steps of this run declare; `criteria` are acceptance criteria that stand in their texts alone."""
    landings = [one for one in run.finished.values() if one.state is StepEnd.DONE and one.files]
    return tuple(
        found
        for step in run.selected()
        if not step.elsewhere and step.id not in run.declared
        for found in _match(run, step, landings, criteria.get(step.id, ()))
    )


def _match(run: RunState, step: Step, landings: Sequence[StepFinished], criteria: Sequence[str]) -> Iterator[Declared]:
    finished = run.finished.get(step.id)
    landed = finished is not None and finished.state is StepEnd.DONE
    by = run.finished.get(finished.landed_by, finished) if landed and finished and finished.landed_by else finished
    commit = by.commit if landed and by else None

    def tell(kind: str, text: str, why: str = "", at: Commit | None = None) -> Declared:
        why = why if landed else NOT_LANDED
        return Declared(
            step=step.id, kind=kind, text=text, commit=None if why else at or commit, open=bool(why), why=why
        )

    for path in step.files:
        own = next((one for one in (finished, *landings) if one and any(names(path, file) for file in one.files)), None)
        yield tell(FILE, path, "" if own else NOT_CHANGED, own.commit if own else None)
    yield from (tell(CHECK, check.command) for check in step.checks)
    yield from (tell(CRITERION, item, NO_CHECK) for item in step.not_run)
    yield from (tell(CRITERION, item) for item in criteria)
    verified = list_verified(run, step.id)
    yield from (tell(MANUAL, item, "" if item in verified else BY_HAND) for item in step.manual)
    yield from (tell(SCENARIO, item, CLAIMED) for item in step.qa)
