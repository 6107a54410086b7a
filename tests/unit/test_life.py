"""A step's life is a table: every pair of phase and event is either in it or refused."""

from __future__ import annotations

import pytest

from drumline.core import events as ev
from drumline.core.codec import KINDS
from drumline.core.life import OPEN, TRANSITIONS, Phase, step_forward
from drumline.errors import NotAllowed

P = Phase
LEGAL: dict[tuple[Phase, type[ev.Event]], Phase] = {
    (P.WAITING, ev.WorkspaceAssigned): P.PREPARING,
    (P.PREPARING, ev.WorkspaceReady): P.PREPARED,
    (P.PREPARING, ev.WorkspaceFailed): P.WAITING,
    (P.PREPARING, ev.WorkLost): P.WAITING,
    (P.PREPARED, ev.AttemptStarted): P.WORKING,
    (P.WORKING, ev.AttemptEnded): P.WORKED,
    (P.WORKING, ev.WorkLost): P.PREPARED,
    (P.WAITING, ev.StepRechecked): P.WAITING,
    (P.PREPARED, ev.StepRechecked): P.PREPARED,
    (P.PREPARED, ev.CheckStarted): P.CHECKING,
    (P.PREPARED, ev.LandingStarted): P.LANDING,
    (P.PREPARED, ev.WorkChanged): P.WORKED,
    (P.WORKED, ev.WorkChanged): P.WORKED,
    (P.WORKED, ev.WorkRebased): P.WORKED,
    (P.WORKED, ev.AttemptStarted): P.WORKING,
    (P.WORKED, ev.CheckStarted): P.CHECKING,
    (P.WORKED, ev.LandingStarted): P.LANDING,
    (P.WORKED, ev.StepRechecked): P.WORKED,
    (P.WORKED, ev.ComparisonStarted): P.COMPARING,
    (P.COMPARING, ev.ComparisonEnded): P.WORKED,
    (P.COMPARING, ev.WorkLost): P.WORKED,
    (P.WORKED, ev.MutantsStarted): P.MUTATING,
    (P.MUTATING, ev.MutantsEnded): P.WORKED,
    (P.MUTATING, ev.WorkLost): P.WORKED,
    (P.CHECKING, ev.CheckEnded): P.WORKED,
    (P.CHECKING, ev.WorkLost): P.WORKED,
    (P.WORKING, ev.SessionOpened): P.WORKING,
    (P.WORKING, ev.AttemptUsed): P.WORKING,
    (P.LANDING, ev.StepLanded): P.LANDED,
    (P.LANDING, ev.LandingRefused): P.WORKED,
    (P.LANDING, ev.WorkLost): P.WORKED,
    **{(phase, kind): phase for phase in (P.PREPARED, P.WORKED) for kind in ev.REVIEWING},
}
ANYWHERE = {ev.StepClaimed, ev.StepReleased, ev.StepRestarted}
PAIRS = [(phase, kind) for phase in Phase for kind in KINDS.values()]


def follows(phase: Phase, kind: type[ev.Event]) -> Phase | None:
    """The phase after the event; None if it is refused."""
    try:
        return step_forward(phase, kind)
    except NotAllowed:
        return None


@pytest.mark.parametrize(("phase", "kind"), PAIRS, ids=lambda value: getattr(value, "__name__", str(value)))
def test_every_pair_of_phase_and_event_is_in_the_table_or_refused(phase: Phase, kind: type[ev.Event]) -> None:
    expected = LEGAL.get((phase, kind))
    if kind is ev.StepRestarted:
        expected = P.WAITING
    elif kind in ANYWHERE:
        expected = phase

    found = follows(phase, kind)

    assert found is expected


def test_every_phase_has_a_row_in_the_table() -> None:
    assert set(TRANSITIONS) == set(Phase)


def test_every_open_phase_can_be_closed_as_lost_and_no_other() -> None:
    closable = {phase for phase, allowed in TRANSITIONS.items() if ev.WorkLost in allowed}

    assert closable == OPEN


def test_work_lost_leads_to_where_the_same_intent_is_legal_again() -> None:
    for phase in OPEN:
        before = TRANSITIONS[phase][ev.WorkLost]

        assert phase in TRANSITIONS[before].values()


def test_every_phase_can_be_reached_from_the_first() -> None:
    reached = {P.WAITING}
    for _ in Phase:
        reached |= {after for phase in reached for after in TRANSITIONS[phase].values()}

    assert reached == set(Phase)


def test_an_illegal_move_names_what_would_have_been_legal() -> None:
    with pytest.raises(NotAllowed) as caught:
        step_forward(P.PREPARED, ev.StepLanded)

    assert "'StepLanded'" in str(caught.value)
    assert "'prepared'" in str(caught.value)
    assert "AttemptStarted" in str(caught.value)
    assert caught.value.hint


def test_nothing_but_a_new_round_follows_a_landing() -> None:
    with pytest.raises(NotAllowed, match="legal here: nothing"):
        step_forward(P.LANDED, ev.AttemptStarted)
