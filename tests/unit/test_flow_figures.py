"""What flows have used: counted once, also of visits that were cut short, and never less than before."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.builders import begun_attempt, waiting_attempt
from tests.unit.flowscenes import begin_main, history_of, seen, tell

from drumline.core import events as ev
from drumline.core.flow import events as fev
from drumline.core.flow.metering import FlowMeter
from drumline.core.flow.model import NodeId
from drumline.core.flow.state import Key
from drumline.core.spending import ATTEMPTS, COST, UNPRICED, SpendingPermission, count_allowed
from drumline.views.cost import describe_cost, usage_json
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_lines
from drumline.views.usage import sum_run

COUNTS = st.integers(0, 100).map(float)
USAGES: st.SearchStrategy[Mapping[str, float]] = st.dictionaries(st.sampled_from(["input", COST]), COUNTS)
NODE = NodeId("plan")


def used(**usage: float) -> fev.NodeUsed:
    """What the first visit has used so far."""
    return fev.NodeUsed(node=NODE, visit=1, usage=usage)


def test_a_visit_that_is_lost_has_cost_what_was_heard_of_it() -> None:
    begun = fev.NodeStarted(node=NODE, visit=1)
    events = [begin_main(), begun, used(input=5.0), used(input=9.0, cost_usd=0.25), fev.NodeLost(node=NODE, visit=1)]

    history = history_of(*events)
    snapshot = seen(history, live=False)

    assert history.walk.flows[""].usage == {"input": 9.0, COST: 0.25}
    assert sum_run(snapshot) == {"input": 9.0, COST: 0.25, ATTEMPTS: 1.0}
    assert status_json(snapshot)["usage"] == usage_json(sum_run(snapshot))
    assert "9 input tokens, $0.25" in summary_lines(summary(snapshot))[1]


def test_a_visit_that_ends_counts_once_and_by_its_end() -> None:
    begun = fev.NodeStarted(node=NODE, visit=1)
    ended = fev.NodeEnded(node=NODE, visit=1, next=(NodeId("code"),), usage={"input": 20.0})

    history = history_of(begin_main(), begun, used(input=9.0), ended)

    assert history.walk.flows[""].usage == {"input": 20.0}
    assert history.walk.meter.usage == {"input": 20.0, ATTEMPTS: 1.0, UNPRICED: 1.0}


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_a_flow_has_used_never_shrinks_and_is_the_sum_of_its_visits(data: st.DataObject) -> None:
    meter, parts = FlowMeter(), [0.0]

    for visit in range(1, data.draw(st.integers(1, 30))):
        before = dict(meter.usage)
        heard: float | None = None
        key = Key("", NODE, visit)
        meter.note(begun_attempt(node=NODE, visit=visit))
        for usage in data.draw(st.lists(USAGES, max_size=3)):
            heard = usage.get("input", 0.0)
            meter.note(fev.NodeUsed(node=NODE, visit=visit, usage=usage))
        usage = data.draw(USAGES)
        ends: list[tuple[ev.Event, float]] = [
            (fev.NodeLost(node=key.node, visit=visit), heard or 0.0),
            (waiting_attempt(node=key.node, visit=visit, usage=usage), usage.get("input", 0.0)),
            (fev.NodeEnded(node=key.node, visit=visit, usage=usage), usage.get("input", 0.0)),
        ]
        event, counted = data.draw(st.sampled_from(ends))
        meter.note(event)
        parts.append(counted)

        assert all(meter.usage.get(name, 0.0) >= amount for name, amount in before.items())
        assert meter.usage.get("input", 0.0) == sum(parts)


def test_the_first_visit_counts_while_it_asks() -> None:
    snapshot = seen(history_of(begin_main(), said=[ev.RunParked(gates=())]), live=False)

    assert "  1 visit, " in summary_lines(summary(snapshot))[1]


def test_what_was_remarkable_about_an_agent_is_told_with_its_visit() -> None:
    ended = fev.NodeEnded(node=NODE, visit=1, notices=("it edited /etc/hosts, which is outside its workspace",))

    (line,) = tell(ended)

    assert line.text.endswith("; it edited /etc/hosts, which is outside its workspace")
    assert line.data["notices"] == list(ended.notices)


def test_a_yes_counts_from_what_was_spent_when_it_was_given() -> None:
    allowed = count_allowed(5.0, [SpendingPermission(choice="yes", spent=12.0)])

    assert allowed == 17.0


def test_what_a_recording_tells_of_its_cost_is_marked() -> None:
    assert describe_cost({COST: 0.5, ATTEMPTS: 2.0, "replayed": 2.0}) == "$0.50 (replayed)"
    assert describe_cost({COST: 0.5, ATTEMPTS: 2.0, "replayed": 1.0}) == "$0.50 (1 of 2 attempts replayed)"
    assert usage_json({COST: 0.5, "replayed": 1.0})["replayed"] == 1


def test_what_a_called_flow_used_is_not_counted_again_for_the_node_that_called_it() -> None:
    meter = FlowMeter()
    meter.note(fev.FlowStarted(flow="child", scope="one#1"))
    meter.note(fev.NodeEnded(node=NodeId("inner"), visit=1, scope="one#1", usage={"input": 7.0}))
    meter.note(fev.NodeEnded(node=NodeId("one"), visit=1, usage={"input": 7.0}))

    assert meter.usage["input"] == 7.0
