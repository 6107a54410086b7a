"""Events survive the way to the journal and back; what a reader does not know stops it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import some

from drumline.core import codec, events, gateevents, planevents, queueevents, reviewevents, runevents, stepevents
from drumline.core.codec import KINDS, VERSION, decode, decode_all, encode
from drumline.core.events import Event
from drumline.core.ids import GateId, StepId
from drumline.core.plan import Check, Marks, Status, Step
from drumline.errors import StoreError
from drumline.record import Record, fields, to_plain

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)

OURS = tuple(module.__name__ for module in (runevents, planevents, gateevents, queueevents, reviewevents, stepevents))


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Anything a field with this annotation may hold."""
    if hasattr(hint, "__supertype__"):
        return values(hint.__supertype__)
    if isinstance(hint, type) and issubclass(hint, Record):
        return records(hint)
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if get_origin(hint) is Mapping or get_origin(hint) is getattr(Mapping, "__origin__", Mapping):
        return st.dictionaries(TEXT, values(arguments[1]), max_size=3)
    if arguments:
        return st.one_of([values(argument) for argument in arguments])
    simple = {str: TEXT, int: st.integers(), float: NUMBERS, bool: st.booleans(), type(None): st.none()}
    return st.sampled_from(hint) if isinstance(hint, type) and issubclass(hint, Enum) else simple[hint]


def records(cls: Any) -> st.SearchStrategy[Any]:
    """Anything of this record type."""
    hints = get_type_hints(cls)
    return st.builds(cls, **{f.name: values(hints[f.name]) for f in fields(cls)})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_event_comes_back_as_it_went(kind: str) -> None:
    @settings(max_examples=some(25), deadline=None)
    @given(event=records(KINDS[kind]))
    def check(event: Event) -> None:
        assert decode(kind, VERSION, encode(event)) == event
        assert decode_all([(kind, VERSION, encode(event))] * 2) == [event, event]

    check()


def test_every_event_of_the_modules_has_a_kind() -> None:
    defined = {c.__name__ for c in Event.__subclasses__() if c.__module__ in OURS}

    assert set(KINDS) == defined


def test_an_event_is_one_line_of_json() -> None:
    body = encode(events.StepReleased(reason="two\nlines “quoted”"))

    assert json.loads(body) == {"reason": "two\nlines “quoted”"}
    assert "\n" not in body
    assert "“" in body


def test_a_step_leaves_out_what_is_at_its_default() -> None:
    step = Step(id=StepId("a"), title="A", checks=(Check(command="x", line=3),))

    raw = to_plain(step)

    check = {"command": "x", "line": 3, "source": "step", "red_first": False, "kind": ""}
    assert raw == {"id": "a", "title": "A", "checks": [check]}
    assert codec.from_plain(Step, raw) == step


@pytest.mark.parametrize(
    ("kind", "version", "body"),
    [
        ("StepVanished", 1, "{}"),
        ("StepReleased", 2, '{"reason": "x"}'),
        ("StepReleased", 1, '{"reason": "x", "colour": "red"}'),
        ("StepReleased", 1, "{}"),
        ("StepReleased", 1, "[]"),
        ("PlanChanged", 1, '{"changed": [{"id": "a", "title": "A", "colour": "red"}]}'),
        ("PlanChanged", 1, '{"changed": 3}'),
        ("PlanMirrored", 1, '{"step": "a", "marks": {"status": "purple"}, "path": "p", "digest": "d"}'),
        ("PlanMirrored", 1, '{"step": "a", "marks": {"status": "done", "x": 1}, "path": "p", "digest": "d"}'),
    ],
    ids=["kind", "version", "field", "missing", "list", "step-field", "no-steps", "status", "marks-field"],
)
def test_what_this_version_does_not_know_stops_the_reader(kind: str, version: int, body: str) -> None:
    with pytest.raises(StoreError) as caught:
        decode(kind, version, body)

    assert kind in str(caught.value)
    assert "nothing was changed" in caught.value.hint


def test_an_older_version_without_later_fields_is_read() -> None:
    assert decode("GateAnswered", 1, '{"gate": "g", "choice": "yes"}') == events.GateAnswered(
        gate=GateId("g"), choice="yes"
    )


def test_marks_come_back_as_marks() -> None:
    marks = Marks(status=Status.CLAIMED, assignee="x", claimed_at="t", reason="r")
    event = events.PlanMirrored(step=StepId("a"), marks=marks, path="p", digest="d", ticked=(1, 2))

    assert decode("PlanMirrored", 1, encode(event)) == event
