"""Which steps may be driven now, in which order, and what keeps the others back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.unit.builders import Scene, by_hand, finish, gate_for, run_started, step_of

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import GateId, StepId
from drumline.core.needs import satisfied, settled, unmet
from drumline.core.plan import Marks, Status, Step
from drumline.core.runfold import fold_run
from drumline.core.schedule import Obstacle, Surroundings, assignee, next_step, obstacle, ready, side_by_side
from drumline.core.state import RunState
from drumline.core.vocabulary import Hindrance
from drumline.core.waves import find_barrier, find_due_wave, manual_items
from drumline.record import replace

NOW = 10_000.0
HOUR = 3_600.0
A, B = StepId("a"), StepId("b")
ALONE = [step_of("a")]
DIAMOND = [step_of("a"), step_of("b", "a"), step_of("c", "a"), step_of("d", "b", "c")]
FOREIGN = Marks(status=Status.CLAIMED, assignee="somebody", claimed_at="then")
READY = Marks()


def around(
    marks: Mapping[str, Marks] | None = None,
    *,
    claimed: Sequence[str] = (),
    times: Mapping[str, float | None] | None = None,
    now: float = NOW,
) -> Surroundings:
    """The world at one moment; claims in files are an hour from being stale unless `times` says otherwise."""
    return Surroundings(
        claimed=frozenset(StepId(c) for c in claimed),
        marks={StepId(s): m for s, m in (marks or {}).items()},
        now=now,
        stale_after=HOUR,
        claim_times={StepId(s): t for s, t in (times or {}).items()},
    )


def run_of(steps: Sequence[Step], *events: ev.Event, started: ev.RunStarted | None = None) -> RunState:
    """A run told by its events."""
    return Scene(steps=steps, started=started or run_started(), events=events).run()


def blocker(run: RunState, step: str, harness: Surroundings | None = None) -> Obstacle | None:
    """What keeps a step back."""
    return obstacle(run, run.plan.by_id[StepId(step)], harness or around())


def kind(found: Obstacle | None) -> str:
    """Its kind, or nothing."""
    return found.kind if found else ""


# --- needs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "met"), [("done", True), ("skipped", True), ("blocked", False), ("failed", False), ("", False)]
)
def test_a_need_is_met_by_what_is_done_or_skipped(state: str, met: bool) -> None:
    run = run_of(DIAMOND, *([finish("a", state)] if state else []))

    assert satisfied(run, A) is met
    assert settled(run, A) is bool(state)
    assert kind(blocker(run, "b")) == ("" if met else "needs")


def test_a_need_is_met_by_what_is_declared_done() -> None:
    run = run_of(DIAMOND, ev.StepsDeclared(steps=(A,)))

    assert satisfied(run, A)
    assert settled(run, A)
    assert blocker(run, "b") is None


def test_a_need_is_met_by_a_step_that_is_done_elsewhere() -> None:
    steps = [replace(step_of("a"), elsewhere="other-repository"), step_of("b", "a")]

    assert unmet(run_of(steps), steps[1]) == []


def test_all_needs_have_to_be_met() -> None:
    one = run_of(DIAMOND, finish("a"), finish("b"))
    both = fold_run(run_of(DIAMOND, finish("a"), finish("b")), [finish("c")])

    assert unmet(one, DIAMOND[3]) == ["c"]
    assert blocker(one, "d") == Obstacle(kind=Hindrance.NEEDS, text="needs c", steps=(StepId("c"),))
    assert blocker(both, "d") is None


def test_a_reopened_need_is_not_met_any_more() -> None:
    run = run_of(DIAMOND, finish("a", "skipped"), ev.StepReopened(step=A))

    assert kind(blocker(run, "b")) == "needs"


# --- needs that follow from the order ---------------------------------------------------------------------------

LINE = [replace(step_of(name, *needs), ordered=True) for name, needs in (("a", ()), ("b", ("a",)), ("c", ("b",)))]
OTHERS = replace(LINE[1], elsewhere="other-repository")
PASSED: list[tuple[list[Step], list[ev.Event]]] = [
    ([LINE[0], OTHERS, LINE[2]], []),
    (LINE, [finish("b", "skipped")]),
    (LINE, [ev.StepsDeclared(steps=(B,))]),
    (LINE, [finish("b")]),
]


@pytest.mark.parametrize(("steps", "events"), PASSED, ids=["elsewhere", "skipped", "declared", "done"])
@pytest.mark.parametrize("state", ["blocked", "failed", ""])
def test_what_is_in_order_waits_for_all_that_stands_before_it(
    steps: list[Step], events: list[ev.Event], state: str
) -> None:
    run = run_of(steps, *events, *([finish("a", state)] if state else []))

    assert blocker(run, "c") == Obstacle(kind=Hindrance.NEEDS, text="needs a", steps=(A,))


@pytest.mark.parametrize(("steps", "events"), PASSED, ids=["elsewhere", "skipped", "declared", "done"])
def test_what_is_in_order_starts_once_all_before_it_is_done(steps: list[Step], events: list[ev.Event]) -> None:
    run = run_of(steps, *events, finish("a"))

    assert blocker(run, "c") is None


def test_a_need_that_somebody_wrote_is_met_whatever_stands_before_it() -> None:
    steps = [replace(step, ordered=False) for step in LINE]

    assert blocker(run_of(steps, finish("a", "blocked"), finish("b", "skipped")), "c") is None


@pytest.mark.parametrize("status", [Status.BLOCKED, Status.CLAIMED, Status.FAILED])
def test_nothing_starts_behind_a_step_that_stands_still_in_another_repository(status: Status) -> None:
    steps = [LINE[0], OTHERS, LINE[2]]
    changed = ev.PlanChanged(
        changed=(OTHERS,), removed=(), order=(A, B, StepId("c")), digests={}, marks={"b": Marks(status=status)}
    )

    run = run_of(steps, finish("a"), changed)

    assert blocker(run, "c") == Obstacle(kind=Hindrance.NEEDS, text="needs b", steps=(B,))


def test_who_said_to_proceed_at_a_step_is_not_asked_again_behind_it() -> None:
    opened = gates.proceed(LINE[1], [A])
    answered = ev.GateAnswered(gate=opened.gate, choice=gates.YES, by="kim")
    started = run_started(selection=["b", "c"], named=True)

    run = run_of(LINE, opened, answered, finish("b"), started=started)

    assert blocker(run, "c") is None


# --- needs of steps asked for by name ---------------------------------------------------------------------------

NAMED = run_started(selection=["b", "c"], named=True)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], "needs"),
        ([gates.proceed(DIAMOND[1], [A])], "gate"),
        ([gates.proceed(DIAMOND[1], [A]), ev.GateAnswered(gate=GateId("proceed-b"), choice="no")], "needs"),
        ([gates.proceed(DIAMOND[1], [A]), ev.GateAnswered(gate=GateId("proceed-b"), choice="yes")], ""),
    ],
    ids=["not-asked", "asked", "no", "yes"],
)
def test_a_named_step_goes_without_its_needs_only_if_a_person_says_so(events: list[ev.Event], expected: str) -> None:
    assert kind(blocker(run_of(DIAMOND, *events, started=NAMED), "b")) == expected


def test_proceeding_anyway_does_not_skip_needs_that_the_run_is_about_itself() -> None:
    steps = [step_of("a"), step_of("b"), step_of("c", "a", "b")]
    opened = gates.proceed(steps[2], [A, B])
    yes = ev.GateAnswered(gate=opened.gate, choice="yes")
    run = run_of(steps, opened, yes, started=run_started(selection=["b", "c"], named=True))

    found = blocker(run, "c")

    assert found == Obstacle(kind=Hindrance.NEEDS, text="needs b", steps=(B,))


# --- gates and waves --------------------------------------------------------------------------------------------


def test_an_open_gate_about_the_step_keeps_it_back_and_its_answer_lets_it_go() -> None:
    run = run_of(ALONE, gate_for("g", "a"))
    before = blocker(run, "a")

    fold_run(run, [ev.GateAnswered(gate=GateId("g"), choice="yes")])

    assert before == Obstacle(kind=Hindrance.GATE, text="waiting for an answer to gate g", gate=GateId("g"))
    assert blocker(run, "a") is None


WAVES = [step_of("a", manual=["look at a"]), step_of("b", "a"), step_of("c", "b")]


@pytest.mark.parametrize(
    ("autonomy", "steps", "events", "level"),
    [
        ("critical", WAVES, [], None),
        ("critical", WAVES, [finish("a")], 0),
        ("autopilot", WAVES, [finish("a")], None),
        ("verbose", WAVES, [finish("a")], None),
        ("critical", DIAMOND, [finish("a")], None),
        ("critical", WAVES, [finish("a", "skipped")], None),
        ("critical", WAVES, [finish("a", "blocked")], None),
        ("critical", WAVES, [ev.StepsDeclared(steps=(A,))], None),
        ("critical", WAVES, [finish("a"), gates.wave(0, [])], None),
        ("critical", [step_of("a", manual=["look"])], [finish("a")], 0),
        ("critical", [step_of("a"), step_of("b", "a", manual=["look"])], [finish("a"), finish("b")], 1),
    ],
    ids=[
        "not-landed",
        "asks",
        "autopilot",
        "verbose",
        "nothing-manual",
        "skipped",
        "blocked",
        "declared",
        "asked-before",
        "only-wave",
        "last-wave",
    ],
)
def test_a_wave_is_asked_about_once_if_it_landed_with_manual_items(
    autonomy: str, steps: list[Step], events: list[ev.Event], level: int | None
) -> None:
    run = run_of(steps, *events, started=run_started(autonomy=autonomy))

    assert find_due_wave(run, find_barrier(run)) == level


def test_a_wave_waits_for_all_its_steps() -> None:
    steps = [step_of("a", manual=["look"]), step_of("x"), step_of("b", "a")]

    half, whole = run_of(steps, finish("a")), run_of(steps, finish("a"), finish("x"))

    assert find_due_wave(half, find_barrier(half)) is None
    assert find_due_wave(whole, find_barrier(whole)) == 0


def test_a_wave_whose_items_were_asked_about_before_is_not_asked_about_again() -> None:
    steps = [step_of("a", manual=["one"]), step_of("b", manual=["two"]), step_of("c", "a", manual=["early"])]
    steps.append(step_of("d", "c"))
    asked = gates.wave(0, [by_hand(A, "one"), by_hand(B, "two"), by_hand(StepId("c"), "early")])
    run = run_of(steps, finish("a"), finish("c"), finish("b"), asked)

    assert find_due_wave(run, find_barrier(run)) is None


def test_an_open_wave_gate_keeps_deeper_steps_back_but_not_those_in_work_or_beside_it() -> None:
    steps = [*WAVES, step_of("x")]
    asked = gates.wave(0, [by_hand(A, "look at a")])
    waiting = run_of(steps, finish("a"), asked)
    working = run_of(steps, finish("a"), ev.StepStarted(step=B), asked)

    found = blocker(waiting, "b")

    assert found == Obstacle(kind=Hindrance.GATE, text="waiting for an answer to gate wave-1", gate=GateId("wave-1"))
    assert blocker(waiting, "x") is None
    assert blocker(working, "b") is None


@pytest.mark.parametrize(("state", "items"), [("done", ("look at a",)), ("skipped", ()), ("failed", ()), ("", ())])
def test_manual_items_are_those_of_steps_this_run_did(state: str, items: tuple[str, ...]) -> None:
    run = run_of(WAVES, *([finish("a", state)] if state else []))

    assert manual_items(run, WAVES[0]) == items


# --- marks in the files -----------------------------------------------------------------------------------------


def test_a_fresh_foreign_claim_is_respected_until_it_is_stale() -> None:
    run = run_of(ALONE)
    harness = around({"a": FOREIGN}, times={"a": NOW - HOUR + 1})

    fresh = blocker(run, "a", harness)
    stale = blocker(run, "a", replace(harness, now=NOW + 1))

    assert fresh == Obstacle(kind=Hindrance.FOREIGN, text="claimed by somebody since then", until=NOW + 1)
    assert stale is None


@pytest.mark.parametrize(
    ("marks", "time"),
    [
        (Marks(status=Status.CLAIMED), NOW),
        (Marks(status=Status.CLAIMED, assignee="x"), None),
        (Marks(status=Status.CLAIMED, assignee="x", claimed_at="some day"), None),
    ],
    ids=["no-owner", "no-time", "bad-time"],
)
def test_a_claim_without_owner_or_time_has_to_be_asked_about(marks: Marks, time: float | None) -> None:
    found = blocker(run_of(ALONE), "a", around({"a": marks}, times={"a": time}))

    assert kind(found) == "unowned"


@pytest.mark.parametrize(("choice", "expected"), [("take", ""), ("leave", "marked")])
def test_an_unowned_claim_is_taken_or_left_as_a_person_says(choice: str, expected: str) -> None:
    marks = Marks(status=Status.CLAIMED)
    answer = ev.GateAnswered(gate=gates.claim_id(A), choice=choice)
    run = run_of(ALONE, gates.claim(ALONE[0], marks), answer)

    assert kind(blocker(run, "a", around({"a": marks}))) == expected


def mirrored(marks: Marks) -> ev.PlanMirrored:
    """What this run wrote into a's file."""
    return ev.PlanMirrored(step=A, marks=marks, path="plan/a.md", digest="d")


