"""The titles of a step's logs for people: which attempt, at which node, or which check on which tree.

The rule: the name of the file is in every title, so that it can be found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from drumline.core.events import AttemptStarted, CheckEnded, ComparisonEnded, Event
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.ids import FINAL, NO_STEP, PREFLIGHT, StepId
from drumline.core.proof import Against, Compared
from drumline.record import Record, field
from drumline.views.cells import flatten
from drumline.views.checklogs import describe_check
from drumline.views.evidence import TREES, describe_compared
from drumline.views.visitlogs import PROMPT, SETUP, WORKED, number_logs

_LOST = re.compile(r"\.lost-\d+")
CUT_SHORT = "cut short"
UNFIT = "an answer that did not fit its schema"
EITHER = "cut short, or an answer that did not fit its schema"

_TREES = {against.value: words for against, words in TREES.items()}
"""By how the names of their logs begin."""
WHERE = {PREFLIGHT: "before the first step", FINAL: "on the head of the run branch"}
"""What checks of the run's own walks look at: there is no attempt."""


class Titles(Record):
    """What a step's stream says of its logs: the visits of attempts, and what checks came to.

    `asides` says why earlier logs of an attempt were set aside, by its number, where it was not cut short.
    """

    step: StepId = NO_STEP
    visits: Mapping[str, Key] = field(default_factory=dict)
    checks: Mapping[str, CheckEnded] = field(default_factory=dict)
    asides: Mapping[int, str] = field(default_factory=dict)
    compared: Mapping[str, tuple[Against, Compared]] = field(default_factory=dict)

    def name(self, log: str) -> str:
        """The title of a log."""
        kind, number, which = (*_LOST.sub("", log).split(".")[0].split("-"), "", "")[:3]
        told = ""
        lost = _LOST.search(log) is not None
        if kind == "check" and number.isdigit() and which.isdigit():
            told = f"check {which} {WHERE.get(self.step) or f'on the work of attempt {number}'}"
            told = f"earlier run of {told}" if lost and log not in self.checks else told
        elif kind in _TREES and number.isdigit() and which.isdigit():
            told = f"check {which} {_TREES[kind]}"
        elif kind in (WORKED, PROMPT) and number.isdigit():
            told = f"attempt {number}{self._at(f'{kind}-{number}')}"
            told = f"prompt of {told}" if kind == PROMPT else told
            told += f", {self.asides.get(int(number), CUT_SHORT)}" if lost else ""
        elif kind == SETUP:
            told = "setup"
        return f"{told} ({log})" if told else log

    def describe(self, log: str) -> list[str]:
        """What a check came to: its command and its verdict."""
        if log in self.checks:
            return describe_check(self.checks[log])
        return _describe_compared(self.compared[log][1]) if log in self.compared else []

    def _at(self, stem: str) -> str:
        key = self.visits.get(stem)
        return f" at {call_scope(*key)}" if key is not None else ""


def describe_ended(event: Event) -> Mapping[str, Sequence[str]]:
    """What the checks of an event came to, by the names of their logs."""
    if isinstance(event, CheckEnded):
        return {event.log: describe_check(event)} if event.log else {}
    found = event.found if isinstance(event, ComparisonEnded) else ()
    return {one.log: _describe_compared(one) for one in found if one.log}


def _describe_compared(found: Compared) -> list[str]:
    return [f"$ {flatten(found.command)}", describe_compared(found)]


def read_titles(events: Iterable[Event], step: StepId) -> Titles:
    """The titles of the logs of one step, from its whole stream."""
    told = list(events)
    compared = [
        (one.log, (event.against, one)) for event in told if isinstance(event, ComparisonEnded) for one in event.found
    ]
    return Titles(
        step=step,
        visits=number_logs(told),
        checks={event.log: event for event in told if isinstance(event, CheckEnded) and event.log},
        asides=_list_asides(told),
        compared={log: found for log, found in compared if log},
    )


def _list_asides(events: Iterable[Event]) -> dict[int, str]:
    """Why earlier logs of an attempt were set aside: begun once it was asked again; else its driver was lost, too."""
    begun = [event for event in events if isinstance(event, AttemptStarted)]
    times = Counter(event.attempt for event in begun)
    return {
        event.attempt: UNFIT if times[event.attempt] == 1 else EITHER for event in begun if _may_repeat(event, times)
    }


def _may_repeat(event: AttemptStarted, times: Mapping[int, int]) -> bool:
    return event.reads or times[event.attempt] == 1
