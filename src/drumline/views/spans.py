"""The visits of a step's walk, with their times."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.flow.events import FlowStarted, NodeBlocked, NodeEnded, NodeLost, NodeStarted
from drumline.core.recorded import Recorded
from drumline.record import Record


class Span(Record):
    """One visit of a node, in seconds since 1970; without an end it was cut short, or is at work."""

    node: str
    began: float
    ended: float | None


def list_spans(entries: Sequence[Recorded]) -> tuple[Span, ...]:
    """The visits of a step's own flow, with their times; those of flows it calls are in the visit that called."""
    spans: list[Span] = []
    open_at: dict[tuple[str, int], float] = {}
    for entry in entries:
        match entry.event:
            case FlowStarted(scope=""):
                open_at.clear()
            case NodeStarted(scope="", node=node, visit=visit):
                open_at[(node, visit)] = entry.at
            case NodeEnded(scope="", node=node, visit=visit) | NodeLost(scope="", node=node, visit=visit):
                if (began := open_at.pop((node, visit), None)) is not None:
                    spans.append(Span(node=node, began=began, ended=entry.at))
            case NodeBlocked(scope="", node=node, visit=visit):
                if (began := open_at.pop((node, visit), None)) is not None:
                    spans.append(Span(node=node, began=began, ended=entry.at))
            case _:
                pass
    return (*spans, *(Span(node=node, began=began, ended=None) for (node, _), began in open_at.items()))
