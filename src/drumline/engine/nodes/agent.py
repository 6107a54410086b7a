"""Agents are given work, and what they leave is judged: done, asked, failed, or only not over yet.

Asking again in one attempt has bounds: an answer that does not fit its schema costs one of two repairs, in which the
agent may not change anything, and the node's timeout holds for all of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from drumline.core.flow.events import NodeSuspended, NodeUsed, SessionKept, SessionNamed
from drumline.core.flow.model import AgentNode, ApprovalNode, Flow, RouteNode, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.relay import Relay, find_block, suspend
from drumline.core.flow.templates import list_references
from drumline.core.flow.values import render
from drumline.core.routing import USUAL, Candidate, list_candidates
from drumline.core.spending import COST, add_up
from drumline.core.taxonomy import RULES, Failure
from drumline.engine.agent_call import MOST_MESSAGE, MOST_NOTICES, AgentCall, cut_notices
from drumline.engine.kit import Price, know_no_price
from drumline.engine.nodes.answers import add_usage, keep_within, settle, shorten
from drumline.engine.nodes.prompts import write_assignment
from drumline.engine.nodes.visit import Visit
from drumline.errors import InvalidInput
from drumline.ports.agents import Agent, Assignment
from drumline.ports.agents import Outcome as Concluded
from drumline.ports.library import Callee
from drumline.ports.models import Answer
from drumline.ports.schemas import Schemas
from drumline.record import Record, replace

OWN = ""
"""The name of the agent that a node names: in the journal it has none, the others have theirs from the settings."""


def list_callees(own: Callee, fallback: Mapping[str, Callee]) -> tuple[Candidate, ...]:
    """Every agent that may act in a visit, in order."""
    others = {name: one for name, one in fallback.items() if (one.agent, one.model) != (own.agent, own.model)}
    return list_candidates(
        Candidate(name=OWN, tier=own.tier or USUAL),
        (Candidate(name=name, tier=one.tier or own.tier or USUAL) for name, one in others.items()),
    )


def find_worker(name: str, own: Callee, fallback: Mapping[str, Callee]) -> Callee:
    """The agent behind a candidate's name; the node's own if that name is gone from the settings."""
    return own if name == OWN else fallback.get(name, own)


class Terms(Record):
    """On what terms an agent works: with which model, how long at most and how long silent, and what tokens cost.

    `spec` is the agent's own name, by which a session is known again; `candidates` are those who may act in the visit,
    and `now` tells the time.
    """

    tier: str = "standard"
    model: str = ""
    spec: str = ""
    idle: float | None = None
    timeout: float | None = None
    price: Price = know_no_price
    candidates: Sequence[Candidate] = ()
    now: Callable[[], float] = lambda: 0.0


async def ask_agent(
    node: AgentNode, visit: Visit, *, agent: Agent, schemas: Schemas, terms: Terms | None = None
) -> Outcome:
    """What the agent said last, or its value where the node has a schema; or that the visit is not over."""
    try:
        prompt = write_assignment(node, visit)
    except InvalidInput as error:
        return Outcome(failure=str(error), failure_class=Failure.PERMANENT.value)
    asked = _AgentVisit(node=node, visit=visit, agent=agent, terms=terms or Terms())

    async def repair(text: str) -> Answer:
        return await asked.send(text, read_only=True)

    async def work() -> Outcome:
        return await settle(await asked.send(prompt), node.output_schema, schemas=schemas, repair=repair)

    outcome = await keep_within(asked.limit, work, failure=Failure.VALIDATION)
    unchanged = asked.last is not None and asked.last.unchanged and not outcome.failure
    outcome = replace(
        outcome, usage=asked.usage, relayed=asked.relay(outcome), notices=asked.notices, unchanged=unchanged
    )
    failure, last = find_block(node, outcome), asked.last
    if failure is None:
        return outcome
    said = last.message if last is not None and last.failure else outcome.failure
    return replace(outcome, blocked=f"{RULES[failure].means}: {said[:MOST_MESSAGE]}")


def hears_report(node: AgentNode, flow: Flow) -> bool:
    """Whether an agent's word against its own work ends the visit.

    Not if it may only read, for then it speaks of the work of others; nor if the flow judges its words itself: hands
    them to a script, a route or a person that follows. A `fallback` says that the engine's judgement is wanted.
    """
    if node.read_only:
        return False
    if node.fallback is not None:
        return True
    told = any("output" in list_references(text) for text in (node.state_updates or {}).values())
    judges = [isinstance(flow.nodes.get(name), ScriptNode | RouteNode | ApprovalNode) for name in node.next]
    return not (told and judges and all(judges))


@dataclass(kw_only=True, slots=True)
class _AgentVisit:
    """All assignments of one attempt; the first of a visit has the visit's number, each further one more."""

    node: AgentNode
    visit: Visit
    agent: Agent
    terms: Terms
    sent: int = 0
    usage: dict[str, float] = field(default_factory=dict)
    last: Concluded | None = None
    notices: tuple[str, ...] = ()

    @property
    def limit(self) -> float | None:
        """How long all of it may take."""
        return shorten(self.node.timeout, self.visit.timeout, self.terms.timeout)

    @property
    def _history(self) -> Relay:
        return self.visit.relay or Relay()

    async def send(self, prompt: str, *, read_only: bool = False) -> Answer:
        """What the agent said last, or how it failed."""
        self.sent += 1
        self.last = None
        call = AgentCall(
            agent=self.agent,
            model=self.terms.model,
            price=self.terms.price,
            now=self.terms.now,
            keep=self._keep,
            name_session=self._name_session,
        )
        concluded = self.last = await call.make(self._assign(prompt, read_only=read_only))
        told = (*self.notices, *cut_notices(concluded.notices))
        self.notices = tuple(dict.fromkeys(told))[-MOST_NOTICES:]
        add_usage(self.usage, concluded.usage)
        if concluded.failure:
            return Answer(failure=concluded.failure, message=f"{concluded.failure}: {concluded.message}")
        if concluded.question:
            return Answer(failure=Failure.PERMANENT.value, message=f"it is blocked: {concluded.question}")
        if concluded.structured is not None:
            return Answer(text=render(concluded.structured))
        return Answer(text=concluded.message)

    def relay(self, outcome: Outcome) -> NodeSuspended | SessionKept | None:
        """What is recorded beside the outcome: that the visit is not over, or the session for a later one."""
        last, key = self.last or Concluded(), self.visit.key
        if not outcome.failure:
            return self._keep_session(last.session)
        asks = not last.failure and self.sent == 1
        ended = NodeSuspended(
            node=key.node,
            visit=key.visit,
            scope=key.scope,
            failure="" if asks and last.question else outcome.failure_class,
            message="" if asks and last.question else outcome.failure[:MOST_MESSAGE],
            question=last.question[:MOST_MESSAGE] if asks else "",
            session=last.session,
            resets_at=last.resets_at if outcome.failure_class == Failure.QUOTA.value else None,
            usage=self.usage,
            notices=self.notices,
            ran_dry=outcome.failure_class == Failure.QUOTA.value and self._has_spent_all(),
        )
        return suspend(self.terms.candidates, self._history, ended, now=self.terms.now())

    def _has_spent_all(self) -> bool:
        """Whether it used up the money that it was given."""
        given = self.visit.budget
        return given is not None and self.usage.get(COST, 0.0) >= given

    def _keep_session(self, session: str) -> SessionKept | None:
        key, nodes = self.visit.key, self.visit.flow.nodes.values()
        wanted = any(isinstance(node, AgentNode) and node.session == key.node for node in nodes)
        if not (session and wanted):
            return None
        return SessionKept(node=key.node, visit=key.visit, scope=key.scope, agent=self.terms.spec, session=session)

    def _assign(self, prompt: str, *, read_only: bool) -> Assignment:
        visit, asked = self.visit, self._history.asked
        number = self._history.attempts + self.sent
        prompt_file, log = visit.log_attempt(number)
        prompt_file.write_text(prompt, encoding="utf-8", errors="backslashreplace")
        return Assignment(
            run=visit.run,
            step=visit.step,
            node=self.node.id,
            attempt=visit.attempt + self.sent - 1 if visit.attempt else visit.key.visit + number - 1,
            scope=visit.key.scope,
            visit=visit.key.visit,
            prompt=prompt,
            prompt_file=prompt_file,
            workspace=visit.folder,
            log=log,
            tier=self.terms.tier,
            timeout=self.limit,
            read_only=read_only or self.node.read_only,
            model=self.terms.model,
            output_schema=self.node.output_schema,
            session=asked.session if asked and self.sent == 1 else "",
            new_session=asked.new_session if asked and asked.new_session and self.sent == 1 else str(uuid4()),
            idle=self.terms.idle,
            budget=visit.budget,
            answers=visit.answers,
            self_report=hears_report(self.node, visit.flow),
        )

    async def _name_session(self, session: str) -> None:
        """Only the session of the first assignment can be continued."""
        key, note = self.visit.key, self.visit.note
        if self.sent == 1 and self._history.asked is not None and note is not None:
            await note(SessionNamed(node=key.node, visit=key.visit, scope=key.scope, session=session))

    async def _keep(self, usage: Mapping[str, float], seconds: float) -> None:
        """Record what was used so far, with the assignments before; the driver knows how long it took."""
        key, used = self.visit.key, add_up((self.usage, usage))
        if self.visit.note is not None:
            await self.visit.note(NodeUsed(node=key.node, visit=key.visit, scope=key.scope, usage=used))
