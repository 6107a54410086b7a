"""The limits of a step that the documentation names are those of the shipped flows and settings."""

from __future__ import annotations

from pathlib import Path

import pytest

import drumline
from drumline.core.flow.model import AgentNode, Flow, NodeId
from drumline.flowfiles.reading import read_flow
from drumline.settings import Settings

SHIPPED = Path(drumline.__file__).parent / "flows"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "change-how-a-step-is-done.md"
MINUTES = 60


def shipped(name: str) -> Flow:
    flow = read_flow(SHIPPED / name / "graph.yaml").flow
    assert flow is not None
    return flow


@pytest.mark.parametrize(
    ("name", "node", "minutes", "turns"),
    [
        ("approach", "orient", 20, 20),
        ("step-sweep", "look_around", 20, 20),
        ("step-handoff", "hand_over", 20, 15),
        ("step-review", "look", 20, None),
        ("step-review", "confirm", 20, None),
        ("step", "diagnose", 20, None),
    ],
)
def test_agents_that_only_read_have_limits_of_their_own(name: str, node: str, minutes: int, turns: int | None) -> None:
    found = shipped(name).nodes[NodeId(node)]

    assert isinstance(found, AgentNode)
    assert (found.timeout, found.turns) == (minutes * MINUTES, turns)


def test_a_step_has_the_limits_that_the_page_names() -> None:
    settings, page = Settings(), PAGE.read_text(encoding="utf-8")

    assert shipped("step").settings.max_loop_iterations == 20
    assert (settings.step_timeout, settings.agent_timeout) == (120 * MINUTES, 60 * MINUTES)
    assert (settings.check_timeout, settings.build_timeout) == (20 * MINUTES, 10 * MINUTES)
    assert (settings.lint_timeout, settings.format_timeout) == (5 * MINUTES, 5 * MINUTES)
    for row in ("| 2 hours of work |", "| 1 hour |", "| 20, 10, 5 minutes |", "| 20 minutes |", "| 20 |", "| 15 |"):
        assert row in page