OURS = Marks(status=Status.CLAIMED, assignee="drumline/r1", claimed_at="then")
HELD = Marks(status=Status.BLOCKED, reason="waiting for gate g")


@pytest.mark.parametrize(
    ("events", "marks"),
    [
        ([], OURS),
        ([mirrored(HELD)], HELD),
        (
            [mirrored(HELD), gate_for("g", "a"), ev.GateAnswered(gate=GateId("g"), choice="yes"), mirrored(Marks())],
            HELD,
        ),
        ([mirrored(OURS)], replace(OURS, claimed_at="later")),
        ([ev.StepReopened(step=A)], Marks(status=Status.FAILED, reason="by hand")),
        ([ev.StepReopened(step=A)], FOREIGN),
    ],
    ids=["assignee", "last-written", "brought-back", "renewed", "reopened-failed", "reopened-claimed"],
)
def test_our_own_marks_do_not_bind_us_nor_those_a_retry_overrules(events: list[ev.Event], marks: Marks) -> None:
    run = run_of(ALONE, *events)

    assert blocker(run, "a", around({"a": marks}, times={"a": NOW})) is None
    assert assignee(run) == OURS.assignee


@pytest.mark.parametrize("status", [Status.BLOCKED, Status.FAILED, Status.SKIPPED])
@pytest.mark.parametrize("reason", ["", "too hard"])
def test_a_step_marked_by_hand_is_left_alone(status: Status, reason: str) -> None:
    found = blocker(run_of(ALONE), "a", around({"a": Marks(status=status, reason=reason)}))

    assert found is not None
    assert (found.kind, found.text) == (
        "marked",
        f"plan/a.md marks it {status.value}" + (f": {reason}" if reason else ""),
    )


