"""The runs of a repository: found by name, seen at a glance, joined only on the same terms."""

from __future__ import annotations

import anyio
import pytest
from tests.unit.builders import COMMIT, finish, gate_for, run_started, step_of

from drumline.app.catalog import find_asking_run, find_run, list_runs, read_run
from drumline.app.joining import assert_agrees, last_landed, survey, unmerged
from drumline.core import events as ev
from drumline.core.ids import Commit, DriverId, RunId, Stream
from drumline.core.vocabulary import Mode, RunEnd
from drumline.errors import InvalidInput
from drumline.ports.journal import Addition
from drumline.record import replace
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore

PINNED = ev.PlanPinned(format="dag", title="", steps=(step_of("a"), step_of("b")), digests={})


def store_of(*runs: tuple[str, list[ev.Event]], plan: str = "plan") -> MemoryStore:
    """A store with these runs, in order."""
    store = MemoryStore()

    async def fill() -> None:
        for name, later in runs:
            events = [replace(run_started(), plan=plan), PINNED, *later]
            await store.append({Stream(RunId(name)): Addition(events=events)})

    anyio.run(fill)
    return store


THREE: list[tuple[str, list[ev.Event]]] = [
    ("251101-101010-abc", []),
    ("251101-111111-abd", []),
    ("251102-101010-xyz", []),
]


@pytest.mark.parametrize(
    ("name", "found"),
    [("", 2), ("251101-101010-abc", 0), ("251102", 2), ("abd", 1), ("xyz", 2)],
    ids=["newest", "exact", "beginning", "ending", "ending-2"],
)
def test_a_run_is_found_by_its_id_or_either_end_of_it(name: str, found: int) -> None:
    store = store_of(*THREE)

    assert find_run(store, name) == THREE[found][0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("251101", "2 runs have an id that begins or ends with '251101'"),
        ("nope", "no run has an id that begins or ends with 'nope'"),
    ],
)
def test_a_name_that_fits_none_or_several_is_refused(name: str, message: str) -> None:
    store = store_of(*THREE)

    with pytest.raises(InvalidInput, match=message):
        find_run(store, name)


def test_a_repository_without_runs_says_how_to_begin() -> None:
    with pytest.raises(InvalidInput, match="no run here yet") as caught:
        find_run(MemoryStore())

    assert caught.value.hint == "drumline run PLAN"


def test_the_list_is_oldest_first_and_of_one_plan_if_asked() -> None:
    store = store_of(("r1", []), ("r2", [finish("a")]))

    assert [brief.run for brief in list_runs(store)] == ["r1", "r2"]
    assert list(list_runs(store, plan="plan")[1].state.finished) == ["a"]
    assert list_runs(store, plan="another") == []


HISTORIES: list[tuple[list[ev.Event], bool]] = [
    ([], True),
    ([gate_for("g", "a"), ev.RunParked(gates=())], True),
    ([ev.RunEnded(state=RunEnd.BLOCKED)], True),
    ([ev.RunEnded(state=RunEnd.DONE)], False),
    ([ev.RunEnded(state=RunEnd.FAILED)], False),
    ([ev.RunEnded(state=RunEnd.CANCELLED)], False),
    ([ev.RunEnded(state=RunEnd.BLOCKED), ev.RunResumed(driver=DriverId("d"))], True),
]


@pytest.mark.parametrize(("events", "unfinished"), HISTORIES)
def test_a_glance_says_whether_something_is_left_and_agrees_with_the_whole_run(
    events: list[ev.Event], unfinished: bool
) -> None:
    store = store_of(("r1", events))

    [brief] = list_runs(store)

    assert brief.unfinished is unfinished
    whole = read_run(store, RunId("r1"))
    assert (brief.state.ended, brief.state.parked) == (whole.ended, whole.parked)
    assert list(brief.state.unanswered) == list(whole.unanswered)


def test_a_live_run_is_joined_and_hides_an_abandoned_one() -> None:
    store, roster = store_of(("r1", []), ("r2", [])), FakeRoster()
    roster.join(RunId("r1"))

    standing = survey(list_runs(store), roster)

    assert standing.live is not None
    assert (standing.live.run, standing.abandoned) == ("r1", None)


@pytest.mark.parametrize(("events", "abandoned"), [([], True), ([ev.RunEnded(state=RunEnd.DONE)], False)])
def test_the_newest_run_is_abandoned_if_it_is_unfinished_and_nobody_drives_it(
    events: list[ev.Event], abandoned: bool
) -> None:
    store = store_of(("r1", []), ("r2", events))

    standing = survey(list_runs(store), FakeRoster())

    assert standing.live is None
    assert (standing.abandoned is not None) is abandoned


def test_without_runs_there_is_nothing_to_join_or_resume() -> None:
    standing = survey([], FakeRoster())

    assert (standing.live, standing.abandoned) == (None, None)


def test_a_run_that_ended_while_its_driver_is_still_leaving_is_not_joined() -> None:
    store, roster = store_of(("r1", [ev.RunEnded(state=RunEnd.DONE)])), FakeRoster()
    roster.join(RunId("r1"))

    assert survey(list_runs(store), roster).live is None


def test_joining_on_other_terms_is_refused_and_every_difference_is_named() -> None:
    run = read_run(store_of(("r1", [ev.ModeChanged(mode=Mode.SEQUENTIAL)])), RunId("r1"))
    same = {"agent": "scripted:demo.yaml", "mode": "sequential", "autonomy": "critical"}
    other = {**same, "mode": "parallel", "autonomy": "verbose", "selection": "b"}

    assert_agrees(run, same, otherwise="drumline attach r1")
    with pytest.raises(InvalidInput) as caught:
        assert_agrees(run, other, otherwise="drumline attach r1")

    assert "mode is 'sequential', not 'parallel'; autonomy is 'critical', not 'verbose'" in str(caught.value)
    assert "selection is 'the whole plan', not 'b'" in str(caught.value)
    assert caught.value.hint == "drumline attach r1, or start another run with: drumline run plan --new"
    assert caught.value.exit_code == 3


def test_the_newest_run_whose_work_is_missing_here_is_found() -> None:
    other = Commit("9" * 40)
    store = store_of(("r1", [finish("a")]), ("r2", [finish("a", commit=other), finish("b", "blocked")]), ("r3", []))
    briefs = list_runs(store)

    missing = unmerged(briefs, {COMMIT: False, other: False})

    assert missing is not None
    assert missing.run == "r2"
    assert unmerged(briefs, {COMMIT: True, other: True}) is None
    assert [last_landed(brief) for brief in briefs] == [COMMIT, other, None]


def test_an_answer_finds_the_one_run_that_asks() -> None:
    asks = gate_for("a")
    store = store_of(("r1", [asks]), ("r2", []), ("r3", [asks, ev.RunEnded(state=RunEnd.CANCELLED)]))

    assert find_asking_run(store, asks.gate) == "r1"
    assert find_asking_run(store, "other") == "r3"


def test_an_answer_that_several_runs_wait_for_has_to_name_one() -> None:
    asks = gate_for("a")
    store = store_of(("r1", [asks]), ("r2", [asks]))

    with pytest.raises(InvalidInput, match="2 runs ask at gate") as caught:
        find_asking_run(store, asks.gate)

    assert caught.value.hint.endswith("--run r2")
