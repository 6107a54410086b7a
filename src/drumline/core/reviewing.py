"""What follows a review of a step's work. Pure.

The rule: a blocker counts once somebody else than its finder confirms it, and only who looks again says that one is
fixed. A confirmed one that is not settled keeps the work from landing, whatever the flow says.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from drumline.core.events import Event, FindingConfirmed, FindingRecorded, FindingSettled
from drumline.core.findings import Found, read_findings, read_ids, tell_findings
from drumline.core.flow.model import Json
from drumline.core.ids import StepId
from drumline.core.plaintext import count_noun
from drumline.core.state import RunState
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import QUICK, Review, Settlement, Severity
from drumline.patterns import compile_late

MOST_REVIEWS = 2
"""How often findings go back to the agent before a person is asked."""
PERSON = "a person"
WAVES = "waves"
"""The format whose chunks are all reviewed, those that are blocked included, by a reviewer of the tier `standard`."""
CONFIRMED, NAMED = "confirmed", "named"
"""What a `settle` node says beside the ways to settle a finding: it is to be put right, or a person names it or not."""
_ID = compile_late(r"\S+-F[0-9]+")
ACCEPT = "accept"
"""The word before the ids of findings that a person takes as they are."""


def is_wanted(run: RunState) -> bool:
    """Whether anything may be reviewed in this run at all."""
    return run.begun.rigor not in ("", QUICK) and run.begun.review is not Review.NONE


def reviews_failures(run: RunState) -> bool:
    """Whether work that its checks turn down for good is reviewed, too: every chunk of a plan in waves is."""
    return run.plan.format == WAVES and is_wanted(run)


def choose_reasons(run: RunState, found: Sequence[str]) -> tuple[str, ...]:
    """Why work is reviewed; empty if it is not. `found` are the facts that speak for it."""
    if not is_wanted(run):
        return ()
    if not found and run.begun.review is Review.ALL:
        return ("every step is reviewed (review = all)",)
    return tuple(found)


def is_reviewed(state: StepState) -> bool:
    """Whether a reviewer has looked at exactly this work already, or tried to, and nothing is left of that."""
    blocked = any(_is_open_blocker(one) for one in state.findings.values())
    return state.reviewed is not None and state.reviewed.tree == state.tree and not blocked and not list_due(state)


def list_due(state: StepState) -> list[Found]:
    """What the step's agent has to put right: confirmed findings that are not settled."""
    return [one for one in state.findings.values() if one.is_open and one.confirmed]


def list_left(state: StepState) -> list[Found]:
    """The blockers that keep the work from landing."""
    return [one for one in state.findings.values() if one.holds_up]


def tell_left(state: StepState) -> str:
    """Why the work may not land because of its review; empty if it may."""
    left = list_left(state)
    if not left:
        return ""
    named = "; ".join(f"{one.finding.id} {one.finding.title}" for one in left[:3])
    verb = "is" if len(left) == 1 else "are"
    unseen = f"; {told}" if (told := tell_unseen(state)) else ""
    return f"{count_noun(len(left), 'confirmed blocker')} of its review {verb} left: {named}{unseen}"


def tell_unseen(state: StepState) -> str:
    """Which reviewer gave no answer about blockers that are open; empty if none did."""
    seen = state.reviewed
    if seen is None or not seen.failure or not any(_is_open_blocker(one) for one in state.findings.values()):
        return ""
    return f"its reviewer, {seen.by} ({seen.chosen}), gave no usable answer when it looked again: {seen.failure}"


def _is_open_blocker(one: Found) -> bool:
    return one.is_open and one.finding.severity is Severity.BLOCKER


def tell_due(state: StepState) -> str:
    """What the step's agent is asked to put right; empty if that is nothing."""
    due = list_due(state)
    if not due:
        return ""
    said = dict.fromkeys(one.why for one in due if one.confirmed == PERSON and one.why)
    guidance = "".join(f"\n\nA person said about it: {words}" for words in said)
    return f"{tell_findings(due)}{guidance}"


