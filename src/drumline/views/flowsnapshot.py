"""What a face knows of a run that walks a flow, as it was at one moment. Views are functions of it and nothing else.

What was visited is kept apart from the fold of the flow itself, so that a run can be looked at when its flow cannot be
read any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from drumline.core.events import FlowPinned
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import FlowState, Key
from drumline.errors import NotAllowed
from drumline.record import field
from drumline.views.snapshot import RunSnapshot

RECENT = 10
"""How many of the last visits a face shows."""


@dataclass(kw_only=True, slots=True)
class Trace:
    """One visit: since when it acts, when and how it ended, how often it was lost. Only the history changes it.

    `waits` says for what an agent that concluded in it left it open: an answer, or a quota.
    """

    key: Key
    began: float | None = None
    ended: float | None = None
    blocked: str = ""
    waits: str = ""
    lost: int = 0
    next: tuple[NodeId, ...] = ()
    failure: str = ""
    fell_back: str = ""
    wrote: tuple[str, ...] = ()
    unchanged: bool = False

    @property
    def seconds(self) -> float | None:
        """How long an ended visit took; None for one that only computed or asked."""
        return None if self.began is None or self.ended is None else self.ended - self.began


class FlowSnapshot(RunSnapshot):
    """A run of a flow.

    `flows` are the flow and the flows being called, by scope; empty, with a `problem`, if they cannot be read. `began`
    has the visits that were started and have not ended, `traces` all of them, `walked` those that ended, in order.
    """

    flows: Mapping[str, FlowState]
    began: Mapping[Key, float]
    traces: Mapping[Key, Trace] = field(default_factory=dict)
    walked: Sequence[Key] = ()
    end: FlowEnded | None = None
    problem: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)

    @property
    def visits(self) -> int:
        """How many visits there were, with those that are due, act or wait."""
        open_flows = [state for state in self.flows.values() if state.ended is None]
        return len(self.walked) + sum(len(state.waiting) + len(state.running) for state in open_flows)

    @property
    def pinned(self) -> FlowPinned:
        """What the run walks; NotAllowed if it walks no flow."""
        if self.run.flow is None:
            raise NotAllowed(f"run {self.run.id} walks no flow", hint=f"drumline status {self.run.id}")
        return self.run.flow

    @property
    def root(self) -> FlowState | None:
        """The flow that nobody called; None before it was begun, or if it cannot be read."""
        return self.flows.get("")

    @property
    def recent(self) -> list[Trace]:
        """The visits that ended last, oldest first."""
        return [self.traces[key] for key in self.walked[-RECENT:]]
