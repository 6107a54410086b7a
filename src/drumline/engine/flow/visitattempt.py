"""An attempt at a step by another agent than its own, which a node of its flow names.

The rule: the visit decides who is asked and counts what it costs; the step keeps what the agent left, because it
changes the work.
"""

from __future__ import annotations

from drumline.core import events as ev
from drumline.core.flow.outcome import Outcome
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure
from drumline.engine.agent_call import cut_notices
from drumline.engine.nodes.attempt import keep_work
from drumline.engine.nodes.stepwork import StepWork
from drumline.record import Record, replace


class VisitAttempt(Record):
    """One attempt at a step; `reader` says who may only read, if that is so."""

    work: StepWork
    state: StepState
    reader: str

    async def settle(
        self, started: ev.AttemptStarted, ended: ev.AttemptEnded, outcome: Outcome
    ) -> tuple[ev.AttemptEnded, Outcome]:
        """Keep what the agent left, and say what that means for its end."""
        kept = await keep_work(self.work, self.state, started.attempt, reader=self.reader)
        if kept.undone:
            undone = {"failure": Failure.VALIDATION.value, "message": kept.undone, "question": "", "session": ""}
            ended = replace(ended, **undone, waits=False, until=None, permissions=())
            outcome = replace(outcome, output=None, failure=kept.undone, waits=False)
            outcome = replace(outcome, failure_class=Failure.VALIDATION.value)
        failed = bool(ended.failure)
        notices = (kept.left, *ended.notices) if failed and kept.left else ended.notices
        idle = not self.reader and kept.tree == started.tree and not failed and not ended.question
        ended = replace(
            ended,
            tree=kept.tree,
            unchanged=idle,
            notices=cut_notices(notices),
            touched=kept.touched,
            ignored=kept.ignored,
            strayed=kept.strayed,
            sharing=kept.sharing,
        )
        fold_step(self.state, [ended])
        return ended, replace(outcome, unchanged=idle)
