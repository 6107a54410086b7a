"""What people say: refused with a reason, left for whoever drives, or taken up at once if nobody does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import getuid
from pwd import getpwuid

import anyio
import pytest
from tests.unit.builders import RUN, Scene, finish, gate_for, run_started, step_of

from drumline.app.catalog import read_run
from drumline.app.inbox import (
    check_answer,
    check_cancel,
    check_heal,
    check_mode,
    check_open,
    check_retry,
    check_skip,
    check_speaker,
    check_step,
    name_person,
    send,
)
from drumline.core import events as ev
from drumline.core.gates import question
from drumline.core.ids import GateId, StepId, Stream, Token
from drumline.core.runfold import fold_run
from drumline.core.state import RunState
from drumline.core.vocabulary import Mode, RunEnd
from drumline.errors import InvalidInput
from drumline.ports.journal import Addition, Message
from drumline.record import replace
from drumline.testing.roster import FakeRoster
from drumline.testing.store import MemoryStore

A = StepId("a")
STEPS = [step_of("a"), step_of("b", "a")]
WORKING = ev.StepStarted(step=A)
DECLARED = ev.StepsDeclared(steps=(A,))
GATE = gate_for("g", "a")
YES = Message(kind="answer", subject="g", value="yes", by="mary")


def check_again(run: RunState, name: str) -> str:
    """A retry in a run of a plan, whose steps are known without looking."""
    return check_retry(run, name, lambda: Scene(steps=STEPS).snapshot())


def run_of(*events: ev.Event) -> RunState:
    """A run of two steps."""
    return Scene(steps=STEPS, events=events).run()


def store_of(*events: ev.Event, store: MemoryStore | None = None) -> MemoryStore:
    """The same run in a store."""
    store = store or MemoryStore()

    async def fill() -> None:
        await store.append({Stream(RUN): Addition(events=Scene(steps=STEPS, events=events).history())})

    anyio.run(fill)
    return store


@pytest.mark.parametrize(
    ("events", "gate", "choice", "message"),
    [
        ([], "g", "yes", "no gate 'g' .open: none is open"),
        ([GATE], "h", "yes", "no gate 'h' .open: g"),
        (
            [GATE, ev.GateAnswered(gate=GateId("g"), choice="no", by="mary")],
            "g",
            "yes",
            "answered 'no' by mary already",
        ),
        ([GATE, ev.GateAnswered(gate=GateId("g"), choice="no")], "g", "yes", "answered 'no' already"),
        ([GATE], "g", "maybe", "'maybe' is not an option of gate 'g' .legal: yes, no"),
        ([GATE, finish("a", "skipped")], "g", "yes", "no gate 'g'"),
    ],
)
def test_an_answer_is_refused_with_what_would_be_legal(
    events: list[ev.Event], gate: str, choice: str, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_answer(run_of(*events), gate, choice)


def test_what_a_run_has_started_does_not_speak_for_a_person() -> None:
    with pytest.raises(InvalidInput, match="a person has to say this"):
        check_speaker(RUN)


def test_a_person_is_heard() -> None:
    check_speaker(None)


def test_an_answer_to_an_open_gate_is_fine() -> None:
    check_answer(run_of(GATE), "g", "no")


def test_the_word_that_stands_for_an_answer_is_refused_and_the_command_with_ones_own_words_is_named() -> None:
    run = run_of(question(step_of("a"), 1, "Which?"), GATE)

    with pytest.raises(InvalidInput, match="TEXT stands for what you want to say") as refused:
        check_answer(run, "question-a", "TEXT")
    with pytest.raises(InvalidInput, match="TEXT stands for what you want to say") as commented:
        check_answer(run, "g", "yes", "TEXT")
    check_answer(run, "question-a", "the TEXT")

    assert refused.value.hint == "drumline answer question-a 'your own words'"
    assert commented.value.hint == "drumline answer g yes --comment 'your own words'"


@pytest.mark.parametrize(
    ("events", "message"),
    [([finish("a")], "has landed"), ([WORKING], "is in work"), ([DECLARED], "declares a done")],
)
def test_a_retry_of_what_is_done_or_in_work_is_refused(events: list[ev.Event], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_again(run_of(*events), "a")


def test_only_work_that_fails_its_checks_is_diagnosed() -> None:
    failing = replace(finish("b", "blocked"), failing=("make",))
    run = run_of(failing)

    assert check_heal(run, "b", lambda: Scene(steps=STEPS).snapshot()) == "b"
    with pytest.raises(InvalidInput, match=r"a has no work that fails its checks \(it has not ended\)"):
        check_heal(run, "a", lambda: Scene(steps=STEPS).snapshot())
    with pytest.raises(InvalidInput, match="it is blocked") as refused:
        check_heal(run_of(finish("b", "blocked")), "b", lambda: Scene(steps=STEPS).snapshot())
    assert refused.value.hint == "drumline retry b"


@pytest.mark.parametrize(("parked", "more"), [(False, ""), (True, " --resume")])
def test_a_retry_of_a_step_that_asks_names_the_gate_and_how_to_answer(parked: bool, more: str) -> None:
    asks = question(STEPS[0], 1, "Which?")
    run = run_of(WORKING, asks, *([ev.RunParked(gates=(asks.gate,))] if parked else []))

    with pytest.raises(InvalidInput, match="a waits for an answer to gate question-a") as refused:
        check_again(run, "a")

    assert refused.value.hint == f"drumline answer question-a TEXT{more}"


def test_the_only_step_of_a_flow_is_not_skipped_and_its_nodes_are_no_steps() -> None:
    pinned = ev.FlowPinned(flow="f", path="f.yaml", digest="d", prompt="", folder=".")
    run = fold_run(RunState(id=RUN), [run_started(), pinned])

    with pytest.raises(InvalidInput, match=r"has no step 'a' \(it has flow\)"):
        check_skip(run, "a")
    with pytest.raises(InvalidInput, match="is the whole run"):
        check_skip(run, "flow")


def test_who_speaks_is_known_without_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)

    assert name_person() == getpwuid(getuid()).pw_name


@pytest.mark.parametrize(
    "events",
    [
        [],
        [finish("a", "blocked")],
        [finish("a", "failed")],
        [finish("a", "skipped")],
        [WORKING, ev.StepDeferred(step=StepId("a"), until=50.0)],
    ],
)
def test_a_retry_of_anything_else_is_fine(events: list[ev.Event]) -> None:
    check_again(run_of(*events), "a")


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([finish("a")], "is done already"),
        ([finish("a", "skipped")], "is skipped already"),
        ([DECLARED], "done already"),
    ],
)
def test_a_skip_of_what_is_over_is_refused(events: list[ev.Event], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        check_skip(run_of(*events), "a")


@pytest.mark.parametrize("events", [[], [WORKING], [finish("a", "blocked")]])
def test_a_skip_of_anything_else_is_fine(events: list[ev.Event]) -> None:
    check_skip(run_of(*events), "a")


def test_a_step_the_plan_does_not_have_is_named_with_those_it_has() -> None:
    for check in (check_step, check_again, check_skip):
        with pytest.raises(InvalidInput, match=r"no step 'x' \(it has a, b\)"):
            check(run_of(), "x")


def test_a_step_that_is_a_number_is_found_without_its_zeros() -> None:
    run = Scene(steps=[step_of("01"), step_of("02")], events=[]).run()

    assert [check(run, "2") for check in (check_step, check_again, check_skip)] == ["02"] * 3


@pytest.mark.parametrize("state", [RunEnd.DONE, RunEnd.CANCELLED])
def test_a_run_that_is_over_for_good_is_not_talked_to(state: RunEnd) -> None:
    with pytest.raises(InvalidInput, match=state):
        check_open(run_of(ev.RunEnded(state=state)))


@pytest.mark.parametrize("events", [[], [ev.RunEnded(state=RunEnd.BLOCKED)], [ev.RunEnded(state=RunEnd.FAILED)]])
def test_a_run_that_can_go_on_is_talked_to(events: list[ev.Event]) -> None:
    check_open(run_of(*events))


@pytest.mark.parametrize("events", [[], [ev.RunEnded(state=RunEnd.BLOCKED)], [ev.RunEnded(state=RunEnd.FAILED)]])
def test_what_goes_on_or_waits_for_somebody_can_be_cancelled(events: list[ev.Event]) -> None:
    check_cancel(run_of(*events))


@pytest.mark.parametrize("state", [RunEnd.DONE, RunEnd.CANCELLED])
def test_what_is_over_is_not_cancelled(state: RunEnd) -> None:
    with pytest.raises(InvalidInput, match=f"has ended as {state}; nothing is left to stop"):
        check_cancel(run_of(ev.RunEnded(state=state)))


def test_without_a_driver_an_answer_takes_effect_at_once() -> None:
    store = store_of(GATE, ev.RunParked(gates=(GateId("g"),)))

    settled = anyio.run(send, store, FakeRoster(), RUN, YES)

    run = read_run(store, RUN)
    assert settled
    assert (run.answer(GateId("g")), run.parked) == ("yes", False)
    assert not store.unread(RUN)


def test_with_a_driver_the_message_is_left_for_it() -> None:
    store, roster = store_of(GATE), FakeRoster()
    roster.join(RUN)

    settled = anyio.run(send, store, roster, RUN, YES)

    assert not settled
    assert [message for _, message in store.unread(RUN)] == [YES]
    assert read_run(store, RUN).answer(GateId("g")) is None


def test_an_answer_whose_giver_died_takes_effect_when_somebody_answers_again() -> None:
    store = store_of(GATE)
    store.put(RUN, YES)

    with pytest.raises(InvalidInput, match="answered 'yes' by mary first") as refused:
        anyio.run(send, store, FakeRoster(), RUN, replace(YES, value="no", by="john"))

    assert refused.value.hint == f"drumline resume {RUN}"
    assert read_run(store, RUN).answer(GateId("g")) == "yes"
    assert not store.unread(RUN)


def test_the_second_answer_is_told_who_was_first() -> None:
    store, roster = store_of(GATE), FakeRoster()
    roster.join(RUN)
    anyio.run(send, store, roster, RUN, YES)

    with pytest.raises(InvalidInput, match="answered 'yes' by mary first; 'no' does not count"):
        anyio.run(send, store, roster, RUN, Message(kind="answer", subject="g", value="no"))


def test_everything_lying_in_the_inbox_is_taken_up_in_order() -> None:
    store, roster = store_of(GATE, finish("b", "blocked")), FakeRoster()
    store.put(RUN, YES)
    store.put(RUN, Message(kind="mode", value="sequential"))

    anyio.run(send, store, roster, RUN, Message(kind="retry", subject="b"))

    run = read_run(store, RUN)
    assert (run.answer(GateId("g")), run.mode, run.rounds) == ("yes", "sequential", {"b": 1})
    assert not store.unread(RUN)


def test_a_skip_of_a_step_that_a_dead_driver_holds_waits_for_the_next_driver() -> None:
    store, roster = store_of(WORKING), FakeRoster()
    dead = roster.join(RUN)
    store.take(RUN, A, dead)
    roster.die(dead)

    anyio.run(send, store, roster, RUN, Message(kind="skip", subject="a"))

    assert len(store.unread(RUN)) == 1
    assert read_run(store, RUN).finished == {}


class ContendedStore(MemoryStore):
    """Another process appends `rival` just before the next append."""

    rival: ev.Event | None = None

    async def append(
        self, batch: Mapping[Stream, Addition], *, token: Token | None = None, settles: Sequence[int] = ()
    ) -> int:
        """Let the rival go first."""
        if self.rival is not None:
            rival, self.rival = self.rival, None
            await super().append({Stream(RUN): Addition(events=[rival])})
        return await super().append(batch, token=token, settles=settles)


def test_a_driver_that_appends_meanwhile_does_not_lose_the_answer() -> None:
    store = ContendedStore()
    store_of(GATE, store=store)
    store.rival = ev.ModeChanged(mode=Mode.SEQUENTIAL)

    anyio.run(send, store, FakeRoster(), RUN, YES)

    run = read_run(store, RUN)
    assert (run.answer(GateId("g")), run.mode) == ("yes", "sequential")


def test_an_express_plan_is_not_driven_in_parallel() -> None:
    run = run_of()
    run.plan = replace(run.plan, express=True)

    check_mode(run, "sequential")
    with pytest.raises(InvalidInput, match="express plan, which is always sequential"):
        check_mode(run, "parallel")
