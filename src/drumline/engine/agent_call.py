"""One call of an agent: it works on an assignment, and what it uses and how it names its session is kept as it comes.

The rule: it is the same for a step of a plan and for a node of a flow. An agent that cannot be opened has failed, so
that another may take over.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio

from drumline.core.taxonomy import Failure
from drumline.core.turns import Turns
from drumline.engine.metering import Keep, Meter, add_price
from drumline.engine.services import OpenAgent, Price, Worker
from drumline.errors import InvalidInput
from drumline.isolation.happenings import keep_happenings
from drumline.ports.agents import Agent, Assignment, Happening, Outcome
from drumline.record import Record, replace

MOST_MESSAGE = 8_000
"""Characters of what an agent says that the journal keeps."""
MOST_NOTICES = 20

NameSession = Callable[[str], Awaitable[None]]


async def ignore_session(session: str) -> None:
    """Nobody wants to know."""


class Absent(Record):
    """Stands for an agent that cannot be opened."""

    reason: str

    async def work(self, assignment: Assignment) -> Outcome:
        """Nothing is done."""
        return Outcome(failure=Failure.MISSING.value, message=self.reason)


def open_worker(open_agent: OpenAgent, name: str) -> Worker:
    """The agent of this name; one that cannot be opened fails once it is asked."""
    try:
        return open_agent(name)
    except InvalidInput as error:
        return Worker(agent=Absent(reason=str(error)))


class AgentCall(Record):
    """What a call is made with: the agent and its model, what tokens cost, and who keeps what it tells.

    `keep` records what it has used so far, `name_session` the id of its session where that is not the one chosen.
    """

    agent: Agent
    model: str
    price: Price
    now: Callable[[], float]
    keep: Keep
    name_session: NameSession = ignore_session

    async def make(self, assignment: Assignment) -> Outcome:
        """What the agent came to; what it used has its price if that is known.

        It is stopped here once it takes more turns than it may, whether or not its program knows of such a limit.
        """
        meter = Meter(self.keep, price=self.price, model=self.model, now=self.now)
        known = {assignment.session, assignment.new_session, ""}
        turns, outcome = Turns(most=assignment.turns), Outcome()

        async def hear(happening: Happening) -> None:
            keep(happening)
            turns.hear(happening.kind, happening.text, happening.call)
            if turns.exceeded:
                limit.cancel()
            await meter.hear(happening)
            if happening.kind == "session" and happening.text not in known:
                known.add(happening.text)
                await self.name_session(happening.text)

        with keep_happenings(assignment.log, assignment.workspace, self.now) as keep, anyio.CancelScope() as limit:
            async with meter.guard():
                outcome = await self.agent.work(replace(assignment, report=hear))
        if limit.cancelled_caught:
            outcome = meter.describe(Outcome(failure=Failure.TURNS.value, message=turns.describe()))
        usage = await add_price(self.price, outcome.model or self.model, outcome.usage)
        return replace(outcome, usage=usage)


def cut_notices(notices: Sequence[str]) -> tuple[str, ...]:
    """What was remarkable, as much of it as the journal keeps."""
    return tuple(notice[:MOST_MESSAGE] for notice in notices[:MOST_NOTICES])
