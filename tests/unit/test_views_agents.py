"""What faces say of steps whose agent cannot go on, and of what it all cost."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.unit.builders import STARTED, TREE, Scene, attempted, finish, join, prepared, record, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import StepId
from drumline.views.board import board_segments
from drumline.views.cost import describe_cost, usage_json
from drumline.views.progress import Progress
from drumline.views.report import report_lines, step_report
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_json, summary_lines
from drumline.views.why import why

A = StepId("a")
STEPS = (step_of("a"), step_of("b"))
NOW = STARTED + 100
WAITS = ev.StepDeferred(step=A, until=NOW + 600, reason="the agent's quota is used up: limit")
ASKS = gates.question(STEPS[0], 1, "Tabs or spaces?")


def scene(*events: ev.Event, **more: object) -> Scene:
    """A run in which step a was begun."""
    begun = ev.StepStarted(step=A)
    return Scene(steps=STEPS, events=[begun, *events], streams={"a": [*prepared(), *attempted(1)]}, **more)  # type: ignore[arg-type]


def step_json(found: Mapping[str, object], name: str) -> Mapping[str, object]:
    """One step of a status."""
    steps = found["steps"]
    assert isinstance(steps, list)
    return next(step for step in steps if step["id"] == name)


def test_a_step_without_quota_is_parked_with_a_time() -> None:
    snapshot = scene(WAITS).snapshot()

    found, status = why(snapshot, A), status_json(snapshot)

    assert (found.kind, found.until, found.hint) == ("timer", WAITS.until, "drumline status")
    assert found.sentence == "a is parked: the agent's quota is used up: limit; it goes on in 10m 00s"
    assert (step_json(status, "a")["state"], step_json(status, "a")["until"]) == ("parked", WAITS.until)
    assert any("quota in 10m 00s" in line for line in join(board_segments(snapshot, width=80, height=20, tick=0)))


def test_a_step_whose_quota_is_there_again_is_ready() -> None:
    later = scene(WAITS, now=WAITS.until).snapshot()

    assert step_json(status_json(later), "a")["state"] == "ready"
    assert step_json(status_json(later), "a")["until"] is None


@pytest.mark.parametrize(
    ("now", "told", "hint"),
    [
        (NOW, "for another 10m 00s", "drumline retry a --resume"),
        (NOW + 900, "which has reset", "drumline resume r1"),
    ],
)
def test_a_run_parked_for_a_quota_says_so_and_what_leads_on(now: float, told: str, hint: str) -> None:
    parked = ev.RunParked(gates=(), until=WAITS.until)
    snapshot = scene(WAITS, parked, live=(), now=now).snapshot()

    status = status_json(snapshot)

    assert (status["state"], status["parked_until"]) == ("parked", WAITS.until)
    assert status["reason"] == f"waiting for a quota, {told}"
    assert summary(snapshot).next == ("drumline status r1", hint)
    assert [why(snapshot, step).hint for step in (A, StepId("b"))] == [hint.removesuffix(" r1")] * 2
    assert why(snapshot, StepId("b")).sentence == "b is ready: the run is parked at a quota"


def test_a_question_is_shown_with_the_command_that_takes_any_text() -> None:
    snapshot = scene(ASKS).snapshot()

    found = why(snapshot, A)

    assert "asks: Tabs or spaces? (any text)" in found.sentence
    assert found.hint == "drumline answer question-a TEXT"
    assert any(
        "drumline answer question-a TEXT" in line
        for line in join(board_segments(snapshot, width=80, height=20, tick=0))
    )


def test_handing_over_waiting_and_asking_are_told_as_they_happen() -> None:
    run = scene().run()
    [_, failed] = attempted(1, failure="quota", message="limit")
    again = ev.AttemptStarted(node="implement", attempt=2, tree=TREE, agent="spare")
    own = record([attempted(1)[0], failed, again], step="a")

    lines = Progress().feed([*own, *record([WAITS, ASKS, ev.RunParked(gates=(), until=5.0)], first=9, at=NOW)], run)

    assert [line.event for line in lines] == ["handed_over", "deferred", "gate", "parked"]
    assert lines[0].text == "a: the agent's quota is used up; spare takes over with attempt 2"
    assert lines[1].text == "a waits for 10m 00s: the agent's quota is used up: limit"
    assert lines[3].text == "parked: nothing can go on until a quota resets"


PRICED = {"input": 1_200.0, "output": 30.0, "cost_usd": 0.5, "attempts": 2.0}
UNPRICED = {"input": 10.0, "attempts": 1.0, "unpriced": 1.0}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({}, ""),
        (UNPRICED, "unpriced"),
        (PRICED, "$0.50"),
        ({"cost_usd": 0.0}, "$0.00"),
        ({"cost_usd": 0.0004}, "$0.0004"),
        (PRICED | {"unpriced": 1.0}, "$0.50 and 1 attempt unpriced"),
        (PRICED | {"unpriced": 2.0}, "$0.50 and 2 attempts unpriced"),
    ],
)
def test_what_has_no_price_is_never_free(usage: Mapping[str, float], expected: str) -> None:
    assert describe_cost(usage) == expected


def test_totals_are_told_per_run_agent_and_step() -> None:
    counts = [
        ev.UsageCounted(step=A, agent="", usage=PRICED),
        ev.UsageCounted(step=A, agent="spare", usage=UNPRICED),
    ]
    snapshot = Scene(steps=STEPS, events=[*counts, finish("a"), finish("b")]).snapshot()

    found, status = summary(snapshot), status_json(snapshot)

    assert "  1,210 input and 30 output tokens, $0.50 and 1 attempt unpriced" in summary_lines(found)
    assert "    spare: 10 input tokens, unpriced" in summary_lines(found)
    assert summary_json(found)["agents"] == {
        "scripted:demo.yaml": usage_json(PRICED),
        "spare": usage_json(UNPRICED),
    }
    assert status["usage"] == step_json(status, "a")["usage"] == summary_json(found)["usage"]
    assert step_json(status, "b")["usage"] == usage_json({})
    assert usage_json({})["cost_usd"] is None
    assert "  used      1,210 input and 30 output tokens, $0.50 and 1 attempt unpriced" in report_lines(
        step_report(snapshot, A)
    )
