"""When a run of a plan walks its own flows: `@preflight` before its first step, `@final` after its last.

The rule: they are claimed and walked like steps, and are not steps: no plan has them, no figure counts them. One that
has nothing to do leaves no trace.
"""

from __future__ import annotations

from itertools import chain

from drumline.core.checklist import arrange_checks
from drumline.core.events import StepFinished
from drumline.core.finalreview import list_flagged
from drumline.core.heldout import name_held_out
from drumline.core.ids import FINAL, PREFLIGHT, StepId
from drumline.core.needs import settled, unmet
from drumline.core.plan import RUN_WALKS, Step
from drumline.core.reviewing import reviews_failures
from drumline.core.state import RunState
from drumline.core.vocabulary import PASSING, StepEnd


def list_open(run: RunState) -> list[StepId]:
    """Those that may be due now, if they have something to do: neither over, nor is it too early or too late."""
    return [name for name in RUN_WALKS if name not in run.finished and not _is_out_of_turn(run, name)]


def find_unready(run: RunState) -> StepId | None:
    """The first step that keeps the last walk of the run from being walked; None if there is none."""
    return None if _is_left_with_blocked(run) else find_unpassed(run)


def find_unpassed(run: RunState) -> StepId | None:
    """The first step that is not done; None if all are."""
    return next((step.id for step in run.selected() if not _is_passed(run, step.id)), None)


def _is_left_with_blocked(run: RunState) -> bool:
    """Whether flagged chunks of waves that landed are reviewed together although others stay blocked.

    That is so once nothing can be done any more: every chunk is over, or waits for one that is blocked.
    """
    if not reviews_failures(run) or not list_flagged(run):
        return False
    return all(_is_settled(run, step) for step in run.selected()) and find_unpassed(run) is not None


def _is_settled(run: RunState, step: Step) -> bool:
    return settled(run, step.id) or (step.id not in run.working and bool(unmet(run, step)))


def is_cleared(run: RunState) -> bool:
    """Whether steps may begin, as far as the first walk of the run says."""
    return not run.has_begun(PREFLIGHT) or _is_passed(run, PREFLIGHT)


def _is_out_of_turn(run: RunState, name: StepId) -> bool:
    if name == FINAL:
        every = len(run.plan.steps) if run.begun.selection is None and not run.elsewhere else 0
        early = len(run.finished) + len(run.declared) < every and not _is_left_with_blocked(run)
        return early or find_unready(run) is not None
    if run.has_begun(name):
        return False
    worked = (step for step, finished in run.finished.items() if finished.state is not StepEnd.SKIPPED)
    return any(step not in RUN_WALKS for step in chain(run.working, worked))


def _is_passed(run: RunState, step: StepId) -> bool:
    finished = run.finished.get(step)
    return finished.state in PASSING if finished is not None else step in run.declared


def list_proved(run: RunState) -> frozenset[str]:
    """The commands that have passed on exactly the tree of the run branch's head, as far as the journal says."""
    head = _find_head(run)
    if head is None or head.checks_passed != head.checks_total:
        return frozenset()
    step = run.plan.by_id.get(head.step)
    held_out = (check.command for check in name_held_out(run.begun.held_out, hidden=False))
    judged = (check.command for check in arrange_checks(run, step).checks) if step else ()
    return frozenset({*judged, *held_out}) if step else frozenset()


def _find_head(run: RunState) -> StepFinished | None:
    """The step whose commit is the head of the run branch; None if that is not known, or somebody else's."""
    landed = {finished.commit: finished for finished in run.finished.values() if finished.commit is not None}
    below = {finished.base for finished in landed.values()}
    tops = [finished for commit, finished in landed.items() if commit not in below]
    foreign = run.resettled and run.resettled[-1].new not in {*landed, *below}
    return tops[0] if len(tops) == 1 and not foreign else None