@pytest.mark.parametrize("status", [Status.READY, Status.DONE])
def test_ready_and_done_are_no_obstacle(status: Status) -> None:
    assert blocker(run_of(ALONE), "a", around({"a": Marks(status=status)})) is None


def pinned_with(marks: Marks) -> RunState:
    """A run that found these marks in a's file, left by an earlier run of ours."""
    pinned = ev.PlanPinned(format="dag", title="", steps=tuple(ALONE), digests={}, marks={"a": marks}, inherited=(A,))
    return fold_run(RunState(id=run_of(ALONE).id), [run_started(), pinned])


@pytest.mark.parametrize("marks", [replace(OURS, assignee="drumline/r0"), HELD, Marks(status=Status.FAILED)])
def test_leftovers_of_an_earlier_run_of_ours_bind_nobody(marks: Marks) -> None:
    run = pinned_with(marks)

    assert blocker(run, "a", around({"a": marks}, times={"a": NOW})) is None


def test_a_claim_that_somebody_put_in_place_of_a_leftover_is_respected() -> None:
    run = pinned_with(HELD)

    assert kind(blocker(run, "a", around({"a": FOREIGN}, times={"a": NOW}))) == "foreign"


# --- order ------------------------------------------------------------------------------------------------------


LONG = [step_of("x"), step_of("a"), step_of("b", "a"), step_of("c", "b"), step_of("y")]


