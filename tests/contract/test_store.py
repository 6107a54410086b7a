"""The promises of the store port, for SQLite and for its in-memory twin."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum

import anyio
import pytest
from tests.contract.stores import OF_A, OF_B, OF_RUN, RUN, YES, YOU, A, B, add, append, claim, mode, names_in

from drumline.core.codec import KINDS
from drumline.core.events import CheckEnded, Event, RunEnded, StepReleased
from drumline.core.ids import RunId, StepId, Stream, Token, Tree
from drumline.core.vocabulary import RunEnd
from drumline.errors import Conflict, StaleToken
from drumline.ports.journal import Addition, Store
from drumline.record import Record, fields
from drumline.store.requests import BLOB_OVER
from drumline.testing.store import MemoryStore

# --- journal ----------------------------------------------------------------------------------------------------


def test_a_batch_reaches_all_its_streams_and_returns_the_last_sequence_number(store: Store) -> None:
    last = append(store, {OF_RUN: add("x"), OF_A: add("y", "z")})

    assert names_in(store.read(OF_RUN)) == ["x"]
    assert names_in(store.read(OF_A)) == ["y", "z"]
    assert [r.seq for r in store.tail(RUN)] == [last - 2, last - 1, last]


def test_a_conflict_in_one_stream_of_a_batch_leaves_the_others_untouched(store: Store) -> None:
    append(store, {OF_A: add("first")})

    with pytest.raises(Conflict, match="at version 1, not at 0"):
        append(store, {OF_RUN: add("x", expected=0), OF_A: add("y", expected=0)})

    assert names_in(store.tail(RUN)) == ["first"]


def test_versions_count_within_a_stream_and_sequence_numbers_across_all(store: Store) -> None:
    append(store, {OF_A: add("1")})
    append(store, {OF_B: add("2")})
    append(store, {OF_A: add("3")})

    places = [(r.stream, r.version) for r in store.tail(RUN)]

    assert places == [(OF_A, 1), (OF_B, 1), (OF_A, 2)]
    assert sorted({r.seq for r in store.tail(RUN)}) == [r.seq for r in store.tail(RUN)]


def test_a_seal_covers_every_event_of_its_run_and_no_other(store: Store) -> None:
    append(store, {OF_RUN: add("x"), OF_A: add("y")})
    early = store.seal(RUN)
    append(store, {Stream(RunId("other")): add("w")})
    same = store.seal(RUN)
    last = append(store, {OF_A: add("z")})

    late = store.seal(RUN)

    assert early == same != late
    assert (early.seq, late.seq) == (store.tail(RUN)[1].seq, last)
    assert store.seal(RUN, early) == late
    assert store.seal(RUN, upto=early.seq) == early
    assert store.seal(RunId("none")).digest == ""


@pytest.mark.parametrize("expected", [0, 1, 3, 99])
def test_an_expected_version_other_than_the_streams_is_a_conflict(store: Store, expected: int) -> None:
    append(store, {OF_A: add("1", "2")})

    with pytest.raises(Conflict):
        append(store, {OF_A: add("3", expected=expected)})

    assert names_in(store.read(OF_A)) == ["1", "2"]


def test_an_addition_without_events_still_checks_the_version(store: Store) -> None:
    last = append(store, {OF_A: add("1", expected=0)})

    assert append(store, {OF_A: add(expected=1)}) == last
    with pytest.raises(Conflict):
        append(store, {OF_A: add(expected=0)})


def test_without_an_expected_version_an_append_goes_behind_whatever_is_there(store: Store) -> None:
    append(store, {OF_A: add("1", "2", expected=0)})

    append(store, {OF_A: add("3")})

    assert [r.version for r in store.read(OF_A)] == [1, 2, 3]


def test_reading_filters_by_version_and_kind(store: Store) -> None:
    events: list[Event] = [mode("1"), RunEnded(state=RunEnd.DONE), StepReleased(reason="r"), mode("2")]
    append(store, {OF_RUN: Addition(events=events)})

    found = store.read(OF_RUN, after=1, kinds=["CancelRequested", "RunEnded"])

    assert [(r.version, r.event) for r in found] == [(2, events[1]), (4, events[3])]
    assert [r.version for r in store.read(OF_RUN, after=3)] == [4]
    assert store.read(OF_RUN, kinds=["NoSuchKind"]) == []


def test_the_tail_of_a_run_goes_on_where_the_last_one_ended_and_shows_no_other_run(store: Store) -> None:
    seen = append(store, {OF_RUN: add("1")})
    append(store, {Stream(RunId("r2")): add("foreign")})
    append(store, {OF_B: add("2")})
    append(store, {OF_A: add("3")})

    assert names_in(store.tail(RUN, after=seen)) == ["2", "3"]


def test_runs_are_listed_by_their_first_event(store: Store) -> None:
    for name in ("zeta", "alpha", "zeta", "mid"):
        append(store, {Stream(RunId(name), A): add("x"), Stream(RunId(name)): add("y")})

    assert list(store.runs()) == ["zeta", "alpha", "mid"]


def test_the_position_changes_with_every_write_and_only_then(store: Store) -> None:
    positions = [store.position()]
    append(store, {OF_RUN: add("x")})
    positions.append(store.position())
    token = claim(store)
    positions.append(store.position())
    store.release(RUN, A, token)
    positions.append(store.position())
    store.put(RUN, YES)
    positions.append(store.position())

    assert len(set(positions)) == len(positions)
    assert store.position() == positions[-1]


@pytest.mark.parametrize("size", [BLOB_OVER // 2, BLOB_OVER, 2_000_000])
def test_a_body_of_any_size_comes_back_as_it_was(store: Store, size: int) -> None:
    event = CheckEnded(
        check=1, command="c", tree=Tree("t"), tree_after=Tree("t"), exit_code=1, output="é\n\0" * (size // 3)
    )

    append(store, {OF_A: Addition(events=[event, mode("next")])})

    assert [r.event for r in store.read(OF_A)] == [event, mode("next")]


def sample(kind: object, name: str) -> object:
    """A value of the annotated type that differs from every default."""
    plain: dict[object, object] = {str: f"{name} é", int: 7, float: 1.5, bool: True}
    kind = getattr(kind, "__supertype__", kind)
    if kind in plain:
        return plain[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return list(kind)[-1]
    if isinstance(kind, type) and issubclass(kind, Record):
        return build(kind)
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return (sample(arguments[0], name), sample(arguments[0], name))
    if typing.get_origin(kind) in (types.UnionType, typing.Union):
        return sample(arguments[0], name)
    return {"key": sample(arguments[1], name)}


def build(cls: type) -> object:
    hints = typing.get_type_hints(cls)
    return cls(**{f.name: sample(hints[f.name], f.name) for f in fields(cls)})


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_event_comes_back_as_it_was(store: Store, kind: str) -> None:
    event = build(KINDS[kind])
    assert isinstance(event, Event)

    append(store, {OF_A: Addition(events=[event])})

    assert [r.event for r in store.read(OF_A)] == [event]


# --- tokens -----------------------------------------------------------------------------------------------------


def test_an_append_under_the_claims_token_goes_through(store: Store) -> None:
    token = claim(store)

    append(store, {OF_A: add("x"), OF_RUN: add("y")}, token=token)

    assert names_in(store.tail(RUN)) == ["x", "y"]


def test_an_append_under_a_token_that_was_taken_over_is_refused_whole(store: Store) -> None:
    token = claim(store)
    assert store.take(RUN, A, YOU, over=token) is not None

    with pytest.raises(StaleToken, match="'a' is not claimed under token"):
        append(store, {OF_RUN: add("y"), OF_A: add("x")}, token=token)

    assert store.tail(RUN) == []


def test_an_append_under_a_token_that_was_given_back_is_refused(store: Store) -> None:
    token = claim(store)
    store.release(RUN, A, token)

    with pytest.raises(StaleToken):
        append(store, {OF_A: add("x")}, token=token)


def test_a_token_counts_only_for_the_step_it_was_given_for(store: Store) -> None:
    token = claim(store, A)
    claim(store, B)

    with pytest.raises(StaleToken, match="'b'"):
        append(store, {OF_A: add("x"), OF_B: add("y")}, token=token)

    assert store.tail(RUN) == []


def test_a_stale_token_is_reported_before_a_conflict(store: Store) -> None:
    """Whoever lost the claim must stop, not read again and retry."""
    token = claim(store)
    store.take(RUN, A, YOU, over=token)
    append(store, {OF_A: add("theirs")})

    with pytest.raises(StaleToken):
        append(store, {OF_A: add("mine", expected=0)}, token=token)


def test_an_append_without_a_token_needs_no_claim(store: Store) -> None:
    claim(store)

    append(store, {OF_A: add("x")})

    assert names_in(store.read(OF_A)) == ["x"]


@pytest.mark.parametrize("stale", [False, True])
def test_what_is_appended_at_once_is_all_there_or_nothing_of_it(store: Store, stale: bool) -> None:
    token = claim(store, A)
    for number in range(3):
        append(store, {OF_A: add(str(number))}, token=token)
    written = 0

    for number in range(3, 40):
        batch = {OF_A: add(str(number), "and", expected=len(store.read(OF_A)))}
        before = names_in(store.read(OF_A))
        last = store.append_now(batch, token=Token(token + stale))
        after = names_in(store.read(OF_A))
        assert after == (before if last is None else [*before, str(number), "and"])
        assert last is None or last == store.read(OF_A)[-1].seq
        written += last is not None

    assert (written > 0) is not (stale or isinstance(store, MemoryStore))


def test_what_is_appended_at_once_to_another_version_is_not_there(store: Store) -> None:
    token = claim(store, A)
    for number in range(5):
        append(store, {OF_A: add(str(number))}, token=token)

    refused = store.append_now({OF_A: add("x", expected=2)}, token=token)

    assert refused is None
    assert names_in(store.read(OF_A)) == list("01234")


# --- many at once -----------------------------------------------------------------------------------------------


async def append_chains(store: Store, chains: int, length: int) -> None:
    async def grow(stream: Stream) -> None:
        for version in range(length):
            await store.append({stream: add(str(version), expected=version)})

    async with anyio.create_task_group() as group:
        for number in range(chains):
            group.start_soon(grow, Stream(RUN, StepId(f"s{number}")))


def test_chains_of_appends_in_one_loop_lose_nothing(store: Store) -> None:
    anyio.run(append_chains, store, 8, 5)

    assert len(store.tail(RUN)) == 40
    for number in range(8):
        assert names_in(store.read(Stream(RUN, StepId(f"s{number}")))) == ["0", "1", "2", "3", "4"]


async def collect_refusals(store: Store, batches: Sequence[Mapping[Stream, Addition]], token: Token) -> list[str]:
    """Append all batches at the same time; for each, the name of the error or an empty string."""
    found = [""] * len(batches)

    async def work(number: int) -> None:
        try:
            await store.append(batches[number], token=token)
        except (Conflict, StaleToken) as error:
            found[number] = type(error).__name__

    async with anyio.create_task_group() as group:
        for number in range(len(batches)):
            group.start_soon(work, number)
    return found


def test_a_refused_append_does_not_harm_those_beside_it(store: Store) -> None:
    token = claim(store)
    batches = [
        {OF_A: add("good", expected=0)},
        {OF_A: add("too late", expected=0), OF_RUN: add("not this")},
        {OF_B: add("not claimed"), OF_RUN: add("nor this")},
        {OF_RUN: add("good too", expected=0)},
    ]

    refusals = anyio.run(collect_refusals, store, batches, token)

    assert refusals == ["", "Conflict", "StaleToken", ""]
    assert names_in(store.tail(RUN)) == ["good", "good too"]


def test_a_cancelled_append_leaves_the_store_usable(store: Store) -> None:
    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(store.append, {OF_A: add("cancelled")})
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        await store.append({OF_B: add("kept")})

    anyio.run(work)

    assert names_in(store.read(OF_B)) == ["kept"]


# --- hooks of the twin ------------------------------------------------------------------------------------------


class Died(BaseException):
    """Stands for the end of the process."""


def die_at(number: int, reached: int) -> None:
    if number == reached:
        raise Died


def test_a_death_before_an_append_leaves_nothing_and_one_after_it_everything() -> None:
    store = MemoryStore(lambda number: die_at(2, number))
    store.after = lambda number: die_at(3, number)

    append(store, {OF_RUN: add("1")})
    for name in ("2", "3"):
        with pytest.raises(Died):
            append(store, {OF_RUN: add(name)})

    assert names_in(store.read(OF_RUN)) == ["1", "3"]
    assert store.appends == 3
