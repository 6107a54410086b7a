"""What the end of a walk, or its halt, means for the step that walks it."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.decide import UNFINISHED
from drumline.core.events import StepFinished
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.ids import StepId
from drumline.core.vocabulary import StepEnd, WalkEnd
from drumline.engine.flow.stack import Halt


def finish_walk(step: StepId, ended: FlowEnded, usage: Mapping[str, float]) -> StepFinished:
    """The end of the step: a rejected flow has failed, and says that it was rejected."""
    rejected = ended.status is WalkEnd.REJECTED
    return StepFinished(
        step=step,
        state=ended.status.of_step,
        reason=ended.reason or ("rejected" if rejected else ""),
        rejected=rejected,
        usage=usage,
        login=ended.login,
    )


def block_walk(step: StepId, blocked: Mapping[Key, Halt], usage: Mapping[str, float]) -> StepFinished:
    """The end of a step whose walk is not over, but whose due visits cannot be done here."""
    if not blocked:
        raise AssertionError("nothing is due in a flow that has not ended")
    key, halt = next(iter(blocked.items()))
    others = len(blocked) - 1
    more = f" (and {others:,} more)" if others else ""
    told = f"{call_scope(*key)}: {halt.reason}{more}"
    return StepFinished(
        step=step, state=StepEnd.BLOCKED, reason=told, failure=UNFINISHED, usage=usage, login=halt.login
    )
