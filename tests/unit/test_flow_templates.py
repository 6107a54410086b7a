"""References in text become values, once, in the words of the graph format."""

from __future__ import annotations

import pytest

from drumline.core.flow.model import Json
from drumline.core.flow.templates import list_references, render_lenient, render_strict, resolve_all, resolve_raw
from drumline.core.flow.values import overlay, render
from drumline.errors import InvalidInput

VALUES: dict[str, Json] = {
    "name": "Alice",
    "age": 30,
    "user": {"name": "Bob", "email": "x@y.com"},
    "config": {"api": {"key": "k1"}},
    "yes": True,
    "nothing": None,
    "items": ["a", "b", "c"],
    "users": [{"name": "Al"}, {"name": "Bob"}],
    "matrix": [[1, 2], [3, 4]],
    "outer": {"inner": {"arr": ["x", "y", "z"]}},
    "object": {"key": "value"},
    "sly": "{{name}}",
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{name}} {{age}}", "Alice 30"),
        ("{{user.name}}", "Bob"),
        ("{{config.api.key}}", "k1"),
        ("{{yes}},{{age}},{{nothing}}", "true,30,null"),
        ("{{items}}", '["a","b","c"]'),
        ("{{object}}", '{"key":"value"}'),
        ("{{items[0]}}", "a"),
        ("{{outer.inner.arr[2]}}", "z"),
        ("{{users[1].name}}", "Bob"),
        ("{{matrix[0][1]}}", "2"),
        ("{{name}} and {{name}} again", "Alice and Alice again"),
        ("no variables", "no variables"),
        ("{{ name }} {{na-me}} {name}", "{{ name }} {{na-me}} {name}"),
    ],
)
def test_references_are_replaced(template: str, expected: str) -> None:
    assert render_strict(template, VALUES) == expected
    assert render_lenient(template, VALUES) == expected


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ("Hello {{nobody}}", ["'nobody'"]),
        ("{{x}} and {{y}}", ["'x'", "'y'"]),
        ("{{items[5]}}", ["'items[5]'"]),
        ("{{items[3]}}", ["'items[3]'"]),
        ("{{name.first}}", ["'name.first'"]),
        ("{{object[0]}}", ["'object[0]'"]),
        ("{{a..b}}{{[0]}}{{items[x]}}", ["'a..b'", "'[0]'", "'items[x]'"]),
    ],
)
def test_a_strict_template_names_every_path_that_leads_nowhere(template: str, named: list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        render_strict(template, VALUES)

    assert str(caught.value) == f"Template interpolation failed: {', '.join(named)} not found in state"


@pytest.mark.parametrize(
    ("template", "expected"),
    [("Hello {{name}}, at: {{place}}", "Hello Alice, at: "), ("email: {{ghost.email}}", "email: ")],
)
def test_a_lenient_template_leaves_out_what_leads_nowhere(template: str, expected: str) -> None:
    assert render_lenient(template, VALUES) == expected


def test_text_that_came_from_a_value_is_never_expanded_again() -> None:
    assert render_strict("{{sly}} {{name}}", VALUES) == "{{name}} Alice"
    assert resolve_raw("{{sly}}", VALUES) == "{{name}}"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{age}}", 30),
        ("{{items}}", ["a", "b", "c"]),
        ("{{object}}", {"key": "value"}),
        ("{{yes}}", True),
        ("{{user.email}}", "x@y.com"),
        ("{{matrix[1]}}", [3, 4]),
        ("Hello {{name}}!", "Hello Alice!"),
        ("{{age}}{{age}}", "3030"),
        ("literal text", "literal text"),
        ("  {{age}}  ", 30),
        ("{{ age }}", "{{ age }}"),
        ("{{nothing}}", None),
    ],
)
def test_a_raw_template_that_is_one_reference_keeps_the_type(template: str, expected: Json) -> None:
    found = resolve_raw(template, VALUES)

    assert found == expected
    assert type(found) is type(expected)


def test_a_raw_template_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'ghost' not found"):
        resolve_raw("{{ghost}}", VALUES)


def test_values_inside_lists_and_objects_are_resolved() -> None:
    found = resolve_all({"n": "{{age}}", "all": ["{{yes}}", "is {{age}}", 5]}, VALUES)

    assert found == {"n": 30, "all": [True, "is 30", 5]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3.0, "3.0"),
        (0.1, "0.1"),
        (10**20, "100000000000000000000"),
        ("é", "é"),
        (["é", 1.0, None, False], '["é",1.0,null,false]'),
        ({"b": 1, "a": {"c": []}}, '{"b":1,"a":{"c":[]}}'),
    ],
)
def test_values_are_written_as_compact_json_in_their_own_order(value: Json, expected: str) -> None:
    assert render(value) == expected


def test_the_paths_a_template_reads_are_listed_once() -> None:
    assert list_references("{{a}} {{b.c[0]}} {{a}} {{ d }}") == ("a", "b.c[0]")


def test_a_layer_above_hides_the_one_below() -> None:
    both = overlay({"name": "Zed"}, VALUES)

    assert render_strict("{{name}} {{age}}", both) == "Zed 30"
    assert VALUES["name"] == "Alice"
