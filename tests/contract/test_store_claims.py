"""The promises of claims and inbox, for SQLite and for its in-memory twin."""

from __future__ import annotations

import pytest
from tests.contract.stores import ME, NO, OF_RUN, RUN, YES, YOU, A, B, add, append, claim, names_in

from drumline.core.ids import RunId
from drumline.errors import Conflict
from drumline.ports.journal import Claim, Message, Store

CANCEL = Message(kind="cancel", by="ann")


# --- claims -----------------------------------------------------------------------------------------------------


def test_of_two_claimers_one_gets_the_step(store: Store) -> None:
    first = store.take(RUN, A, ME)
    second = store.take(RUN, A, YOU)

    assert first is not None
    assert second is None
    assert store.list_claims(RUN) == {A: Claim(driver=ME, token=first)}


def test_a_driver_cannot_claim_again_what_it_has(store: Store) -> None:
    claim(store)

    assert store.take(RUN, A, ME) is None


def test_tokens_only_grow_also_after_a_release(store: Store) -> None:
    tokens = []
    for step in (A, B, A, A):
        tokens.append(claim(store, step))
        store.release(RUN, step, tokens[-1])

    assert tokens == sorted(set(tokens))


def test_a_claim_is_taken_over_once_and_only_from_the_owner_that_was_seen(store: Store) -> None:
    dead = claim(store)

    new = store.take(RUN, A, YOU, over=dead)
    late = store.take(RUN, A, ME, over=dead)

    assert new is not None
    assert new > dead
    assert late is None
    assert store.list_claims(RUN) == {A: Claim(driver=YOU, token=new)}


def test_a_claim_that_is_gone_cannot_be_taken_over(store: Store) -> None:
    dead = claim(store)
    store.release(RUN, A, dead)

    assert store.take(RUN, A, YOU, over=dead) is None
    assert store.list_claims(RUN) == {}


def test_no_more_claims_than_allowed_are_given_out_per_run(store: Store) -> None:
    first = store.take(RUN, A, ME, at_most=1)
    assert first is not None

    assert store.take(RUN, B, ME, at_most=1) is None
    assert store.take(RunId("r2"), B, ME, at_most=1) is not None
    assert store.take(RUN, B, ME, at_most=2) is not None


def test_taking_over_is_allowed_when_all_claims_are_given_out(store: Store) -> None:
    dead = claim(store)

    assert store.take(RUN, A, YOU, over=dead, at_most=1) is not None


def test_releasing_a_claim_that_was_taken_over_changes_nothing(store: Store) -> None:
    dead = claim(store)
    new = store.take(RUN, A, YOU, over=dead)

    store.release(RUN, A, dead)

    assert new is not None
    assert store.list_claims(RUN) == {A: Claim(driver=YOU, token=new)}


# --- inbox ------------------------------------------------------------------------------------------------------


def test_the_first_answer_to_a_gate_wins_and_the_second_is_told(store: Store) -> None:
    assert store.put(RUN, YES) is None
    assert store.put(RUN, NO) == YES

    assert [m for _, m in store.unread(RUN)] == [YES]


def test_the_first_answer_still_wins_once_it_is_settled(store: Store) -> None:
    store.put(RUN, YES)
    append(store, {}, settles=[number for number, _ in store.unread(RUN)])

    assert store.put(RUN, NO) == YES
    assert store.unread(RUN) == []


def test_answers_to_other_gates_and_in_other_runs_are_kept(store: Store) -> None:
    store.put(RUN, YES)

    assert store.put(RUN, Message(kind="answer", subject="g2", value="no")) is None
    assert store.put(RunId("r2"), NO) is None


def test_messages_that_are_no_answers_may_be_repeated(store: Store) -> None:
    assert store.put(RUN, CANCEL) is None
    assert store.put(RUN, CANCEL) is None

    assert [m for _, m in store.unread(RUN)] == [CANCEL, CANCEL]


def test_a_message_is_settled_with_the_events_it_led_to_and_only_once(store: Store) -> None:
    store.put(RUN, YES)
    store.put(RUN, CANCEL)
    (answer, _), _ = store.unread(RUN)
    append(store, {OF_RUN: add("answered")}, settles=[answer])

    with pytest.raises(Conflict, match="settled before"):
        append(store, {OF_RUN: add("answered again")}, settles=[answer])

    assert names_in(store.read(OF_RUN)) == ["answered"]
    assert [m for _, m in store.unread(RUN)] == [CANCEL]


def test_a_refused_append_settles_nothing(store: Store) -> None:
    store.put(RUN, YES)
    (number, _), *_ = store.unread(RUN)

    with pytest.raises(Conflict):
        append(store, {OF_RUN: add("x", expected=5)}, settles=[number])

    assert [m for _, m in store.unread(RUN)] == [YES]


def test_settling_a_message_that_does_not_exist_is_a_conflict(store: Store) -> None:
    with pytest.raises(Conflict):
        append(store, {OF_RUN: add("x")}, settles=[17])

    assert store.tail(RUN) == []


def test_a_claim_is_refused_when_another_is_there_that_was_not_seen(store: Store) -> None:
    first = store.take(RUN, A, ME)

    blind = store.take(RUN, B, ME, seen=())
    knowing = store.take(RUN, B, ME, seen=[A])

    assert first is not None
    assert blind is None
    assert knowing is not None
