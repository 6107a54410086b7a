"""The titles of a step's logs for people: which attempt, at which node, or which check on which tree.

The rule: the name of the file is in every title, so that it can be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from drumline.core.events import CheckEnded, ComparisonEnded, Event
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.proof import Against, Compared
from drumline.record import Record, field
from drumline.views.cells import flatten
from drumline.views.checklogs import describe_check
from drumline.views.evidence import TREES, describe_compared
from drumline.views.visitlogs import PROMPT, SETUP, WORKED, number_logs

_LOST = re.compile(r"\.lost-\d+")


class Titles(Record):
    """What a step's stream says of its logs: the visits of attempts, and what checks came to."""

    visits: Mapping[str, Key] = field(default_factory=dict)
    checks: Mapping[str, CheckEnded] = field(default_factory=dict)
    compared: Mapping[str, tuple[Against, Compared]] = field(default_factory=dict)

    def name(self, log: str) -> str:
        """The title of a log."""
        kind, number, which = (*_LOST.sub("", log).split(".")[0].split("-"), "", "")[:3]
        told = ""
        if log in self.checks:
            told = f"check {which} on the work of attempt {number}"
        elif log in self.compared:
            told = f"check {which} {TREES[self.compared[log][0]]}"
        elif kind in (WORKED, PROMPT) and number.isdigit():
            told = f"attempt {number}{self._at(f'{kind}-{number}')}"
            told = f"prompt of {told}" if kind == PROMPT else told
            told += ", cut short" if _LOST.search(log) else ""
        elif kind == "check" and number.isdigit() and which.isdigit() and _LOST.search(log):
            told = f"earlier run of check {which} on the work of attempt {number}"
        elif kind == SETUP:
            told = "setup"
        return f"{told} ({log})" if told else log

    def describe(self, log: str) -> list[str]:
        """What a check came to: its command and its verdict."""
        if log in self.checks:
            return describe_check(self.checks[log])
        if log in self.compared:
            found = self.compared[log][1]
            return [f"$ {flatten(found.command)}", describe_compared(found)]
        return []

    def _at(self, stem: str) -> str:
        key = self.visits.get(stem)
        return f" at {call_scope(*key)}" if key is not None else ""


def read_titles(events: Iterable[Event]) -> Titles:
    """The titles of the logs of one step, from its whole stream."""
    told = list(events)
    compared = [
        (one.log, (event.against, one)) for event in told if isinstance(event, ComparisonEnded) for one in event.found
    ]
    return Titles(
        visits=number_logs(told),
        checks={event.log: event for event in told if isinstance(event, CheckEnded) and event.log},
        compared={log: found for log, found in compared if log},
    )
