"""Handoffs that an agent writes: what it is shown, and what is recorded of its answer.

The rule: the document is made and judged by the engine; an answer is only words for it.
"""

from __future__ import annotations

from drumline.core import events as ev
from drumline.core.flow.model import Json
from drumline.core.flow.outcome import Outcome
from drumline.core.handoffdoc import find_document_faults
from drumline.core.handoffwords import HandoffWords
from drumline.core.handoffwriting import describe_words, read_words
from drumline.core.stepfold import fold_step
from drumline.core.stepstate import StepState
from drumline.core.vocabulary import StepEnd
from drumline.engine.figures import add_figures
from drumline.engine.finishing import make_handoff
from drumline.engine.nodes.stepwork import StepWork, known
from drumline.record import replace


async def describe_known(work: StepWork, state: StepState) -> str:
    """The handoff as it is without an agent's words, were the work to land now."""
    plain = replace(state, handed=None)
    return make_handoff(work, plain, await _foresee_end(work, plain))


async def record_words(outcome: Outcome, work: StepWork, state: StepState, *, by: str) -> Outcome:
    """The outcome of a visit with what the step records of it, and with `handoff` for the flow."""
    if outcome.waits or outcome.blocked or outcome.leaves is not None:
        return outcome
    before = state.handed
    tries = 1 + (before.words.tries if before is not None and before.tree == state.tree else 0)
    if outcome.failure:
        words = HandoffWords(by=by, failure=outcome.failure, tries=tries)
    else:
        words = await _judge(read_words(outcome.output, by=by, tries=tries), work, state)
    written = ev.HandoffWritten(words=words, tree=known(state.tree))
    fold_step(state, [written])
    output: Json = None if outcome.failure else {"handoff": describe_words(words)}
    return replace(outcome, output=output, effects=(*outcome.effects, written))


async def _judge(words: HandoffWords, work: StepWork, state: StepState) -> HandoffWords:
    """The words, with what is wrong with the document that would have them."""
    if words.faults:
        return words
    with_them = replace(state, handed=ev.HandoffWritten(words=words))
    end = await _foresee_end(work, with_them)
    return replace(words, faults=tuple(find_document_faults(make_handoff(work, with_them, end), end)))


async def _foresee_end(work: StepWork, state: StepState) -> ev.StepFinished:
    """The end of the step, were its work to land now."""
    changed = await work.services.workspaces.changed(known(state.base), known(state.tree))
    ended = ev.StepFinished(step=work.orders.step.id, state=StepEnd.DONE, reason="It is about to land.")
    return add_figures(replace(ended, files=tuple(changed)), state)
