"""What faces show of a run that walks a flow: board, status, reasons, logs and progress, from events alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import begun_attempt, join
from tests.unit.flows import end, flow, script
from tests.unit.flowscenes import (
    CODER,
    DRIVER,
    MAIN,
    RUN,
    STARTED,
    approval,
    ask_name,
    begin_main,
    history_of,
    seen,
    tell,
    walk_of,
)
from tools.docs.contracts import FLOW_PROGRESS

from drumline.core import events as ev
from drumline.core.flow.chart import Chart
from drumline.core.flow.events import FlowEnded, FlowStarted, NodeEnded, NodeLost, NodeStarted
from drumline.core.flow.model import FlowSettings, Json, NodeId
from drumline.core.flow.state import Key
from drumline.core.ids import FLOW, Commit, GateId, Stream, Tree
from drumline.core.recorded import Recorded
from drumline.core.vocabulary import GateKind, RunEnd, WalkEnd
from drumline.errors import InvalidInput
from drumline.views.board import board_segments
from drumline.views.cells import width
from drumline.views.places import find_visits
from drumline.views.runs import count_visits, run_row, runs_lines
from drumline.views.snapshot import Snapshot
from drumline.views.states import run_state
from drumline.views.status import status_json
from drumline.views.summary import summary, summary_lines
from drumline.views.visitlogs import head_lines, match_logs, number_logs, replay, state_lines
from drumline.views.why import why, why_json


def started(node: str, scope: str = "", visit: int = 1) -> NodeStarted:
    """A visit acts."""
    return NodeStarted(node=NodeId(node), visit=visit, scope=scope)


def ended(
    node: str, to: str = "", *, scope: str = "", failure: str = "", writes: dict[str, Json] | None = None
) -> NodeEnded:
    """A visit is over."""
    targets = tuple(NodeId(word) for word in to.split())
    return NodeEnded(
        node=NodeId(node), visit=1, scope=scope, next=targets, failure=failure, writes=writes or {}, output="out"
    )


def did(node: str, to: str = "", *, scope: str = "") -> list[ev.Event]:
    """A visit that took a second."""
    return [started(node, scope), ended(node, to, scope=scope)]


BRANCHES: list[ev.Event] = [
    begin_main(),
    *did("plan", "left right"),
    started("left"),
    started("right"),
    ended("left", "join"),
]
JOINED = [*BRANCHES, ended("right", "middle"), *did("middle", "join"), *did("join", "each")]
ITEMS = [*JOINED, started("one", "each#1[0]"), started("one", "each#1[1]"), ended("one", scope="each#1[0]")]
MAPPED = [*ITEMS, ended("one", scope="each#1[1]"), *did("one", scope="each#1[2]")]
CALLED = [*MAPPED, started("coder"), FlowStarted(flow="coder", path="coder", scope="coder#1")]
CODING = [*CALLED, started("implement", "coder#1")]
CODED = [
    *CODING,
    ended("implement", "over", scope="coder#1"),
    FlowEnded(status=WalkEnd.DONE, scope="coder#1", node=NodeId("over"), output="CODED"),
    ended("coder", "review"),
]
ASKED = ev.GateOpened(
    gate=GateId("review"), kind=GateKind.APPROVAL, question="Is it\ngood?", options=("ship it", "no"), free=True
)
ANSWERED = ev.GateAnswered(gate=GateId("review"), choice="no", by="ann", comment="too long")
PARKED: list[ev.Event] = [ASKED, ev.RunParked(gates=(GateId("review"),))]
DONE = [
    *CODED,
    ended("review", "done"),
    FlowEnded(status=WalkEnd.DONE, node=NodeId("done"), output="shipped\nwith care"),
]
STAGES: list[list[ev.Event]] = [[], [begin_main()], BRANCHES, JOINED, ITEMS, MAPPED, CALLED, CODING, CODED, DONE]


def look(*events: ev.Event, live: bool = True, said: list[ev.Event] | None = None, answers: str = "") -> Snapshot:
    """The run after these events."""
    return seen(history_of(*events, said=said or []), live=live, answers=answers)


def parked(answers: str = "") -> Snapshot:
    """The run waits for a person."""
    return look(*CODED, live=False, said=PARKED, answers=answers)


def done() -> Snapshot:
    """The run has ended well."""
    return look(*DONE, live=False, said=[*PARKED, ANSWERED, ev.RunEnded(state=RunEnd.DONE)])


def failed() -> Snapshot:
    """The run came to no end."""
    events = [begin_main(), started("plan"), ended("plan", failure="exit code 3\x1b[31m")]
    over = FlowEnded(status=WalkEnd.FAILED, reason="node 'plan': exit code 3")
    return look(*events, over, live=False, said=[ev.RunEnded(state=RunEnd.FAILED, reason=over.reason)])


EVERY = [
    *(look(*events) for events in STAGES),
    *(look(*events, live=False, said=PARKED) for events in STAGES),
    done(),
    failed(),
]


def draw(snapshot: Snapshot, *, wide: int = 80, high: int = 24, tick: int = 0) -> list[str]:
    """The board as lines."""
    return join(board_segments(snapshot, width=wide, height=high, tick=tick))


# --- the board --------------------------------------------------------------------------------------------------


def test_the_board_shows_the_path_what_is_at_work_and_what_waits_for_others() -> None:
    assert draw(look(*BRANCHES)) == [
        "sample                                                            running 1m 40s",
        "run r1 · flows/main.yaml · in /home/me/project",
        "plan → left",
        "✓ plan  → left, right 1.0s",
        "✓ left  → join 2.0s",
        "◐ right script right.sh 1m 35s",
        "2 visits over · 1 at work · drumline logs, drumline why",
    ]


def test_a_join_is_shown_with_the_branches_it_waits_for() -> None:
    lines = draw(look(*BRANCHES, ended("right", "middle"), started("middle")))

    assert "· join   waits for middle" in lines


def test_the_board_shows_how_far_a_map_is() -> None:
    lines = draw(look(*ITEMS))

    assert any(line.startswith("◐ each#1[1]/one script one.sh") for line in lines)
    assert any(line.split() == ["◐", "each", "1/3", "items,", "1", "at", "work"] for line in lines)


def test_a_node_that_called_a_flow_is_shown_with_what_acts_inside() -> None:
    lines = draw(look(*CODING))

    assert any(line.startswith("◐ coder ") and "calls flow sample" in line for line in lines)
    assert any(line.startswith("◐ coder#1/implement script implement.sh") for line in lines)


def test_a_gate_is_shown_with_a_command_that_can_be_pasted() -> None:
    lines = draw(parked())

    assert "? review: Is it good?" in lines
    assert "  drumline answer review 'ship it' --resume  (ship it, no or any text)" in lines


def test_an_answer_that_nobody_has_seen_yet_is_shown() -> None:
    assert "  answered: no" in draw(parked(answers="review=no"))


def test_without_a_driver_what_was_at_work_is_lost() -> None:
    lines = draw(look(*BRANCHES, live=False))

    assert lines[0].startswith("sample")
    assert "interrupted" in lines[0]
    assert "! right lost with its driver; drumline resume begins it again" in lines
    assert lines[-1].endswith(" · drumline resume r1")


def test_a_visit_that_waits_for_a_flow_with_an_open_question_is_not_lost() -> None:
    gate = GateId("coder#1/ask")
    asked = ev.GateOpened(gate=gate, kind=GateKind.APPROVAL, question="Go on?", options=("yes",), free=True)
    snapshot = look(*CALLED, live=False, said=[asked, ev.RunParked(gates=(gate,))])

    lines = draw(snapshot)
    data = status_json(snapshot)
    found = why(snapshot, "coder")

    assert [line for line in lines if "lost" in line or line.startswith("!")] == []
    assert next(line.split() for line in lines if "calls flow" in line)[1:4] == ["coder", "calls", "flow"]
    assert [one["lost"] for one in data["at_work"]] == [False]  # type: ignore[attr-defined]  # it is a list
    assert (found.state, found.gate) == ("waiting", gate)
    assert found.hint == "drumline answer 'coder#1/ask' yes --resume"


def test_of_a_call_that_was_cut_short_only_what_acted_in_it_is_begun_again() -> None:
    snapshot = look(*CODING, live=False)

    assert why(snapshot).text == "no driver is running; coder#1/implement was at work and is begun again"
    assert [line.split(maxsplit=2)[1] for line in draw(snapshot) if "lost" in line] == ["coder#1/implement"]


def test_why_a_node_went_to_its_fallback_is_told_everywhere() -> None:
    back = NodeEnded(node=NodeId("plan"), visit=1, next=(NodeId("join"),), fell_back="timed out after 1s")
    events = [begin_main(), started("plan"), back]
    snapshot = look(*events)
    (trace,) = walk_of(snapshot).recent

    told = tell(*events)[-1]
    shown = [*draw(snapshot), why(snapshot, "plan").text, *head_lines(walk_of(snapshot), trace, None), told.text]

    assert sum("timed out after 1s" in line for line in shown) == 4
    assert told.data["fell_back"] == "timed out after 1s"
    assert status_json(snapshot)["recent"][0]["fell_back"] == "timed out after 1s"  # type: ignore[index]  # a list


def test_the_end_shows_its_node_and_the_first_lines_of_its_output() -> None:
    lines = draw(done())

    assert lines[-4:] == [
        "done at done",
        "  shipped",
        "  with care",
        "13 visits over · drumline logs, drumline why",
    ]


def test_a_failure_shows_its_reason_without_signs_a_terminal_would_obey() -> None:
    lines = draw(failed())

    assert "✗ plan exit code 3[31m 1.0s" in lines
    assert "failed: node 'plan': exit code 3" in lines


@given(wide=st.integers(1, 130), high=st.integers(1, 40), tick=st.integers(0, 9), snapshot=st.sampled_from(EVERY))
def test_no_line_is_wider_and_no_board_higher_than_there_is_room_for(
    wide: int, high: int, tick: int, snapshot: Snapshot
) -> None:
    rows = board_segments(snapshot, width=wide, height=high, tick=tick)

    assert len(rows) <= max(8, high)
    assert all(width("".join(text for text, _ in row)) <= max(40, wide) for row in rows)


@pytest.mark.parametrize("snapshot", EVERY)
def test_every_stage_fits_into_the_smallest_terminal(snapshot: Snapshot) -> None:
    lines = draw(snapshot, wide=40, high=8)

    assert len(lines) <= 8
    assert all(width(line) <= 40 for line in lines)


def test_a_flow_that_cannot_be_read_does_not_keep_people_from_looking() -> None:
    snapshot = seen(history_of(*BRANCHES, flows={}))

    assert walk_of(snapshot).root is None
    assert any("the flow cannot be shown: main is gone" in line for line in draw(snapshot))
    assert why(snapshot, "right").state == "running"
    assert status_json(snapshot)["problem"] == "main is gone"


# --- status -----------------------------------------------------------------------------------------------------


def test_status_names_the_nodes_at_work_with_their_scopes() -> None:
    data = status_json(look(*CODING))

    assert json.loads(json.dumps(data)) == data
    assert (data["schema_version"], data["run"], data["state"], data["flow"]) == (1, RUN, "running", "sample")
    work = data["at_work"]
    assert isinstance(work, list)
    assert [(one["visit"], one["scope"], one["lost"]) for one in work] == [
        ("coder", "", False),
        ("coder#1/implement", "coder#1", False),
    ]
    assert data["visits"] == {"plan": 1, "left": 1, "right": 1, "middle": 1, "join": 1, "each": 1, "coder": 1}


def test_status_of_a_parked_run_has_its_gates_and_a_hint() -> None:
    data = status_json(parked())

    gates = data["gates"]
    assert isinstance(gates, list)
    assert data["reason"] == "waiting for an answer to review"
    assert (gates[0]["id"], gates[0]["options"], gates[0]["free"]) == ("review", ["ship it", "no"], True)
    assert gates[0]["hint"] == "drumline answer review 'ship it' --resume"


def test_status_of_a_run_that_ended_has_its_status_and_output() -> None:
    data = status_json(done())

    assert (data["state"], data["status"], data["end"], data["output"]) == (
        "done",
        "done",
        "done",
        "shipped\nwith care",
    )


@pytest.mark.parametrize(
    ("snapshot", "first", "last"),
    [
        (
            parked(),
            "run r1 parked: waiting for an answer to review",
            "  drumline answer review 'ship it' --resume",
        ),
        (done(), "run r1 done at done", "  drumline logs --run r1"),
        (failed(), "run r1 failed: node 'plan': exit code 3", "  drumline logs --run r1"),
        (look(*BRANCHES, live=False), "run r1 interrupted: no driver is running", "  drumline logs --run r1"),
    ],
)
def test_the_summary_says_how_it_is_and_what_to_type_next(snapshot: Snapshot, first: str, last: str) -> None:
    lines = summary_lines(summary(snapshot))

    assert (lines[0], lines[-1]) == (first, last)


def test_a_rejected_run_has_failed_and_says_so_once() -> None:
    over = FlowEnded(status=WalkEnd.REJECTED, node=NodeId("done"))
    snapshot = look(begin_main(), over, said=[ev.RunEnded(state=RunEnd.FAILED, reason="rejected")], live=False)

    assert summary_lines(summary(snapshot))[0] == "run r1 failed (rejected) at done"
    assert status_json(snapshot)["status"] == "rejected"


def test_a_row_of_the_list_counts_visits_and_knows_no_total() -> None:
    row = run_row(parked().run, live=False, started_at=STARTED, visits=3)

    assert runs_lines([row], now=STARTED + 5)[1] == "r1   parked  3/-   5.0s ago  flows/main.yaml"


# --- why --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("snapshot", "name", "state", "words"),
    [
        (look(*BRANCHES), "right", "running", "driver d-1 has it: script right.sh, for 1m 35s"),
        (look(*BRANCHES), "left", "over", "it led to join after 2.0s, once right is over, too"),
        (look(*BRANCHES), "plan", "over", "it ended once, it led to left, right"),
        (look(*BRANCHES), "done", "not reached", "has not come here yet; it is reached from review"),
        (look(*BRANCHES, live=False), "right", "lost", "begun again and costs no visit (no driver is running)"),
        (look(*BRANCHES, ended("right", "middle")), "join", "waiting", "waits for other branches of its round: middle"),
        (look(*BRANCHES, ended("right", "middle")), "middle", "waiting", "it is about to begin"),
        (look(*BRANCHES, ended("right", "middle"), live=False), "middle", "waiting", "it is due; no driver is running"),
        (look(*ITEMS), "each", "running", "1 of 3 items are over, 1 at work"),
        (look(*ITEMS), "each#1[0]/one", "over", "its result was collected"),
        (look(*ITEMS), "one", "running", "script one.sh"),
        (look(*MAPPED), "each", "over", "all its items were collected"),
        (look(*CODING), "coder", "running", "calls flow sample, for 1m 22s; there coder#1/implement acts"),
        (look(*CODING), "implement", "running", "script implement.sh"),
        (look(*CODED), "coder#1/implement", "over", "it led to over"),
        (parked(), "review", "parked", "gate review asks: Is it good? (ship it, no or any text)"),
        (parked(answers="review=no"), "review", "parked", "answered with 'no', which counts as soon as a driver looks"),
        (parked(), "", "parked", "gate review asks"),
        (done(), "done", "over", "and the flow ended here"),
        (done(), "", "done", "the walk came to done"),
        (failed(), "plan", "failed", "exit code 3"),
        (failed(), "left", "not reached", "the walk never came here"),
        (failed(), "", "failed", "the walk could not go on: node 'plan': exit code 3"),
        (look(*CODING), "", "running", "at work: coder#1/implement (1m 20s)"),
        (look(*BRANCHES, live=False), "", "interrupted", "no driver is running; right was at work and is begun again"),
        (look(begin_main()), "", "running", "is about to go on"),
    ],
)
def test_why_says_what_a_place_waits_for(snapshot: Snapshot, name: str, state: str, words: str) -> None:
    found = why(snapshot, name)

    assert found.state == state
    assert words in found.sentence
    assert found.hint.startswith("drumline ")
    assert json.loads(json.dumps(why_json(snapshot.run.id, found)))["state"] == state


def test_why_refuses_a_name_that_nothing_has_and_says_what_there_is() -> None:
    with pytest.raises(InvalidInput, match=r"no node or visit 'nobody' \(nodes: plan, left"):
        why(look(*BRANCHES), "nobody")


def test_a_visit_that_was_never_made_is_refused() -> None:
    with pytest.raises(InvalidInput, match="plan#2"):
        why(look(*BRANCHES), "plan#2")


def test_a_map_whose_flow_has_failed_waits_for_nobody() -> None:
    over = FlowEnded(status=WalkEnd.FAILED, reason="item 1 failed")
    snapshot = look(
        *ITEMS, ended("one", scope="each#1[1]", failure="no"), over, said=[ev.RunEnded(state=RunEnd.FAILED)]
    )

    found = why(snapshot, "each")

    assert (found.state, found.kind) == ("failed", "finished")
    assert "of 3 items had been collected" in found.text


def test_a_visit_that_was_lost_and_waits_says_so() -> None:
    gone = NodeLost(node=NodeId("right"), visit=1, driver=DRIVER)

    assert why(look(*BRANCHES, gone, live=False), "right").state == "lost"
    assert why(look(*BRANCHES, gone), "right").state == "waiting"


def test_a_visit_that_was_cut_short_by_the_end_says_so() -> None:
    gone = NodeLost(node=NodeId("right"), visit=1, driver=DRIVER)
    over = FlowEnded(status=WalkEnd.CANCELLED, reason="enough")
    snapshot = look(*BRANCHES, gone, over, said=[ev.RunEnded(state=RunEnd.CANCELLED, reason="enough")], live=False)

    found = why(snapshot, "right")

    assert (run_state(snapshot), found.state) == ("cancelled", "lost")
    assert "cut short" in found.sentence


def test_after_a_failure_nothing_new_begins_and_why_names_it() -> None:
    small = flow(script("a", "b c"), script("b", "end"), script("c", "end"), end(), settings=FlowSettings())
    events = [begin_main(), *did("a", "b c"), started("b"), ended("b", failure="broke")]

    found = why(seen(history_of(*events, flows={"main": small.flow})), "c")

    assert (found.state, "nothing new begins after a failure: node 'b': broke" in found.sentence) == ("waiting", True)


# --- logs -------------------------------------------------------------------------------------------------------


def chart_of(started: FlowStarted) -> Chart:
    """The flow by its path."""
    return Chart({"main": MAIN, "coder": CODER}[started.path])


def test_a_name_covers_the_visits_inside_it() -> None:
    snapshot = walk_of(look(*CODED))

    assert find_visits(snapshot, "coder") == [
        Key("", NodeId("coder"), 1),
        Key("coder#1", NodeId("implement"), 1),
        Key("coder#1", NodeId("over"), 1),
    ]
    assert len(find_visits(snapshot, "each")) == 3
    assert find_visits(snapshot, "each#1[2]") == [Key("each#1[2]", NodeId("one"), 1)]
    assert find_visits(snapshot, "review") == []
    assert len(find_visits(snapshot)) == len(snapshot.traces)


def test_the_state_after_a_visit_is_that_of_its_moment() -> None:
    key = Key("", NodeId("plan"), 1)
    first = ended("plan", "left right", writes={"n": 1})
    later = [begin_main(), started("plan"), first, started("left"), started("right")]
    later += [ended("left", "join", writes={"n": 2}), ended("right", "middle")]

    moments = list(replay(later, {key}, chart_of))

    assert [(moment.key, dict(moment.writes)) for moment in moments] == [(key, {"n": 1})]
    assert moments[0].values == {"items": ["x", "y", "z"], "n": 1}
    assert '    "n": 1' in state_lines(moments[0])


def test_long_texts_are_cut_in_a_state_and_say_how_long_they_are() -> None:
    key = Key("", NodeId("plan"), 1)
    events = [begin_main(), started("plan"), ended("plan", "left right", writes={"text": "y" * 9_000})]

    (moment,) = replay(events, {key}, chart_of)

    line = next(line for line in state_lines(moment) if '"text"' in line)
    assert line.endswith('yy… (9,000 characters)"')
    assert len(line) < 600


def test_a_flow_that_keeps_no_states_says_so() -> None:
    quiet = flow(script("plan", "end"), end(), settings=FlowSettings(log_state_snapshots=False))
    events = [begin_main(), *did("plan", "end")]

    (moment,) = replay(events, {Key("", NodeId("plan"), 1)}, lambda started: quiet)

    assert state_lines(moment) == ["  flow sample keeps no states (log_state_snapshots: false)"]


def test_logs_belong_to_the_visit_in_their_name() -> None:
    keys = [Key("", NodeId("a.b"), 1), Key("", NodeId("a"), 1), Key("a#1", NodeId("ask"), 12)]
    names = ["a.b#1.script.log", "a#1.agent-1.log", "a#1.prompt-1.md", "a#1~ask#12.check-1.lost-1.log", "other"]
    names += ["a#1.model-1.log.prompt"]

    found = match_logs(names, keys, prompts=False)

    assert list(found.values()) == [["a.b#1.script.log"], ["a#1.agent-1.log"], ["a#1~ask#12.check-1.lost-1.log"]]
    assert match_logs(names, keys, prompts=True)[keys[1]] == [
        "a#1.agent-1.log",
        "a#1.prompt-1.md",
        "a#1.model-1.log.prompt",
    ]


def test_logs_of_a_step_belong_to_the_visits_in_which_its_attempts_and_checks_were_made() -> None:
    work, test = Key("", NodeId("work"), 2), Key("", NodeId("test"), 1)
    tree = Tree("t")
    events: list[ev.Event] = [
        NodeStarted(node=NodeId("workspace"), visit=1),
        ev.WorkspaceAssigned(path="p", base=Commit("c")),
        begun_attempt(node="work", visit=2, attempt=3, by_visit=False),
        NodeStarted(node=test.node, visit=1),
        ev.CheckStarted(check=0, command="true", tree=tree),
    ]
    names = ["setup.log", "attempt-3.lost-1.log", "attempt-3.log", "prompt-3.md", "check-3-1.log", "base-3-1.log"]

    found = match_logs([*names, "attempt-2.log"], [work, test], prompts=False, numbered=number_logs(events))

    assert found == {work: ["attempt-3.lost-1.log", "attempt-3.log"], test: ["check-3-1.log", "base-3-1.log"]}
    workspace = Key("", NodeId("workspace"), 1)
    assert match_logs(names, [workspace, work], prompts=True, numbered=number_logs(events)) == {
        workspace: ["setup.log"],
        work: ["attempt-3.lost-1.log", "attempt-3.log", "prompt-3.md"],
    }


# --- progress ---------------------------------------------------------------------------------------------------


def test_progress_tells_what_happens_in_the_words_of_visits() -> None:
    events = [
        begin_main(),
        started("plan"),
        ended("plan", "left right", writes={"plan": "long" * 1_000}),
        FlowStarted(flow="coder", path="coder", scope="coder#1"),
        started("implement", "coder#1"),
        ended("implement", scope="coder#1", failure="exit code 3\nand more"),
        NodeLost(node=NodeId("fix"), visit=2),
        ASKED,
        ANSWERED,
        FlowEnded(status=WalkEnd.FAILED, reason="because"),
    ]

    lines = tell(*events)

    assert [line.text for line in lines] == [
        "flow sample started",
        "node plan started",
        "plan ended → left, right (10s)",
        "coder#1 calls flow coder",
        "node coder#1/implement started",
        "coder#1/implement failed: exit code 3 and more (10s)",
        "fix#2 was cut short with its driver; it is begun again and costs no visit",
        "gate review asks: Is it good? (ship it, no or any text) → drumline answer review 'ship it'",
        "gate review answered no by ann: too long",
        "flow failed: because",
    ]
    assert {line.event for line in lines} <= {name for name, _ in FLOW_PROGRESS}
    assert lines[2].data["wrote"] == ["plan"]
    assert len(json.dumps([line.data for line in lines])) < 4_000


def test_what_is_lost_as_the_flow_ends_is_not_said_to_be_begun_again() -> None:
    lost, over = NodeLost(node=NodeId("fix"), visit=2), FlowEnded(status=WalkEnd.CANCELLED)

    lines = tell(lost, over, cancelled=True)

    assert [line.text for line in lines] == ["fix#2 was cut short with its driver", "flow cancelled"]


def test_a_line_as_data_names_node_scope_and_visit() -> None:
    (line,) = tell(started("implement", "coder#1"))

    data = {key: line.data[key] for key in ("event", "node", "scope", "visit")}
    assert data == {"event": "node_started", "node": "implement", "scope": "coder#1", "visit": 1}


def test_a_question_without_options_is_answered_with_text() -> None:
    opened = ev.GateOpened(
        gate=GateId("who#2"), kind=GateKind.INPUT, question="Who?", options=(), free=True, rule="len(input) >= 3"
    )

    (line,) = tell(opened)

    assert line.text == "gate who#2 asks: Who? (any text with len(input) >= 3) → drumline answer 'who#2' TEXT"


def test_nodes_that_ask_are_parked_one_by_one() -> None:
    two = flow(script("a", "who"), ask_name("who", "sure"), approval("sure", "end"), end())
    opened = ev.GateOpened(gate=GateId("who"), kind=GateKind.INPUT, question="Who?", options=(), free=True)
    history = history_of(begin_main(), *did("a", "who"), flows={"main": two.flow}, said=[opened])

    assert why(seen(history), "who").state == "parked"
    assert why(seen(history), "sure").state == "not reached"
    assert why(seen(history, live=False), "who").hint == "drumline answer who TEXT --resume"


def test_a_row_counts_the_ends_of_visits_with_those_of_end_nodes() -> None:
    entries = [
        Recorded(seq=number, stream=Stream(RUN, FLOW), version=number, at=STARTED, event=event)
        for number, event in enumerate(DONE, start=1)
    ]

    assert count_visits(entries) == len(walk_of(done()).walked) == 13
