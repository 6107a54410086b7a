"""One thing worth telling: its name, a plain line for people, and the same as data for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core import events as ev
from drumline.record import Record, State, field
from drumline.views.cells import flatten

LONGEST_NOTICE = 200
MOST_NOTICES = 3


class Told(Record):
    """A line without its frame."""

    event: str
    text: str
    data: Mapping[str, object] = field(default_factory=dict)


class Line(Record):
    """A line as it is shown: `data` says also where in the journal it comes from."""

    event: str
    text: str
    data: dict[str, object]


def tell_notices(notices: Sequence[str]) -> str:
    """The first of what was remarkable about an attempt."""
    return "; ".join(flatten(notice, LONGEST_NOTICE) for notice in notices[:MOST_NOTICES])


class Track(State):
    """What has to be remembered of a step to name its next attempt; `reading` is the node that only reads now.

    `joined` says that its work was put on what landed meanwhile, `conflicts` that both changed the same files, and
    `clashes` that its agent was sent back for that, `since` and `files` which steps and files those are.
    `said` are notices that were told before.
    """

    fixes: int = 0
    failing: list[str] = field(default_factory=list)
    failure: str = ""
    message: str = ""
    agent: str = ""
    reading: str = ""
    joined: bool = False
    conflicts: bool = False
    clashes: bool = False
    since: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    said: set[str] = field(default_factory=set)

    def join(self, event: ev.WorkRebased) -> None:
        """The work is judged together with what landed meanwhile."""
        self.joined, self.conflicts, self.failing = True, bool(event.conflicts), []
        self.since, self.files = event.since, event.conflicts
