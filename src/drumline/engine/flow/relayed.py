"""Attempts at a step by another agent than its own, which a node of its flow names.

The rule: the visit decides who is asked and counts what it costs; the step records the attempt, because it changes the
work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from drumline.core import events as ev
from drumline.core.flow.events import NodeSuspended
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.relay import find_failure
from drumline.core.flow.walk import RunNode
from drumline.core.stepstate import StepState, fold_step
from drumline.core.taxonomy import Failure
from drumline.engine.agent_call import MOST_MESSAGE, cut_notices
from drumline.engine.nodes.attempt import Kept, keep_work
from drumline.engine.nodes.stepwork import StepWork, known
from drumline.engine.nodes.visit import Visit
from drumline.record import Record, replace


class RelayedAttempt(Record):
    """One attempt; `note` records and folds in, `perform` asks the agent."""

    work: StepWork
    state: StepState
    perform: Callable[[RunNode, Visit], Awaitable[Outcome]]
    note: Callable[[ev.Event], Awaitable[None]]

    async def make(self, command: RunNode, visit: Visit, *, reader: str) -> Outcome:
        """Let the agent work, and keep what it left."""
        state, clock = self.state, self.work.kit.clock
        number, before, began = state.reached + 1, state.tree, clock.now()
        asked = visit.relay.asked if visit.relay else None
        started = ev.AttemptStarted(
            node=command.key.node,
            attempt=number,
            tree=known(before),
            agent=asked.agent if asked else "",
            session=asked.session if asked else "",
            new_session=asked.new_session if asked else "",
            budget=visit.budget,
            relayed=True,
        )
        await self.note(started)
        outcome = await self.perform(command, visit._replace(attempt=number))
        kept = await keep_work(self.work, state, number, reader=reader)
        if kept.undone:
            outcome = replace(
                outcome, output=None, failure=kept.undone, failure_class=Failure.VALIDATION.value, relayed=None
            )
        ended = _end_attempt(started, outcome, kept, seconds=round(max(0.0, clock.now() - began), 3))
        if not reader and kept.tree == before and not ended.failure and not ended.question:
            ended, outcome = replace(ended, unchanged=True), replace(outcome, unchanged=True)
        fold_step(state, [ended])
        return replace(outcome, effects=(ended,))


def _end_attempt(started: ev.AttemptStarted, outcome: Outcome, kept: Kept, *, seconds: float) -> ev.AttemptEnded:
    relayed = outcome.relayed if isinstance(outcome.relayed, NodeSuspended) else None
    told = relayed.failure if relayed else outcome.failure_class if outcome.failure else ""
    failed = bool(told) or (relayed is None and bool(outcome.failure))
    failure = find_failure(told) or (Failure.PERMANENT if failed else None)
    message = (
        relayed.message if relayed else outcome.failure or (outcome.output if isinstance(outcome.output, str) else "")
    )
    return ev.AttemptEnded(
        node=started.node,
        attempt=started.attempt,
        tree=kept.tree,
        failure=failure.value if failure else "",
        message=message[:MOST_MESSAGE],
        seconds=seconds,
        usage=outcome.usage,
        session=relayed.session if relayed else "",
        question=relayed.question if relayed and not failure else "",
        resets_at=relayed.resets_at if relayed else None,
        notices=cut_notices((kept.left, *outcome.notices) if failure and kept.left else outcome.notices),
        touched=kept.touched,
        ignored=kept.ignored,
    )
