"""Events of flows survive the way to the journal, and scopes can be taken apart again."""

from __future__ import annotations

import inspect
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some
from tests.unit.builders import begun_attempt, empty, waiting_attempt
from tests.unit.flows import end, flow

from drumline.core.codec import FLOW_KINDS, KINDS, VERSION, decode, decode_all, encode
from drumline.core.events import Event, SessionOpened
from drumline.core.flow import events as ev
from drumline.core.flow.fold import fold_flow
from drumline.core.flow.model import Json, NodeId
from drumline.core.flow.scopes import call_scope, item_scope, parent_scope, split_item
from drumline.core.flow.state import FlowState
from drumline.core.ids import DriverId
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import WalkEnd
from drumline.errors import StoreError

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
JSON: st.SearchStrategy[Json] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)


@st.composite
def happenings(draw: st.DrawFn) -> Event:
    """Any event of a flow."""
    node, visit, scope = NodeId(draw(TEXT)), draw(st.integers(1, 9)), draw(TEXT)
    events: list[Event] = [
        ev.FlowStarted(flow=draw(TEXT), digest="d", path="p", scope=scope, values=draw(OBJECTS), variables={"v": 1}),
        ev.NodeStarted(node=node, visit=visit, scope=scope),
        ev.NodeEnded(
            node=node, visit=visit, scope=scope, writes=draw(OBJECTS), next=(node,), output=draw(JSON), spent=1.5
        ),
        ev.NodeEnded(node=node, visit=visit, failure=draw(TEXT)),
        ev.NodeLost(node=node, visit=visit, scope=scope, driver=DriverId("d"), spent=0.5),
        ev.FlowEnded(
            status=WalkEnd.DONE, scope=scope, node=node, output=draw(TEXT), reason=draw(TEXT), writes=draw(OBJECTS)
        ),
    ]
    return draw(st.sampled_from(events))


@settings(max_examples=some(150), deadline=None)
@given(event=happenings())
def test_every_event_comes_back_as_it_went(event: Event) -> None:
    kind = type(event).__name__

    assert decode(kind, VERSION, encode(event)) == event
    assert decode_all([(kind, VERSION, encode(event))] * 2) == [event, event]


def test_every_event_of_the_module_is_journaled_and_folded() -> None:
    defined = {name for name, kind in inspect.getmembers(ev, inspect.isclass) if kind.__module__ == ev.__name__}

    assert set(FLOW_KINDS) == defined
    assert not set(FLOW_KINDS) & set(KINDS)
    for kind in FLOW_KINDS.values():
        with pytest.raises(AttributeError):  # it is applied, and misses the fields this empty event has not got
            fold_flow(FlowState(chart=flow(end())), [empty(kind)])


def test_an_attempt_in_a_flow_is_read_from_a_journal_that_had_events_of_its_own_for_it() -> None:
    place = '"node":"work","visit":2,"scope":"fix#1"'
    former = [
        ("AgentAsked", VERSION, f'{{{place},"agent":"bob","session":"s"}}'),
        ("SessionNamed", VERSION, f'{{{place},"session":"t"}}'),
        ("NodeSuspended", VERSION, f'{{{place},"failure":"quota","message":"none left","until":9.0,"spent":1.5}}'),
    ]

    asked, named, suspended = decode_all(former)

    assert asked == begun_attempt(node="work", visit=2, scope="fix#1", attempt=0, agent="bob", session="s")
    assert named == SessionOpened(node="work", visit=2, scope="fix#1", session="t")
    assert suspended == waiting_attempt(
        node="work", visit=2, scope="fix#1", attempt=0, failure="quota", message="none left", until=9.0, spent=1.5
    )
    assert fold_step(StepState(), [asked, suspended]) == StepState()  # the step's own attempt is told beside it


def test_a_field_is_read_under_the_name_that_an_earlier_journal_has_for_it() -> None:
    asked = begun_attempt(node="work", visit=2, agent="bob")
    former = encode(asked).replace('"by_visit"', '"relayed"')

    assert former != encode(asked)
    assert decode("AttemptStarted", VERSION, former) == asked


def test_an_event_says_only_what_is_not_usual() -> None:
    assert json.loads(encode(ev.NodeEnded(node=NodeId("a"), visit=1))) == {"node": "a", "visit": 1}


def test_a_field_this_version_does_not_know_stops_the_reader() -> None:
    with pytest.raises(StoreError, match="NodeEnded"):
        decode("NodeEnded", 1, '{"node": "a", "visit": 1, "colour": "red"}')


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (call_scope("", NodeId("fix"), 2), "fix#2"),
        (call_scope("each#1[3]", NodeId("coder"), 1), "each#1[3]/coder#1"),
        (item_scope("a#1/each#1", 3), "a#1/each#1[3]"),
        (call_scope("", NodeId("a/b#[%"), 1), "a%2Fb%23%5B%25#1"),
    ],
)
def test_scopes_nest(found: str, expected: str) -> None:
    assert found == expected


def test_a_scope_can_be_taken_apart() -> None:
    assert split_item("a#1/each#1[3]") == ("a#1/each#1", 3)
    assert split_item("a#1/each#1") is None
    assert parent_scope("a#1/each#1[3]") == "a#1"
    assert parent_scope("each#1[3]") == ""
