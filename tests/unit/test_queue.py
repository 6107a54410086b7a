"""The landing queue: who stands on what, who leaves it, and what follows for those behind."""

from __future__ import annotations

import pytest

from drumline.core import events as ev
from drumline.core.ids import Commit, StepId, Tree
from drumline.core.queue import (
    FIRST_WINDOW,
    LEAST_WINDOW,
    MOST_WINDOW,
    Conclude,
    Drop,
    Enter,
    Form,
    Judge,
    Judged,
    Line,
    Prove,
    Queue,
    Repeat,
    Stand,
    Take,
    Turn,
    Wait,
    choose_turn,
    find_awaited,
    fold_queue,
    grow,
    shrink,
)
from drumline.core.vocabulary import DropCause, StepEnd

A, B, C = StepId("a"), StepId("b"), StepId("c")
BASE, HEAD = Commit("base"), Commit("head")
TREE = Tree("tree")


def test_who_waits_for_whom_is_known_to_those_who_ask() -> None:
    taken = [ev.TicketTaken(step=A), ev.TicketTaken(step=B), ev.TicketTaken(step=C)]
    formed = ev.CandidateFormed(step=B, commit=Commit("b"), tree=TREE, on=Commit("a"))

    assert [find_awaited(queue_of(*taken), step) for step in (A, B, C)] == [None, A, B]
    assert find_awaited(queue_of(*taken, formed), B) is None  # its candidate is being checked
    assert find_awaited(queue_of(*taken, formed, ev.CandidateProved(step=B, commit=Commit("b"))), B) == A
    clash = ev.CandidateDropped(step=C, cause=DropCause.CONFLICT, on=Commit("b"))
    assert find_awaited(queue_of(*taken, formed, clash), C) == B


def queue_of(*events: ev.Event) -> Queue:
    queue = Queue()
    for event in events:
        queue = fold_queue(queue, event)
    return queue


def formed(step: StepId, on: Commit) -> ev.CandidateFormed:
    return ev.CandidateFormed(step=step, commit=Commit(f"{step} on {on}"), tree=TREE, on=on)


def stand(step: StepId, base: Commit = BASE, judged: Judged = Judged.PASSED, **more: object) -> Stand:
    return Stand(step=step, base=base, tree=TREE, judged=judged, **more)  # type: ignore[arg-type]


def turn(queue: Queue, wants: Stand, *, claimed: tuple[StepId, ...] = (A, B, C)) -> Turn:
    return choose_turn(Line(queue=queue, claimed=claimed), wants)


TAKEN = (ev.TicketTaken(step=A), ev.TicketTaken(step=B), ev.TicketTaken(step=C))
ON_A = Commit(f"a on {BASE}")
CHAIN = (*TAKEN, formed(A, BASE), formed(B, ON_A), formed(C, Commit(f"b on {ON_A}")))
ON_B = Commit(f"b on {ON_A}")
ENDED = ev.BranchMoved(step=A, old=BASE, new=ON_A, tree=TREE)


def test_a_step_alone_lands_without_a_ticket() -> None:
    assert turn(Queue(), stand(A)) == Enter()


def test_a_step_takes_a_ticket_while_others_are_in_the_queue() -> None:
    assert turn(queue_of(TAKEN[0]), stand(B)) == Take()


def test_a_step_whose_base_the_branch_has_left_takes_a_ticket_without_trying_to_land() -> None:
    assert turn(queue_of(ENDED), stand(B)) == Take()


def test_what_git_tells_of_the_head_goes_into_the_ticket() -> None:
    told = turn(Queue(), stand(A, behind=HEAD))
    queue = queue_of(ev.TicketTaken(step=A, head=HEAD))

    assert told == Take(head=HEAD)
    assert queue.head == HEAD
    assert turn(queue, stand(A, behind=HEAD)) == Form(on=HEAD, head=HEAD)


def test_a_candidate_stands_on_the_one_before_it() -> None:
    assert turn(queue_of(*TAKEN, formed(A, BASE)), stand(B)) == Form(on=ON_A)
    assert turn(queue_of(*TAKEN, formed(A, BASE)), stand(C)) == Wait(step=B)


def test_candidates_beyond_the_window_wait() -> None:
    shrunk = [ev.CandidateDropped(step=StepId("x"), cause=DropCause.RED)] * 3
    queue = queue_of(*shrunk, *TAKEN, formed(A, BASE), formed(B, ON_A))

    assert queue.window == LEAST_WINDOW
    assert turn(queue, stand(C)) == Wait(step=B)


