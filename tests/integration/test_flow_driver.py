"""A flow's driver on fakes: what it records, how it asks, and that it ends the same wherever its process dies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio.lowlevel
import pytest
from tests.integration.flow_harness import FlowHarness
from tests.integration.harness import RUN
from tests.unit.flows import each, end, flow, name, script

from drumline.core.flow.events import NodeEnded, NodeLost, NodeStarted
from drumline.core.flow.model import AgentNode, ApprovalNode, Flow, FlowSettings, InputNode, Node, NodeId
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.walk import RunNode
from drumline.core.ids import FLOW, Stream
from drumline.core.state import RunState
from drumline.engine.flow.walk import Perform
from drumline.engine.nodes.visit import Visit
from drumline.ports.journal import Message
from drumline.record import replace


def act(command: RunNode, visit: Visit) -> Outcome:
    """The same visit always comes to the same."""
    if "item" in visit.values:
        return Outcome(output={"output": f"{visit.values['item']}!"})
    return Outcome(output={"log": visit.name})


def ask(node: str, **routes: str) -> ApprovalNode:
    """A question whose first route is also where everything else leads."""
    targets = {option: NodeId(target) for option, target in routes.items()}
    first = next(iter(targets.values()))
    return ApprovalNode(id=NodeId(node), question=f"{node}?", options=tuple(routes), routes=targets, on_other=first)


def call(node: str, callee: str, to: str) -> AgentNode:
    """A node that calls a flow."""
    return AgentNode(id=NodeId(node), agent=callee, prompt="do {{initial_prompt}}", next=name(to))


def plain(*nodes: Node, settings: FlowSettings | None = None) -> Flow:
    """A flow of these nodes, whose log grows."""
    made = flow(*nodes, reducers={"log": "append"}, state={"log": [], "items": ["x", "y"]}, settings=settings)
    return made.flow


def everything() -> dict[str, Flow]:
    """A loop through a question, a fan-out with a join, a map over calls, and a call that asks."""
    main = plain(
        script("first", "left right"),
        script("left", "both"),
        script("right", "both"),
        script("both", "review"),
        ask("review", again="first", on="many"),
        each("many", "{{items}}", branch="one", to="helped"),
        AgentNode(id=NodeId("one"), agent="child", prompt="{{item}}"),
        call("helped", "asking", "done"),
        end("done", "{{log}} {{all}}"),
    )
    child = plain(script("work", "over"), end("over", "did {{initial_prompt}}"))
    asking = plain(script("before", "sure"), ask("sure", yes="yes"), end("yes", "asked for {{initial_prompt}}"))
    return {"main": main, "child": child, "asking": asking}


def build(folder: Path) -> FlowHarness:
    """A harness with a flow of everything."""
    return FlowHarness(folder=folder, flows=everything(), act=act)


def answer(harness: FlowHarness, run: RunState) -> None:
    """Send the walk back once, then let it pass; say yes to the rest."""
    for gate in run.open_gates:
        asked = {"review": "again", "review#2": "on"}.get(gate.opened.gate, "yes")
        harness.send(Message(kind="answer", subject=gate.opened.gate, value=asked))


def drive_answering(harness: FlowHarness) -> RunState:
    """Drive and answer until the run has ended."""
    for _ in range(20):
        run = harness.drive_through()
        if run.ended is not None:
            return run
        answer(harness, run)
    raise AssertionError("the run does not end")


OUTPUT = '["first#1","left#1","right#1","both#1","first#2","left#2","right#2","both#2"] ["did x","did y"]'
APPENDS = 23


def assert_as_if_nothing_happened(harness: FlowHarness, run: RunState) -> None:
    """It ended at its end with the output of every node, and no visit was concluded twice."""
    assert run.ended is not None
    assert (run.ended.state, harness.end.output) == ("done", OUTPUT)
    ended = [r.event for r in harness.store.read(Stream(RUN, FLOW)) if isinstance(r.event, NodeEnded)]
    keys = [(event.scope, event.node, event.visit) for event in ended]
    assert len(keys) == len(set(keys))
    assert set(run.gates) == {"review", "review#2", "helped#1/sure"}
    assert not harness.store.list_claims(RUN)


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = build(tmp_path)

    run = drive_answering(harness)

    assert_as_if_nothing_happened(harness, run)
    assert harness.store.appends == APPENDS


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, APPENDS + 1))
def test_a_flow_ends_the_same_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = build(tmp_path)
    harness.die_at(nth, when=when)

    run = drive_answering(harness)

    assert_as_if_nothing_happened(harness, run)


def beside() -> dict[str, Flow]:
    """A question in one branch while another works and a third walks a flow that asks, too; all meet."""
    main = plain(
        script("first", "review left helped"),
        ask("review", on="both", off="done"),
        script("left", "both"),
        call("helped", "asking", "both"),
        script("both", "done"),
        end("done", "{{log}}"),
    )
    return {**everything(), "main": main}


BESIDE, BESIDE_APPENDS = '["first#1","left#1","both#1"]', 11


def drive_beside(folder: Path, nth: int = 0, when: str = "after") -> FlowHarness:
    """Drive that flow to its end, with a driver that dies at an append; each question is asked once."""
    harness = FlowHarness(folder=folder, flows=beside(), act=act)
    harness.die_at(nth, when=when)

    run = drive_answering(harness)

    assert run.ended is not None
    assert (run.ended.state, harness.end.output) == ("done", BESIDE)
    assert set(run.gates) == {"review", "helped#1/sure"}
    assert not harness.store.list_claims(RUN)
    return harness


def test_a_question_keeps_no_branch_beside_it_from_its_work(tmp_path: Path) -> None:
    harness = FlowHarness(folder=tmp_path / "asks", flows=beside(), act=act)

    run = harness.drive_through()

    ended = [r.event.node for r in harness.store.read(Stream(RUN, FLOW)) if isinstance(r.event, NodeEnded)]
    assert {gate.opened.gate for gate in run.open_gates} == {"review", "helped#1/sure"}
    assert {"left", "before"} <= set(ended)
    assert drive_beside(tmp_path / "through").store.appends == BESIDE_APPENDS


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, BESIDE_APPENDS + 1))
def test_a_question_beside_work_is_put_once_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    drive_beside(tmp_path, nth, when)


def test_a_visit_that_was_lost_is_closed_and_begun_again(tmp_path: Path) -> None:
    harness = FlowHarness(folder=tmp_path, flows={"main": plain(script("a", "b"), script("b", "end"), end())}, act=act)
    harness.die_at(3, when="before")

    harness.drive_through()

    kinds = [(type(r.event), getattr(r.event, "node", "")) for r in harness.store.read(Stream(RUN, FLOW))]
    assert kinds.count((NodeLost, "a")) == 1
    assert kinds.count((NodeStarted, "a")) == 2
    assert kinds.count((NodeStarted, "b")) == 1


def test_a_fan_out_resumes_with_only_its_unfinished_branch(tmp_path: Path) -> None:
    flows = {"main": plain(script("s", "a b"), script("a", "end"), script("b", "end"), end())}
    harness = FlowHarness(folder=tmp_path, flows=flows, act=act, pauses={"b#1": 50})
    harness.die_at(5, when="before")

    run = harness.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert harness.concluded["a#1"] == 1
    assert harness.concluded["b#1"] == 2  # done, but its end was not recorded


def test_an_answer_that_is_no_option_follows_on_other(tmp_path: Path) -> None:
    node = replace(ask("q", yes="good"), on_other=NodeId("other"), state_updates={"said": "{{choice}}"})
    harness = FlowHarness(folder=tmp_path, flows={"main": plain(node, end("good"), end("other", "{{said}}"))}, act=act)
    harness.drive()
    harness.send(Message(kind="answer", subject="q", value="not so fast"))

    run = harness.drive()

    assert run.ended is not None
    assert harness.end.output == "not so fast"


def test_an_input_that_breaks_its_rule_is_not_taken(tmp_path: Path) -> None:
    node = InputNode(
        id=NodeId("who"),
        question="Who?",
        validation="len(input) >= 3",
        next=name("end"),
        state_updates={"who": "{{input}}"},
    )
    harness = FlowHarness(folder=tmp_path, flows={"main": plain(node, end(output="{{who}}"))}, act=act)
    parked = harness.drive()
    harness.send(Message(kind="answer", subject="who", value="me"))

    still = harness.drive()

    assert parked.parked
    assert still.parked
    assert [gate.opened.gate for gate in still.open_gates] == ["who"]


def test_a_question_whose_references_lead_nowhere_fails_the_walk(tmp_path: Path) -> None:
    node = replace(ask("q", yes="end"), question="{{nobody}}?")
    harness = FlowHarness(folder=tmp_path, flows={"main": plain(node, end())}, act=act)

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "failed"
    assert "nobody" in run.ended.reason


def test_questions_of_a_map_are_put_in_the_order_of_its_items(tmp_path: Path) -> None:
    child = plain(ask("sure", yes="over"), end("over"))
    item = AgentNode(id=NodeId("one"), agent="child", prompt="{{item}}")
    main = plain(each("many", "{{items}}", branch="one", to="end"), item, end())
    harness = FlowHarness(folder=tmp_path, flows={"main": main, "child": child}, act=act)

    run = harness.drive()

    assert list(run.gates) == ["many#1[0]/one#1/sure", "many#1[1]/one#1/sure"]


def test_a_flow_that_calls_itself_stops_at_the_cap(tmp_path: Path) -> None:
    flows = {"main": plain(call("again", "main", "end"), end())}
    harness = FlowHarness(folder=tmp_path, flows=flows, act=act)

    run = harness.drive()

    assert run.ended is not None
    assert run.ended.state == "failed"
    assert "9 deep" in run.ended.reason


def test_a_cancelled_run_is_over_and_its_nodes_are_given_back(tmp_path: Path) -> None:
    harness = FlowHarness(folder=tmp_path, flows={"main": plain(ask("q", yes="end"), end())}, act=act)
    harness.drive()
    harness.send(Message(kind="cancel", comment="enough"))

    run = harness.drive()

    assert run.ended is not None
    assert (run.ended.state, run.ended.reason) == ("cancelled", "enough")


def test_a_cancelled_run_goes_on_where_it_was_once_it_is_resumed(tmp_path: Path) -> None:
    child = plain(ask("sure", yes="end"), end())
    flows = {"main": plain(call("one", "child", "end"), end()), "child": child}
    harness = FlowHarness(folder=tmp_path, flows=flows, act=act)
    harness.drive()
    harness.send(Message(kind="cancel", comment="enough"))
    cancelled = harness.drive()
    parked = harness.drive().parked
    harness.send(Message(kind="answer", subject="one#1/sure", value="yes"))

    done = harness.drive()

    assert cancelled.ended is not None
    assert parked
    assert done.ended is not None
    assert done.ended.state == "done"


def test_a_called_flow_inherits_variables(tmp_path: Path) -> None:
    seen: list[object] = []

    def note(command: RunNode, visit: Visit) -> Outcome:
        seen.append(dict(visit.variables))
        return Outcome(output={})

    child = plain(script("work", "over"), end("over"))
    flows = {"main": plain(call("sub", "child", "end"), end()), "child": child}
    harness = FlowHarness(folder=tmp_path, flows=flows, act=note, variables={"project": "here"})

    harness.drive()

    assert seen == [{"project": "here"}]


@dataclass(kw_only=True)
class UnevenHarness(FlowHarness):
    """A harness in which visits for the first item take one turn, and those for the others `later` turns."""

    later: int

    def performing(self) -> Perform:
        """What nodes do."""
        perform = super().performing()

        async def pause(command: RunNode, visit: Visit) -> Outcome:
            for _ in range(0 if visit.values.get("item") == "a" else self.later):
                await anyio.lowlevel.checkpoint()
            return await perform(command, visit)

        return pause


@pytest.mark.parametrize("later", range(12))
def test_branches_that_come_back_while_a_move_is_recorded_are_not_forgotten(tmp_path: Path, later: int) -> None:
    items = ["a", "b", "c", "d", "e"]
    main = flow(each("many", "{{items}}", branch="one", cap=3), script("one"), end(), state={"items": items}).flow
    harness = UnevenHarness(folder=tmp_path, flows={"main": main}, act=act, later=later)

    run = harness.drive_through()

    assert run.ended is not None
    assert run.ended.state == "done"
    assert sum(harness.concluded.values()) == len(items)
