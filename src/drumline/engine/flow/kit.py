"""What a flow's driver works with: one implementation of every port, and where logs go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from pathlib import Path

from drumline.core.flow.events import FlowEnded
from drumline.core.ids import DriverId
from drumline.core.redaction import Redaction
from drumline.engine.flow.leftovers import NoWatch, Watch
from drumline.engine.kit import Price, know_no_price
from drumline.ports.agents import Agent
from drumline.ports.clock import Clock
from drumline.ports.expressions import Expressions
from drumline.ports.journal import Store
from drumline.ports.library import Callee, Library
from drumline.ports.models import Models
from drumline.ports.processes import Processes
from drumline.ports.roster import Roster
from drumline.ports.schemas import Schemas
from drumline.ports.skills import Skills
from drumline.ports.trust import TRUSTING, Trust
from drumline.record import Record, field


async def rest(first: bool) -> None:
    """Nothing has to be made ready."""


class Hands(Record):
    """What belongs to one driver: everything it starts through these ends with it."""

    processes: Processes
    models: Models
    open_agent: Callable[[str], Agent]


class FlowKit(Record):
    """Everything a flow's driver needs of the world. `equip` opens what belongs to it once its id is known.

    `commands` are checks by name. `prepare` makes the folder ready before the `first` node, and again later if it is
    gone; `deliver` brings the work where it belongs after the last; both may be called again after a crash. `watch`
    sees what checks do to the folder. `price` tells what tokens cost with a model, and may take a while; `agent_idle`
    is how long an agent may be silent. `fallback` are the agents that take over, by name and in order; `quota_wait` is
    how long a driver stays for a quota if nothing else is due. `redaction` is for logs that a driver left behind; what
    an agent, a model or a command says comes redacted. `tools` and `mcp_servers` are those that models can have here;
    None if nobody knows. `trust` says which commands may be executed, `base` is where the paths of agents' specs
    start.
    """

    store: Store
    roster: Roster
    clock: Clock
    library: Library
    expressions: Expressions
    schemas: Schemas
    skills: Skills
    logs: Path
    equip: Callable[[DriverId], Hands]
    commands: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[bool], Awaitable[None]] = rest
    deliver: Callable[[FlowEnded], Awaitable[None]] | None = None
    watch: Watch = field(default_factory=NoWatch)
    price: Price = know_no_price
    agent_idle: float | None = None
    fallback: Mapping[str, Callee] = field(default_factory=dict)
    quota_wait: float = 900.0
    redaction: Redaction = field(default_factory=Redaction)
    tools: Collection[str] | None = None
    mcp_servers: Collection[str] | None = None
    trust: Trust = TRUSTING
    base: Path = Path()
