"""What a flow's driver works with: one implementation of every port, and where logs go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drumline.core.ids import DriverId
from drumline.ports.agents import Agent
from drumline.ports.clock import Clock
from drumline.ports.expressions import Expressions
from drumline.ports.journal import Store
from drumline.ports.library import Library
from drumline.ports.models import Models
from drumline.ports.processes import Processes
from drumline.ports.roster import Roster
from drumline.ports.schemas import Schemas


@dataclass(frozen=True, kw_only=True, slots=True)
class Hands:
    """What belongs to one driver: everything it starts through these ends with it."""

    processes: Processes
    models: Models
    open_agent: Callable[[str], Agent]


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowKit:
    """Everything a flow's driver needs of the world. `equip` opens what belongs to it once its id is known."""

    store: Store
    roster: Roster
    clock: Clock
    library: Library
    expressions: Expressions
    schemas: Schemas
    logs: Path
    equip: Callable[[DriverId], Hands]
