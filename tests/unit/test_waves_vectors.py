"""Vectors of the chunk JSON as tables: the example of the format, its fields one by one, and what is wrong where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files

import pytest
from tools.docs.wavesschema import render_schema

from drumline.core.plan import Problem, Severity
from drumline.planfiles.document import Parsed
from drumline.planfiles.preamble import BUDGET
from drumline.planfiles.waves import WavesDialect
from drumline.planfiles.waves_fields import CHUNK_FIELDS, PLAN_FIELDS

EXAMPLE = """{
  "description": "Add a switcher\\nwith two layouts",
  "plan": "# The plan\\nAll of it.",
  "testsRequired": true,
  "waves": [
    [ { "id": "c1", "scope": "Model", "files": ["src/a.py"], "model": "sonnet", "tests": false, "opusReview": false },
      { "id": "c2", "scope": "Style", "files": ["./b.css"], "model": "haiku" } ],
    [ { "id": "c3", "scope": "Wire it", "files": ["src/"], "model": "opus", "tests": true,
        "testScope": "both layouts", "opusReview": true } ]
  ]
}
"""


def parse(text: str) -> Parsed:
    return WavesDialect().parse(text, "chunks.json")


def chunk(**changes: object) -> dict[str, object]:
    return {"id": "c1", "scope": "Work", "files": ["a.py"], "model": "sonnet", **changes}


def plan(*chunks: Mapping[str, object]) -> str:
    return json.dumps({"description": "D", "waves": [[one] for one in chunks]}, indent=1)


def told(problems: tuple[Problem, ...]) -> list[tuple[str, int]]:
    return [(problem.code, int(problem.where.rpartition(":")[2])) for problem in problems]


def test_the_example_of_the_format_is_read() -> None:
    found = parse(EXAMPLE)

    assert (found.title, found.problems) == ("Add a switcher", ())
    assert [(s.id, s.title, s.needs, s.files, s.tier, s.review, s.line) for s in found.steps] == [
        ("c1", "Model", (), ("src/a.py",), "standard", "", 6),
        ("c2", "Style", (), ("b.css",), "fast", "", 7),
        ("c3", "Wire it", ("c1", "c2"), ("src/",), "strong", "strong", 8),
    ]
    assert all(step.binding for step in found.steps)


def test_the_prompt_of_a_chunk_shows_scope_tests_and_files() -> None:
    text = parse(EXAMPLE).texts["c3"]  # type: ignore[index]

    for words in ("Wire it", "both layouts", "- src/"):
        assert words in text


def test_description_and_plan_are_the_plans_own_words() -> None:
    found = parse(EXAMPLE)

    assert found.preamble == "## Description\n\nAdd a switcher\nwith two layouts\n\nAll of it."


def test_a_plan_that_is_too_long_is_cut_and_named() -> None:
    long = json.dumps({"description": "Short.", "plan": "\n\n".join(["Because. " * 100] * 12), "waves": []})

    found = parse(long)

    assert found.preamble.startswith("## Description\n\nShort.\n\n## Plan\n\nBecause. ")
    assert found.preamble.endswith("(Left out here for their length: the rest of Plan.)")
    assert len(found.preamble) < BUDGET + 200


@pytest.mark.parametrize(
    ("model", "tier", "codes"),
    [
        ("haiku", "fast", []),
        ("sonnet", "standard", []),
        ("Opus", "strong", []),
        ("gpt", "standard", ["unknown_model"]),
        ("", "standard", ["unknown_model"]),
        (None, "standard", ["bad_value", "unknown_model"]),
        (7, "standard", ["bad_value"]),
    ],
)
def test_a_model_is_a_tier(model: object, tier: str, codes: list[str]) -> None:
    found = parse(plan(chunk(model=model)))

    assert found.steps[0].tier == tier
    assert [problem.code for problem in found.problems] == codes


def test_a_missing_model_is_standard_with_a_warning() -> None:
    found = parse('{"waves": [[{"id": "c1", "scope": "Work"}]]}')

    assert found.steps[0].tier == "standard"
    assert [(p.code, p.severity) for p in found.problems] == [("unknown_model", Severity.WARNING)]


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({}, ("c2",)),
        ({"dependsOn": ["c1"]}, ("c1",)),
        ({"dependsOn": []}, ()),
        ({"dependsOn": ["c1", "c2"]}, ("c1", "c2")),
    ],
)
def test_named_dependencies_replace_the_rule_of_waves(needs: dict[str, object], expected: tuple[str, ...]) -> None:
    found = parse(plan(chunk(), chunk(id="c2"), chunk(id="c3", **needs)))

    assert found.steps[2].needs == expected
    assert found.problems == ()


def test_an_empty_wave_is_passed_over_with_a_warning() -> None:
    found = parse(
        '{"waves": [[{"id": "a", "scope": "s", "model": "opus"}], [],\n[{"id": "b", "scope": "s", "model": "opus"}]]}'
    )

    assert found.steps[1].needs == ("a",)
    assert told(found.problems) == [("empty_wave", 1)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"waves": []}', [("no_waves", 1)]),
        ('{\n"description": "x"}', [("missing_key", 1)]),
        ("[]", [("bad_value", 1)]),
        ('{\n"waves": 3}', [("bad_value", 2)]),
        ('{"waves": [\n{}]}', [("bad_value", 2)]),
        ('{"waves": [[\n3]]}', [("bad_value", 2)]),
        ('{"waves": [[\n{"id": "a", "model": "opus"}]]}', [("missing_key", 2)]),
        ('{"waves": [[{\n"id": 1,\n"scope": "", "model": "opus"}]]}', [("bad_value", 2), ("bad_value", 3)]),
        ('{"waves": [[{"id": "a", "scope": "s", "model": "opus",\n"files": "a.py"}]]}', [("bad_value", 2)]),
        ('{"waves": [[{"id": "a", "scope": "s", "model": "opus",\n"tests": "yes"}]]}', [("bad_value", 2)]),
        (
            '{"waves": [[{"id": "a", "scope": "s", "model": "opus",\n"mood": 1}]],\n"x": 2}',
            [("unknown_key", 3), ("unknown_key", 2)],
        ),
        ('{"waves": [[{"id": "a", "scope": "s", "model": "opus",\n"id": "b"}]]}', [("duplicate_key", 2)]),
        ('{"waves": [\n[}', [("bad_json", 2)]),
        ("", [("bad_json", 1)]),
        ('{"waves": NaN}', [("bad_json", 1)]),
        ("[" * 100_000, [("bad_json", 1)]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, expected: list[tuple[str, int]]) -> None:
    assert told(parse(text).problems) == expected


def test_lone_surrogates_do_not_get_past_the_reader() -> None:
    found = parse(plan(chunk(scope="a\ud800b", files=["\udfff"])))

    assert found.steps[0].title == "a?b"
    assert found.steps[0].files == ("?",)


def test_the_shipped_schema_is_the_one_the_code_gives() -> None:
    """When this fails: write render_schema() of tools.docs.wavesschema into the file."""
    shipped = files("drumline").joinpath("schemas", "waves.schema.json").read_text(encoding="utf-8")

    assert shipped == render_schema()


def test_the_schema_knows_every_field_of_the_reader() -> None:
    schema = json.loads(render_schema())

    assert list(schema["properties"]) == [rule.name for rule in PLAN_FIELDS]
    assert list(schema["$defs"]["chunk"]["properties"]) == [rule.name for rule in CHUNK_FIELDS]
    assert schema["required"] == ["waves"]
