"""Schemas and values are judged, nothing is fetched, and no value or schema can make it cost much."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from pathlib import Path

import pytest

from drumline.core.flow.inspection import Surroundings
from drumline.core.flow.model import Json
from drumline.flowfiles import check_flow
from drumline.schemas.checking import LONGEST_FAULT, MOST_FAULTS, JsonSchemas

TREE: Mapping[str, Json] = {
    "$ref": "#/$defs/part",
    "$defs": {
        "part": {
            "type": "object",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "parts": {"type": "array", "items": {"$ref": "#/$defs/part"}}},
        }
    },
}
GOOD: Mapping[str, Mapping[str, Json]] = {
    "an empty one": {},
    "an object": {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]},
    "a reference into itself": TREE,
    "an anchor": {"$ref": "#word", "$defs": {"w": {"$anchor": "word", "type": "string"}}},
    "an id of a part": {
        "$id": "https://example.com/whole",
        "$defs": {"w": {"$id": "word", "type": "string"}},
        "properties": {"a": {"$ref": "word"}},
    },
    "a property called $ref": {"properties": {"$ref": {"type": "string"}}},
    "a value that looks like a reference": {"enum": [{"$ref": "nowhere"}]},
    "another draft by name": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"},
}
BROKEN: Mapping[str, tuple[Mapping[str, Json], str]] = {
    "a type nobody knows": ({"type": "objekt"}, "at $.type: 'objekt'"),
    "a list that is none": ({"required": "name"}, "at $.required: 'name' is not of type 'array'"),
    "a pattern that is none": ({"properties": {"a": {"pattern": "("}}}, "at $.properties.a.pattern"),
    "a reference to nowhere": ({"items": {"$ref": "#/$defs/gone"}}, "'#/$defs/gone' leads nowhere"),
    "a reference to the network": (
        {"$ref": "https://example.com/s.json"},
        "'https://example.com/s.json' leads nowhere",
    ),
    "a reference to a file": ({"$ref": "file:///etc/passwd"}, "'file:///etc/passwd' leads nowhere"),
    "an id that is no address": ({"$id": "http://[x", "items": {"$ref": "y"}}, "at $: "),
}


def nest(depth: int) -> Json:
    value: Json = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("case", GOOD)
def test_a_schema_that_can_judge_has_no_fault(case: str) -> None:
    assert JsonSchemas().check(GOOD[case]) == ""


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_schema_is_told_with_its_place_and_fits_no_value(case: str) -> None:
    schema, told = BROKEN[case]

    fault = JsonSchemas().check(schema)

    assert told in fault
    assert JsonSchemas().find_faults({}, schema) == [f"the schema itself cannot be used: {fault}"]


def test_a_value_that_fits_has_no_faults_whatever_it_is_made_of() -> None:
    value: Json = ChainMap({"parts": ({"name": "b"},)}, {"name": "a"})

    assert JsonSchemas().find_faults(value, TREE) == []


def test_each_fault_has_its_path_and_the_outermost_comes_first() -> None:
    faults = JsonSchemas().find_faults({"parts": [{"name": "a"}, {"name": 3}]}, TREE)

    assert faults == ["at $: 'name' is a required property", "at $.parts[1].name: 3 is not of type 'string'"]


def test_of_alternatives_the_one_that_came_closest_is_told() -> None:
    schema: Mapping[str, Json] = {"anyOf": [{"type": "null"}, {"type": "object", "required": ["name"]}]}

    assert JsonSchemas().find_faults({}, schema) == ["at $: 'name' is a required property"]


def test_a_thousand_faults_are_told_as_ten_and_each_is_short() -> None:
    words: Json = ["x" * 5_000 + str(number) for number in range(1_000)]

    faults = JsonSchemas().find_faults(words, {"items": {"type": "integer"}})

    assert len(faults) == MOST_FAULTS
    assert all(len(fault) < LONGEST_FAULT + 40 for fault in faults)


@pytest.mark.parametrize(
    ("value", "schema"),
    [(nest(5_000), {"items": {"$ref": "#"}}), ("x", {"$ref": "#"})],
    ids=["a value without end", "a schema that leads to itself"],
)
def test_what_is_nested_without_end_is_a_fault_and_no_crash(value: Json, schema: Mapping[str, Json]) -> None:
    faults = JsonSchemas().find_faults(value, schema)

    assert len(faults) == 1
    assert "nested too deeply" in faults[0]


def test_a_schema_without_end_is_told() -> None:
    schema: dict[str, Json] = {}
    for _ in range(5_000):
        schema = {"not": schema}

    assert "nested too deeply" in JsonSchemas().check(schema)


@pytest.mark.parametrize("kind", ["llm", "agent"])
def test_a_flow_with_a_broken_schema_is_refused_with_file_and_line(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "graph.yaml"
    lines = [
        "name: f",
        "start: m",
        "nodes:",
        "  m:",
        f"    type: {kind}",
        "    agent: someone",
        "    prompt: go",
        "    next: end",
        "    output_schema: {type: objekt}",
        "  end: {type: end}",
    ]
    file.write_text("\n".join(line for line in lines if kind == "agent" or "agent" not in line))

    reading = check_flow(file, around=Surroundings(find_schema_fault=JsonSchemas().check))

    assert [problem.code for problem in reading.errors] == ["bad_output_schema"]
    assert reading.errors[0].where == f"{file}:{9 if kind == 'agent' else 8}"
    assert "objekt" in reading.errors[0].message