def read_review(
    answer: Json, state: StepState, *, step: StepId, steps: Collection[str], by: str, top: str = ""
) -> list[Event]:
    """What an answer of a reviewer means: new findings, and known ones that are fixed. It confirms nothing itself.

    `top` is where the reviewer looked.
    """
    if not isinstance(answer, Mapping):
        return []
    kept = [one.finding for one in state.findings.values() if one.settled is not Settlement.FIXED]
    read = partial(read_findings, answer.get("findings"), steps=steps, own=step, by=by, top=top)
    said, fresh = read(), read(taken=kept, used=state.numbered)
    repeated = {finding.key for finding in said}
    left = {name: one for name, one in state.findings.items() if one.is_open}
    fixed = [name for name in read_ids(answer.get("fixed"), left) if left[name].finding.key not in repeated]
    return [
        *(FindingSettled(finding=name, how=Settlement.FIXED, by=by) for name in fixed),
        *(FindingRecorded(finding=finding) for finding in fresh),
    ]


def read_verdicts(answer: Json, state: StepState, *, by: str) -> list[Event]:
    """What an answer about unconfirmed blockers means; it says nothing about others."""
    if not isinstance(answer, Mapping):
        return []
    left = {name: one for name, one in state.findings.items() if one.is_open and not one.confirmed}
    blockers = [name for name, one in left.items() if one.finding.severity is Severity.BLOCKER]
    refuted = read_ids(answer.get("refuted"), blockers)
    confirmed = {name: why for name, why in read_ids(answer.get("confirmed"), blockers).items() if name not in refuted}
    wrong = Settlement.WRONG
    return [
        *(FindingConfirmed(finding=name, by=by, why=why) for name, why in confirmed.items()),
        *(FindingSettled(finding=name, how=wrong, by=by, why=why) for name, why in refuted.items()),
    ]


def settle_all(state: StepState, severity: Severity, *, how: str, why: str) -> list[Event]:
    """What a person, or the run's autonomy, says about all open findings of a severity; `confirmed` is not an end."""
    left = [name for name, one in state.findings.items() if one.is_open and one.finding.severity is severity]
    if how == NAMED:
        named, reason = read_accepted(why)
        if list_misnamed(state, severity, why):
            return []
        if named:
            return [FindingSettled(finding=n, how=Settlement.ACCEPTED, by=PERSON, why=reason) for n in named]
        how = CONFIRMED
    if how == CONFIRMED:
        doubtful = [name for name in left if why or not state.findings[name].confirmed]
        return [FindingConfirmed(finding=name, by=PERSON, why=why) for name in doubtful]
    return [FindingSettled(finding=name, how=Settlement(how), by=PERSON, why=why) for name in left]


def list_misnamed(state: StepState, severity: Severity, said: str) -> list[str]:
    """What a person wants to accept by name that is not an open finding of this severity."""
    named = {name: state.findings.get(name) for name in read_accepted(said)[0]}
    return [
        name for name, one in named.items() if one is None or not one.is_open or one.finding.severity is not severity
    ]


def read_accepted(said: str) -> tuple[list[str], str]:
    """The findings that a person accepts by name, and why: a line `accept` with ids and nothing else, and other words.

    No names if that is not said.
    """
    line, _, why = said.strip().partition("\n")
    word, *names = line.replace(",", " ").split() or [""]
    if word.lower() != ACCEPT or not names or not all(map(_ID.fullmatch, names)):
        return [], ""
    return list(dict.fromkeys(names)), why.strip()


def describe_review(state: StepState, *, rounds: int | None = None) -> Mapping[str, Json]:
    """The fields of `review` for the conditions and texts of a flow.

    `rounds` is how often findings went back; without it, that is to the step's agent. Nobody continues with what a
    reviewer has not looked at again, and what fails its checks is only told.
    """
    left = [one for one in state.findings.values() if one.is_open]
    blockers = [one for one in left if one.finding.severity is Severity.BLOCKER]
    sure = [one for one in blockers if one.confirmed]
    concerns = [one for one in left if one.finding.severity is Severity.CONCERN]
    return {
        "unconfirmed": len(blockers) - len(sure),
        "blockers": len(sure),
        "concerns": len(concerns),
        "again": (state.reviews if rounds is None else rounds) < MOST_REVIEWS and not tell_unseen(state),
        "failing": bool(state.faults()),
        "unseen": tell_unseen(state),
        "doubtful": tell_findings([one for one in blockers if not one.confirmed]),
        "told": tell_findings(sure),
        "misnamed": "",
        "listed": tell_findings(concerns),
    }
