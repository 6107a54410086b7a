"""What faces say of the attempts at a step: who, for how long, for how much, and what is remarkable."""

from __future__ import annotations

from tests.unit.builders import BASE, TREE, Scene, checked, finish, join, prepared, step_of

from drumline.core import events as ev
from drumline.core.ids import StepId, Tree
from drumline.core.vocabulary import StepEnd
from drumline.record import replace
from drumline.views.attempts import attempt_json, attempt_lines, list_attempts, list_lost
from drumline.views.board import board_segments
from drumline.views.status import status_json
from drumline.views.why import why

A = StepId("a")
UNCHANGED = "it called itself done and had changed no file"


def tried(number: int, agent: str = "", **fields: object) -> list[ev.Event]:
    """An attempt from its beginning to its end."""
    return [
        ev.AttemptStarted(node="implement", attempt=number, tree=TREE, agent=agent),
        ev.AttemptEnded(node="implement", attempt=number, tree=TREE, seconds=75.0, **fields),  # type: ignore[arg-type]
    ]


def scene(*events: ev.Event, **more: object) -> Scene:
    """A run of one step with these attempts."""
    return Scene(steps=[step_of("a")], streams={"a": [*prepared(), *events]}, **more)  # type: ignore[arg-type]


def test_an_attempt_is_told_with_its_agent_its_tokens_and_who_counted_them() -> None:
    events = [
        *tried(1, failure="quota", usage={"input": 10.0, "output": 5.0}, source="codex"),
        *tried(2, "spare", unchanged=True, usage={"input": 20.0, "cost_usd": 0.5}, source="claude", notices=("told",)),
        *tried(3, "spare"),
    ]

    found = list_attempts(scene().run(), events)

    assert attempt_lines(found[1]) == [
        "scripted:demo.yaml failed (quota) after 1m 15s; 10 input and 5 output tokens, unpriced, counted by codex"
    ]
    assert attempt_lines(found[2]) == [
        "spare worked 1m 15s; 20 input tokens, $0.50, counted by claude",
        UNCHANGED,
        "told",
    ]
    assert attempt_lines(found[3]) == ["spare worked 1m 15s"]


def test_an_attempt_as_data_says_what_is_not_priced() -> None:
    found = list_attempts(scene().run(), [*tried(1, usage={"input": 10.0}, source="codex", unchanged=True)])

    assert attempt_json(found[1]) == {
        "attempt": 1,
        "agent": "scripted:demo.yaml",
        "seconds": 75.0,
        "failure": None,
        "lost": False,
        "unchanged": True,
        "usage": {"input": 10, "output": 0, "cached": 0, "cost_usd": None, "attempts": 1, "unpriced": 1, "replayed": 0},
        "source": "codex",
        "notices": [],
    }


def test_why_tells_what_was_used_and_that_nothing_was_changed() -> None:
    counted = ev.UsageCounted(step=A, agent="x", usage={"input": 3.0, "attempts": 1.0, "unpriced": 1.0})
    begun = ev.StepStarted(step=A)

    idle = why(scene(*tried(1, unchanged=True), events=[begun, counted]).snapshot(), A)
    busy = why(scene(*tried(1), events=[begun]).snapshot(), A)

    assert idle.notes == ("x used 3 input tokens, unpriced", f"after attempt 1 {UNCHANGED}")
    assert busy.notes == ()


def test_why_says_of_a_last_attempt_that_added_nothing_that_the_work_is_of_those_before_it() -> None:
    begun = ev.StepStarted(step=A)
    later = ev.AttemptStarted(node="implement", attempt=2, tree=Tree("changed"))
    ended = ev.AttemptEnded(node="implement", attempt=2, tree=Tree("changed"), unchanged=True)
    added = [*tried(1), later, ended]

    open_ = why(scene(*added, events=[begun]).snapshot(), A)
    landed = why(scene(*added, events=[begun, finish("a")]).snapshot(), A)

    assert open_.notes == (
        "attempt 2 called itself done and added nothing; the work is that of the attempts before it",
    )
    assert landed.notes == ()


