"""Beginning a run: which steps it is about, what it pins, and whose leftovers it may overrule."""

from __future__ import annotations

import re
from collections.abc import Mapping

import anyio
import pytest
from tests.unit.builders import BASE, step_of

from drumline.app.begin import Choice, Scope, Terms, begin_run, choose_steps, digest_of, find_inherited, new_run_id
from drumline.app.catalog import list_runs, read_run
from drumline.core import events as ev
from drumline.core.ids import RunId, StepId, Stream
from drumline.core.plan import Marks, Plan, Reading, Status
from drumline.core.vocabulary import Mode
from drumline.errors import Conflict, InvalidInput
from drumline.ports.journal import Addition
from drumline.record import replace
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore

STEPS = (step_of("a"), step_of("b", "a"), step_of("c", "b"))
TERMS = Terms(agent="scripted:x", mode=Mode.PARALLEL, autonomy="critical", retries=2, checks=("lint",), context="hello")
OLD, NEW = RunId("r-old"), RunId("r-new")
NOBODY: frozenset[StepId] = frozenset()


def reading_of(marks: Mapping[str, Marks] | None = None) -> Reading:
    """A plan of three steps."""
    return Reading(
        plan=Plan(name="demo", path="plans/demo", title="Demo", steps=STEPS),
        marks={step.id: (marks or {}).get(step.id, Marks()) for step in STEPS},
        digests={step.path: f"digest {step.id}" for step in STEPS},
    )


ELSEWHERE = replace(reading_of(), plan=reading_of().plan.with_steps([replace(STEPS[0], elsewhere="Other"), *STEPS[1:]]))


def begun(store: MemoryStore, run: RunId, *later: ev.Event) -> None:
    """A run in the store, and what happened to it."""

    async def fill() -> None:
        await begin_run(store, reading_of(), TERMS, Scope(run=run, base=BASE))
        await store.append({Stream(run): Addition(events=later)})

    anyio.run(fill)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), None),
        (Choice(step="b"), ("b",)),
        (Choice(only=("c", "a")), ("a", "c")),
        (Choice(start="b"), ("b", "c")),
        (Choice(step="next"), ("a",)),
    ],
    ids=["all", "step", "only", "from", "next"],
)
def test_a_choice_names_steps_in_plan_order(choice: Choice, expected: tuple[str, ...] | None) -> None:
    assert choose_steps(reading_of(), choice, NOBODY) == expected


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(step="2"), ("02",)),
        (Choice(only=("3", "01")), ("01", "03")),
        (Choice(start="2"), ("02", "03")),
    ],
    ids=["step", "only", "from"],
)
def test_a_choice_may_leave_out_the_zeros_of_numbers(choice: Choice, expected: tuple[str, ...]) -> None:
    numbered = reading_of().plan.with_steps([step_of("01"), step_of("02"), step_of("03")])

    assert choose_steps(replace(reading_of(), plan=numbered), choice, NOBODY) == expected


def test_the_next_step_is_one_in_progress_that_nobody_drives() -> None:
    claimed = reading_of({"a": Marks(status=Status.DONE), "c": Marks(status=Status.CLAIMED)})

    assert choose_steps(claimed, Choice(step="next"), NOBODY) == ("c",)
    assert choose_steps(claimed, Choice(step="next"), frozenset({StepId("c")})) == ("b",)


def test_a_plan_without_anything_left_has_no_next_step() -> None:
    done = reading_of({step.id: Marks(status=Status.DONE) for step in STEPS})

    with pytest.raises(InvalidInput, match="no step is left"):
        choose_steps(done, Choice(step="next"), NOBODY)


@pytest.mark.parametrize("choice", [Choice(step="x"), Choice(only=("a", "x")), Choice(start="x")])
def test_a_step_that_does_not_exist_is_named_with_those_that_do(choice: Choice) -> None:
    with pytest.raises(InvalidInput, match=r"no step 'x' \(it has a, b, c\)"):
        choose_steps(reading_of(), choice, NOBODY)


