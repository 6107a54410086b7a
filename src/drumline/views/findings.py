"""What reviews found, as reports have it: every finding of the steps and of the last walk, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.acceptance import find_red
from drumline.core.events import StepFinished
from drumline.core.finalreview import count_rounds
from drumline.core.findings import Found
from drumline.core.ids import FINAL
from drumline.core.plaintext import count_noun
from drumline.core.reviewing import MOST_REVIEWS
from drumline.core.state import RunState
from drumline.core.sweeping import tell_outcome
from drumline.core.vocabulary import PlanCause, Settlement, Severity
from drumline.record import Record
from drumline.views.snapshot import Snapshot

GONE = frozenset({Settlement.FIXED.value, Settlement.WRONG.value, Settlement.STEP.value})
"""What leaves nothing of a finding."""


class Finding(Record, rename={"chunk_id": "chunkId"}):
    """What a reviewer found. `settled` is what became of it, null if nothing has, `settled_by` who says so;
    `confirmed` is who confirmed it.

    `step` is empty if the reviewer named one that there is not; `chunkId` is what it named in any case.
    """

    id: str
    step: str
    chunk_id: str
    severity: str
    file: str
    line: int | None
    title: str
    detail: str
    by: str
    confirmed: str | None
    settled: str | None
    settled_by: str
    why: str


def list_findings(snapshot: Snapshot) -> tuple[Finding, ...]:
    """All that reviewers found about what this run did or is about to land, in the order of its steps.

    After that what the run found itself: checks of steps that fail on the head of the run branch.
    """
    looked = [one for _, found in _list_looks(snapshot) for one in found]
    return tuple(_tell(one) for one in (*looked, *find_red(snapshot.run)))


def choose(found: Sequence[Finding], severity: Severity) -> tuple[Finding, ...]:
    """Those of a severity of which something is left."""
    return tuple(one for one in found if one.severity == severity.value and one.settled not in GONE)


def hits_cap(snapshot: Snapshot) -> bool:
    """Whether blockers of a step are left although they went back to its agent as often as they may."""
    capped = [_tell(one) for rounds, found in _list_looks(snapshot) if rounds >= MOST_REVIEWS for one in found]
    return bool(choose(capped, Severity.BLOCKER))


def _list_looks(snapshot: Snapshot) -> list[tuple[int, Sequence[Found]]]:
    """How often what was found went back, and what that is, of each step and of the whole.

    Of a step that has not ended this is what is known by now; of one that its corrective step landed for, nothing: what
    was found there is not part of the work.
    """
    run = snapshot.run
    looks: list[tuple[int, Sequence[Found]]] = []
    for step in run.selected():
        finished, state = run.finished.get(step.id), snapshot.steps.get(step.id)
        if finished is not None and not finished.landed_by:
            looks.append((finished.reviews, finished.findings))
        elif finished is None and state is not None:
            looks.append((state.reviews, tuple(state.findings.values())))
    final, state = _find_final(run), snapshot.steps.get(FINAL)
    if FINAL not in run.finished and state is not None and state.findings:
        looks.append((count_rounds(run), tuple(state.findings.values())))
    elif final is not None:
        looks.append((count_rounds(run), final.findings))
    return looks


def tell_whole(run: RunState) -> tuple[str, ...]:
    """What a person should know of the review of everything that the run landed."""
    final = _find_final(run)
    if final is None:
        return ()
    by = f"reviewed by {final.reviewed}" if final.reviewed else ""
    return tuple(filter(None, (tell_review(final) or by, *_list_corrected(run))))


def whole_unreviewed(run: RunState) -> bool:
    """Whether everything that the run landed was to be reviewed, and no answer about it could be used."""
    final = _find_final(run)
    return final is not None and bool(final.unreviewed or final.unread)


def _list_corrected(run: RunState) -> list[str]:
    """The corrective steps that it led to."""
    steps = [name for name, planned in run.corrections.items() if planned.cause is PlanCause.REVIEW]
    return [f"{count_noun(len(steps), 'step')} for what it found: {', '.join(steps)}"] if steps else []


def _find_final(run: RunState) -> StepFinished | None:
    """The last end of the last walk of the run, also if more has landed since."""
    return run.finished.get(FINAL) or run.final_before


def tell_review(finished: StepFinished) -> str:
    """What a person should know of the review of a step that landed; empty if nothing."""
    if finished.unreviewed:
        return "; ".join(filter(None, ("not reviewed: its reviewer gave no usable answer", *_tell_protocol(finished))))
    parts = [
        f"{count_noun(len(left), severity.value)} {how.value}: {', '.join(one.finding.title for one in left[:3])}"
        for severity, how in (
            (Severity.BLOCKER, Settlement.ACCEPTED),
            (Severity.CONCERN, Settlement.ACCEPTED),
            (Severity.CONCERN, Settlement.DEFERRED),
        )
        if (left := [f for f in finished.findings if f.finding.severity is severity and f.settled is how])
    ]
    return "; ".join(filter(None, (*parts, *_tell_protocol(finished))))


def _tell_protocol(finished: StepFinished) -> tuple[str, str]:
    return _tell_sweep(finished), tell_unread(finished.unread)


def tell_unread(nodes: Sequence[str]) -> str:
    """The nodes whose agents gave no answer that could be used; empty if there is none."""
    return f"no usable answer of {', '.join(nodes)}" if nodes else ""


def _tell_sweep(finished: StepFinished) -> str:
    """What a person should know of the look for edge cases: that there is none, or what it proposes."""
    sweep = finished.swept
    if sweep is None or sweep.failure:
        return "edge cases: not run" if sweep is not None else ""
    left = [tell_outcome(one) for one in sweep.proposals if not one.applied]
    return f"proposes: {'; '.join(left)}" if left else ""


def _tell(found: Found) -> Finding:
    finding = found.finding
    return Finding(
        id=finding.id,
        step=finding.step,
        chunk_id=finding.step or finding.named,
        severity=finding.severity.value,
        file=finding.file,
        line=finding.line or None,
        title=finding.title,
        detail=finding.detail,
        by=finding.by,
        confirmed=found.confirmed or None,
        settled=found.settled.value if found.settled else None,
        settled_by=found.settled_by,
        why=found.why,
    )
