"""Agents are given work, and what they leave is judged: done, asked, failed, or only not over yet.

Asking again in one attempt has bounds: an answer that does not fit its schema costs one of two repairs, in which the
agent may not change anything, and the node's timeout holds for all of it together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import uuid4

from drumline.core.events import AttemptEnded, AttemptStarted, AttemptUsed, SessionOpened
from drumline.core.flow.events import SessionKept
from drumline.core.flow.model import AgentNode, ApprovalNode, Flow, RouteNode, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.templates import list_references
from drumline.core.flow.values import render
from drumline.core.flow.visitattempts import VisitAttempts, begin_attempt, find_block, suspend
from drumline.core.routing import USUAL, Candidate, list_candidates
from drumline.core.spending import COST, add_up
from drumline.core.taxonomy import RULES, Failure
from drumline.engine.agent_call import MOST_MESSAGE, MOST_NOTICES, AgentCall, cut_notices
from drumline.engine.nodes.answers import add_usage, keep_within, settle, shorten
from drumline.engine.nodes.prompts import write_assignment
from drumline.engine.nodes.visit import Visit
from drumline.engine.services import Price, know_no_price
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

    `name` is the candidate's, `spec` the agent's own name, by which a session is known again; `session` is the one it
    continues with. `candidates` are those who may act in the visit, and `now` tells the time.
    """

    name: str = OWN
    tier: str = "standard"
    model: str = ""
    spec: str = ""
    session: str = ""
    idle: float | None = None
    timeout: float | None = None
    price: Price = know_no_price
    candidates: Sequence[Candidate] = ()
    now: Callable[[], float] = lambda: 0.0


def choose_session(node: AgentNode, visit: Visit, *, name: str, spec: str) -> str:
    """The session that an agent continues with: that of its last attempt in this visit, or the one its node names."""
    attempts, kept = visit.attempts, visit.kept
    if attempts is not None and attempts.asked is not None:
        return attempts.session if name == attempts.agent else ""
    if node.session is None or node.read_only or kept is None:
        return ""
    return kept.session if kept.agent == spec else ""