def test_sequential_mode_takes_plan_order() -> None:
    run = run_of(LONG, started=run_started(mode="sequential"))

    assert [s.id for s in ready(run, around())] == ["x", "a", "y"]


def test_parallel_mode_takes_the_head_of_the_longest_chain_first_and_plan_order_among_equals() -> None:
    assert [s.id for s in ready(run_of(LONG), around())] == ["a", "x", "y"]


def test_the_estimate_decides_what_is_long() -> None:
    steps = [*LONG[:4], replace(LONG[4], estimate=9.0)]

    assert [s.id for s in ready(run_of(steps), around())] == ["y", "a", "x"]


def test_without_an_estimate_earlier_runs_decide_and_unknown_steps_count_as_the_others_do() -> None:
    steps = [step_of("x"), step_of("a"), replace(step_of("y"), estimate=0.5), step_of("z")]
    started = replace(run_started(), durations={"x": 600.0, "a": 7200.0})

    assert [s.id for s in ready(run_of(steps, started=started), around())] == ["a", "z", "y", "x"]


def test_an_agent_works_on_no_more_steps_than_its_profile_allows_and_the_others_say_so() -> None:
    steps = [replace(step_of(name), agent=agent) for name, agent in zip("abcd", ["one", "one", "", "one"], strict=True)]
    run = run_of(steps, started=replace(run_started(), profiles={"one": {"agent": "codex", "jobs": "1"}}))

    assert [s.id for s in side_by_side(run, steps, 4)] == ["a", "c"]
    assert [s.id for s in side_by_side(run, steps[:3], 4, frozenset({StepId("d")}))] == ["c"]
    waits = blocker(run, "b", around(claimed=["a"]))
    assert waits is not None
    assert (kind(waits), waits.text) == ("agent", "waits for one, which works on a and may have 1 at once")


