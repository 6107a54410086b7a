"""JSON out of answers and outputs, and the rule an input is held to."""

from __future__ import annotations

import pytest

from drumline.core.flow.extraction import extract_json, read_object, write_extraction_prompt, write_schema_hint
from drumline.core.flow.lengths import parse_length_rule
from drumline.core.flow.model import Json
from drumline.errors import InvalidInput


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('  \n{"x": true}\n ', {"x": True}),
        ("[1, 2, 3]", [1, 2, 3]),
        ("null", None),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('```\n{"a": 1}\n```', {"a": 1}),
        ('<think>hm</think>{"a": 1}', {"a": 1}),
        ('<think></think>\n{"a": 1}', {"a": 1}),
        ('<think>a</think>\n<think>b</think>\n```json\n{"a": 1}\n```', {"a": 1}),
    ],
)
def test_an_answer_that_is_json_is_read(answer: str, expected: Json) -> None:
    assert extract_json(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        '<think>unclosed {"a": 1}',
        'Here is the result: {"a": 1}',
        '{"a": ',
        "",
        '{"a": 1} and more',
        "NaN",
        "[" * 100_000,
    ],
)
def test_an_answer_that_is_not_wholly_json_is_refused(answer: str) -> None:
    with pytest.raises(InvalidInput):
        extract_json(answer)


def test_a_scripts_object_is_read() -> None:
    assert read_object('{"ok": true, "_next": "gate"}\n') == {"ok": True, "_next": "gate"}


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "produced no output"),
        ("  \n", "produced no output"),
        ("not json", "not valid JSON"),
        ('{"a": 1}{"b": 2}', "not valid JSON"),
        ("[1, 2, 3]", "must be a JSON object, got array"),
    ],
)
def test_a_script_that_prints_no_object_is_told_so(printed: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_object(printed)


def test_the_hint_for_a_schema_says_what_is_wanted() -> None:
    hint = write_schema_hint({"type": "object", "properties": {"goal": {"type": "string"}}})

    assert all(word in hint for word in ("Schema:", '"goal"', "JSON", "ONLY"))


def test_a_repair_says_what_was_wrong_before() -> None:
    first = write_extraction_prompt({"type": "object"}, "prose")
    again = write_extraction_prompt({"type": "object"}, "prose", problem="'goal' is missing")

    assert "Schema:" in first
    assert first.endswith("Input:\nprose")
    assert "previous response" not in first
    assert "previous response was not accepted: 'goal' is missing" in again


@pytest.mark.parametrize(
    ("rule", "text", "holds"),
    [
        ("len(input) > 0", "hello", True),
        ("len(input) >= 5", "hello", True),
        ("len(input) < 10", "hello", True),
        ("len(input) == 5", "hello", True),
        ("len(input) <= 2", "hi", True),
        ("len(input) > 0", "", False),
        ("len(input) >= 5", "hi", False),
        ("len(input) < 10", "hello world!", False),
        ("len(input) <= 2", "hello", False),
        ("len(input) == 3", "hello", False),
        ("  len(input)   >=   1  ", "x", True),
        ("len(input)==2", "é", True),
    ],
)
def test_a_length_rule_counts_bytes(rule: str, text: str, holds: bool) -> None:
    assert parse_length_rule(rule).holds(text) is holds


@pytest.mark.parametrize(
    "rule", ["matches /[a-z]+/", "len(input)", "len(input) >", "len(input) >= abc", "len(input) != 3", "len(x) > 1"]
)
def test_any_other_rule_is_refused(rule: str) -> None:
    with pytest.raises(InvalidInput, match="len\\(input\\) OP N"):
        parse_length_rule(rule)