def test_why_and_logs_name_the_files_and_the_steps_that_work_does_not_fit_to() -> None:
    rebased = ev.WorkRebased(base=BASE, ready=TREE, tree=TREE, conflicts=("a.py",), since=(StepId("b"),))
    conflicting = [*tried(1), *checked(), rebased, *tried(2)]
    red = [*tried(1), *checked(), replace(rebased, conflicts=()), *checked(exit_code=1), *tried(2)]
    begun = ev.StepStarted(step=A)

    told = [list_attempts(scene().run(), events)[2].clash for events in (conflicting, red)]
    notes = [why(scene(*events, events=[begun]).snapshot(), A).notes for events in (conflicting, red)]

    lead = "it does not fit to what landed meanwhile:"
    assert told == [
        f"{lead} text conflict with b in a.py",
        f"{lead} no text conflict, but together with b it fails check 1",
    ]
    assert notes == [(text,) for text in told]
    assert f"begun again: {told[0]}" in attempt_lines(list_attempts(scene().run(), conflicting)[2])


def test_the_board_tells_what_a_run_has_cost_so_far_and_nothing_where_nobody_counts() -> None:
    counts = [{"cost_usd": 0.5, "attempts": 1.0}, {"input": 3.0, "attempts": 1.0, "unpriced": 1.0}]
    events = [ev.UsageCounted(step=A, agent=f"{number}", usage=usage) for number, usage in enumerate(counts)]

    dear, free = (
        join(board_segments(scene(events=told).snapshot(), width=100, height=10, tick=0))[-1] for told in (events, [])
    )

    assert "· $0.50 and 1 attempt unpriced · drumline/" in dear
    assert "unpriced" not in free


def test_why_and_status_tell_what_was_remarkable_about_every_attempt_once() -> None:
    events = [*tried(1, failure="crash", notices=("told", "x\x1b[31m")), *tried(2, notices=("told", "more"))]
    snapshot = scene(*events, events=[ev.StepStarted(step=A)]).snapshot()

    steps = status_json(snapshot)["steps"]

    assert why(snapshot, A).notes[:1] == ("told",)
    assert why(snapshot, A).notes[-1] == "more"
    assert "\x1b" not in "".join(why(snapshot, A).notes)
    assert isinstance(steps, list)
    assert steps[0]["notices"] == ["told", "x\x1b[31m", "more"]


def test_a_finished_step_still_tells_what_was_remarkable() -> None:
    finished = ev.StepFinished(step=A, state=StepEnd.BLOCKED, reason="no", notices=("told",))
    snapshot = Scene(steps=[step_of("a")], events=[ev.StepStarted(step=A), finished]).snapshot()

    steps = status_json(snapshot)["steps"]

    assert why(snapshot, A).notes == ("told",)
    assert isinstance(steps, list)
    assert steps[0]["notices"] == ["told"]


def test_an_attempt_that_was_cut_short_has_figures_of_its_own() -> None:
    begun = ev.AttemptStarted(node="implement", attempt=1, tree=TREE)
    used = ev.AttemptUsed(usage={"input": 10.0, "cost_usd": 0.25}, seconds=3.0)
    lost = ev.WorkLost(what="working")
    events = [begun, used, lost, begun, lost, *tried(1, usage={"input": 99.0}), ev.WorkLost(what="checking")]

    found = list_lost(scene().run(), events)

    assert [*found] == [(1, 1), (1, 2)]
    assert attempt_lines(found[1, 1]) == [
        "scripted:demo.yaml was cut short; what is known of it was used in 3.0s; 10 input tokens, $0.25"
    ]
    assert (found[1, 2].usage, attempt_json(found[1, 2])["lost"]) == ({}, True)
    assert list_attempts(scene().run(), events)[1].usage == {"input": 99.0}
