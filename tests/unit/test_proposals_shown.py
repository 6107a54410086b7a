"""What a person has agreed to is what the event of the question says was shown, whatever the question's text is."""

from __future__ import annotations

from tests.unit.builders import Scene, step_of

from drumline.core import events as ev
from drumline.core.ids import GateId, StepId
from drumline.core.sweeping import APPLY, find_yes, list_shown, tell_proposal
from drumline.core.sweeps import Proposal, Sweep
from drumline.core.vocabulary import GateKind
from drumline.record import replace

STEP = StepId("a")
PROPOSAL = Proposal(id="a-P1", step=StepId("b"), title="Shorter", why="", old="x", new="y", diff="-x\n+y")


def ask(*shown: str, question: str = "") -> list[ev.Event]:
    gate = GateId("proposals")
    opened = ev.GateOpened(
        gate=gate, kind=GateKind.APPROVAL, question=question, options=(APPLY, "decline"), step=STEP, shown=shown
    )
    return [opened, ev.GateAnswered(gate=gate, choice=APPLY)]


def test_only_what_the_event_says_was_shown_is_agreed_to() -> None:
    text = f"Apply this?\n\n{tell_proposal(PROPOSAL)}"
    shown = list_shown(Sweep(proposals=(PROPOSAL,)), text)
    other = replace(PROPOSAL, diff="-x\n+z")
    steps = [step_of("a"), step_of("b")]

    told = Scene(steps=steps, events=ask(question=text), live=[]).snapshot().run
    meant = Scene(steps=steps, events=ask(*shown, question=text), live=[]).snapshot().run

    assert find_yes(told, STEP, PROPOSAL) is None
    assert find_yes(meant, STEP, PROPOSAL) is not None
    assert find_yes(meant, STEP, other) is None


def test_a_question_that_cuts_a_proposal_does_not_show_it() -> None:
    cut = tell_proposal(PROPOSAL)[:-2]

    assert list_shown(Sweep(proposals=(PROPOSAL,)), f"Apply {cut}?") == ()
