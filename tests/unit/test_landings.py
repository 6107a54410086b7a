"""The figures of landings that a report has, and the conflicts that a summary names."""

from __future__ import annotations

from drumline.core import events as ev
from drumline.core.ids import Commit, RunId, StepId, Stream, Tree
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.core.strays import Foreign
from drumline.core.vocabulary import DropCause, StepEnd
from drumline.record import to_plain
from drumline.views.landings import list_coming, measure_landings, tell_landings

A, B = StepId("a"), StepId("b")
COMMIT, TREE = Commit("1" * 40), Tree("2" * 40)
CHECK = ev.CheckStarted(check=0, command="test", tree=TREE)
STARTED = ev.LandingStarted(commit=COMMIT, tree=TREE, head=COMMIT)
LANDED = ev.StepLanded(commit=COMMIT, tree=TREE)


def record(step: str, *events: tuple[int, ev.Event]) -> list[Recorded]:
    """Events with their places in the journal, which are also their times."""
    stream = Stream(RunId("r"), StepId(step))
    return [Recorded(seq=at, stream=stream, version=at, at=float(at), event=event) for at, event in events]


def test_waits_check_runs_and_innocent_evictions_are_counted() -> None:
    attempt = ev.AttemptStarted(node="implement", attempt=2, tree=TREE)
    own = record(
        "",
        (11, ev.TicketTaken(step=A)),
        (12, ev.CandidateDropped(step=A, cause=DropCause.RED)),
        (21, ev.TicketTaken(step=B)),
        (22, ev.CandidateDropped(step=B, cause=DropCause.CONFLICT)),
        (23, ev.CandidateDropped(step=B, cause=DropCause.LOST)),
    )
    streams = {
        A: record("a", (10, CHECK), (13, CHECK), (14, STARTED), (15, LANDED)),
        B: record("b", (20, CHECK), (24, attempt), (40, STARTED), (41, LANDED)),
        StepId("c"): record("c", (50, CHECK)),
    }

    found = measure_landings(own, streams)

    assert to_plain(found) == {
        "landed": 2,
        "wait_p50": 4.0,
        "wait_p95": 20.0,
        "check_runs_per_step": 1.5,
        "dropped": 2,
        "innocent_evictions": 1,
    }
    assert tell_landings(to_plain(found)).startswith("Finished work waited to land: median 4.0s, 95% within ")
    assert tell_landings(to_plain(found)).endswith(
        "1.5 check runs per step; sent back to the queue 1 time because of the work of others."
    )


def test_a_run_without_a_landing_has_no_figures() -> None:
    found = measure_landings([], {A: record("a", (1, CHECK))})

    assert (found.landed, found.wait_p50, found.check_runs_per_step) == (0, None, None)
    assert tell_landings(to_plain(found)) == ""


def test_a_conflict_that_both_sides_foresaw_is_named_once() -> None:
    run = RunState(id=RunId("r"))
    for one, other in ((A, B), (B, A)):
        coming = (Foreign(path="list.txt", owner=other),)
        run.finished[one] = ev.StepFinished(step=one, state=StepEnd.DONE, coming=coming)

    assert list_coming(run) == ("a and b: list.txt",)
