"""A plan of which one step walks a flow: its row is opened to its visits, and its places have names."""

from __future__ import annotations

import pytest
from tests.unit.builders import DRIVER, STARTED, Scene, finish, join, record, step_of
from tests.unit.flows import end, flow, script
from tests.unit.flowscenes import begin_main

from drumline.core import events as ev
from drumline.core.flow.events import NodeEnded, NodeStarted
from drumline.core.flow.model import NodeId
from drumline.core.ids import StepId
from drumline.core.recorded import Recorded
from drumline.errors import InvalidInput
from drumline.record import replace
from drumline.views.board import board_segments
from drumline.views.places import split_place
from drumline.views.progress import Progress
from drumline.views.snapshot import Snapshot
from drumline.views.status import status_json
from drumline.views.walks import WalkHistory
from drumline.views.why import why

WALKING = StepId("b")
FLOW = flow(script("code", "test"), script("test", "done"), end("done"))
STEPS = [step_of("a"), replace(step_of("b", "a"), flow="careful"), step_of("c", "b")]
EVENTS: list[ev.Event] = [
    begin_main(),
    NodeStarted(node=NodeId("code"), visit=1),
    NodeEnded(node=NodeId("code"), visit=1, next=(NodeId("test"),), usage={"input": 5.0}),
    NodeStarted(node=NodeId("test"), visit=1),
]
SCENE = Scene(steps=STEPS, events=[finish("a"), ev.StepStarted(step=WALKING)], owners={"b": DRIVER})


def entries() -> list[Recorded]:
    """What is in the step's stream."""
    return record(EVENTS, step="b", first=5, at=STARTED + 10)


def look() -> Snapshot:
    """The run while the second node of b is at work."""
    walk = WalkHistory(step=WALKING, find_chart=lambda started: FLOW)
    for entry in entries():
        walk.add(entry.event, entry.at)
    seen = SCENE.snapshot()
    return replace(seen, walks={WALKING: walk.view(seen)})


def test_the_row_of_the_step_is_opened_to_its_visits() -> None:
    lines = join(board_segments(look(), width=80, height=20, tick=0))

    row = next(number for number, line in enumerate(lines) if line.startswith("◐ b"))
    assert lines[row].endswith("test · 5 tokens · 1m 27s")
    assert lines[row + 1 : row + 3] == ["  ✓ code → test 1.0s", "  ◐ test script test.sh 1m 27s"]
    assert lines[row + 3].startswith("· c")


@pytest.mark.parametrize("high", range(8, 14))
def test_an_opened_row_takes_no_more_room_than_there_is(high: int) -> None:
    lines = join(board_segments(look(), width=60, height=high, tick=0))

    assert len(lines) <= high
    assert sum(line.startswith(("✓ a", "◐ b", "· c")) for line in lines) == 3


def test_the_step_has_its_walk_in_the_status_and_counts_what_it_used() -> None:
    data = status_json(look())

    walk = data["steps"][1]["walk"]  # type: ignore[index]
    assert (walk["flow"], [one["visit"] for one in walk["at_work"]], walk["ended"]) == ("careful", ["test"], 1)
    assert data["steps"][0]["walk"] is None  # type: ignore[index]
    assert data["usage"]["input"] == 5  # type: ignore[index]
    assert "at_work" not in data


def test_why_explains_the_step_and_its_places() -> None:
    seen = look()

    assert "b is running: driver d1 has it: test, for 1m 27s" in why(seen, "b").sentence
    assert why(seen, "b/code").sentence.startswith("b/code is over: it ended once, it led to test")
    assert why(seen, "b/test").step == "b"
    assert "in work: b" in why(seen).sentence
    with pytest.raises(InvalidInput, match="no step 'a/code'"):
        why(seen, "a/code")


def test_a_name_means_a_step_or_a_place_in_its_walk() -> None:
    run = look().run
    alone = replace(run, plan=run.plan.with_steps([STEPS[1]]))

    assert split_place(run, "b") == ("b", "")
    assert split_place(run, "b/each#1[2]/one") == ("b", "each#1[2]/one")
    assert split_place(run, "c/code") is None
    assert split_place(alone, "code#2") == ("b", "code#2")


def test_progress_names_the_step_before_the_visit() -> None:
    lines = Progress().feed(entries(), SCENE.run())

    assert [line.text for line in lines][1:3] == ["b: node code started", "b: code ended → test (1.0s)"]
