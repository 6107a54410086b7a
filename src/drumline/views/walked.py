"""How far a run of a flow came."""

from __future__ import annotations

from drumline.record import Record
from drumline.views.snapshot import Walk
from drumline.views.status import list_unchanged


class Walked(Record):
    """How far a run of a flow came: its visits, and the end that it reached, if it did."""

    visits: int
    end: str
    status: str
    unchanged: tuple[str, ...]


def measure(walk: Walk) -> Walked:
    """The figures of a walk."""
    end = walk.end
    return Walked(
        visits=walk.visits,
        end=end.node if end else "",
        status=end.status if end else "",
        unchanged=tuple(list_unchanged(walk)),
    )


def walk_json(walked: Walked | None) -> dict[str, object]:
    """The same for programs; of a run of a plan there is nothing to say."""
    if walked is None:
        return {"visits": None, "end": None, "status": None}
    return {"visits": walked.visits, "end": walked.end or None, "status": walked.status or None}
