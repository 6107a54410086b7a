"""A run of a flow as its driver sees it: one step, whose walk is all there is. It has no plan's files to look after."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import anyio.to_thread

from drumline.core import events as ev
from drumline.core.commands import SettleBranch
from drumline.core.ids import FLOW, DriverId, RunId, StepId, Token
from drumline.core.plan import Step
from drumline.core.schedule import Surroundings
from drumline.core.state import RunState
from drumline.core.taxonomy import WAITS
from drumline.engine.driver import Driver
from drumline.engine.flow.course import find_course
from drumline.engine.flow.performer import NodePerformer
from drumline.engine.flow.walk import FlowWalk, Perform
from drumline.engine.kit import Kit, Observer
from drumline.engine.upkeep import StepWalk
from drumline.ports.journal import Claim, Recorded


@dataclass(kw_only=True)
class FlowUpkeep:
    """Keeps the promises of `Upkeep` for a flow. `perform` stands in for the acts of nodes."""

    kit: Kit
    warn: Callable[[str], None]
    perform: Perform | None
    keeps_books = False

    def __post_init__(self) -> None:
        self.store, self.roster, self.clock = self.kit.store, self.kit.roster, self.kit.clock
        self._flows = self.kit.open_flows()
        self._me: DriverId
        self._act: Perform

    def equip(self, driver: DriverId) -> None:
        """Open agents, models and processes for this driver."""
        self._me = driver
        performer = NodePerformer(kit=self.kit, flows=self._flows, tools=self.kit.equip(driver), warn=self.warn)
        self._act = self.perform or performer.perform

    def open_walk(self, run: RunState, step: Step, token: Token) -> FlowWalk:
        """The walk of the flow."""
        return FlowWalk(
            kit=self.kit,
            flows=self._flows,
            run=run,
            driver=self._me,
            token=token,
            act=self._act,
            course=find_course(run),
            warn=self.warn,
        )

    async def look(self, run: RunState, claimed: frozenset[StepId]) -> Surroundings:
        """The time, and whether a person wants a visit tried that waits."""
        called = any(message.kind == "retry" for _, message in self.store.unread(run.id))
        return Surroundings(
            claimed=claimed,
            marks={},
            now=self.clock.now(),
            stale_after=inf,
            claim_times={},
            patience=max(self.kit.quota_wait, *WAITS),
            called=frozenset({FLOW}) if called else frozenset(),
        )

    async def leave(self, run: RunState, driver: DriverId) -> None:
        """Take dead drivers off the roster."""
        await anyio.to_thread.run_sync(self.roster.clear_dead)

    def note(self, recorded: Sequence[Recorded]) -> None:
        """There are no books."""

    def watch(self, run: RunState, held: Mapping[StepId, Claim]) -> Sequence[ev.Event]:
        """A flow is as it was when the run began."""
        return ()

    async def mirror(
        self, run: RunState, held: Mapping[StepId, Claim], walks: Iterable[StepId]
    ) -> AsyncGenerator[ev.Event]:
        """There are no files to bring up to date."""
        nothing: tuple[ev.Event, ...] = ()
        for event in nothing:
            yield event

    def look_again(self, step: Step, around: Surroundings) -> Surroundings:
        """Nothing can have changed."""
        return around

    async def claim(self, run: RunState, step: Step, around: Surroundings) -> list[ev.Event] | None:
        """The claim in the store is enough."""
        return []

    async def block(self, run: RunId, step: StepId, token: Token, error: OSError) -> None:
        """Nothing is marked, so nothing is refused."""

    async def settle_branch(self, run: RunState, command: SettleBranch) -> str:
        """The branch of a flow is made when its work is delivered."""
        return ""

    def describe_branch(self, command: SettleBranch) -> ev.Event:
        """Nothing is decided about a branch that nobody looks at."""
        raise AssertionError(f"a flow has no branch to settle: {command!r}")

    async def confirm_end(self, run: RunState, state: str) -> bool:
        """What the walk came to is all there is."""
        return True

    def is_quiet(self) -> bool:
        """There is no branch that is looked at."""
        return False

    def end_walk(self, walk: StepWalk) -> None:
        """Nothing is left to look at."""

    async def clear_away(self, run: RunState, step: StepId) -> None:
        """The folder stays as it is."""


def open_flow_driver(
    kit: Kit,
    run_id: RunId,
    *,
    observe: Observer = lambda recorded: None,
    warn: Callable[[str], None] = lambda text: None,
    perform: Perform | None = None,
    wait_told: Callable[[str], None] = lambda reason: None,
    joined: Callable[[], None] = lambda: None,
) -> Driver:
    """What drives a run of a flow in this process."""
    upkeep = FlowUpkeep(kit=kit, warn=warn, perform=perform)
    return Driver(upkeep=upkeep, run_id=run_id, observe=observe, wait_told=wait_told, joined=joined)
