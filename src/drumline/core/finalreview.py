"""The review of everything that a run has landed, after its last step. Pure.

The rule: what is found there is about work that has landed, so that it is put right by steps of its own: one for the
blockers of a file, one for each concern. Who looks again says what is fixed, as before a landing.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from drumline.core.events import StepFinished
from drumline.core.findings import Finding, Found, tell_findings
from drumline.core.flow.model import Json
from drumline.core.ids import NO_STEP, StepId
from drumline.core.plaintext import count_noun
from drumline.core.reviewing import PERSON, is_wanted
from drumline.core.risk import is_documentation
from drumline.core.state import RunState
from drumline.core.vocabulary import FULL, PlanCause, Review, Severity
from drumline.record import Record


class Cluster(Record):
    """Findings that one corrective step puts right, and the landed step that this helps."""

    helps: StepId
    found: tuple[Found, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The findings by their ids."""
        return tuple(one.finding.id for one in self.found)


def list_final_reasons(run: RunState) -> tuple[str, ...]:
    """Why everything that the run landed is reviewed together; empty if it is not."""
    landed = _list_landed(run)
    if not is_wanted(run) or is_documentation(path for finished in landed for path in finished.files):
        return ()
    flagged = [f.step for f in landed if run.plan.by_id[f.step].review]
    named = f"{', '.join(flagged[:5])}{' and others' if len(flagged) > 5 else ''}"
    return tuple(
        reason
        for holds, reason in (
            (flagged, f"the plan flags {count_noun(len(flagged), 'step')} for a review ({named})"),
            (run.begun.rigor == FULL, "every run is reviewed as a whole (rigor = full)"),
            (run.begun.review is Review.ALL, "every run is reviewed as a whole (review = all)"),
        )
        if holds
    )


def list_flagged(run: RunState) -> list[StepId]:
    """The landed steps that the plan flags for a review: one strong reviewer looks at them together."""
    return [finished.step for finished in _list_landed(run) if run.plan.by_id[finished.step].review]


def count_rounds(run: RunState) -> int:
    """How often what was found after the last landing became corrective steps."""
    return len({planned.origin_round for planned in run.corrections.values() if planned.cause is PlanCause.REVIEW})


def cluster_due(run: RunState, due: Sequence[Found]) -> list[Cluster]:
    """What one corrective step each puts right: the blockers of one file together, every concern by itself."""
    clusters: dict[tuple[StepId, str], list[Found]] = {}
    for one in due:
        finding = one.finding
        together = finding.file if finding.severity is Severity.BLOCKER and finding.file else finding.id
        clusters.setdefault((_find_helped(run, finding), together), []).append(one)
    return [Cluster(helps=helps, found=tuple(found)) for (helps, _), found in clusters.items() if helps]


def describe_cluster(run: RunState, cluster: Cluster) -> dict[str, Json]:
    """The value `cluster` for the texts of a corrective step."""
    first, *others = [one.finding for one in cluster.found]
    landed = {path for finished in _list_landed(run) for path in finished.files}
    said = dict.fromkeys(one.why for one in cluster.found if one.confirmed == PERSON and one.why)
    guidance = "".join(f"\n\nA person said about it: {words}" for words in said)
    return {
        "ids": ", ".join(cluster.ids),
        "title": f"{first.title} (and {count_noun(len(others), 'other')})" if others else first.title,
        "told": f"{tell_findings(cluster.found)}{guidance}",
        # A model named them: what the run has not landed is not a file of it.
        "files": [path for path in dict.fromkeys(one.finding.file for one in cluster.found) if path in landed],
    }


def name_review_steps(run: RunState, clusters: Sequence[Cluster]) -> list[StepId]:
    """What they are called: `R1` and `R2` after the first look, `R1b` after the second."""
    rounds = count_rounds(run)
    letter = ascii_lowercase[min(rounds, len(ascii_lowercase) - 1)] if rounds else ""
    taken = {*run.plan.by_id, *run.corrections, *run.removed}
    names: list[StepId] = []
    for cluster in clusters:
        prefix = "step-" if cluster.helps.startswith("step-") else ""
        names.append(_name_next(prefix, letter, {*taken, *names}))
    return names


def _name_next(prefix: str, letter: str, taken: set[StepId]) -> StepId:
    number = 1
    while (name := StepId(f"{prefix}R{number}{letter}")) in taken:
        number += 1
    return name


def _list_landed(run: RunState) -> list[StepFinished]:
    ended = (run.finished.get(step.id) for step in run.selected())
    return [finished for finished in ended if finished is not None and finished.commit is not None]


def _find_helped(run: RunState, finding: Finding) -> StepId:
    """The landed step that a finding is about: the one that it names, or the last one that changed its file."""
    landed = _list_landed(run)
    names = [finished.step for finished in landed]
    same = [finished.step for finished in landed if finding.file and finding.file in finished.files]
    found = finding.step if finding.step in names else (same or names or [NO_STEP])[-1]
    # A corrective step is helped by helping what it helped: that has the checks.
    while found in run.corrections:
        found = run.corrections[found].helps
    return found
