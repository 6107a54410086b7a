"""The services of a driver: one implementation of every port, and where logs go."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from drumline.core.ids import DriverId, RunId, StepId
from drumline.core.plan import RUN_WALKS, Check, Step
from drumline.core.redaction import Redaction
from drumline.core.seal import Seal
from drumline.core.vocabulary import CheckKind
from drumline.engine.baseruns import BaseRuns
from drumline.engine.checkslots import CheckSlots
from drumline.engine.nodes.leftovers import NoWatch, Watch
from drumline.isolation.transcripts import OWN, begin_log
from drumline.ports.agents import Agent
from drumline.ports.clock import Clock
from drumline.ports.expressions import Expressions
from drumline.ports.jail import NO_HOLD, Hold
from drumline.ports.journal import UNSEALED, Journal, Recorded, Store
from drumline.ports.lessons import Lessons, NoLessons
from drumline.ports.library import Callee, Library
from drumline.ports.models import Models
from drumline.ports.planfiles import PlanFiles
from drumline.ports.processes import Processes
from drumline.ports.roster import Roster
from drumline.ports.schemas import Schemas
from drumline.ports.skills import Skills
from drumline.ports.trust import TRUSTING, Trust
from drumline.ports.workspaces import Workspaces
from drumline.record import Record, State, field

Observer = Callable[[Sequence[Recorded]], None]
Price = Callable[[str, Mapping[str, float]], float | None]


class Worker(Record):
    """An agent that was opened, and the model it works with if one is set."""

    agent: Agent
    model: str = ""


OpenAgent = Callable[[str], Worker]
"""Opens an agent by its name or spec; asked again for one, it gives the same. InvalidInput if there is none."""


def know_no_price(model: str, usage: Mapping[str, float]) -> float | None:
    """Nobody knows."""
    return None


class Seals(State):
    """The latest seal of each run: each event is read for them once."""

    _known: dict[RunId, Seal] = field(default_factory=dict)

    def find(self, journal: Journal, run: RunId) -> Seal:
        """The seal over everything that is recorded of the run by now."""
        found = self._known[run] = journal.seal(run, self._known.get(run, UNSEALED))
        return found


class Tools(Record):
    """What belongs to one driver: everything it starts through these ends with it. `checks` says how these are held,
    `slots` how many of them run at the same time, and `bases` is what they say about trees without work. `seals` knows
    the seals of journals.
    """

    processes: Processes
    open_agent: OpenAgent
    open_models: Callable[[], Models]
    checks: Hold = NO_HOLD
    slots: CheckSlots = field(default_factory=CheckSlots)
    seals: Seals = field(default_factory=Seals)
    bases: BaseRuns = field(default_factory=BaseRuns)


class FlowServices(Record):
    """What a walk of a flow needs beside the rest.

    `commands` are checks by name, `watch` sees what checks do to the user's own folder. `fallback` are the agents that
    take over, by name and in order. `tools` and `mcp_servers` are those that models can have here; None if nobody
    knows.
    """

    library: Library
    expressions: Expressions
    schemas: Schemas
    skills: Skills
    commands: Mapping[str, str] = field(default_factory=dict)
    watch: Watch = field(default_factory=NoWatch)
    fallback: Mapping[str, Callee] = field(default_factory=dict)
    tools: Collection[str] | None = None
    mcp_servers: Collection[str] | None = None


class Services(Record):
    """Everything a driver needs of the world, for a plan as for a flow. `equip` opens what belongs to one driver.

    `open_flows` is called once a flow is walked. `price` tells what tokens cost with a model, and may take a while.
    `quota_wait` is how long a driver stays for a quota if there is nothing else to do, `agent_idle` how long an agent
    may be silent, `check_timeout` how long a check may take whose kind is not in `kind_timeouts`. `redaction` is for
    logs that a driver left behind; what an agent, a model or a command says comes redacted. `trust` says which commands
    may be executed, `base` is where the paths of agents' specs start. With `archives` a plan that is over moves to the
    archive of its format.
    """

    store: Store
    roster: Roster
    workspaces: Workspaces
    planfiles: PlanFiles
    clock: Clock
    logs: Path
    equip: Callable[[DriverId], Tools]
    open_flows: Callable[[], FlowServices]
    price: Price = know_no_price
    stale_claim: float = 3600.0
    quota_wait: float = 900.0
    step_timeout: float | None = None
    agent_timeout: float | None = None
    agent_idle: float | None = None
    check_timeout: float | None = None
    kind_timeouts: Mapping[CheckKind, float] = field(default_factory=dict)
    redaction: Redaction = field(default_factory=Redaction)
    trust: Trust = TRUSTING
    lessons: Lessons = field(default_factory=NoLessons)
    archives: bool = True
    base: Path = Path()

    def limit(self, check: Check) -> float | None:
        """How many seconds a check may take."""
        return self.kind_timeouts.get(check.kind, self.check_timeout)

    def log(self, step: StepId, name: str) -> Path:
        """A fresh log file of a step; an older one of that name is kept aside."""
        return begin_log(self.logs / step / name)

    def read_pinned(self, step: Step) -> str:
        """The text of a step as it was when work on it began: an edit in mid-work counts only after its gate."""
        if step.id in RUN_WALKS:
            return step.text
        folder = self.logs / step.id
        name = blake2b(step.text_digest.encode(), digest_size=4).hexdigest()
        kept = folder / f"step-{name}.md"
        if not kept.exists():
            folder.mkdir(mode=OWN, parents=True, exist_ok=True)
            kept.write_text(self.planfiles.text(step), encoding="utf-8")
        return kept.read_text(encoding="utf-8")
