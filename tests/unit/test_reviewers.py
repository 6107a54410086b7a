"""Who reviews: as far from the author as there is, and people are told how far."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.unit.builders import run_started, step_of

from drumline.core import events as ev
from drumline.core.ids import RunId
from drumline.core.reviewers import choose_reviewer
from drumline.core.routing import Candidate
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.record import replace

CONFIGURED, VENDOR, SAME = (
    "the configured reviewer",
    "another vendor's agent",
    "the same agent in a session of its own",
)
REVIEWER = {"reviewer": {"agent": "codex"}}


def of(name: str, tier: str = "standard") -> Candidate:
    """An agent of the run."""
    return Candidate(name=name, tier=tier)


FAST, OWN, COUSIN = of("claude", "fast"), of("claude"), of("claude:second")
OTHER, MINE = of("codex", "fast"), of("mine")


def begin(profiles: Mapping[str, Mapping[str, str]], format: str = "dag") -> RunState:
    """A run of a plan of that format, with these tables for agents."""
    pinned = ev.PlanPinned(format=format, title="", steps=(step_of("a"),), digests={})
    return fold_run(RunState(id=RunId("r1")), [replace(run_started(), profiles=profiles), pinned])


@pytest.mark.parametrize(
    ("profiles", "agents", "found"),
    [
        (REVIEWER, (OWN, OTHER), ("reviewer", "standard", CONFIGURED)),
        ({"reviewer": {"agent": "codex", "tier": "strong"}}, (OWN,), ("reviewer", "strong", CONFIGURED)),
        ({}, (OWN, COUSIN, OTHER), ("codex", "fast", VENDOR)),
        ({}, (OWN, COUSIN), ("claude", "strong", SAME)),
        ({}, (FAST,), ("claude", "standard", SAME)),
        ({"mine": {"agent": "claude:second"}}, (OWN, MINE), ("claude", "strong", SAME)),
        ({"mine": {"agent": "gemini"}}, (OWN, MINE), ("mine", "standard", VENDOR)),
        ({}, (of("builtin:openai:a"), of("builtin:openai:b")), ("builtin:openai:a", "strong", SAME)),
        ({}, (of("builtin:openai:a"), of("builtin:google:b")), ("builtin:google:b", "standard", VENDOR)),
        ({}, (of("acp:gemini --acp"), of("acp:goose acp")), ("acp:goose acp", "standard", VENDOR)),
        ({}, (of("builtin"), of("builtin")), ("builtin", "strong", SAME)),
    ],
)
def test_it_is_the_configured_one_else_another_vendor_else_the_same_agent_one_tier_up(
    profiles: Mapping[str, Mapping[str, str]], agents: tuple[Candidate, ...], found: tuple[str, str, str]
) -> None:
    chosen = choose_reviewer(begin(profiles), agents)

    assert (chosen.name, chosen.tier, chosen.chosen) == found


@pytest.mark.parametrize(
    ("profiles", "agents", "strong", "tier"),
    [
        ({}, (OWN,), False, "standard"),
        ({}, (FAST,), False, "standard"),
        (REVIEWER, (FAST,), False, "standard"),
        ({}, (FAST,), True, "strong"),
        ({}, (FAST, OTHER), True, "strong"),
    ],
)
def test_in_waves_a_chunk_has_a_standard_reviewer_and_the_whole_a_strong_one(
    profiles: Mapping[str, Mapping[str, str]], agents: tuple[Candidate, ...], strong: bool, tier: str
) -> None:
    assert choose_reviewer(begin(profiles, "waves"), agents, strong=strong).tier == tier
