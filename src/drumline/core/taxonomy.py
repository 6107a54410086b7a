"""Classes of failure decide what follows, by data: who is to blame, and whether trying again can help."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from drumline.record import Record


class Failure(Enum):
    """Why an attempt failed."""

    TRANSIENT = "transient"
    QUOTA = "quota"
    AUTH = "auth"
    BILLING = "billing"
    MISSING = "missing"
    CRASH = "crash"
    KILLED = "killed"
    TIMEOUT = "timeout"
    TURNS = "turns"
    VALIDATION = "validation"
    PERMANENT = "permanent"


class Reaction(Enum):
    """What the engine does about it."""

    WAIT = "wait and try again"
    FIX = "back to the agent"
    GO_ON = "back to the agent with what is left, twice"
    BLOCK = "blocked until a person acts"
    FAIL = "failed"


class Rule(Record):
    """One row of the taxonomy."""

    reaction: Reaction
    means: str


RULES: Mapping[Failure, Rule] = MappingProxyType(
    {
        Failure.TRANSIENT: Rule(reaction=Reaction.WAIT, means="the service was busy or unreachable"),
        Failure.CRASH: Rule(reaction=Reaction.WAIT, means="the agent program broke down"),
        Failure.KILLED: Rule(reaction=Reaction.WAIT, means="the agent was killed from outside"),
        Failure.QUOTA: Rule(reaction=Reaction.BLOCK, means="the agent's quota is used up"),
        Failure.AUTH: Rule(reaction=Reaction.BLOCK, means="the agent is not logged in"),
        Failure.BILLING: Rule(reaction=Reaction.BLOCK, means="the agent's account has no credit"),
        Failure.MISSING: Rule(reaction=Reaction.BLOCK, means="the agent cannot be started here"),
        Failure.TIMEOUT: Rule(reaction=Reaction.GO_ON, means="the agent's time was up"),
        Failure.TURNS: Rule(reaction=Reaction.GO_ON, means="the agent's turns were used up"),
        Failure.VALIDATION: Rule(reaction=Reaction.FIX, means="the work is not right yet"),
        Failure.PERMANENT: Rule(reaction=Reaction.FAIL, means="trying again cannot help"),
    }
)

WAITS = (2.0, 4.0)
"""Seconds before each further try after a failure that passes by itself."""
MOST_KILLS = 3
"""How often in a row work of a step may be lost because something was killed before the step is blocked."""
MOST_TIMEOUTS = 2
"""How often an agent at a step gets more time, or more turns, in a round before the step is blocked."""
MOST_CRASHES = 2
"""How often in a row an agent program may break down before another agent takes over, where there is one."""


def consumes_fix(failure: Failure) -> bool:
    """Only failures of the work itself use up the fix budget."""
    return RULES[failure].reaction is Reaction.FIX


def goes_on(failure: Failure | None) -> bool:
    """Whether the agent was stopped at a limit, and another attempt gets what is left."""
    return failure is not None and RULES[failure].reaction is Reaction.GO_ON


def hands_over(failure: Failure) -> bool:
    """Whether the agent cannot go on but another one may."""
    return RULES[failure].reaction is Reaction.BLOCK


def waits(failure: Failure) -> bool:
    """Whether the failure may pass by itself."""
    return RULES[failure].reaction is Reaction.WAIT