async def ask_agent(
    node: AgentNode, visit: Visit, *, agent: Agent, schemas: Schemas, terms: Terms | None = None
) -> Outcome:
    """What the agent said last, or its value where the node has a schema; or that the visit is not over."""
    try:
        prompt = write_assignment(node, visit)
    except InvalidInput as error:
        return Outcome(failure=str(error), failure_class=Failure.PERMANENT.value)
    asked = _AgentVisit(node=node, visit=visit, agent=agent, terms=terms or Terms())
    await asked.begin()

    async def repair(text: str) -> Answer:
        return await asked.send(text, read_only=True)

    async def work() -> Outcome:
        return await settle(await asked.send(prompt), node.output_schema, schemas=schemas, repair=repair)

    outcome = await keep_within(asked.limit, work, failure=Failure.VALIDATION)
    return await asked.conclude(outcome)


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
    began: float = 0.0
    started: AttemptStarted = field(init=False)
    attempts: VisitAttempts = field(init=False)

    def __post_init__(self) -> None:
        visit, terms, key = self.visit, self.terms, self.visit.key
        before = visit.attempts or VisitAttempts()
        self.attempts = replace(before, exhausted=dict(before.exhausted))
        self.started = AttemptStarted(
            node=key.node,
            attempt=visit.attempt or before.attempts + 1,
            tree=visit.tree,
            tier=terms.tier,
            agent=terms.name,
            session=terms.session,
            new_session="" if terms.session else str(uuid4()),
            budget=visit.budget,
            by_visit=True,
            who=terms.spec,
            scope=key.scope,
            visit=key.visit,
            reads=self.node.read_only,
        )

    @property
    def limit(self) -> float | None:
        """How long all of it may take."""
        return shorten(self.node.timeout, self.visit.timeout, self.terms.timeout)

    async def begin(self) -> None:
        """Record who is asked, and in which session: a new one gets its id here, so that a crash leaves it known."""
        await self.visit.note(self.started)
        begin_attempt(self.attempts, self.started)
        self.began = self.terms.now()

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

    async def conclude(self, outcome: Outcome) -> Outcome:
        """The outcome with the end of the attempt, which says whether the visit is over."""
        last = self.last or Concluded()
        unchanged = last.unchanged and not outcome.failure
        ended, outcome = self._end(outcome, last), replace(outcome, notices=self.notices, login=last.login)
        if outcome.failure and (waiting := suspend(self.terms.candidates, self.attempts, ended, now=self.terms.now())):
            ended, outcome = waiting, replace(outcome, waits=True)
        outcome = replace(outcome, unchanged=unchanged)
        if self.visit.settle is not None:
            ended, outcome = await self.visit.settle(self.started, ended, outcome)
        kept = () if outcome.failure else self._keep_session(last.session)
        outcome = replace(outcome, effects=(ended, *kept))
        failure = find_block(self.node, outcome)
        if failure is None:
            return outcome
        said = last.message if last.failure else outcome.failure
        return replace(outcome, blocked=f"{RULES[failure].means}: {said[:MOST_MESSAGE]}")

    def _end(self, outcome: Outcome, last: Concluded) -> AttemptEnded:
        key, started = self.visit.key, self.started
        asks = bool(outcome.failure) and not last.failure and self.sent == 1 and bool(last.question)
        failure = "" if asks else outcome.failure_class if outcome.failure else ""
        said = outcome.output if isinstance(outcome.output, str) else last.message
        return AttemptEnded(
            node=key.node,
            attempt=started.attempt,
            scope=key.scope,
            visit=key.visit,
            tree=started.tree,
            failure=failure,
            message="" if asks else (outcome.failure or said)[:MOST_MESSAGE],
            seconds=round(max(0.0, self.terms.now() - self.began), 3),
            usage=self.usage,
            source=last.source,
            model=last.model,
            session=last.session,
            question=last.question[:MOST_MESSAGE] if asks else "",
            permissions=last.permissions if asks else (),
            resets_at=last.resets_at if failure == Failure.QUOTA.value else None,
            unchanged=last.unchanged and not outcome.failure,
            notices=self.notices,
            login=last.login,
            ran_dry=failure == Failure.QUOTA.value and self._has_spent_all(),
        )

    def _has_spent_all(self) -> bool:
        """Whether it used up the money that it was given."""
        given = self.visit.budget
        return given is not None and self.usage.get(COST, 0.0) >= given

    def _keep_session(self, session: str) -> tuple[SessionKept, ...]:
        key, nodes = self.visit.key, self.visit.flow.nodes.values()
        wanted = any(isinstance(node, AgentNode) and node.session == key.node for node in nodes)
        if not (session and wanted):
            return ()
        return (SessionKept(node=key.node, visit=key.visit, scope=key.scope, agent=self.terms.spec, session=session),)

    def _assign(self, prompt: str, *, read_only: bool) -> Assignment:
        visit, first = self.visit, self.sent == 1
        number = self.attempts.attempts + self.sent
        prompt_file, log = visit.log_attempt(number)
        prompt_file.write_text(prompt, encoding="utf-8", errors="backslashreplace")
        return Assignment(
            run=visit.run,
            step=visit.step,
            node=self.node.id,
            attempt=visit.told + self.sent - 1 if visit.told else visit.key.visit + number - 1,
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
            session=self.started.session if first else "",
            new_session=self.started.new_session if first and self.started.new_session else str(uuid4()),
            idle=self.terms.idle,
            budget=visit.budget,
            turns=self.node.turns,
            answers=visit.answers,
            may_ask=self.node.output_schema is None,
            self_report=hears_report(self.node, visit.flow),
            around=visit.around,
            sealed=visit.sealed,
        )

    async def _name_session(self, session: str) -> None:
        """Only the session of the first assignment can be continued."""
        key = self.visit.key
        if self.sent == 1:
            await self.visit.note(SessionOpened(node=key.node, visit=key.visit, scope=key.scope, session=session))

    async def _keep(self, usage: Mapping[str, float], seconds: float) -> None:
        """Record what was used so far, with the assignments before; the driver knows how long it took."""
        key, used = self.visit.key, add_up((self.usage, usage))
        await self.visit.note(AttemptUsed(node=key.node, visit=key.visit, scope=key.scope, usage=used, seconds=seconds))
