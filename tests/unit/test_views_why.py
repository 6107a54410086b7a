"""Why: every unfinished step has a live owner, a timer or a named blocker, and a command to type next."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import (
    DRIVER,
    RUN,
    STARTED,
    TREE,
    TREE_2,
    Scene,
    attempt,
    attempted,
    checked,
    finish,
    gate_for,
    prepared,
    record,
    run_started,
    step_of,
)

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import Commit, GateId, StepId
from drumline.core.plan import Check, Correction, Marks, Status
from drumline.core.proof import Against, Colour, Compared
from drumline.core.testids import Report
from drumline.core.vocabulary import GateKind, PlanCause, RunEnd, StepStanding
from drumline.errors import InvalidInput
from drumline.record import replace
from drumline.views.board import board_segments
from drumline.views.causes import list_rounds, round_hint
from drumline.views.evidence import Evidence, evidence_json, evidence_lines
from drumline.views.progress import Progress
from drumline.views.states import step_state
from drumline.views.summary import summary
from drumline.views.why import Why, why, why_json

CHAIN = [step_of("step-1"), step_of("step-2", "step-1"), step_of("step-3", "step-2")]
FORK = [step_of("step-1"), step_of("step-2"), step_of("step-3", "step-1", "step-2")]
LONE = [step_of("step-1"), step_of("step-2")]


def ask(scene: Scene, step: str) -> Why:
    """The answer for one step."""
    return why(scene.snapshot(), StepId(step))


def test_a_running_step_names_its_owner_and_what_it_does() -> None:
    streams = {"step-1": [*prepared(), *attempted(1), *checked(exit_code=1), attempt(2)]}

    found = ask(Scene(steps=CHAIN, streams=streams, owners={"step-1": "d7"}), "step-1")

    assert (found.kind, found.owner, found.hint) == ("owner", "d7", "drumline logs step-1")
    assert found.sentence == "step-1 is running: driver d7 has it: implement, attempt 2 (fix 1 of 2), for 10s"


def test_the_worktree_of_a_step_is_named_until_it_is_done() -> None:
    streams = {"step-1": [*prepared(), *attempted(1)]}

    idle = ask(Scene(steps=CHAIN, streams=streams), "step-1")
    done = ask(Scene(steps=CHAIN, streams=streams, events=[finish("step-1")]), "step-1")

    assert idle.worktree == "w"
    assert why_json(RUN, idle)["worktree"] == "w"
    assert (done.worktree, why_json(RUN, done)["worktree"]) == ("", None)


def test_a_step_waiting_between_tries_names_the_timer() -> None:
    failed = attempted(1, failure="transient", message="429")
    streams = {"step-1": [*prepared(), *failed, attempt(2, delay=14.0)]}

    found = ask(Scene(steps=CHAIN, streams=streams, owners={"step-1": "d1"}), "step-1")

    assert (found.kind, found.until) == ("timer", STARTED + 100 - 10 + 14)
    assert "attempt 2 in 4.0s" in found.sentence


def test_a_wait_that_is_over_is_work() -> None:
    failed = attempted(1, failure="transient", message="429")
    streams = {"step-1": [*prepared(), *failed, attempt(2, delay=4.0)]}

    found = ask(Scene(steps=CHAIN, streams=streams, owners={"step-1": "d1"}), "step-1")

    assert (found.kind, found.until) == ("owner", None)
    assert "attempt 2, for 6.0s" in found.sentence


def test_needs_are_followed_to_the_root() -> None:
    found = ask(Scene(steps=CHAIN, events=[finish("step-1", "blocked", reason="no luck")]), "step-3")

    assert found.sentence == "step-3 is waiting: needs step-2, which needs step-1, which is blocked: no luck"
    assert found.chain == ("step-3", "step-2", "step-1")
    assert (found.kind, found.hint) == ("blocker", "drumline retry step-1")


def test_of_several_needs_the_worst_is_followed() -> None:
    scene = Scene(steps=FORK, events=[finish("step-2", "failed", reason="broke")], owners={"step-1": "d1"})

    found = ask(scene, "step-3")

    assert found.sentence == "step-3 is waiting: needs step-1 (running), step-2 (failed); step-2 is failed: broke"
    assert found.hint == "drumline retry step-2"


def test_a_long_chain_is_shortened_and_still_names_its_root() -> None:
    steps = [step_of("s0"), *(step_of(f"s{n}", f"s{n - 1}") for n in range(1, 3_000))]

    found = ask(Scene(steps=steps, events=[finish("s0", "blocked", reason="no luck")]), "s2999")

    assert len(found.sentence) < 300
    assert found.sentence.endswith("which needs s0, which is blocked: no luck")
    assert len(found.chain) == 3_000


def test_a_gate_is_shown_with_its_question_and_options() -> None:
    found = ask(Scene(steps=LONE, events=[gate_for("proceed-step-1", "step-1", question="Sure?\nReally?")]), "step-1")

    assert found.sentence == (
        "step-1 is parked: waiting for an answer to gate proceed-step-1: Sure? Really? (yes or no)"
    )
    assert (found.gate, found.hint) == ("proceed-step-1", "drumline answer proceed-step-1 yes")


def test_without_a_driver_the_answer_also_drives_on() -> None:
    found = ask(Scene(steps=LONE, events=[gate_for("g", "step-1")], live=[]), "step-1")

    assert found.hint == "drumline answer g yes --resume"


def test_a_gate_that_is_answered_asks_for_a_driver_only() -> None:
    found = ask(Scene(steps=LONE, events=[gate_for("g", "step-1")], answers={"g": "no"}, live=[]), "step-1")

    assert "answered with 'no'" in found.sentence
    assert found.hint == "drumline resume"


def test_the_gate_of_a_need_is_named_to_its_dependents() -> None:
    found = ask(Scene(steps=CHAIN, events=[gate_for("g", "step-1")]), "step-3")

    assert (found.gate, found.hint) == ("g", "drumline answer g yes")


def test_a_foreign_claim_names_who_and_until_when() -> None:
    marks = {"step-1": Marks(status=Status.CLAIMED, assignee="ann", claimed_at="noon")}

    found = ask(Scene(steps=LONE, marks=marks, claim_times={"step-1": STARTED}), "step-1")

    assert (found.kind, found.until) == ("timer", STARTED + 3_600)
    assert "claimed by ann since noon; the claim counts for another 58m 20s" in found.sentence


def test_a_mark_in_the_file_is_quoted() -> None:
    marks = {"step-1": Marks(status=Status.BLOCKED, reason="waits for the bank")}

    found = ask(Scene(steps=LONE, marks=marks), "step-1")

    assert found.sentence == "step-1 is blocked: plan/step-1.md marks it blocked: waits for the bank"
    assert found.hint == "drumline retry step-1"


def test_an_unowned_claim_says_that_a_person_will_be_asked() -> None:
    found = ask(Scene(steps=LONE, marks={"step-1": Marks(status=Status.CLAIMED)}), "step-1")

    assert "marked in progress without owner or time" in found.sentence


def test_sequential_mode_names_the_step_in_work() -> None:
    found = ask(Scene(steps=LONE, started=run_started(mode="sequential"), owners={"step-1": "d1"}), "step-2")

    assert found.sentence == "step-2 is ready: one step at a time, and step-1 is in work"


def test_parallel_mode_names_who_fills_the_slots() -> None:
    found = ask(Scene(steps=LONE, owners={"step-1": "d1"}), "step-2")

    assert found.sentence == "step-2 is ready: no free slot: step-1 in work"


def test_a_step_about_to_be_taken_names_the_driver() -> None:
    found = ask(Scene(steps=LONE), "step-1")

    assert (found.kind, found.owner) == ("owner", DRIVER)


def test_an_interrupted_run_is_to_be_resumed() -> None:
    found = ask(Scene(steps=CHAIN, live=[]), "step-2")

    assert found.hint == "drumline resume"
    assert "no driver is running" in found.sentence


def test_a_cancelled_run_is_started_anew() -> None:
    events = [ev.CancelRequested(by="ann", reason="wrong plan"), ev.RunEnded(state=RunEnd.CANCELLED)]

    found = ask(Scene(steps=LONE, events=events, live=[]), "step-1")

    assert found.sentence == "step-1 is ready: the run was cancelled by ann: wrong plan"
    assert found.hint == "drumline run plan --new"


def test_a_run_stopped_at_a_wave_is_resumed() -> None:
    stopped = ev.GateAnswered(gate=GateId("wave-1"), choice="stop")
    events = [
        gate_for("wave-1", options=("continue", "stop")),
        stopped,
        ev.RunEnded(state=RunEnd.FAILED, reason="stopped"),
    ]

    found = ask(Scene(steps=LONE, events=events, live=[]), "step-1")

    assert found.sentence == "step-1 is ready: the run ended as failed: stopped"
    assert found.hint == "drumline resume"


def test_a_run_that_ended_with_work_left_is_resumed() -> None:
    found = ask(Scene(steps=LONE, events=[ev.RunEnded(state=RunEnd.BLOCKED, reason="x")], live=[]), "step-1")

    assert found.hint == "drumline resume"


def test_a_step_of_another_repository_says_whose_it_is() -> None:
    steps = [step_of("step-1"), replace(step_of("step-2"), elsewhere="Backend")]

    found = ask(Scene(steps=steps), "step-2")

    assert (found.kind, found.hint) == ("blocker", "drumline validate plan")
    assert found.sentence == "step-2 is waiting: it is for the repository Backend and is not run here"


def test_a_step_outside_the_run_says_how_to_run_it() -> None:
    found = ask(Scene(steps=LONE, started=run_started(selection=["step-1"])), "step-2")

    assert found.sentence == "step-2 is waiting: not part of this run"
    assert found.hint == "drumline run plan --step step-2"


@pytest.mark.parametrize(
    ("event", "clause"),
    [
        (finish("step-1"), "done: landed as 012345678, proved by 1 of 1 checks"),
        (finish("step-1", proved=False), "done: landed with another tree than the one that its checks ran on"),
        (finish("step-1", proved=False, checks_total=0), "done: landed, but it has no checks that could prove it"),
        (
            finish("step-1", proved=False, checks_total=2),
            "done: landed, but only 1 of its 2 checks could be run",
        ),
        (
            finish("step-1", proved=False, checks_passed=0, checks_total=2),
            "done: landed, but none of its 2 checks could be run",
        ),
        (finish("step-1", "skipped", reason="later"), "skipped: later"),
        (finish("step-1", "failed"), "failed: no reason was recorded"),
        (
            ev.StepsDeclared(steps=(StepId("step-1"),)),
            "done: plan/step-1.md says so; this run has no proof of it",
        ),
    ],
)
def test_a_finished_step_says_how_it_ended(event: ev.Event, clause: str) -> None:
    found = ask(Scene(steps=LONE, events=[event]), "step-1")

    assert found.sentence == f"step-1 is {clause}"
    assert found.kind == "finished"


def test_a_step_the_plan_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no step 'step-9'") as refused:
        ask(Scene(steps=LONE), "step-9")

    assert refused.value.hint == "drumline status"


def test_a_step_names_each_check_with_what_it_says_without_the_work() -> None:
    compared = ev.ComparisonEnded(
        against=Against.BASE,
        tree=TREE,
        found=(Compared(check=0, command="check 1", colour=Colour.RED, log="base-1-1.log"),),
    )
    began = ev.ComparisonStarted(against=Against.BASE)
    streams = {"step-1": [*prepared(), *attempted(1), *checked(), began, compared]}
    step = replace(step_of("step-1"), checks=(Check(command="check 1"),))

    found = ask(Scene(steps=[step], streams=streams), "step-1")

    assert [line for check in found.checks for line in evidence_lines(check)] == [
        "check (step): check 1",
        "  on the work: passes in 0.0s, no test ids",
        "  without the work: fails, base-1-1.log",
    ]
    data = why_json(RUN, found)["checks"]
    assert isinstance(data, list)
    assert data[0]["compared"][0]["verdict"] == "red"


def test_work_on_a_new_head_still_says_what_its_checks_said_before_it_began() -> None:
    compared = ev.ComparisonEnded(
        against=Against.BASE, tree=TREE, found=(Compared(check=0, command="check 1", colour=Colour.RED, log="b.log"),)
    )
    moved = ev.WorkRebased(base=Commit("b" * 40), ready=TREE, tree=TREE_2)
    began = ev.ComparisonStarted(against=Against.BASE)
    streams = {"step-1": [*prepared(), *attempted(1), *checked(), began, compared, moved]}
    step = replace(step_of("step-1"), checks=(Check(command="check 1"),))

    found = ask(Scene(steps=[step], streams=streams), "step-1")

    assert "  without the work: fails, b.log" in [line for check in found.checks for line in evidence_lines(check)]


@pytest.mark.parametrize(
    ("report", "told"),
    [
        (None, "no test ids"),
        (Report(ran=1), "1 test"),
        (Report(ran=5, failed=1, skipped=2), "5 tests (1 failed, 2 skipped)"),
        (Report(ran=2, complete=False), "2 tests, cut off"),
    ],
)
def test_a_check_says_how_many_tests_it_ran_or_that_it_has_no_ids(report: Report | None, told: str) -> None:
    found = Evidence(command="c", source="step", exit_code=0, was_run=True, log="c.log", report=report)

    assert evidence_lines(found)[1] == f"  on the work: passes in 0.0s, {told}, c.log"
    assert (evidence_json(found)["tests"] is None) is (report is None)


def test_the_answer_is_json() -> None:
    found = ask(Scene(steps=CHAIN), "step-3")

    data = why_json(RUN, found)

    assert json.loads(json.dumps(data)) == data
    assert (data["schema_version"], data["chain"]) == (1, ["step-3", "step-2", "step-1"])


ENDS = st.sampled_from(["", "", "done", "blocked", "failed", "skipped", "gate", "owned"])


@given(
    ends=st.lists(ENDS, min_size=3, max_size=3), live=st.booleans(), mode=st.sampled_from(["parallel", "sequential"])
)
def test_no_unfinished_step_is_without_owner_timer_or_blocker(ends: list[str], live: bool, mode: str) -> None:
    events: list[ev.Event] = []
    owners: dict[str, str] = {}
    for number, end in enumerate(ends, start=1):
        if end == "gate":
            events.append(gate_for(f"g{number}", f"step-{number}"))
        elif end == "owned" and live:
            owners[f"step-{number}"] = DRIVER
        elif end not in ("", "owned"):
            events.append(finish(f"step-{number}", end, reason="r"))
    scene = Scene(
        steps=FORK, started=run_started(mode=mode), events=events, owners=owners, live=[DRIVER] if live else []
    )

    for step in FORK:
        found = why(scene.snapshot(), step.id)

        assert found.state == step_state(scene.snapshot(), step.id)
        assert found.state in tuple(StepStanding)
        assert found.hint.startswith("drumline ")
        if found.state not in ("done", "skipped", "failed"):
            assert found.kind in ("owner", "timer", "blocker")
            assert found.kind != "owner" or found.owner in scene.snapshot().live


def test_a_step_and_its_corrective_step_name_each_other_until_that_is_over() -> None:
    planned = ev.CorrectionPlanned(
        correction=Correction(id=StepId("ah"), title="t", what="w", why="y"),
        helps=StepId("a"),
        cause=PlanCause.HEAL,
        origin=StepId("a"),
        node="heal",
        visit=1,
    )
    filed = ev.PlanChanged(changed=(step_of("ah"), step_of("a", "ah")), cause=PlanCause.HEAL)
    waits = Scene(steps=[step_of("a")], events=[planned, filed, finish("a", "blocked")]).run()
    stuck = Scene(steps=[step_of("a")], events=[planned, filed, finish("a", "blocked"), finish("ah", "blocked")]).run()

    assert round_hint(waits.finished[StepId("a")], waits) == "drumline why ah"
    assert round_hint(stuck.finished[StepId("ah")], stuck) == "drumline why a"
    assert round_hint(stuck.finished[StepId("a")], stuck) == "drumline retry a"


def test_why_and_status_of_a_step_that_a_person_called_not_good_name_its_corrective_step() -> None:
    planned = ev.CorrectionPlanned(
        correction=Correction(id=StepId("am"), title="t", what="w", why="y"),
        helps=StepId("a"),
        cause=PlanCause.MANUAL,
        origin=StepId("a"),
        node="",
        visit=0,
    )
    filed = ev.PlanChanged(changed=(step_of("am"),), cause=PlanCause.MANUAL)
    events = [finish("a"), planned, filed]
    waits, landed = (
        Scene(steps=[step_of("a")], events=events),
        Scene(steps=[step_of("a")], events=[*events, finish("am")]),
    )

    told = [why(one.snapshot(), "a").sentence for one in (waits, landed)]
    rows = board_segments(landed.snapshot(), width=100, height=20, tick=0)

    assert "a person called it not good; am is to put it right (" in told[0]
    assert "a person called it not good; am has landed to put it right" in told[1]
    assert any("not good, see am" in "".join(text for text, _ in row) for row in rows)


def test_the_answer_that_gives_a_step_another_round_can_be_pasted() -> None:
    asked = gate_for("a:what now", "a", options=("try it; again", "stop"))

    run = Scene(steps=[step_of("a")], events=[finish("a", "blocked", reason="x"), asked]).run()

    assert round_hint(run.finished[StepId("a")], run) == "drumline answer 'a:what now' 'try it; again' --resume"


def test_a_blocked_step_has_one_next_command_the_answer_of_its_gate_where_one_is_open() -> None:
    steps = [step_of("a")]
    asked = gates.stuck(GateKind.FAILURE, steps[0], 0, asked=0, reason="still failing")
    ended = ev.RunEnded(state=RunEnd.BLOCKED, step=StepId("a"))
    blocked = finish("a", "blocked", reason="still failing")
    answer = "drumline answer failure-a adapt --comment TEXT --resume"
    with_gate = Scene(steps=steps, events=[blocked, asked, ended], live=[])
    without = Scene(steps=steps, events=[blocked, ended], live=[])

    lively = Scene(steps=steps, events=[blocked, asked])
    lines = Progress(after=2).feed(record(lively.history()), lively.run())

    assert ask(with_gate, "a").hint == answer
    assert not any("drumline" in note for note in ask(with_gate, "a").notes)
    assert summary(with_gate.snapshot()).next[:2] == ("drumline status r1", answer)
    assert [line.text.count("drumline") for line in lines] == [0, 1]
    assert ask(without, "a").hint == "drumline retry a"
    assert summary(without.snapshot()).next == (
        "drumline status r1",
        "drumline retry a --resume",
        "drumline logs a",
    )


def test_a_failed_step_is_tried_again_and_a_rejected_one_is_not() -> None:
    ended = ev.RunEnded(state=RunEnd.FAILED, step=StepId("a"))
    steps = [step_of("a")]

    failed = Scene(steps=steps, events=[finish("a", "failed", reason="x"), ended], live=[]).run()
    rejected = Scene(steps=steps, events=[finish("a", "failed", reason="x", rejected=True), ended], live=[]).run()

    assert list_rounds(failed) == ["drumline retry a --resume"]
    assert list_rounds(rejected) == []


def test_a_run_that_was_cancelled_without_a_reason_is_told_without_one() -> None:
    scene = Scene(steps=LONE, events=[ev.CancelRequested(), ev.RunEnded(state=RunEnd.CANCELLED)], live=[])

    assert why(scene.snapshot()).sentence == "run r1 is cancelled"
