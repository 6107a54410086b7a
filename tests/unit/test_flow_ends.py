"""How a flow ended, read from an end that does not say it: by its id, else by the first word of its output."""

from __future__ import annotations

import pytest
from tests.unit import flows

from drumline.core.flow.ends import find_status
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.model import EndNode, Flow, NodeId
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.validation import validate

BY_ID = {
    "end_success": "done",
    "end_blocked": "blocked",
    "end_rejected": "rejected",
    "end_failure": "failed",
    "end-failed": "failed",
    "endBlocked": "blocked",
    "EndFailure": "failed",
    "HTTPError": "failed",
    "STEP_FAILED": "failed",
    "error": "failed",
    "abort": "rejected",
    "aborted_by_user": "rejected",
    "cancelled": "rejected",
    "stuck": "blocked",
    "incomplete": "failed",
    "timeout": "failed",
    # No whole word of the table.
    "unblocked": "done",
    "errorless": "done",
    "failover": "done",
    "aborting_done": "done",
    "complete": "done",
    # The word is denied.
    "no_errors": "done",
    "not_blocked": "done",
    "without_failures": "done",
    "error_free": "done",
    "errors_fixed": "done",
    "failures_handled": "done",
}

BY_OUTPUT = {
    "STEP_BLOCKED\nStep: {{step}}": "blocked",
    "STEP_REJECTED": "rejected",
    "STEP_FAILED\n{{why}}": "failed",
    "STEP_COMPLETE\nNothing failed.": "done",
    "**FAILED**: {{why}}": "failed",
    "❌ Failed: {{why}}": "failed",
    "# Blocked\n\n{{why}}": "blocked",
    "Error: {{why}}": "failed",
    "aborted.": "rejected",
    "The build failed.": "done",
    "No errors were found.": "done",
    "Error-free after {{n}} rounds": "done",
    "": "done",
    "{{report}}": "done",
}


@pytest.mark.parametrize(("name", "status"), BY_ID.items())
def test_an_end_without_a_status_has_the_one_of_its_id(name: str, status: str) -> None:
    assert find_status(EndNode(id=NodeId(name))) == status


@pytest.mark.parametrize(("output", "status"), BY_OUTPUT.items())
def test_else_the_first_word_of_its_output_says_it(output: str, status: str) -> None:
    assert find_status(EndNode(id=NodeId("over"), output=output)) == status


def test_what_the_file_states_overrules_both() -> None:
    node = EndNode(id=NodeId("end_failed"), output="STEP_FAILED", status="done")

    assert find_status(node) == "done"


@pytest.mark.parametrize(
    ("said", "status"),
    {
        "CODER_FAILED\nwhy": "failed",
        "BLOCKED: no key": "blocked",
        "Failed tests are fixed now.": "done",  # prose of an agent: only a word in capitals is a marker
        "error handling was added": "done",
        "CODER_COMPLETE": "done",
    }.items(),
)
def test_a_first_word_that_comes_from_the_state_counts_as_a_marker_only(said: str, status: str) -> None:
    node = EndNode(id=NodeId("over"), output="{{said}}\nThe end.")

    assert find_status(node, f"{said}\nThe end.") == status


def test_a_walk_ends_with_the_status_of_its_end() -> None:
    chart = flows.flow(flows.script("a", "end_blocked"), flows.end("end_blocked", "STEP_BLOCKED"))

    state, _ = flows.walk(chart, lambda command, values: Outcome(output={}))

    assert isinstance(state.ended, FlowEnded)
    assert (state.ended.status, state.ended.node) == ("blocked", "end_blocked")


def test_validation_warns_once_of_all_ends_that_do_not_say_it() -> None:
    nodes = [
        flows.script("a", "end_success"),
        flows.end("end_success"),
        flows.end("end_blocked"),
        flows.end("over", "STEP_FAILED"),
        EndNode(id=NodeId("end_rejected"), status="rejected"),
    ]
    flow = Flow(name="x", start=NodeId("a"), nodes={node.id: node for node in nodes}, path="x.yaml")

    told = [problem for problem in validate(flow) if problem.code == "derived_status"]

    assert len(told) == 1
    assert "end_blocked (blocked), over (failed)" in told[0].message
    assert "status:" in told[0].message


def test_ends_that_are_done_by_every_sign_are_not_worth_a_word() -> None:
    nodes = [flows.script("a", "end_success"), flows.end("end_success", "STEP_COMPLETE")]
    flow = Flow(name="x", start=NodeId("a"), nodes={node.id: node for node in nodes}, path="x.yaml")

    assert [problem for problem in validate(flow) if problem.code == "derived_status"] == []