def test_a_candidate_that_passes_says_so_and_lands_once_those_ahead_have() -> None:
    proved = ev.CandidateProved(step=B, commit=ON_B, commands=("make",))
    passed = stand(B, ON_A, joined=True)

    assert turn(queue_of(*CHAIN), stand(B, ON_A, Judged.OPEN, joined=True)) == Judge()
    assert turn(queue_of(*CHAIN), passed) == Prove()
    assert turn(queue_of(*CHAIN, proved), passed) == Wait(step=A)
    assert turn(queue_of(*CHAIN, proved, ENDED), passed) == Enter()


def test_a_candidate_that_fails_behind_others_leaves_the_queue_and_waits_for_them() -> None:
    failed = stand(B, ON_A, Judged.FAILED, joined=True)
    dropped = ev.CandidateDropped(step=B, cause=DropCause.RED)

    assert turn(queue_of(*CHAIN), failed) == Drop(step=B, cause=DropCause.RED)
    assert turn(queue_of(*CHAIN, dropped), failed) == Wait(step=A)
    assert turn(queue_of(*CHAIN, dropped, ENDED), failed) == Conclude()
    assert turn(queue_of(*CHAIN, dropped), stand(C, ON_B, joined=True)) == Form(on=ON_A)


def test_a_candidate_that_failed_on_one_that_did_not_land_is_formed_again() -> None:
    lost = [ev.CandidateDropped(step=step, cause=DropCause.RED) for step in (B, A)]
    landed = ev.BranchMoved(step=StepId("x"), old=BASE, new=HEAD, tree=TREE)
    queue = queue_of(*CHAIN, *lost, landed)

    assert turn(queue, stand(B, ON_A, Judged.FAILED, joined=True)) == Take()
    assert turn(queue, stand(C, ON_B, Judged.FAILED, joined=True)) == Form(on=HEAD)


def test_a_candidate_that_fails_on_the_head_has_failed() -> None:
    assert turn(queue_of(*CHAIN, ENDED), stand(B, ON_A, Judged.FAILED, joined=True)) == Conclude()


def test_a_passing_candidate_behind_is_evidence_of_a_flake() -> None:
    proved = ev.CandidateProved(step=C, commit=Commit(f"c on {ON_B}"), commands=("make", "lint"))
    failed = stand(B, ON_A, Judged.FAILED, joined=True, failing=("make",))

    assert turn(queue_of(*CHAIN, proved), failed) == Repeat()
    assert turn(queue_of(*CHAIN, proved), stand(B, ON_A, Judged.FAILED, joined=True, failing=("test",))) == Drop(
        step=B, cause=DropCause.RED
    )


def test_a_step_that_conflicts_with_a_candidate_waits_outside_until_that_is_settled() -> None:
    clash = ev.CandidateDropped(step=B, cause=DropCause.CONFLICT, on=ON_A)

    assert turn(queue_of(*CHAIN, clash), stand(B)) == Wait(step=A)
    assert turn(queue_of(*CHAIN, clash, ENDED), stand(B)) == Take()
    assert turn(queue_of(*CHAIN, clash, ev.CandidateDropped(step=A, cause=DropCause.RED)), stand(B)) == Take()


def test_a_ticket_that_nobody_holds_a_claim_for_is_dropped_by_who_waits_for_it() -> None:
    assert turn(queue_of(*CHAIN), stand(C), claimed=(B, C)) == Drop(step=A, cause=DropCause.LOST)


def test_those_behind_do_not_matter_to_the_first() -> None:
    assert turn(queue_of(*CHAIN), stand(A), claimed=(A,)) == Enter()


def test_a_tree_that_a_formatter_changed_is_another_candidate() -> None:
    changed = Stand(step=B, base=ON_A, tree=Tree("formatted"), judged=Judged.OPEN, joined=True)

    assert turn(queue_of(*CHAIN), changed) == Form(on=ON_A)


def test_drivers_are_heard_out_of_order() -> None:
    later = ev.BranchMoved(step=B, old=ON_A, new=ON_B, tree=TREE)

    assert queue_of(later, ENDED).head == ON_B
    assert queue_of(ENDED, later).head == ON_B


@pytest.mark.parametrize(
    "event", [ev.StepFinished(step=A, state=StepEnd.BLOCKED), ev.StepReopened(step=A), ENDED], ids=lambda e: type(e)
)
def test_a_step_that_is_over_is_not_in_the_queue(event: ev.Event) -> None:
    assert [ticket.step for ticket in queue_of(*TAKEN, event).tickets] == [B, C]


def test_the_window_grows_by_one_and_halves() -> None:
    assert (grow(FIRST_WINDOW), shrink(FIRST_WINDOW)) == (FIRST_WINDOW + 1, FIRST_WINDOW // 2)
    assert (grow(MOST_WINDOW), shrink(LEAST_WINDOW)) == (MOST_WINDOW, LEAST_WINDOW)
