"""Agents in flows on fakes: what they ask, who takes over, what is waited for, and that no death changes any of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio.lowlevel
import pytest
from tests.integration.flow_harness import FlowHarness, refuse_job, refuse_models
from tests.integration.harness import RUN
from tests.unit.flows import each, end, flow, name, script

from drumline.core.events import AttemptEnded, AttemptStarted, RunParked, SessionOpened
from drumline.core.flow.events import NodeEnded, NodeStarted
from drumline.core.flow.model import AgentNode, Flow, FlowSettings, Node, NodeId
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.walk import RunNode
from drumline.core.ids import FLOW, Stream
from drumline.core.state import RunState
from drumline.engine.driver import Driver
from drumline.engine.flow.performer import NodePerformer
from drumline.engine.flow.walk import Perform
from drumline.engine.nodes.visit import Visit
from drumline.engine.services import FlowServices, Services, Tools, Worker
from drumline.engine.upkeep import Upkeep
from drumline.errors import InvalidInput
from drumline.ports.agents import Assignment, Happening
from drumline.ports.agents import Outcome as Concluded
from drumline.ports.journal import Message
from drumline.ports.library import Callee
from drumline.record import replace
from drumline.testing.clock import FakeClock
from drumline.testing.processes import FakeProcesses

Reply = Callable[[Assignment], Concluded]
LONG = 10_000.0


@dataclass(kw_only=True)
class AgentHarness(FlowHarness):
    """A world whose agent nodes are played by `replies`, by the name of the agent; scripts are played by `act`."""

    replies: Mapping[str, Reply]
    fallback: tuple[str, ...] = ()
    quota_wait: float = 900.0
    calls_it: str = ""
    agent_timeout: float | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    given: list[tuple[str, Assignment]] = field(default_factory=list)

    def driver(self) -> Driver:
        services = replace(
            self.services(),
            clock=self.clock,
            quota_wait=self.quota_wait,
            agent_timeout=self.agent_timeout,
        )
        tools = Tools(processes=FakeProcesses(refuse_job), open_models=refuse_models, open_agent=self._open)
        return Driver(upkeep=Upkeep(services=services, perform=self._performing(services, tools)), run_id=RUN)

    def flow_services(self) -> FlowServices:
        """With the agents that take over."""
        return replace(super().flow_services(), fallback={name: Callee(agent=name) for name in self.fallback})

    def _performing(self, services: Services, tools: Tools) -> Perform:
        life, acts = self.life, NodePerformer(services=services, flows=self.flow_services(), tools=tools)

        async def perform(command: RunNode, visit: Visit) -> Outcome:
            await anyio.lowlevel.checkpoint()
            life.check()
            if isinstance(command.node, AgentNode):
                return await acts.perform(command, visit)
            self.concluded[visit.name] += 1
            return self.act(command, visit)

        return perform

    def _open(self, spec: str) -> Worker:
        if spec not in self.replies:
            raise InvalidInput(f"there is no agent {spec!r}")
        return Worker(agent=_Player(spec, self))

    @property
    def asked(self) -> list[tuple[str, str, int, str]]:
        """Who was asked, at which node, in which attempt, in which session."""
        return [(spec, one.node, one.attempt, one.session) for spec, one in self.given]

    def events(self, kind: type[object]) -> list[object]:
        """The events of one kind in the walk."""
        return [entry.event for entry in self.store.read(Stream(RUN, FLOW)) if isinstance(entry.event, kind)]


@dataclass
class _Player:
    spec: str
    harness: AgentHarness

    async def work(self, assignment: Assignment) -> Concluded:
        await anyio.lowlevel.checkpoint()
        self.harness.given.append((self.spec, assignment))
        if self.harness.calls_it:
            await assignment.report(Happening(kind="session", text=f"{self.harness.calls_it}-{assignment.node}"))
        return self.harness.replies[self.spec](assignment)


def note(command: RunNode, visit: Visit) -> Outcome:
    """A script that says that it ran."""
    return Outcome(output={"log": visit.name})


def agent(node: str, to: str = "end", *, who: str = "ann", session: str = "", fallback: str = "") -> AgentNode:
    """An agent node whose answer goes into the log."""
    return AgentNode(
        id=NodeId(node),
        agent=who,
        prompt="do it",
        next=name(to),
        session=NodeId(session) if session else None,
        fallback=NodeId(fallback) if fallback else None,
        state_updates={"log": "{{output}}"},
    )


def logging(*nodes: Node, settings: FlowSettings | None = None) -> Flow:
    """A flow whose output is its log."""
    return flow(*nodes, end(output="{{log}}"), reducers={"log": "append"}, state={"log": []}, settings=settings).flow


def asking(question: str, *, done: str = "done") -> Reply:
    """An agent that asks as long as nobody has answered."""

    def reply(assignment: Assignment) -> Concluded:
        if "The answer:" in assignment.prompt:
            return Concluded(message=done, session="s-1")
        return Concluded(question=question, session="s-1", usage={"input": 1.0})

    return reply


def failing(failure: str, *, times: int = 1, resets_in: float | None = None, clock: FakeClock | None = None) -> Reply:
    """An agent that fails so many times, and then does the work."""
    count = 0

    def reply(assignment: Assignment) -> Concluded:
        nonlocal count
        count += 1
        if count > times:
            return Concluded(message="done at last")
        at = None if resets_in is None or clock is None else clock.now() + resets_in
        return Concluded(failure=failure, message="cannot", resets_at=at)

    return reply


def saying(text: str) -> Reply:
    """An agent that does the work."""
    return lambda assignment: Concluded(message=text)


def drive_answering(harness: AgentHarness, answer: str = "blue") -> RunState:
    """Drive and answer until the run has ended."""
    for _ in range(10):
        run = harness.drive_through()
        if run.ended is not None:
            return run
        for gate in run.open_gates:
            harness.send(Message(kind="answer", subject=gate.opened.gate, value=answer))
    raise AssertionError("the run does not end")


def questioning(folder: Path) -> AgentHarness:
    """A script, an agent that asks, and a script behind it."""
    main = logging(script("first", "work"), agent("work", "last"), script("last", "end"))
    return AgentHarness(folder=folder, flows={"main": main}, act=note, replies={"ann": asking("Which colour?")})


# --- questions --------------------------------------------------------------------------------------------------


def test_a_question_parks_the_flow_and_the_same_visit_goes_on_with_the_answer(tmp_path: Path) -> None:
    harness = questioning(tmp_path)
    parked = harness.drive()
    harness.send(Message(kind="answer", subject="work", value="blue"))

    run = harness.drive()

    assert parked.parked
    assert [gate.opened.question for gate in parked.open_gates] == ["The agent at work asks: Which colour?"]
    assert run.ended is not None
    assert harness.end.output == '["first#1","done","last#1"]'
    assert harness.asked == [("ann", "work", 1, ""), ("ann", "work", 2, "s-1")]
    assert "Which colour?\n\nThe answer: blue" in harness.given[1][1].prompt
    assert harness.given[1][1].visit == 1
    assert harness.concluded == {"first#1": 1, "last#1": 1}


APPENDS = 11


def test_the_enumeration_covers_every_append(tmp_path: Path) -> None:
    harness = questioning(tmp_path)

    drive_answering(harness)

    assert harness.store.appends == APPENDS


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, APPENDS + 1))
def test_a_question_is_asked_once_and_its_answer_kept_wherever_the_process_dies(
    tmp_path: Path, nth: int, when: str
) -> None:
    harness = questioning(tmp_path)
    harness.die_at(nth, when=when)

    run = drive_answering(harness)

    assert run.ended is not None
    assert (run.ended.state, harness.end.output) == ("done", '["first#1","done","last#1"]')
    assert list(run.gates) == ["work"]
    ended = [(event.node, event.visit) for event in harness.events(NodeEnded) if isinstance(event, NodeEnded)]
    assert ended == [("first", 1), ("work", 1), ("last", 1)]


def test_an_agent_may_ask_again_and_knows_all_answers(tmp_path: Path) -> None:
    def reply(assignment: Assignment) -> Concluded:
        count = assignment.prompt.count("The answer:")
        return Concluded(message="done") if count == 2 else Concluded(question=f"Question {count + 1}?")

    harness = AgentHarness(folder=tmp_path, flows={"main": logging(agent("work"))}, act=note, replies={"ann": reply})

    run = drive_answering(harness)

    assert list(run.gates) == ["work", "work#1.2"]
    assert harness.end.output == '["done"]'


def test_a_question_in_a_called_flow_carries_its_scope(tmp_path: Path) -> None:
    main = logging(agent("call", who="child"))
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": main, "child": logging(agent("work"))},
        act=note,
        replies={"ann": asking("Which?")},
    )

    run = drive_answering(harness)

    assert list(run.gates) == ["call#1/work"]
    assert run.ended is not None
    assert run.ended.state == "done"


def test_items_of_a_map_ask_beside_each_other_whatever_the_cap(tmp_path: Path) -> None:
    item = AgentNode(id=NodeId("one"), agent="ann", prompt="{{item}}")
    main = flow(
        each("many", "{{items}}", branch="one", cap=1, to="end"),
        item,
        end(output="{{all}}"),
        state={"items": ["x", "y", "z"]},
    ).flow
    harness = AgentHarness(folder=tmp_path, flows={"main": main}, act=note, replies={"ann": asking("Which?")})

    parked = harness.drive()
    run = drive_answering(harness)

    assert list(parked.gates) == ["many#1[0]/one", "many#1[1]/one", "many#1[2]/one"]
    assert run.ended is not None
    assert harness.end.output == '["done","done","done"]'


def test_a_question_does_not_hold_up_the_branch_beside_it(tmp_path: Path) -> None:
    main = logging(script("s", "work beside"), agent("work"), script("beside", "end"))
    harness = AgentHarness(folder=tmp_path, flows={"main": main}, act=note, replies={"ann": asking("Which?")})

    parked = harness.drive()

    assert parked.parked
    assert harness.concluded["beside#1"] == 1


# --- taking over ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failure", ["quota", "auth", "billing", "missing"])
def test_another_agent_takes_over_and_is_told_what_happened(tmp_path: Path, failure: str) -> None:
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"))},
        act=note,
        replies={"ann": failing(failure, times=9), "bob": saying("bob did it")},
        fallback=("bob",),
    )

    run = harness.drive()

    assert run.ended is not None
    assert harness.end.output == '["bob did it"]'
    assert [(spec, attempt) for spec, _, attempt, _ in harness.asked] == [("ann", 1), ("bob", 2)]
    assert f"cut short\n\n{failure}: cannot" in harness.given[1][1].prompt
    assert [event.agent for event in harness.events(AttemptStarted) if isinstance(event, AttemptStarted)] == ["", "bob"]


def test_an_agent_that_cannot_be_opened_is_stood_in_for(tmp_path: Path) -> None:
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work", who="nobody"))},
        act=note,
        replies={"bob": saying("bob did it")},
        fallback=("bob",),
    )

    harness.drive()

    assert harness.end.output == '["bob did it"]'


def test_an_agent_that_breaks_down_twice_is_stood_in_for(tmp_path: Path) -> None:
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"))},
        act=note,
        replies={"ann": failing("crash", times=9), "bob": saying("bob did it")},
        fallback=("bob",),
    )

    harness.drive()

    assert [spec for spec, *_ in harness.asked] == ["ann", "ann", "bob"]
    assert harness.end.output == '["bob did it"]'


def test_a_failure_of_the_work_itself_is_nobody_elses(tmp_path: Path) -> None:
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work", fallback="end"))},
        act=note,
        replies={"ann": failing("validation"), "bob": saying("bob did it")},
        fallback=("bob",),
    )

    harness.drive()

    assert [spec for spec, *_ in harness.asked] == ["ann"]
    assert harness.end.output == '["agent failed: validation: cannot"]'


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 5))
def test_who_took_over_keeps_the_visit_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"))},
        act=note,
        replies={"ann": failing("auth", times=9), "bob": saying("bob did it")},
        fallback=("bob",),
    )
    harness.die_at(nth, when=when)

    harness.drive_through()

    assert harness.end.output == '["bob did it"]'
    assert len(harness.events(NodeEnded)) == 1


# --- waiting ----------------------------------------------------------------------------------------------------


def test_a_quota_that_is_near_is_waited_for_and_costs_no_working_time(tmp_path: Path) -> None:
    clock = FakeClock()
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"), settings=FlowSettings(timeout=100.0))},
        act=note,
        replies={"ann": failing("quota", resets_in=500.0, clock=clock)},
        clock=clock,
    )
    before = clock.now()

    run = harness.drive()

    assert run.ended is not None
    assert harness.end.output == '["done at last"]'
    assert clock.now() - before == pytest.approx(500.0)


def test_a_quota_that_is_far_away_parks_the_flow_until_then(tmp_path: Path) -> None:
    clock = FakeClock()
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"))},
        act=note,
        replies={"ann": failing("quota", resets_in=LONG, clock=clock)},
        clock=clock,
    )
    due = clock.now() + LONG

    parked = harness.drive()
    early = harness.drive()
    clock.time = due
    run = harness.drive()

    assert (parked.parked, parked.parked_until) == (True, due)
    assert early.parked
    assert run.ended is not None
    assert harness.end.output == '["done at last"]'
    assert [attempt for _, _, attempt, _ in harness.asked] == [1, 2]
    assert len(harness.events(NodeStarted)) == 2
    stream = [entry.event for entry in harness.store.read(Stream(RUN))]
    assert [event.until for event in stream if isinstance(event, RunParked)] == [due, due]


def test_a_retry_lets_a_visit_go_on_before_its_time(tmp_path: Path) -> None:
    clock = FakeClock()
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"))},
        act=note,
        replies={"ann": failing("quota", resets_in=LONG, clock=clock)},
        clock=clock,
    )
    before = clock.now()

    parked = harness.drive()
    harness.send(Message(kind="retry", subject="other"))
    still = harness.drive()
    harness.send(Message(kind="retry", subject="work"))
    run = harness.drive()

    assert parked.parked
    assert still.parked
    assert run.ended is not None
    assert harness.end.output == '["done at last"]'
    assert clock.now() == before
    assert not harness.store.unread(RUN)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(1, 5))
def test_a_quota_is_waited_for_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    clock = FakeClock()
    due = clock.now() + 500.0

    def reply(assignment: Assignment) -> Concluded:
        if clock.now() < due:
            return Concluded(failure="quota", message="none left", resets_at=due)
        return Concluded(message="done at last")

    flows = {"main": logging(agent("call", who="child")), "child": logging(agent("work"))}
    harness = AgentHarness(folder=tmp_path, flows=flows, act=note, replies={"ann": reply}, clock=clock)
    harness.die_at(nth, when=when)

    run = harness.drive_through()

    assert run.ended is not None
    assert (run.ended.state, clock.now()) == ("done", due)
    assert len(harness.events(NodeEnded)) == 2


def test_a_quota_without_a_time_is_tried_again_later_and_later_and_then_the_run_parks(tmp_path: Path) -> None:
    harness = AgentHarness(
        folder=tmp_path, flows={"main": logging(agent("work"))}, act=note, replies={"ann": failing("quota", times=9)}
    )

    run = harness.drive()

    assert run.ended is None
    assert (run.parked, len(harness.asked)) == (True, 4)


def test_a_failure_that_passes_is_tried_again_twice(tmp_path: Path) -> None:
    clock = FakeClock()
    harness = AgentHarness(
        folder=tmp_path,
        flows={"main": logging(agent("work"))},
        act=note,
        replies={"ann": failing("transient", times=9)},
        clock=clock,
    )
    before = clock.now()

    run = harness.drive()

    assert run.ended is not None
    assert (run.ended.state, len(harness.asked)) == ("blocked", 3)
    assert clock.now() - before == pytest.approx(6.0)


def test_what_suspended_attempts_used_counts(tmp_path: Path) -> None:
    harness = questioning(tmp_path)

    harness.drive()

    suspended = harness.events(AttemptEnded)[0]
    assert isinstance(suspended, AttemptEnded)
    assert suspended.usage == {"input": 1.0}


# --- sessions ---------------------------------------------------------------------------------------------------


def looping(folder: Path, **nodes: AgentNode) -> AgentHarness:
    """An agent works, a script sends it back once, and every session has a name."""
    count = 0

    def reply(assignment: Assignment) -> Concluded:
        nonlocal count
        count += 1
        return Concluded(message="done", session=assignment.session or f"s-{count}")

    def act(command: RunNode, visit: Visit) -> Outcome:
        back = next(iter(reversed(nodes)))
        return Outcome(output={"log": visit.name, "_next": back if visit.key.visit == 1 else "end"})

    main = logging(*nodes.values(), script("judge", "end"))
    return AgentHarness(folder=folder, flows={"main": main}, act=act, replies={"ann": reply, "bob": reply})


def test_a_node_visited_again_goes_on_with_its_session_if_it_asks_for_that(tmp_path: Path) -> None:
    harness = looping(tmp_path, work=agent("work", "judge", session="work"))

    harness.drive()

    assert harness.asked == [("ann", "work", 1, ""), ("ann", "work", 2, "s-1")]


def test_a_node_that_does_not_ask_for_it_begins_anew(tmp_path: Path) -> None:
    harness = looping(tmp_path, work=agent("work", "judge"))

    harness.drive()

    assert [session for *_, session in harness.asked] == ["", ""]


@pytest.mark.parametrize(("who", "session"), [("ann", "s-1"), ("bob", "")])
def test_a_fix_goes_on_with_the_authors_session_if_it_is_the_same_agent(tmp_path: Path, who: str, session: str) -> None:
    harness = looping(tmp_path, work=agent("work", "judge"), fix=agent("fix", "judge", who=who, session="work"))

    harness.drive()

    assert harness.asked == [("ann", "work", 1, ""), (who, "fix", 1, session)]


def test_the_session_of_an_attempt_that_was_lost_is_not_gone_on_with(tmp_path: Path) -> None:
    harness = looping(tmp_path, work=agent("work", "judge", session="work"))
    harness.die_at(5, when="before")  # the second visit is done, and its end not recorded

    harness.drive_through()

    assert [session for *_, session in harness.asked] == ["", "s-1", ""]
    assert "cut short\n\nThe process that drove it ended." in harness.given[2][1].prompt


def test_a_session_that_the_agent_calls_otherwise_is_known_before_the_visit_is_over(tmp_path: Path) -> None:
    main = logging(script("s", "work"), agent("work"))
    replies = {"ann": saying("done")}
    harness = AgentHarness(folder=tmp_path, flows={"main": main}, act=note, replies=replies, calls_it="own")

    run = harness.drive()

    walked = [entry.event for entry in harness.store.read(Stream(RUN, FLOW))]
    kinds = [type(event) for event in walked if getattr(event, "node", "") == "work"]
    assert run.ended is not None
    assert kinds == [NodeStarted, AttemptStarted, SessionOpened, AttemptEnded, NodeEnded]


def test_sessions_of_agents_beside_each_other_are_named_without_a_conflict(tmp_path: Path) -> None:
    main = logging(script("s", "one two three"), agent("one"), agent("two"), agent("three"))
    replies = {"ann": saying("done")}
    harness = AgentHarness(folder=tmp_path, flows={"main": main}, act=note, replies=replies, calls_it="own")

    run = harness.drive()

    named = [event.session for event in harness.events(SessionOpened) if isinstance(event, SessionOpened)]
    assert run.ended is not None
    assert sorted(named) == ["own-one", "own-three", "own-two"]
    assert len(harness.given) == 3


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("nth", range(2, 7))
def test_agents_beside_each_other_end_once_wherever_the_process_dies(tmp_path: Path, nth: int, when: str) -> None:
    main = logging(script("s", "one two"), agent("one"), agent("two", who="bob"))
    replies = {"ann": asking("Which?"), "bob": saying("bob did it")}
    harness = AgentHarness(folder=tmp_path, flows={"main": main}, act=note, replies=replies, calls_it="own")
    harness.die_at(nth, when=when)

    run = drive_answering(harness)

    assert run.ended is not None
    assert harness.end.output == '["s#1","done","bob did it"]'
    ended = [event.node for event in harness.events(NodeEnded) if isinstance(event, NodeEnded)]
    assert sorted(ended) == ["one", "s", "two"]


@pytest.mark.parametrize(("own", "expected"), [(300.0, 7.0), (5.0, 5.0)])
def test_an_agent_has_no_more_time_than_the_setting_allows(tmp_path: Path, own: float, expected: float) -> None:
    main = logging(replace(agent("work"), timeout=own))
    reply: Reply = lambda assignment: Concluded()  # noqa: E731
    harness = AgentHarness(folder=tmp_path, flows={"main": main}, act=note, replies={"ann": reply}, agent_timeout=7.0)

    harness.drive()

    assert [assignment.timeout for _, assignment in harness.given] == [expected]
