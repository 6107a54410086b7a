"""What an outcome means: writes, targets or failure, kind by kind."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.unit.flows import name, script

from drumline.core.flow.answers import write_question
from drumline.core.flow.model import (
    AgentNode,
    ApprovalNode,
    Case,
    CheckNode,
    InputNode,
    Json,
    LlmNode,
    NodeId,
    RouteNode,
    SetNode,
)
from drumline.core.flow.outcome import Conclusion, Outcome, choose_case, draw_conclusion
from drumline.errors import InvalidInput
from drumline.record import replace

SCHEMA: Mapping[str, Json] = {"type": "object"}
ANSWERING = ["llm", "agent"]


def answering(
    kind: str, updates: Mapping[str, str] | None = None, *, schema: Mapping[str, Json] | None = None
) -> LlmNode | AgentNode:
    """A node whose work ends in an answer."""
    if kind == "llm":
        return LlmNode(id=NodeId("n"), prompt="p", next=name("on"), state_updates=updates, output_schema=schema)
    return AgentNode(
        id=NodeId("n"), agent="a", prompt="p", next=name("on"), state_updates=updates, output_schema=schema
    )


def written(node: LlmNode | AgentNode, values: Mapping[str, Json], output: Json) -> Mapping[str, Json]:
    return draw_conclusion(node, values, Outcome(output=output)).writes


@pytest.mark.parametrize("kind", ANSWERING)
@pytest.mark.parametrize(
    ("updates", "values", "expected"),
    [
        ({"response": "{{output}}"}, {}, {"response": "the answer"}),
        ({"summary": "{{topic}}: {{output}}"}, {"topic": "LOINC"}, {"summary": "LOINC: the answer"}),
        ({"seen": "{{output}}"}, {"output": "preserved"}, {"seen": "the answer"}),
        ({"x": "[{{missing}}] {{output}}"}, {}, {"x": "[] the answer"}),
        (None, {}, {}),
        ({"a": "1", "b": "{{a}}2"}, {"a": "old"}, {"a": "1", "b": "12"}),
        ({"output": "{{output}}!"}, {}, {"output": "the answer!"}),
    ],
    ids=["exposed", "mixed", "kept", "lenient", "none", "in-order", "declared"],
)
def test_updates_see_the_output_and_it_leaves_no_trace(
    kind: str, updates: Mapping[str, str] | None, values: Mapping[str, Json], expected: Mapping[str, Json]
) -> None:
    assert written(answering(kind, updates), values, "the answer") == expected


@pytest.mark.parametrize("kind", ANSWERING)
def test_a_structured_answer_is_merged_with_its_types(kind: str) -> None:
    answer: Json = {"goal": "do X", "tags": ["a"], "config": {"deep": 1}, "count": 42}

    assert written(answering(kind, schema=SCHEMA), {}, answer) == answer


@pytest.mark.parametrize("kind", ANSWERING)
def test_updates_overrule_what_was_merged_and_see_it(kind: str) -> None:
    node = answering(kind, {"goal": "renamed-{{output.goal}}", "also": "{{count}}"}, schema=SCHEMA)

    assert written(node, {}, {"goal": "do X", "count": 1}) == {"goal": "renamed-do X", "count": 1, "also": "1"}


@pytest.mark.parametrize("kind", ANSWERING)
def test_an_answer_that_is_no_object_or_has_no_schema_is_not_merged(kind: str) -> None:
    assert written(answering(kind, schema=SCHEMA), {}, [1, 2, 3]) == {}
    assert written(answering(kind), {}, {"goal": "x"}) == {}


def test_a_model_that_failed_goes_to_its_fallback_and_its_updates_say_why() -> None:
    node = LlmNode(id=NodeId("n"), prompt="p", fallback=NodeId("fb"), state_updates={"why": "{{output}}"})

    called = draw_conclusion(node, {}, Outcome(failure="HTTP 404"))
    parsed = draw_conclusion(node, {}, Outcome(failure="no JSON", stage="structured-extraction"))

    assert called.next == ("fb",)
    assert called.writes == {"why": "LLM node failed: HTTP 404"}
    assert called.fell_back == "HTTP 404"
    assert parsed.writes == {"why": "LLM node structured-extraction failed: no JSON"}


def test_an_agent_that_failed_goes_to_its_fallback_and_its_updates_know_the_class_of_the_failure() -> None:
    updates = {"why": "{{output}}", "class": "[{{failure}}]"}
    node = AgentNode(
        id=NodeId("n"), agent="a", prompt="p", next=name("on"), fallback=NodeId("fb"), state_updates=updates
    )
    left_over: Mapping[str, Json] = {"failure": "old"}

    failed = draw_conclusion(node, left_over, Outcome(failure="no such file", failure_class="permanent"))
    unnamed = draw_conclusion(node, left_over, Outcome(failure="no such file"))
    worked = draw_conclusion(node, left_over, Outcome(output="fine"))

    assert (failed.failure, failed.fell_back, failed.next) == ("", "no such file", ("fb",))
    assert failed.writes == {"why": "agent failed: no such file", "class": "[permanent]"}
    assert unnamed.writes == {"why": "agent failed: no such file", "class": "[]"}
    assert (worked.next, worked.writes) == (("on",), {"why": "fine", "class": "[]"})


@pytest.mark.parametrize("kind", ANSWERING)
def test_a_failure_without_a_fallback_is_a_failure(kind: str) -> None:
    drawn = draw_conclusion(answering(kind, {"x": "{{output}}"}), {}, Outcome(failure="HTTP 404"))

    assert "HTTP 404" in drawn.failure
    assert (kind == "llm") == ("no fallback declared" in drawn.failure)
    assert drawn.writes == {}


def conclude_script(output: Json, *, to: str = "on", **options: object) -> Conclusion:
    updates = options.get("updates")
    assert updates is None or isinstance(updates, dict)
    node = script("s", to, fallback=str(options.get("fallback", "")), updates=updates)
    return draw_conclusion(node, {"k": "old"}, Outcome(output=output, failure=str(options.get("failure", ""))))


def test_a_script_writes_what_it_printed_and_next_is_taken_out() -> None:
    drawn = conclude_script({"quality": 0.85, "issues": 3, "_next": "approve"})

    assert drawn.writes == {"quality": 0.85, "issues": 3}
    assert drawn.next == ("approve",)


def test_a_script_without_a_route_of_its_own_goes_where_the_flow_says() -> None:
    assert conclude_script({"ok": True}).next == ("on",)
    assert conclude_script({"ok": True, "_next": 7}) == Conclusion(writes={"ok": True}, next=name("on"))


def test_a_scripts_updates_come_after_its_output() -> None:
    assert conclude_script({"raw": "hello"}, updates={"decorated": "[{{raw}}]"}).writes == {
        "raw": "hello",
        "decorated": "[hello]",
    }
    assert conclude_script({}, updates={"k": "new-{{k}}"}).writes == {"k": "new-old"}


def test_a_script_that_failed_goes_to_its_fallback_and_writes_nothing() -> None:
    drawn = conclude_script(None, failure="exit code 7", fallback="fb", updates={"x": "y"})

    assert (drawn.next, drawn.writes, drawn.failure, drawn.fell_back) == (("fb",), {}, "", "exit code 7")
    assert conclude_script([1], fallback="fb").next == ("fb",)
    assert conclude_script([1]).failure == "output must be a JSON object, got array"


APPROVAL = ApprovalNode(
    id=NodeId("ap"),
    question="Deploy {{what}}?",
    options=("yes", "no"),
    routes={"yes": NodeId("deploy"), "no": NodeId("cancel")},
    on_other=NodeId("clarify"),
    state_updates={"decision": "{{choice}}"},
)


@pytest.mark.parametrize(
    ("choice", "target"), [("yes", "deploy"), ("no", "cancel"), ("maybe", "clarify"), ("fix the typo", "clarify")]
)
def test_an_approval_leads_where_the_choice_says(choice: str, target: str) -> None:
    drawn = draw_conclusion(APPROVAL, {"choice": "kept"}, Outcome(output=choice))

    assert (drawn.next, drawn.writes) == ((target,), {"decision": choice})


@pytest.mark.parametrize(
    ("choice", "comment", "words"),
    [
        ("yes", "", ""),
        ("yes", "but tidy it", "but tidy it"),
        ("fix the typo", "", "fix the typo"),
        ("fix the typo", "in a.py", "fix the typo\n\nin a.py"),
    ],
)
def test_what_a_person_says_beside_the_options_is_the_comment_unless_the_state_has_one(
    choice: str, comment: str, words: str
) -> None:
    node = replace(APPROVAL, state_updates={"said": "{{comment}}"})

    drawn = draw_conclusion(node, {}, Outcome(output=choice, comment=comment))
    kept = draw_conclusion(node, {"comment": "its own"}, Outcome(output=choice, comment=comment))

    assert (drawn.writes, kept.writes) == ({"said": words}, {"said": "its own"})


def asking(default: str | None = None, rule: str | None = None) -> InputNode:
    return InputNode(
        id=NodeId("in"),
        question="Name?",
        default=default,
        validation=rule,
        next=name("on never"),
        state_updates={"api_key": "{{input}}"},
    )


def test_an_input_is_written_and_leads_to_the_first_target_only() -> None:
    drawn = draw_conclusion(asking(), {}, Outcome(output="secret"))

    assert (drawn.next, drawn.writes) == (("on",), {"api_key": "secret"})


def test_an_empty_input_means_the_default_and_that_is_checked_too() -> None:
    node = asking("{{name}}", "len(input) > 3")

    assert draw_conclusion(node, {"name": "alice"}, Outcome(output="")).writes == {"api_key": "alice"}
    with pytest.raises(InvalidInput, match="legal is len"):
        draw_conclusion(node, {"name": "al"}, Outcome(output=""))


@pytest.mark.parametrize(
    ("default", "expected"),
    [("{{name}}", "Name? [default: alice]"), ("{{missing}}", "Name?"), (None, "Name?"), ("  ", "Name?")],
)
def test_a_question_names_its_default_if_it_says_something(default: str | None, expected: str) -> None:
    assert write_question(asking(default), {"name": "alice"}) == expected


def test_a_question_with_a_path_that_leads_nowhere_is_refused() -> None:
    assert write_question(APPROVAL, {"what": "it"}) == "Deploy it?"
    with pytest.raises(InvalidInput, match="'what'"):
        write_question(APPROVAL, {})


@pytest.mark.parametrize(("passed", "target"), [(True, "good"), (False, "bad")])
def test_a_check_leads_where_its_verdict_says(passed: bool, target: str) -> None:
    node = CheckNode(id=NodeId("c"), checks=("tests",), passed=NodeId("good"), failed=NodeId("bad"))
    verdict: Json = {"passed": passed, "failed": []}

    drawn = draw_conclusion(node, {}, Outcome(output=verdict))

    assert (drawn.next, drawn.writes) == ((target,), {"check": verdict})


@pytest.mark.parametrize("verdict", [None, {}, {"passed": "yes"}])
def test_a_check_without_a_verdict_is_a_failure(verdict: Json) -> None:
    node = CheckNode(id=NodeId("c"), checks=("tests",), passed=NodeId("good"), failed=NodeId("bad"))

    assert draw_conclusion(node, {}, Outcome(output=verdict)).failure


def test_set_keeps_the_type_of_a_value_that_is_one_reference() -> None:
    node = SetNode(id=NodeId("s"), values={"n": "{{count}}", "text": "is {{count}}", "flag": True}, next=name("on"))

    assert draw_conclusion(node, {"count": 3}, Outcome()).writes == {"n": 3, "text": "is 3", "flag": True}
    assert "'count' not found" in draw_conclusion(node, {}, Outcome()).failure


ROUTE = RouteNode(
    id=NodeId("r"),
    cases=(Case(when="first", to=NodeId("one")), Case(when="second", to=NodeId("two"))),
    otherwise=NodeId("rest"),
)


def look(text: str, values: Mapping[str, Json]) -> Json:
    """Conditions that are simply names."""
    if text not in values:
        raise InvalidInput(f"{text} is unknown")
    return values[text]


@pytest.mark.parametrize(
    ("values", "target"),
    [
        ({"first": True, "second": True}, "one"),
        ({"first": False, "second": True}, "two"),
        ({"first": False, "second": False}, "rest"),
    ],
)
def test_the_first_condition_that_holds_decides(values: Mapping[str, Json], target: str) -> None:
    outcome = choose_case(ROUTE, values, look)

    assert draw_conclusion(ROUTE, values, outcome).next == (target,)


@pytest.mark.parametrize(
    ("values", "said"),
    [({"first": 1}, "'first' is number, it must be true or false"), ({}, "'first': first is unknown")],
)
def test_a_condition_that_is_neither_true_nor_false_is_a_failure(values: Mapping[str, Json], said: str) -> None:
    assert said in draw_conclusion(ROUTE, values, choose_case(ROUTE, values, look)).failure
