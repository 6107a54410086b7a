"""How writes join what a key holds."""

from __future__ import annotations

import pytest

from drumline.core.flow.merging import Result, merge_results
from drumline.core.flow.model import REDUCERS, Json, NodeId
from drumline.core.flow.reducers import BY_NAME, reduce_value
from drumline.core.flow.values import MISSING, Missing
from drumline.errors import InvalidInput


@pytest.mark.parametrize(
    ("name", "current", "incoming", "expected"),
    [
        ("append", MISSING, "a", ["a"]),
        ("append", ["a", "b"], "c", ["a", "b", "c"]),
        ("append", [], [1], [[1]]),
        ("extend", [1, 2], [3, 4], [1, 2, 3, 4]),
        ("extend", MISSING, [1, 2], [1, 2]),
        ("concat", "first", "second", "first\nsecond"),
        ("concat", MISSING, "hello", "hello"),
        ("concat", "", "first", "first"),
        ("sum", 5, 7, 12),
        ("sum", MISSING, 3.5, 3.5),
        ("sum", 2, 3, 5),
        ("sum", 1.5, 2.25, 3.75),
        ("sum", 1.5, 2.5, 4),
        ("sum", 2**60, 1, 2**60 + 1),
        ("max", 5, 3, 5),
        ("max", 5, 10, 10),
        ("max", MISSING, 42, 42),
        ("min", 5, 3, 3),
        ("min", 5, 10, 5),
        ("merge", {"a": 1, "b": 2}, {"b": 99, "c": 3}, {"a": 1, "b": 99, "c": 3}),
        ("merge", MISSING, {"k": "v"}, {"k": "v"}),
        ("overwrite", "old", "new", "new"),
        ("overwrite", MISSING, 42, 42),
    ],
)
def test_a_write_joins_the_value(name: str, current: Json | Missing, incoming: Json, expected: Json) -> None:
    found = reduce_value(name, current, incoming)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "current", "incoming", "said"),
    [
        ("append", "not an array", "x", "reducer 'append' requires an array for the current value, got string"),
        ("append", None, "x", "reducer 'append' requires an array for the current value, got null"),
        ("extend", MISSING, 42, "reducer 'extend' requires an array for the incoming value, got number"),
        ("concat", MISSING, 42, "reducer 'concat' requires a string for the incoming value, got number"),
        ("concat", {}, "x", "reducer 'concat' requires a string for the current value, got object"),
        ("sum", MISSING, "not a number", "reducer 'sum' requires a number for the incoming value, got string"),
        ("sum", 1, True, "reducer 'sum' requires a number for the incoming value, got bool"),
        ("min", "oops", 1, "reducer 'min' requires a number for the current value, got string"),
        ("merge", MISSING, [1, 2], "reducer 'merge' requires an object for the incoming value, got array"),
        ("merge", "not object", {"k": "v"}, "reducer 'merge' requires an object for the current value, got string"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(name: str, current: Json | Missing, incoming: Json, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        reduce_value(name, current, incoming)

    assert str(caught.value) == said


def test_every_reducer_of_the_format_exists() -> None:
    assert set(BY_NAME) == set(REDUCERS)


def test_neither_value_is_changed() -> None:
    current: list[Json] = [1]
    incoming: list[Json] = [2]

    reduce_value("extend", current, incoming)
    reduce_value("append", current, incoming)

    assert (current, incoming) == ([1], [2])


def merged(
    before: dict[str, Json], writes: dict[str, dict[str, Json]], reducers: dict[str, str] | None = None
) -> dict[str, Json]:
    """The values after a round in which each node wrote what is given."""
    values = dict(before)
    merge_results(values, [Result(NodeId(node), given, ()) for node, given in writes.items()], reducers or {})
    return values


def test_a_round_without_writes_changes_nothing() -> None:
    assert merged({"a": 1}, {"n": {}}) == {"a": 1}


def test_different_keys_of_parallel_branches_all_land() -> None:
    assert merged({}, {"x": {"a": 1}, "y": {"b": 2}, "z": {"c": 3}}) == {"a": 1, "b": 2, "c": 3}


def test_parallel_writes_join_in_the_order_of_the_writers_ids() -> None:
    writes: dict[str, dict[str, Json]] = {"n3": {"k": "third"}, "n1": {"k": "first"}, "n2": {"k": "second"}}

    assert merged({}, writes, {"k": "append"}) == {"k": ["first", "second", "third"]}
    assert merged({}, {"b": {"k": "bravo"}, "a": {"k": "alpha"}}, {"k": "concat"}) == {"k": "alpha\nbravo"}
    assert merged({"k": 10}, {"a": {"k": 5}, "b": {"k": 7}}, {"k": "sum"}) == {"k": 22}


def test_a_write_that_equals_the_value_before_counts() -> None:
    assert merged({"k": 5}, {"a": {"k": 5}}, {"k": "sum"}) == {"k": 10}


def test_parallel_writes_without_a_reducer_are_refused_and_nothing_is_written() -> None:
    values: dict[str, Json] = {"k": "before"}
    results = [Result(NodeId(node), {"a": 1, "k": node}, ()) for node in ("two", "one")]

    with pytest.raises(InvalidInput) as caught:
        merge_results(values, results, {"a": "append"})

    assert "Key 'k' was written by 2 parallel branches but has no reducer declared (one, two)" in str(caught.value)
    assert values == {"k": "before"}


def test_a_single_node_goes_through_the_reducer_too() -> None:
    assert merged({"log": ["x"], "status": "old"}, {"a": {"log": "y", "status": "kept"}}, {"log": "append"}) == {
        "log": ["x", "y"],
        "status": "kept",
    }


def test_a_reducer_that_fails_names_key_and_writer() -> None:
    with pytest.raises(InvalidInput, match="Key 'k', written by 'a': reducer 'sum' requires a number"):
        merged({"k": 1}, {"a": {"k": "x"}}, {"k": "sum"})
