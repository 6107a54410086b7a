"""Which agent works on a step: the step's own or the run's first, then those that take over, in order.

The rule: an agent keeps a step as long as it can go on. One that is out of quota comes back when its time has come,
one that a person has to see to does not before the next round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from drumline.core.plan import Step
from drumline.core.roles import find_role
from drumline.core.state import RunState
from drumline.record import Record

TIERS = ("fast", "standard", "strong")
MODELS = {"haiku": "fast", "sonnet": "standard", "opus": "strong"}
"""The tiers by the models that plans in waves name for them."""
USUAL = "standard"
STRONGER_FROM = 2
"""Which fix is the first that a stronger model does."""
BACKOFF = (2.0, 4.0, 8.0)
"""Seconds before each further try of an agent that is refused and does not say for how long."""
SHORTEST_TIMER = 10.0
"""Seconds that an agent out of quota is left alone at least if it names a time, which may be over already."""
LONG_TIMER = 1800.0
"""Seconds that an agent is left alone which was refused again and again."""
MOST_TIMERS = 10
"""How often in a row a step may wait for quotas without any work being done in between."""


class Candidate(Record):
    """An agent by the name that the plan or the settings have for it, and the tier it works with.

    The run's own agent has no name: journals from before steps had agents say nothing of it.
    """

    name: str
    tier: str = USUAL


class Tried(Protocol):
    """What became of the agents of a step, or of a visit in a flow."""

    @property
    def agent(self) -> str:
        """Who was asked last."""
        ...

    @property
    def exhausted(self) -> Mapping[str, float | None]:
        """Who cannot go on, with the time from which they can where that is known."""
        ...

    @property
    def timers(self) -> int:
        """How often in a row a quota was waited for."""
        ...


def list_candidates(own: Candidate, fallback: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Every agent that may work on a step or in a visit, in order; nobody takes over from himself."""
    found: dict[str, Candidate] = {}
    for candidate in (own, *fallback):
        found.setdefault(candidate.name, candidate)
    return tuple(found.values())


def list_workers(run: RunState, step: Step) -> tuple[Candidate, ...]:
    """Every agent that may work on the step, in order. A tier that the step names overrules that of a profile.

    A profile of the name of its role works on a step that names no agent. Who wants another round of the step may
    name others for it.
    """
    begun, asked = run.begun, run.reopened.get(step.id)
    named, wanted = (asked.agent, asked.tier) if asked else ("", "")

    def describe(name: str) -> Candidate:
        tier = wanted or _find_tier(step, begun.profiles.get(name, {}), of_role=name == step.role)
        return Candidate(name="" if name == begun.agent else name, tier=tier)

    return list_candidates(
        describe(named or name_agent(step, begun.profiles) or begun.agent), map(describe, begun.fallback)
    )


def name_agent(step: Step, profiles: Mapping[str, Mapping[str, str]]) -> str:
    """The agent that a step names, or the profile of the name of its role; empty if the run's own works on it."""
    return step.agent or (step.role if step.role in profiles else "")


def spell_agent(run: RunState, name: str) -> str:
    """The agent's name as the plan or the settings have it."""
    return name or run.begun.agent


def choose(candidates: Sequence[Candidate], state: Tried) -> Candidate:
    """Who is asked next: whoever was asked last, unless it cannot go on and another can."""
    able = [candidate for candidate in candidates if candidate.name not in state.exhausted]
    last = [candidate for candidate in candidates if candidate.name == state.agent]
    kept = [candidate for candidate in last if candidate in able]
    return next(iter((*kept, *able, *last, *candidates)))


def has_other(candidates: Sequence[Candidate], state: Tried) -> bool:
    """Whether an agent is left that can take over."""
    return any(candidate.name not in state.exhausted for candidate in candidates)


def find_timer(candidates: Sequence[Candidate], state: Tried) -> float | None:
    """When the first of the exhausted agents is there again; None if none is, or if it was waited for in vain."""
    if state.timers >= MOST_TIMERS:
        return None
    times = (state.exhausted.get(candidate.name) for candidate in candidates)
    return min((time for time in times if time is not None), default=None)


def plan_timer(resets_at: float | None, *, timers: int, now: float) -> float:
    """When an agent out of quota is asked again, if it rested so often in a row already.

    The time it names counts, unless that is too near; without one it is 2 s, then 4 s and 8 s. One that is refused
    again after that is left alone for so long that the run parks.
    """
    named = now + BACKOFF[min(timers, len(BACKOFF) - 1)] if resets_at is None else max(resets_at, now + SHORTEST_TIMER)
    return named if timers < len(BACKOFF) else max(named, now + LONG_TIMER)


def raise_tier(tier: str, *, fix: int) -> str:
    """The tier for a fix: the first is done by the same, further ones by the next one up."""
    if fix < STRONGER_FROM or tier not in TIERS:
        return tier
    return TIERS[min(TIERS.index(tier) + 1, len(TIERS) - 1)]


def _find_tier(step: Step, profile: Mapping[str, str], *, of_role: bool) -> str:
    """The tier of the step, then of the profile; one that comes from the step's role gives way to the profile's."""
    role = find_role(step.role) if of_role else None
    if role is not None and step.tier == role.tier and profile.get("tier"):
        return profile["tier"]
    return step.tier if step.tier != USUAL else profile.get("tier") or USUAL
