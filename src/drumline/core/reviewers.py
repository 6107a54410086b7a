"""Who reviews the work on a step. The rule: as far from its author as there is, and people are told how far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.reviewing import WAVES
from drumline.core.routing import STRONGER_FROM, TIERS, Candidate, raise_tier, spell_agent
from drumline.core.state import RunState
from drumline.core.trust import find_spec
from drumline.record import Record

REVIEWER = "reviewer"
"""The table `[agents.reviewer]`, and what flows call whoever reviews."""
STANDARD, STRONGEST = TIERS[1], TIERS[-1]
BUILTIN, COMMANDS = "builtin", frozenset({"acp", "command"})
"""Agents whose name is not that of a vendor: what follows it says who made them."""


class Reviewer(Record):
    """An agent by the name that the settings have for it, its tier, and why it is that one."""

    name: str
    tier: str
    chosen: str


def choose_reviewer(run: RunState, agents: Sequence[Candidate], *, strong: bool = False) -> Reviewer:
    """Who reviews what the first of these agents has done; a `strong` one looks at everything together."""
    profiles, own = run.begun.profiles, agents[0]
    usual = STRONGEST if strong else STANDARD if run.plan.format == WAVES else ""
    if REVIEWER in profiles:
        tier = profiles[REVIEWER].get("tier") or usual or own.tier
        return Reviewer(name=REVIEWER, tier=tier, chosen="the configured reviewer")
    vendor = _find_vendor(spell_agent(run, own.name), profiles)
    for other in agents[1:]:
        name = spell_agent(run, other.name)
        if _find_vendor(name, profiles) != vendor:
            return Reviewer(name=name, tier=usual or other.tier, chosen="another vendor's agent")
    tier = usual or raise_tier(own.tier, fix=STRONGER_FROM)
    return Reviewer(name=spell_agent(run, own.name), tier=tier, chosen="the same agent in a session of its own")


def _find_vendor(name: str, profiles: Mapping[str, Mapping[str, str]]) -> str:
    """The program that an agent is; of the built-in one its provider, of a command the command."""
    program, _, rest = find_spec(name, profiles).partition(":")
    vendor = rest.partition(":")[0] if program == BUILTIN else rest if program in COMMANDS else ""
    return f"{program}:{vendor}" if vendor else program
