"""Agents of flows that ask, wait or were stood in for, as people and programs see them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.builders import join
from tests.unit.flows import end, flow
from tests.unit.flowscenes import STARTED, begin_main, call, history_of, seen
from tools.docs.contracts import FLOW_PROGRESS

from drumline.app.say import check_rest
from drumline.core import events as ev
from drumline.core.flow.events import AgentAsked, NodeBlocked, NodeLost, NodeStarted, NodeSuspended
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import Key
from drumline.core.ids import GateId
from drumline.core.state import fold_run
from drumline.errors import InvalidInput
from drumline.views.flowboard import flow_segments
from drumline.views.flowlogs import head_lines
from drumline.views.flowprogress import FlowProgress
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowstatus import flow_status_json, flow_summary_lines
from drumline.views.flowwhy import flow_why

WORK = NodeId("work")
MAIN = flow(call("work", "ann", "end"), end()).flow
BEGUN = (begin_main(), NodeStarted(node=WORK, visit=1), AgentAsked(node=WORK, visit=1, new_session="n"))
DUE = STARTED + 4_000
GATE = GateId("work#1.2")


def asked(*, live: bool = False) -> FlowSnapshot:
    """An agent asks for the second time."""
    first = NodeSuspended(node=WORK, visit=1, question="Which?")
    again = (NodeStarted(node=WORK, visit=1), AgentAsked(node=WORK, visit=1))
    second = NodeSuspended(node=WORK, visit=1, question="Which else?")
    opened = ev.GateOpened(gate=GATE, kind="question", question="Which else?", options=(), free=True)
    said = [opened] if live else [opened, ev.RunParked(gates=(GATE,))]
    return seen(history_of(*BEGUN, first, *again, second, flows={"main": MAIN}, said=said), live=live)


def resting(*, live: bool = False, after: float = 100.0) -> FlowSnapshot:
    """An agent waits for its quota."""
    out = NodeSuspended(node=WORK, visit=1, failure="quota", message="quota: none\nleft", until=DUE)
    said = [] if live else [ev.RunParked(gates=(), until=DUE)]
    return seen(history_of(*BEGUN, out, flows={"main": MAIN}, said=said), live=live, after=after)


def test_an_agent_that_asks_is_parked_at_its_gate_and_nothing_is_due() -> None:
    why = flow_why(asked(), "work")

    assert (why.state, why.gate) == ("parked", GATE)
    assert why.hint == "drumline answer 'work#1.2' TEXT --resume"
    assert not [
        line for line in join(flow_segments(asked(live=True), width=80, height=24, tick=0)) if line.endswith("due")
    ]
    assert flow_status_json(asked())["at_work"] == []


@pytest.mark.parametrize(
    ("snapshot", "name", "sentence"),
    [
        (resting(), "work", "work is parked: goes on in 1h 05m: quota: none left"),
        (resting(after=5_000), "work", "work is parked: can go on now: quota: none left"),
        (resting(), "", "run r1 is parked: work goes on in 1h 05m: quota: none left"),
        (resting(live=True), "", "run r1 is running: work goes on in 1h 05m: quota: none left"),
    ],
)
def test_why_says_until_when_an_agent_waits(snapshot: FlowSnapshot, name: str, sentence: str) -> None:
    assert flow_why(snapshot, name).sentence == sentence


def test_status_has_what_waits_for_a_time() -> None:
    data = flow_status_json(resting())

    assert data["resting"] == [{"visit": "work", "until": DUE, "reason": "quota: none\nleft"}]
    assert data["parked_until"] == DUE
    assert flow_summary_lines(resting())[0] == "run r1 parked: work goes on in 1h 05m: quota: none left"


@pytest.mark.parametrize(("after", "hint"), [(100.0, "drumline retry work --resume"), (5_000.0, "drumline resume r1")])
def test_before_its_time_only_a_retry_leads_on(after: float, hint: str) -> None:
    snapshot = resting(after=after)

    assert [flow_why(snapshot, name).hint for name in ("", "work")] == [hint, hint]
    assert flow_summary_lines(snapshot)[-2:] == [f"  next: {hint}", "  next: drumline logs --run r1"]


def test_a_visit_that_rests_can_be_retried_and_no_other() -> None:
    assert check_rest(resting(), "work") == "work"

    with pytest.raises(InvalidInput, match=r"work is parked: gate work#1\.2 asks: Which else") as refused:
        check_rest(asked(), "work")
    assert refused.value.hint == "drumline answer 'work#1.2' TEXT --resume"


@pytest.mark.parametrize("before", [asked, resting])
def test_nothing_is_asked_or_waited_for_after_the_end(before: Callable[[], FlowSnapshot]) -> None:
    snapshot = before()
    over = ev.RunEnded(state="cancelled")
    fold_run(snapshot.run, [over])

    found = flow_why(snapshot, "work")

    assert (found.kind, found.gate, found.until) == ("finished", None, None)
    assert found.hint.startswith("drumline logs")


def test_a_question_of_the_first_visit_is_no_empty_board() -> None:
    lines = join(flow_segments(asked(), width=80, height=24, tick=0))

    assert "work is the first, and not over yet" in lines
    assert "any text with" not in "".join(lines)


def test_the_board_shows_what_waits_for_a_time() -> None:
    lines = join(flow_segments(resting(live=True), width=80, height=24, tick=0))

    assert "? work goes on in 1h 05m: quota: none left" in lines


def test_the_log_of_a_visit_that_waits_says_for_what() -> None:
    told = [head_lines(look, look.traces[Key("", WORK, 1)], None) for look in (asked(), resting())]

    assert told == [["work#1: waits for an answer"], ["work#1: waits for quota: none left"]]


def test_the_log_of_a_blocked_visit_says_so_and_a_lost_one_starts_again() -> None:
    blocked = NodeBlocked(node=WORK, visit=1, reason="no compiler")
    lost = NodeLost(node=WORK, visit=1)
    looks = [seen(history_of(*BEGUN, event, flows={"main": MAIN}), live=False) for event in (blocked, lost)]

    told = [head_lines(look, look.traces[Key("", WORK, 1)], None) for look in looks]

    assert told == [["work#1: blocked: no compiler"], ["work#1: lost with its driver; it starts again"]]


def test_the_board_shows_what_was_spent() -> None:
    out = NodeSuspended(node=WORK, visit=1, question="Which?", usage={"input": 9.0, "cost_usd": 0.25})
    snapshot = seen(history_of(*BEGUN, out, flows={"main": MAIN}), live=False)

    assert " · $0.25 · " in join(flow_segments(snapshot, width=80, height=24, tick=0))[-1]


def test_what_agents_do_is_told_in_lines() -> None:
    progress = FlowProgress()
    events: list[ev.Event] = [
        *BEGUN[1:],
        NodeSuspended(node=WORK, visit=1, failure="auth", message="auth: who?"),
        AgentAsked(node=WORK, visit=1, agent="bob"),
        NodeSuspended(node=WORK, visit=1, question="Which?"),
        AgentAsked(node=WORK, visit=1, session="s-1"),
        NodeSuspended(node=WORK, visit=1, failure="quota", message="none", until=100.0),
        ev.RunParked(gates=(GATE,), until=100.0),
    ]

    lines = progress.feed(events, at=10.0)

    assert [line.text for line in lines] == [
        "node work started",
        "work is cut short: auth: who?",
        "bob takes over at work",
        "work waits: its agent asks a person",
        "work goes on with session s-1",
        "work waits for 1m 30s: none",
        "parked: nothing can go on until work#1.2 is answered or a quota resets",
    ]
    assert {line.event for line in lines} <= {name for name, _ in FLOW_PROGRESS}
