"""What reviews found, as reports have it: every finding of the steps and of the last walk, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.events import StepFinished
from drumline.core.findings import Found
from drumline.core.ids import FINAL
from drumline.core.plaintext import count_noun
from drumline.core.reviewing import MOST_REVIEWS
from drumline.core.state import RunState
from drumline.core.vocabulary import Settlement, Severity
from drumline.record import Record

GONE = frozenset({Settlement.FIXED.value, Settlement.WRONG.value, Settlement.STEP.value})
"""What leaves nothing of a finding."""


class Finding(Record):
    """What a reviewer found. `settled` is what became of it, null if nothing has; `confirmed` is who confirmed it."""

    id: str
    step: str
    severity: str
    file: str
    line: int | None
    title: str
    detail: str
    by: str
    confirmed: str | None
    settled: str | None
    why: str


def list_findings(run: RunState) -> tuple[Finding, ...]:
    """All that reviewers found about what this run did, in the order of its steps."""
    ids = [*(step.id for step in run.selected()), FINAL]
    ended = [run.finished[name] for name in ids if name in run.finished]
    return tuple(_tell(one) for finished in ended for one in finished.findings)


def choose(found: Sequence[Finding], severity: Severity) -> tuple[Finding, ...]:
    """Those of a severity of which something is left; a blocker only if somebody confirmed it."""
    left = (one for one in found if one.severity == severity.value and one.settled not in GONE)
    return tuple(one for one in left if severity is not Severity.BLOCKER or one.confirmed)


def hits_cap(run: RunState) -> bool:
    """Whether blockers of a step are left although they went back to its agent as often as they may."""
    capped = [finished for finished in run.finished.values() if finished.reviews >= MOST_REVIEWS]
    return any(one.holds_up for finished in capped for one in finished.findings)


def tell_review(finished: StepFinished) -> str:
    """What a person should know of the review of a step that landed; empty if nothing."""
    if finished.unreviewed:
        return "not reviewed: its reviewer gave no usable answer"
    parts = [
        f"{count_noun(len(left), severity.value)} {how.value}: {', '.join(one.finding.title for one in left[:3])}"
        for severity, how in (
            (Severity.BLOCKER, Settlement.ACCEPTED),
            (Severity.CONCERN, Settlement.ACCEPTED),
            (Severity.CONCERN, Settlement.DEFERRED),
        )
        if (left := [f for f in finished.findings if f.finding.severity is severity and f.settled is how])
    ]
    return "; ".join(parts)


def _tell(found: Found) -> Finding:
    finding = found.finding
    return Finding(
        id=finding.id,
        step=finding.step,
        severity=finding.severity.value,
        file=finding.file,
        line=finding.line or None,
        title=finding.title,
        detail=finding.detail,
        by=finding.by,
        confirmed=found.confirmed or None,
        settled=found.settled.value if found.settled else None,
        why=found.why,
    )
