"""Models are asked, and answers judged. An answer that has a schema is never taken unvalidated.

Asking again has bounds: a failure that passes by itself costs one of the node's attempts, an answer that does not fit
its schema one of two repairs, and the node's timeout holds for all of it together.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import anyio.to_thread

from drumline.core.flow.events import NodeUsed
from drumline.core.flow.model import LlmNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.visitattempts import find_block
from drumline.core.taxonomy import RULES, WAITS, Failure, Reaction, waits
from drumline.engine.nodes.answers import add_usage, keep_within, settle, shorten
from drumline.engine.nodes.prompts import Brief, Toolbox, choose_tools, write_brief
from drumline.engine.nodes.visit import Visit
from drumline.errors import Conflict, InvalidInput, StaleToken
from drumline.ports.clock import Clock
from drumline.ports.models import Answer, Models, Question
from drumline.ports.schemas import Schemas
from drumline.ports.skills import Skills
from drumline.record import replace

MOST_NOTICES = 20

PASSING = ("timed out", "rate limit", "429", "Connection reset", "Connection refused", "produced no output")
"""Words by which the format knows a failure that passes by itself."""


async def ask_model(
    node: LlmNode, visit: Visit, *, models: Models, schemas: Schemas, skills: Skills, clock: Clock
) -> Outcome:
    """The model's text, or its value where the node has a schema; a failure says at which stage it came."""
    try:
        brief = write_brief(node, visit.flow, visit.values, skills=skills)
        toolbox = choose_tools(node, visit.flow)
    except InvalidInput as error:
        return Outcome(failure=str(error), failure_class=Failure.PERMANENT.value)
    inquiry = _Inquiry(node=node, visit=visit, models=models, clock=clock)

    async def repair(prompt: str) -> Answer:
        return await inquiry.ask(Brief(prompt=prompt), Toolbox())

    async def work() -> Outcome:
        return await settle(await inquiry.ask(brief, toolbox), node.output_schema, schemas=schemas, repair=repair)

    async with inquiry.guard():
        outcome = await keep_within(shorten(node.timeout, visit.timeout), work, failure=Failure.TRANSIENT)
    outcome = replace(outcome, usage=inquiry.usage, notices=tuple(inquiry.notices[:MOST_NOTICES]))
    failure = find_block(node, outcome)
    return outcome if failure is None else replace(outcome, blocked=outcome.failure)


@dataclass(kw_only=True, slots=True)
class _Inquiry:
    """All questions of one visit to a model; `asked` counts them."""

    node: LlmNode
    visit: Visit
    models: Models
    clock: Clock
    asked: int = 0
    usage: dict[str, float] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def guard(self) -> AsyncIterator[None]:
        """If the visit in this block is cut short, what earlier questions of it have used is recorded."""
        try:
            yield
        except anyio.get_cancelled_exc_class():
            key = self.visit.key
            if self.usage:
                with anyio.CancelScope(shield=True), suppress(Conflict, StaleToken):
                    await self.visit.note(
                        NodeUsed(node=key.node, visit=key.visit, scope=key.scope, usage=dict(self.usage))
                    )
            raise

    async def ask(self, brief: Brief, toolbox: Toolbox) -> Answer:
        """The answer, after as many tries as the node allows if failures pass by themselves."""
        for number in range(1, self.node.max_attempts + 1):
            self.asked += 1
            answer = _refuse_silence(await self.models.ask(self._write_question(brief, toolbox)))
            add_usage(self.usage, answer.usage)
            self.notices += answer.notices
            if not _passes(answer) or number == self.node.max_attempts:
                return answer
            await self.clock.sleep(WAITS[min(number, len(WAITS)) - 1])
        return Answer(failure=Failure.PERMANENT.value, message="exhausted retries: `max_attempts` allows none")

    def _write_question(self, brief: Brief, toolbox: Toolbox) -> Question:
        node, visit, flow = self.node, self.visit, self.visit.flow
        return Question(
            run=visit.run,
            step=visit.step,
            node=node.id,
            scope=visit.key.scope,
            visit=visit.key.visit,
            attempt=self.asked,
            prompt=brief.prompt,
            instructions=brief.instructions,
            skills=brief.skills,
            workspace=visit.folder,
            log=visit.log(f"model-{self.asked}"),
            model=visit.model or node.model or flow.model or "",
            temperature=flow.temperature if node.temperature is None else node.temperature,
            top_p=flow.top_p if node.top_p is None else node.top_p,
            reasoning_effort=node.reasoning_effort or flow.reasoning_effort,
            tools=toolbox.tools,
            mcp_servers=toolbox.servers,
            max_iterations=node.max_iterations,
            sealed=visit.sealed,
        )


def _passes(answer: Answer) -> bool:
    """Whether a failure may pass by itself: by its class, or by the format's words unless a person has to act."""
    if not answer.failure:
        return False
    known = next((failure for failure in Failure if failure.value == answer.failure), None)
    if known is not None and (waits(known) or RULES[known].reaction is Reaction.BLOCK):
        return waits(known)
    return any(word.lower() in answer.message.lower() for word in PASSING)


def _refuse_silence(answer: Answer) -> Answer:
    if answer.failure or answer.text.strip():
        return answer
    return Answer(failure=Failure.TRANSIENT.value, message="the model produced no output", usage=answer.usage)