def test_what_is_claimed_settled_kept_back_or_not_selected_is_not_ready() -> None:
    steps = [step_of(name) for name in "abcde"]
    run = run_of(steps, finish("b"), gate_for("g", "c"), started=run_started(selection=list("abcd")))

    assert [s.id for s in ready(run, around(claimed=["a"]))] == ["d"]


def test_steps_that_own_the_same_file_are_not_chosen_side_by_side() -> None:
    steps = [replace(step_of(name), files=(path,)) for name, path in zip("abc", ["x.py", "x.py", "y.py"], strict=True)]
    run = run_of(steps)

    chosen = side_by_side(run, steps, 3)

    assert [s.id for s in chosen] == ["a", "c"]
    assert kind(blocker(run, "b", around(claimed=["a"]))) == "beside"


def test_a_step_that_runs_alone_waits_and_is_waited_for() -> None:
    steps = [step_of("a"), replace(step_of("b"), alone=True), step_of("c")]
    run = run_of(steps)

    assert [s.id for s in side_by_side(run, steps, 3)] == ["a", "c"]
    assert kind(blocker(run, "b", around(claimed=["a"]))) == "beside"
    assert kind(blocker(run, "a", around(claimed=["b"]))) == "beside"


# --- the next step ----------------------------------------------------------------------------------------------


CLAIMED = Marks(status=Status.CLAIMED)


@pytest.mark.parametrize(
    ("marks", "live", "expected"),
    [
        ({}, [], "a"),
        ({"b": CLAIMED}, [], "b"),
        ({"b": CLAIMED}, ["b"], "a"),
        ({"a": Marks(status=Status.DONE)}, [], "b"),
        ({"a": Marks(status=Status.DONE), "b": Marks(status=Status.BLOCKED)}, [], None),
        ({"a": CLAIMED, "b": CLAIMED}, ["a", "b"], None),
    ],
)
def test_the_next_step_is_the_first_in_progress_without_an_owner_else_the_first_pending(
    marks: dict[str, Marks], live: list[str], expected: str | None
) -> None:
    steps = [step_of("a"), step_of("b", "a")]

    found = next_step(steps, {StepId(s): m for s, m in marks.items()}, frozenset(StepId(s) for s in live))

    assert found == expected