@pytest.mark.parametrize("choice", [Choice(step="a"), Choice(only=("b", "a"))])
def test_a_step_of_another_repository_is_refused_by_name(choice: Choice) -> None:
    with pytest.raises(InvalidInput, match="a is for the repository 'Other' and is not run here"):
        choose_steps(ELSEWHERE, choice, NOBODY)


def test_the_next_step_is_none_of_another_repository() -> None:
    assert choose_steps(ELSEWHERE, Choice(step="next"), NOBODY) == ("b",)


@pytest.mark.parametrize(("selection", "named"), [(None, False), ((StepId("b"),), True)])
def test_a_run_begins_by_pinning_everything_it_depends_on(selection: tuple[StepId, ...] | None, named: bool) -> None:
    store = MemoryStore()
    held = Marks(status=Status.BLOCKED, reason="x")
    reading = reading_of({"b": held})

    anyio.run(begin_run, store, reading, TERMS, Scope(run=NEW, base=BASE, selection=selection))
    run = read_run(store, NEW)

    assert run.begun.branch == "drumline/demo-r-new"
    assert (run.begun.base, run.begun.checks, run.begun.context) == (BASE, ("lint",), "hello")
    assert (run.begun.selection, run.begun.named) == (selection, named)
    assert run.plan.steps == STEPS
    assert run.digests == reading.digests
    assert run.marks == {"b": held}
    assert run.begun.plan_digest == digest_of(reading.digests)


def test_a_run_is_begun_only_once() -> None:
    store = MemoryStore()
    begun(store, NEW)

    with pytest.raises(Conflict):
        begun(store, NEW)


def test_the_digest_of_a_plan_does_not_depend_on_the_order_of_its_files() -> None:
    assert digest_of({"a": "1", "b": "2"}) == digest_of({"b": "2", "a": "1"})
    assert digest_of({"a": "1", "b": "2"}) != digest_of({"a": "2", "b": "1"})


def test_run_ids_are_readable_and_differ() -> None:
    ids = {new_run_id(1_000_000.0) for _ in range(50)}

    assert len(ids) > 40
    assert all(re.fullmatch(r"\d{6}-\d{6}-[2-9a-z]{3}", run) for run in ids)


HELD = Marks(status=Status.BLOCKED, reason="waiting for gate g")
OURS = Marks(status=Status.CLAIMED, assignee="drumline/r-old", claimed_at="then")


def mirrored(marks: Marks) -> ev.PlanMirrored:
    """What the old run wrote into b's file."""
    return ev.PlanMirrored(step=StepId("b"), marks=marks, path="plan/b.md", digest="d")


@pytest.mark.parametrize(
    ("wrote", "found", "inherited"),
    [
        (HELD, HELD, ("b",)),
        (OURS, OURS, ("b",)),
        (HELD, OURS, ("b",)),
        (HELD, Marks(status=Status.BLOCKED, reason="by hand"), ()),
        (HELD, Marks(status=Status.CLAIMED, assignee="mary"), ()),
        (Marks(status=Status.DONE), Marks(status=Status.DONE), ()),
        (HELD, Marks(), ()),
    ],
    ids=["held", "claimed", "signed", "by-hand", "somebody-else", "done", "ready"],
)
def test_leftovers_are_unfinished_marks_that_a_dead_run_of_ours_wrote(
    wrote: Marks, found: Marks, inherited: tuple[str, ...]
) -> None:
    store = MemoryStore()
    begun(store, OLD, mirrored(wrote))

    result = find_inherited(store, FakeRoster(), reading_of({"b": found}), list_runs(store))

    assert result == inherited


def test_the_marks_of_a_run_that_somebody_drives_are_no_leftovers() -> None:
    store, roster = MemoryStore(), FakeRoster()
    begun(store, OLD, mirrored(OURS))
    roster.join(OLD)

    assert find_inherited(store, roster, reading_of({"b": OURS}), list_runs(store)) == ()
