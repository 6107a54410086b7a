"""Maestro's own cases for plans and contexts as tables, and where we deliberately decide otherwise.

We differ: ids `1` and `"1"` are one id (a warning); an empty plan is an error; `dangling_dependency`,
`cyclic_dependency` and `redundant_dependency` have our codes; a redundant need is told for each need, not once per
phase; a field that is wrong does not hide other findings; an unknown agent is told once; overlaps are
warnings, looked for over all pairs that may run at the same time, `./a` being `a`; the profile leaves out phases that
run alone.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from drumline.core.parallelism import measure_parallelism
from drumline.core.plan import Plan, Severity
from drumline.core.validation import validate
from drumline.planfiles.document import Parsed
from drumline.planfiles.maestro import PlanDialect
from drumline.planfiles.maestro_handoff import FIELDS, canonical, populated, read_context

ERROR, WARNING = Severity.ERROR, Severity.WARNING


def phase(number: object, *needs: object, **fields: Any) -> dict[str, Any]:
    """A phase that is right but for the given fields; a field set to `...` is left out."""
    made = {"id": number, "name": f"Phase {number}", "agent": "coder", "parallel": False, "blocked_by": list(needs)}
    return {key: value for key, value in {**made, **fields}.items() if value is not ...}


def parse(*phases: object, **top: object) -> Parsed:
    return PlanDialect(markdown=False).parse(json.dumps({**top, "phases": phases}), "plan.json")


def plan_of(parsed: Parsed) -> Plan:
    return Plan(name="p", path="plan.json", steps=parsed.steps)


def findings(*phases: object, **top: object) -> list[tuple[str, Severity]]:
    """Every finding about a plan but the one about checks, which the format has no place for."""
    parsed = parse(*phases, **top)
    found = [*parsed.problems, *validate(plan_of(parsed))]
    return [(problem.code, problem.severity) for problem in found if problem.code != "no_checks"]


@pytest.mark.parametrize(
    "text", ["null", "7", '"plan"', "[]", "{}", '{"phases": 3}', '{"phases": {}}', '{"phases": null}']
)
def test_what_is_not_a_plan_is_refused(text: str) -> None:
    found = PlanDialect(markdown=False).parse(text, "plan.json")

    assert [problem.code for problem in found.problems] == ["invalid_plan"]
    assert found.steps == ()


def test_an_empty_plan_is_an_error_where_maestro_accepts_it() -> None:
    assert findings() == [("no_steps", ERROR)]


@pytest.mark.parametrize(
    ("complexity", "count", "expected"),
    [
        ("simple", 3, []),
        ("simple", 4, [("phase_count", ERROR)]),
        ("medium", 5, []),
        ("medium", 6, [("phase_count", ERROR)]),
        ("complex", 20, []),
        ("whatever", 20, []),
    ],
)
def test_the_declared_complexity_limits_the_phases(complexity: str, count: int, expected: list[object]) -> None:
    phases = [phase(number) for number in range(1, count + 1)]

    assert findings(*phases, task_complexity=complexity) == expected


def test_a_corrective_phase_does_not_count() -> None:
    phases = [phase(1), phase(2), phase(3, "3h"), phase("3h"), phase("R1")]

    assert findings(*phases, task_complexity="simple") == []


@pytest.mark.parametrize(
    ("name", "phases", "expected"),
    [
        ("duplicate", [phase(1), phase(1)], [("duplicate_id", ERROR)]),
        ("dangling", [phase(1), phase(2, 9)], [("unknown_need", ERROR)]),
        ("unknown agent", [phase(1, agent="wizard")], [("unknown_agent", ERROR)]),
        ("unknown agent with files", [phase(1, agent="wizard", files=["a"])], [("unknown_agent", ERROR)]),
        ("kebab name", [phase(1, agent="technical-writer")], []),
        ("snake name", [phase(1, agent="technical_writer")], []),
        ("any case", [phase(1, agent="Coder")], []),
        ("reader creates", [phase(1, agent="architect", files_created=["a"])], [("agent_capability_mismatch", ERROR)]),
        ("shell modifies", [phase(1, agent="debugger", files_modified=["a"])], [("agent_capability_mismatch", ERROR)]),
        ("reader owns", [phase(1, agent="architect", files=["a"])], [("agent_capability_mismatch", ERROR)]),
        ("reader without files", [phase(1, agent="architect", name="Look around")], []),
        (
            "reader that implements",
            [phase(1, agent="architect", name="Implement feature")],
            [("agent_capability_mismatch", WARNING)],
        ),
        ("shell that implements", [phase(1, agent="debugger", name="Implement feature")], []),
        ("needs itself", [phase(0 + 1), phase(2, 2)], [("self_need", ERROR)]),
        ("two in a circle", [phase(9), phase(1, 2), phase(2, 1)], [("cycle", ERROR)]),
        ("three in a circle", [phase(9), phase(1, 3), phase(2, 1), phase(3, 2)], [("cycle", ERROR)]),
        ("redundant", [phase("A"), phase("B", "A"), phase("C", "A", "B")], [("redundant_need", WARNING)]),
        ("ids of two kinds", [phase(1), phase(2, "1")], [("mixed_ids", WARNING)]),
    ],
)
def test_rules_over_phases(name: str, phases: list[object], expected: list[object]) -> None:
    assert findings(*phases) == expected, name


@pytest.mark.parametrize(
    ("name", "broken", "expected"),
    [
        ("no id", phase(1, id=...), ["missing_required_field"]),
        ("no name", phase(1, name=...), ["missing_required_field"]),
        ("no agent", phase(1, agent=...), ["missing_required_field"]),
        ("no parallel", phase(1, parallel=...), ["missing_required_field"]),
        ("no blocked_by", phase(1, blocked_by=...), ["missing_required_field"]),
        ("nothing at all", {}, ["missing_required_field"] * 5),
        ("null", None, ["missing_required_field"] * 5),
        ("agent is a number", phase(1, agent=42), ["invalid_field_type"]),
        ("name is empty", phase(1, name=" "), ["invalid_field_type"]),
        ("id is a record", phase(1, id={}), ["invalid_field_type"]),
        ("id is zero", phase(0), ["invalid_field_type"]),
        ("id is a fraction", phase(1.5), ["invalid_field_type"]),
        ("id is true", phase(True), ["invalid_field_type"]),
        ("parallel is a word", phase(1, parallel="true"), ["invalid_field_type"]),
        ("blocked by null", phase(1, None), ["invalid_field_type"]),
        ("blocked by zero", phase(1, 0), ["invalid_field_type"]),
        ("blocked by less", phase(1, -1), ["invalid_field_type"]),
        ("blocked by a word", phase(1, blocked_by="2"), ["invalid_field_type"]),
        ("an empty file", phase(1, files=[""]), ["invalid_field_value"]),
        ("files is a word", phase(1, files="a"), ["invalid_field_value"]),
        ("files is null", phase(1, files=None), []),
    ],
)
def test_fields_are_checked_one_by_one(name: str, broken: object, expected: list[str]) -> None:
    problems = parse(phase(9), broken).problems

    assert [problem.code for problem in problems] == expected, name
    assert all(problem.where == "plan.json:1" for problem in problems)


def test_numbers_and_texts_are_legal_ids() -> None:
    parsed = parse(phase(1), phase("p2", 1))

    assert [(step.id, step.needs) for step in parsed.steps] == [("1", ()), ("p2", ("1",))]
    assert parsed.problems == ()


def test_a_phase_becomes_a_step_with_its_role() -> None:
    (step,) = parse(phase(1, agent="Security_Engineer", parallel=True)).steps

    assert (step.role, step.tier, step.alone, step.binding) == ("security-engineer", "strong", False, True)


def test_the_files_of_all_three_lists_are_owned_and_normal() -> None:
    (step,) = parse(phase(1, files=["./a"], files_created=["b/"], files_modified=["a"])).steps

    assert step.files == ("a", "b/")


@pytest.mark.parametrize(
    ("name", "one", "other", "expected"),
    [
        (
            "created and modified",
            {"files_created": ["a"]},
            {"files_modified": ["a"]},
            [("file_overlap", WARNING)],
        ),
        ("files and files", {"files": ["a"]}, {"files": ["a"]}, [("file_overlap", WARNING)]),
        ("files and created", {"files": ["a"]}, {"files_created": ["a"]}, [("file_overlap", WARNING)]),
        ("two spellings of one", {"files": ["./a"]}, {"files": ["a"]}, [("file_overlap", WARNING)]),
        ("different files", {"files": ["a"]}, {"files": ["b"]}, []),
    ],
)
def test_phases_that_share_files_are_told(
    name: str, one: dict[str, Any], other: dict[str, Any], expected: list[object]
) -> None:
    found = findings(phase(1, **one, parallel=True), phase(2, **other, parallel=True))

    assert found == expected, name


def test_the_profile_is_that_of_maestro_for_parallel_phases() -> None:
    forked: dict[object, list[object]] = {"p1": [], "p2": ["p1"], "p3": ["p1"]}
    crossed: dict[object, list[object]] = {1: [], 2: [1], 3: [1], 4: [2, 3]}

    fork = measure_parallelism(parse(*(phase(n, *needs, parallel=True) for n, needs in forked.items())).steps)
    diamond = measure_parallelism(parse(*(phase(n, *needs, parallel=True) for n, needs in crossed.items())).steps)

    assert fork.waves == (("p1",), ("p2", "p3"))
    assert (fork.width, fork.depths) == (2, 2)
    assert diamond.eligible == 2


def test_a_phase_that_runs_alone_is_not_eligible_where_maestro_counts_it() -> None:
    found = measure_parallelism(parse(phase(1), phase(2)).steps)

    assert (found.width, found.eligible) == (2, 0)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, ()),
        ("text", ()),
        ([], ()),
        ({}, ()),
        ({"warnings": "one"}, ("one",)),
        ({"warnings": ["one", "two"]}, ("one", "two")),
        ({"warnings": ["  one  ", "", "   "]}, ("one",)),
        ({"warnings": ["None", "n/a", "N/A", "Not Applicable", "none"]}, ()),
        ({"warnings": "none"}, ()),
        ({"warnings": ["one", 2, None, {"a": 1}, ["x"]]}, ("one",)),
        ({"warnings": 7}, ()),
        ({"warnings": None}, ()),
        ({"Warnings": ["one"]}, ()),
        ({"warnings": ["nonesuch"]}, ("nonesuch",)),
    ],
)
def test_a_context_is_made_canonical(given: object, expected: tuple[str, ...]) -> None:
    found = canonical(given)

    assert tuple(found) == FIELDS
    assert found["warnings"] == expected
    assert canonical(found) == found
    assert populated(found) is bool(expected)


@pytest.mark.parametrize("hashes", ["#", "##", "###"])
def test_a_context_is_found_wherever_it_stands_in_a_report(hashes: str) -> None:
    said = (
        f"Here it is.\n\n{hashes} Task Report\n- Status: success\n- Warnings: not this one\n\n"
        f"{hashes} Downstream Context\n- **Key Interfaces Introduced**: `run()`\n- Patterns Established: none\n"
        f"- Assumptions:\n  - first\n  - second: with a colon\n\n{hashes} Other\n- Warnings: nor this\n"
    )

    found = read_context(said)

    assert found["key_interfaces_introduced"] == ("`run()`",)
    assert found["patterns_established"] == ()
    assert found["assumptions"] == ("first", "second: with a colon")
    assert found["warnings"] == ()


def test_a_context_inside_a_code_fence_is_text() -> None:
    assert not populated(read_context("```\n# Downstream Context\n- Warnings: one\n```\n"))


def test_a_finding_names_its_phase_since_a_file_of_one_line_has_no_other_place() -> None:
    found = parse(phase(1), phase("p2", agent=...), None)

    messages = [problem.message for problem in found.problems]
    assert messages[0] == "phase 'p2': a phase must have 'agent'"
    assert messages[1] == "phase 3: a phase must have 'id'"
