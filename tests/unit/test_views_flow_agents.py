"""Agents of flows that ask, wait or were stood in for, as people and programs see them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.builders import begun_attempt, join, waiting_attempt
from tests.unit.flows import end, flow
from tests.unit.flowscenes import STARTED, begin_main, call, history_of, seen, tell, walk_of
from tools.docs.contracts import FLOW_PROGRESS

from drumline.app.inbox import check_retry
from drumline.core import events as ev
from drumline.core.flow.events import NodeBlocked, NodeLost, NodeStarted
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import Key
from drumline.core.ids import DriverId, GateId
from drumline.core.runfold import fold_run
from drumline.core.vocabulary import GateKind, RunEnd
from drumline.errors import InvalidInput
from drumline.views.board import board_segments
from drumline.views.snapshot import Snapshot
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_lines
from drumline.views.visitlogs import head_lines
from drumline.views.why import why

WORK = NodeId("work")
MAIN = flow(call("work", "ann", "end"), end()).flow
BEGUN = (begin_main(), NodeStarted(node=WORK, visit=1), begun_attempt(node=WORK, visit=1, new_session="n"))
DUE = STARTED + 4_000
GATE = GateId("work#1.2")


def check_rest_of(snapshot: Snapshot, name: str) -> str:
    """The visit that can be retried."""
    return check_retry(snapshot.run, name, lambda: snapshot)


def asked(*, live: bool = False) -> Snapshot:
    """An agent asks for the second time."""
    first = waiting_attempt(node=WORK, visit=1, question="Which?")
    again = (NodeStarted(node=WORK, visit=1), begun_attempt(node=WORK, visit=1))
    second = waiting_attempt(node=WORK, visit=1, question="Which else?")
    opened = ev.GateOpened(gate=GATE, kind=GateKind.QUESTION, question="Which else?", options=(), free=True)
    said = [opened] if live else [opened, ev.RunParked(gates=(GATE,))]
    return seen(history_of(*BEGUN, first, *again, second, flows={"main": MAIN}, said=said), live=live)


def waiting(*, live: bool = False, after: float = 100.0) -> Snapshot:
    """An agent waits for its quota."""
    out = waiting_attempt(node=WORK, visit=1, failure="quota", message="quota: none\nleft", until=DUE)
    said = [] if live else [ev.RunParked(gates=(), until=DUE)]
    return seen(history_of(*BEGUN, out, flows={"main": MAIN}, said=said), live=live, after=after)


def test_an_agent_that_asks_is_parked_at_its_gate_and_nothing_is_due() -> None:
    found = why(asked(), "work")

    assert (found.state, found.gate) == ("parked", GATE)
    assert found.hint == "drumline answer 'work#1.2' TEXT --resume"
    assert not [
        line for line in join(board_segments(asked(live=True), width=80, height=24, tick=0)) if line.endswith("due")
    ]
    assert status_json(asked())["at_work"] == []


@pytest.mark.parametrize(
    ("snapshot", "name", "sentence"),
    [
        (waiting(), "work", "work is parked: goes on in 1h 05m: quota: none left"),
        (waiting(after=5_000), "work", "work is parked: can go on now: quota: none left"),
        (waiting(), "", "run r1 is parked: work goes on in 1h 05m: quota: none left"),
        (waiting(live=True), "", "run r1 is running: work goes on in 1h 05m: quota: none left"),
    ],
)
def test_why_says_until_when_an_agent_waits(snapshot: Snapshot, name: str, sentence: str) -> None:
    assert why(snapshot, name).sentence == sentence


def test_status_has_what_waits_for_a_time() -> None:
    data = status_json(waiting())

    assert data["timers"] == [{"visit": "work", "until": DUE, "reason": "quota: none\nleft"}]
    assert data["parked_until"] == DUE
    assert summary_lines(summary(waiting()))[0] == "run r1 parked: work goes on in 1h 05m: quota: none left"


@pytest.mark.parametrize(("after", "hint"), [(100.0, "drumline retry work --resume"), (5_000.0, "drumline resume r1")])
def test_before_its_time_only_a_retry_leads_on(after: float, hint: str) -> None:
    snapshot = waiting(after=after)

    assert [why(snapshot, name).hint for name in ("", "work")] == [hint, hint]
    assert summary_lines(summary(snapshot))[-2:] == [f"  {hint}", "  drumline logs --run r1"]


def test_a_visit_that_rests_can_be_retried_and_no_other() -> None:
    assert check_rest_of(waiting(), "work") == "work"

    with pytest.raises(InvalidInput, match=r"work is parked: gate work#1\.2 asks: Which else") as refused:
        check_rest_of(asked(), "work")
    assert refused.value.hint == "drumline answer 'work#1.2' TEXT --resume"


@pytest.mark.parametrize("before", [asked, waiting])
def test_nothing_is_asked_or_waited_for_after_the_end(before: Callable[[], Snapshot]) -> None:
    snapshot = before()
    over = ev.RunEnded(state=RunEnd.CANCELLED)
    fold_run(snapshot.run, [ev.RunResumed(driver=DriverId("d")), over])

    found = why(snapshot, "work")

    assert (found.kind, found.gate, found.until) == ("finished", None, None)
    assert found.hint.startswith("drumline logs")


def test_a_question_of_the_first_visit_is_no_empty_board() -> None:
    lines = join(board_segments(asked(), width=80, height=24, tick=0))

    assert "work is the first, and not over yet" in lines
    assert "any text with" not in "".join(lines)


def test_the_board_shows_what_waits_for_a_time() -> None:
    lines = join(board_segments(waiting(live=True), width=80, height=24, tick=0))

    assert "? work goes on in 1h 05m: quota: none left" in lines


def test_the_log_of_a_visit_that_waits_says_for_what() -> None:
    told = [head_lines(walk_of(look), walk_of(look).traces[Key("", WORK, 1)], None) for look in (asked(), waiting())]

    assert told == [["work#1: waits for an answer"], ["work#1: waits for quota: none left"]]


def test_the_log_of_a_blocked_visit_says_so_and_a_lost_one_starts_again() -> None:
    blocked = NodeBlocked(node=WORK, visit=1, reason="no compiler")
    lost = NodeLost(node=WORK, visit=1)
    looks = [seen(history_of(*BEGUN, event, flows={"main": MAIN}), live=False) for event in (blocked, lost)]

    told = [head_lines(walk_of(look), walk_of(look).traces[Key("", WORK, 1)], None) for look in looks]

    assert told == [["work#1: blocked: no compiler"], ["work#1: lost with its driver; it starts again"]]


def test_what_was_remarkable_about_a_blocked_visit_is_told_with_it() -> None:
    blocked = NodeBlocked(node=WORK, visit=1, reason="no compiler", notices=("it wrote\noutside",))

    *_, line = tell(*BEGUN[1:], blocked)

    assert line.text == "work is blocked: no compiler; it wrote outside"
    assert line.data["notices"] == ["it wrote\noutside"]


def test_the_board_shows_what_was_spent() -> None:
    out = waiting_attempt(node=WORK, visit=1, question="Which?", usage={"input": 9.0, "cost_usd": 0.25})
    snapshot = seen(history_of(*BEGUN, out, flows={"main": MAIN}), live=False)

    assert " · $0.25 · " in join(board_segments(snapshot, width=80, height=24, tick=0))[-1]


def test_what_agents_do_is_told_in_lines() -> None:
    events: list[ev.Event] = [
        *BEGUN[1:],
        waiting_attempt(node=WORK, visit=1, failure="auth", message="auth: who?"),
        begun_attempt(node=WORK, visit=1, agent="bob"),
        waiting_attempt(node=WORK, visit=1, question="Which?"),
        begun_attempt(node=WORK, visit=1, session="s-1"),
        waiting_attempt(node=WORK, visit=1, failure="quota", message="none", until=150.0),
        ev.RunParked(gates=(GATE,), until=100.0),
    ]

    lines = tell(*events)

    assert [line.text for line in lines] == [
        "node work started",
        "work is cut short: auth: who?",
        "bob takes over at work",
        "work waits: its agent asks a person",
        "work continues with session s-1",
        "work waits for 1m 30s: none",
        "parked: nothing can go on until work#1.2 is answered or a quota resets",
    ]
    assert {line.event for line in lines} <= {name for name, _ in FLOW_PROGRESS}
