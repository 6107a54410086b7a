"""What the visits of a walk have used. The rule: each counts once, in whatever flow it was called."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.events import AttemptEnded, AttemptStarted, AttemptUsed, Event
from drumline.core.flow import events as ev
from drumline.core.flow.model import NodeId
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.spending import ATTEMPTS, UNPRICED, add_up, count_attempt
from drumline.record import State, field

Concluded = ev.NodeEnded | AttemptEnded | ev.NodeBlocked | ev.NodeLost


class FlowMeter(State):
    """Adds up what all visits used; only `note` changes it. `total` is another object after each change.

    `by_agent` has it by the names of those who were asked; it is empty for models, which no agent asked.
    """

    total: Mapping[str, float] = field(default_factory=dict)
    by_agent: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    _metered: dict[Key, Mapping[str, float]] = field(default_factory=dict)
    _asked: dict[Key, str] = field(default_factory=dict)
    _calls: set[str] = field(default_factory=set)

    @property
    def usage(self) -> Mapping[str, float]:
        """Tokens and dollars, with the number of attempts and of those without a price; empty if nobody counts."""
        return self.total if self.total.keys() - {ATTEMPTS, UNPRICED} else {}

    @property
    def usage_with_open(self) -> Mapping[str, float]:
        """The same with what visits have used that were left open by a driver that is gone."""
        left = [count_attempt(usage) for usage in self._metered.values()]
        return add_up((self.total, *left)) if left else self.usage

    def note(self, event: Event) -> None:
        """Take in the next event."""
        if type(event) not in _TOLD:
            return
        match event:
            case ev.FlowStarted():
                self._calls.add(event.scope)
            case AttemptStarted() if event.by_visit and event.visit:
                self._asked[_key(event)] = event.agent or event.who
            case ev.NodeUsed():
                self._metered[_key(event)] = event.usage
            case AttemptUsed() if _key(event) in self._asked:
                self._metered[_key(event)] = event.usage
            case AttemptEnded() if _key(event) in self._asked:
                self._conclude(event)
            case ev.NodeEnded() | ev.NodeBlocked() | ev.NodeLost():
                self._conclude(event)

    def _conclude(self, event: Concluded) -> None:
        key = _key(event)
        agent, metered = self._asked.pop(key, None), self._metered.pop(key, {})
        used = metered if isinstance(event, ev.NodeLost) else event.usage
        if (used or agent is not None) and call_scope(*key) not in self._calls:  # a call's visits are counted
            counted, name = count_attempt(used), agent or ""
            self.total = add_up((self.total, counted))
            self.by_agent = {**self.by_agent, name: add_up((self.by_agent.get(name, {}), counted))}


def _key(event: Concluded | AttemptStarted | AttemptUsed | ev.NodeUsed) -> Key:
    return Key(event.scope, NodeId(event.node), event.visit)


_TOLD = frozenset(
    {
        ev.FlowStarted,
        AttemptStarted,
        ev.NodeUsed,
        AttemptUsed,
        AttemptEnded,
        ev.NodeEnded,
        ev.NodeBlocked,
        ev.NodeLost,
    }
)
"""The events that say something about usage: most others are looked at here as well, so this is asked first."""
