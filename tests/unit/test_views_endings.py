"""What a run and a step leave behind: the summary, the report, the list of runs, and times in people's words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.builders import (
    COMMIT,
    STARTED,
    Scene,
    attempted,
    by_hand,
    checked,
    finish,
    gate_for,
    prepared,
    run_started,
    step_of,
)

from drumline.core import events as ev
from drumline.core import gates
from drumline.core.ids import GateId, RunId, StepId
from drumline.core.learned import Fix
from drumline.core.needs import satisfied
from drumline.core.plan import Marks, Status
from drumline.core.rounds import reject
from drumline.core.sweeps import Annotation, Sweep
from drumline.core.vocabulary import DocumentKind, RunEnd
from drumline.errors import InvalidInput
from drumline.record import replace
from drumline.views.duration import age, duration
from drumline.views.leavings import describe_leavings
from drumline.views.report import report_json, report_lines, step_report
from drumline.views.runs import RunRow, run_row, runs_json, runs_lines
from drumline.views.snapshot import Snapshot
from drumline.views.summary import summary, summary_json, summary_lines

STEPS = [
    step_of("step-1", title="Lay it", manual=["stand on it"]),
    step_of("step-2", "step-1", title="Raise it"),
    step_of("step-3", "step-2", title="Paint it"),
    step_of("step-4", title="Old"),
]
MIXED = Scene(
    steps=STEPS,
    events=[
        ev.StepsDeclared(steps=(StepId("step-4"),)),
        finish("step-1", proved=False),
        finish("step-2", "blocked", reason="still failing", attempts=3, fixes=1),
        ev.RunEnded(state=RunEnd.BLOCKED, reason="step-2: still failing", step=StepId("step-2")),
    ],
    streams={"step-2": [*prepared(), *attempted(1), *checked(exit_code=1), *attempted(2), *checked(exit_code=1)]},
    live=[],
)


def test_the_summary_says_what_landed_what_did_not_and_where_to_look() -> None:
    assert summary_lines(summary(MIXED.snapshot())) == [
        "run r1 blocked",
        "  1 of 4 steps landed, 0 proved, 1 unproved, 1 declared, 2 not done",
        "  1 commit on drumline/demo-r1, checks 1/2, 4 attempts, 1 of them fixes, 1m 00s",
        "  not committed: the work of step-2 (1 file, in its worktree)",
        "landed:",
        "  012345678 step-1 Lay it: src/a.py (landed with another tree than the one that its checks ran on)",
        "not done:",
        "  step-2 blocked: still failing",
        "  step-3 waiting: needs step-2 (blocked)",
        "verify by hand:",
        "  step-1: stand on it",
        "next:",
        "  drumline status r1",
        "  drumline retry step-2 --resume",
        "  drumline logs step-2",
        "  drumline why step-1",
        "  git log --oneline drumline/demo-r1",
        "  git merge drumline/demo-r1",
    ]


@pytest.mark.parametrize(
    ("comment", "told"), [("", "  a rejected: by a person"), ("not like this", "  a rejected: not like this")]
)
def test_a_rejection_is_told_once(comment: str, told: str) -> None:
    end = reject(comment)
    rejected = finish("a", "failed", reason=end.reason, rejected=True, said=end.said)
    scene = Scene(steps=[step_of("a")], events=[rejected, ev.RunEnded(state=RunEnd.FAILED, step=StepId("a"))], live=[])

    assert told in summary_lines(summary(scene.snapshot()))


def test_a_run_that_a_mark_of_the_plan_holds_up_names_the_step_that_has_it() -> None:
    ended = ev.RunEnded(state=RunEnd.BLOCKED, reason="a: plan.md marks it failed", step=StepId("a"))

    found = summary(Scene(steps=[step_of("a")], events=[ended], live=[]).snapshot())

    assert found.next == ("drumline status r1", "drumline why a")


def test_the_summary_names_what_other_repositories_have_to_do() -> None:
    there = replace(step_of("b", "a"), elsewhere="Payments")
    scene = Scene(steps=[step_of("a"), there], events=[finish("a"), ev.RunEnded(state=RunEnd.DONE)], live=[])

    found = summary(scene.snapshot())

    assert found.total == 1
    assert summary_json(found)["elsewhere"] == [{"step": "b", "repository": "Payments"}]
    assert summary_lines(found)[5:7] == ["for other repositories:", "  Payments (b): there, type: drumline run plan"]


def test_the_summary_of_a_clean_run_has_no_empty_headings() -> None:
    scene = Scene(steps=[step_of("a")], events=[finish("a"), ev.RunEnded(state=RunEnd.DONE)], live=[])

    lines = summary_lines(summary(scene.snapshot()))

    effort = "  1 commit on drumline/demo-r1 (nothing uncommitted), checks 1/1, 1 attempt, clean run, 1m 00s"
    assert lines[:3] == ["run r1 done", "  1 of 1 step landed, 1 proved", effort]
    assert [line for line in lines if line.endswith(":")] == ["landed:", "next:"]


@pytest.mark.parametrize("more", [{"fixes": 1}, {"reviews": 1}, {"unreviewed": "no answer"}, {"unread": ("orient",)}])
def test_a_run_whose_work_was_sent_back_or_without_usable_answers_is_not_called_clean(more: dict[str, Any]) -> None:
    scene = Scene(steps=[step_of("a")], events=[finish("a", **more), ev.RunEnded(state=RunEnd.DONE)], live=())

    assert not any("clean run" in line for line in summary_lines(summary(scene.snapshot())))


def test_nodes_without_a_usable_answer_are_named_beside_what_landed() -> None:
    scene = Scene(steps=[step_of("a")], events=[finish("a", unread=("orient", "hand_over"))], live=())

    assert any("(no usable answer of orient, hand_over)" in line for line in summary_lines(summary(scene.snapshot())))


@pytest.mark.parametrize(
    ("worked", "told"),
    [
        ((False,), "1 fix logged, which did not work"),
        ((True,), "1 fix logged, which worked"),
        ((False, False), "2 fixes logged, none of which worked"),
        ((True, False), "2 fixes logged, 1 of which worked"),
    ],
)
def test_fixes_are_told_with_how_many_of_them_worked(worked: tuple[bool, ...], told: str) -> None:
    fixes = tuple(Fix(check="t", failure="test", signature="s", remedy="r", success=one) for one in worked)
    scene = Scene(steps=[step_of("a")], events=[finish("a", learned=fixes)], live=())

    found = summary(scene.snapshot())

    assert f"  {told}" in summary_lines(found)
    assert summary_json(found)["lessons"]["worked"] == sum(worked)  # type: ignore[index]


@pytest.mark.parametrize("end", [RunEnd.FAILED, RunEnd.BLOCKED, RunEnd.CANCELLED])
def test_a_run_that_did_not_get_through_is_not_called_clean(end: RunEnd) -> None:
    scene = Scene(steps=[step_of("a")], events=[finish("a", "failed", reason="no"), ev.RunEnded(state=end)], live=[])

    assert not any("clean run" in line for line in summary_lines(summary(scene.snapshot())))


def test_the_summary_tells_what_is_new_what_is_in_no_commit_and_what_nothing_shows() -> None:
    step = replace(step_of("a"), files=("src/a.py", "docs/", "src/b.py"))
    marked = ev.PlanMirrored(step=step.id, marks=Marks(status=Status.DONE), path="plan/a.md", digest="d")
    landed = finish("a", files=("src/a.py", "tests/t.py"), created=("tests/t.py",), new_tests=("tests/t.py",))
    wrote: list[ev.Event] = [
        ev.DocumentWritten(step=step.id, kind=DocumentKind.NOTES, text="t", digest="d", path="plan/NOTES.md#a")
    ]
    wrote += [ev.FileWritten(step=step.id, path="plan/NOTES.md#a", digest="d")]
    scene = Scene(steps=[step], events=[landed, marked, *wrote, ev.RunEnded(state=RunEnd.DONE)], live=[])

    found = summary(scene.snapshot())

    lines, data = summary_lines(found), summary_json(found)
    assert lines[3:7] == [
        "  not committed: marks in plan/a.md; what steps leave in plan/NOTES.md",
        "tests added: tests/t.py",
        "declared, and not found:",
        "  a: docs/: no landing changed it",
    ]
    assert (data["files"], data["tests_added"]) == ({"a": ["src/a.py", "tests/t.py"]}, ["tests/t.py"])
    assert data["uncommitted"] == {"plan": ["plan/a.md", "plan/NOTES.md"], "work": {}}
    assert [one["text"] for one in data["open"]] == ["docs/", "src/b.py"]  # type: ignore[attr-defined]


def test_nothing_landed_means_nothing_to_merge() -> None:
    scene = Scene(steps=[step_of("a")], live=[])

    assert summary(scene.snapshot()).next == ("drumline status r1", "drumline resume r1")


def test_a_parked_run_is_answered_first_and_merged_later() -> None:
    wave = gate_for("wave-1", options=("continue", "stop"))
    parked = ev.RunParked(gates=(GateId("wave-1"),))
    scene = Scene(steps=[step_of("a"), step_of("b", "a")], events=[finish("a"), wave, parked], live=[])

    found = summary(scene.snapshot())

    assert found.next[:2] == ("drumline status r1", "drumline answer wave-1 continue --resume")
    assert found.next[2:] == (f"git log --oneline {found.branch}",)


def test_items_passed_at_a_gate_need_no_more_verifying() -> None:
    wave = gates.wave(0, [by_hand(StepId("step-1"), "stand on it")])
    passed = ev.GateAnswered(gate=GateId("wave-1"), choice="continue")
    scene = Scene(steps=STEPS, events=[finish("step-1"), wave, passed])

    assert summary(scene.snapshot()).manual == ()


def test_further_tries_after_a_failure_that_passed_are_no_fixes() -> None:
    scene = Scene(steps=[step_of("a")], events=[finish("a", attempts=3), ev.RunEnded(state=RunEnd.DONE)], live=[])

    found = summary(scene.snapshot())

    assert found.fixes == 0
    assert "3 attempts, clean run, 1m" in summary_lines(found)[2]


def test_a_long_list_is_cut_and_counted() -> None:
    names = [f"s{n}" for n in range(50)]
    scene = Scene(steps=[step_of(name) for name in names], events=[finish(name) for name in names])

    lines = summary_lines(summary(scene.snapshot()))

    assert "  … and 30 more" in lines
    assert len(lines) < 30


def test_the_summary_is_json() -> None:
    data = summary_json(summary(MIXED.snapshot()))

    assert json.loads(json.dumps(data)) == data
    assert (data["schema_version"], data["commits"], data["proved"], data["fixes"]) == (1, 1, 0, 1)


def test_the_summary_counts_the_selection_only() -> None:
    scene = Scene(steps=STEPS, started=run_started(selection=["step-1"]), events=[finish("step-1")])

    found = summary(scene.snapshot())

    assert (found.total, found.unfinished) == (1, ())


def test_the_report_of_a_landed_step() -> None:
    scene = Scene(steps=STEPS, events=[finish("step-1", files=("a.py", "b.py"), attempts=2)])

    assert report_lines(step_report(scene.snapshot(), StepId("step-1"))) == [
        "step-1: Lay it",
        "  result    done (proved)",
        "  commit    012345678",
        "  checks    1/1 passed",
        "  attempts  2",
        "  files     a.py",
        "            b.py",
        "  by hand   stand on it",
    ]


def test_the_report_of_a_blocked_step_names_the_reason_and_the_way_on() -> None:
    lines = report_lines(step_report(MIXED.snapshot(), StepId("step-2")))

    assert lines == [
        "step-2: Raise it",
        "  result    blocked",
        "  reason    still failing",
        "  checks    0/1 passed",
        "  attempts  3",
        "  files     src/a.py",
        "  next      drumline retry step-2",
    ]


def test_the_report_is_json() -> None:
    scene = Scene(steps=STEPS, events=[finish("step-1")])

    data = report_json(step_report(scene.snapshot(), StepId("step-1")))

    assert json.loads(json.dumps(data)) == data
    assert (data["result"], data["commit"], data["manual"]) == ("done", COMMIT, ["stand on it"])


def test_a_report_on_a_step_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no step 'x'"):
        step_report(MIXED.snapshot(), StepId("x"))


def row_of(snapshot: Snapshot) -> RunRow:
    """The row of a run as the list would show it."""
    return run_row(snapshot.run, live=bool(snapshot.live), started_at=snapshot.started_at)


def test_a_row_counts_what_needs_no_more_work() -> None:
    snapshot = MIXED.snapshot()

    row = row_of(snapshot)

    assert (row.state, row.done, row.total, row.branch) == ("blocked", 2, 4, "drumline/demo-r1")
    assert row.done == sum(satisfied(snapshot.run, step.id) for step in STEPS)


def test_runs_are_an_aligned_table_newest_first() -> None:
    old = row_of(MIXED.snapshot())
    new = RunRow(
        run=RunId("r2"),
        plan="plans/次",
        state="running",
        started_at=STARTED + 60,
        done=0,
        total=12,
        branch="drumline/x",
    )

    assert runs_lines([old, new], now=STARTED + 3_720) == [
        "RUN  STATE    DONE  STARTED     PLAN      BRANCH",
        "r2   running  0/12  1h 01m ago  plans/次  drumline/x",
        "r1   blocked  2/4   1h 02m ago  plan      drumline/demo-r1",
    ]


def test_no_runs_name_the_command_that_starts_one() -> None:
    assert runs_lines([], now=0.0) == ["no runs yet; start one with: drumline run PLAN"]


def test_the_list_of_runs_is_json() -> None:
    data = runs_json([row_of(MIXED.snapshot())])

    assert json.loads(json.dumps(data)) == data
    assert data["schema_version"] == 1


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5.0, "0.0s"),
        (0.04, "0.0s"),
        (3.44, "3.4s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (123.0, "2m 03s"),
        (3_599.7, "1h 00m"),
        (3_725.0, "1h 02m"),
        (86_399.9, "1 day"),
        (3 * 86_400.0 - 1, "2 days"),
    ],
)
def test_durations_use_two_units_at_most(seconds: float, words: str) -> None:
    assert duration(seconds) == words
    assert age(0.0, seconds) == f"{words} ago"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ((), ()),
        (("plan/c.json.drumline.json",), ("plan/c.json.drumline.json",)),
        (("plan/c.json", "plan/d.md"), ("plan/c.json",)),
        (("plan/",), ("plan/c.json",)),
        (("plan/root.md", "root.md"), ("plan/root.md",)),
    ],
)
def test_marks_are_in_no_commit_where_git_sees_a_change_also_if_a_file_beside_the_plan_has_them(
    changed: tuple[str, ...], told: tuple[str, ...]
) -> None:
    marked = ev.PlanMirrored(step=StepId("a"), marks=Marks(status=Status.DONE), path="plan/c.json", digest="d")
    run = Scene(steps=[step_of("a")], events=[marked]).run()

    assert describe_leavings(run, changed=changed).marked == told


def test_a_step_that_another_one_has_told_of_an_edge_case_is_in_no_commit_either() -> None:
    swept = Sweep(annotations=(Annotation(step=StepId("b"), text="It may be empty."),))
    run = Scene(steps=[step_of("a"), step_of("b", "a"), step_of("c")], events=[finish("a", swept=swept)]).run()

    assert describe_leavings(run, changed=("plan/b.md", "plan/c.md")).marked == ("plan/b.md",)
