"""Who may do the work of an agent node: the one it names, then those that take over, in order.

The rule: the node's own agent has no name in the journal, the others have theirs from the settings.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.routing import USUAL, Candidate, list_candidates
from drumline.ports.library import Callee

OWN = ""


def list_callees(own: Callee, fallback: Mapping[str, Callee]) -> tuple[Candidate, ...]:
    """Every agent that may act in a visit, in order."""
    others = {name: one for name, one in fallback.items() if (one.agent, one.model) != (own.agent, own.model)}
    return list_candidates(
        Candidate(name=OWN, tier=own.tier or USUAL),
        (Candidate(name=name, tier=one.tier or own.tier or USUAL) for name, one in others.items()),
    )


def find_worker(name: str, own: Callee, fallback: Mapping[str, Callee]) -> Callee:
    """The agent behind a candidate's name; the node's own if that name is gone from the settings."""
    return own if name == OWN else fallback.get(name, own)
