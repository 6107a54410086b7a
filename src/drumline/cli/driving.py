"""Opens a driver for a run: of a plan with the plan's files and workspaces, of a flow with models and a library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.engine.driver import Driver
from drumline.engine.planupkeep import open_plan_driver
from drumline.ports.trust import Trust
from drumline.record import Record
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Site
from drumline.wiring.kits import open_kit

if TYPE_CHECKING:
    from drumline.app.recorder import Recorder


class Ears(Record):
    """What a driver tells the process around it."""

    observe: Callable[[Sequence[Recorded]], None]
    complain: Callable[[Sequence[Problem]], None]
    warn: Callable[[str], None]
    wait_told: Callable[[str], None]
    joined: Callable[[], None]


def open_driver(
    site: Site,
    store: SqliteStore,
    run: RunState,
    *,
    started_at: float,
    trust: Trust,
    recorder: Recorder | None,
    ears: Ears,
) -> Driver:
    """A driver for this process."""
    kit = open_kit(site, store, run, started_at=started_at, trust=trust)
    kit = kit if recorder is None else recorder.attach(kit)
    if run.flow is None:
        return open_plan_driver(
            kit,
            run.id,
            jobs=site.settings.jobs,
            observe=ears.observe,
            complain=ears.complain,
            wait_told=ears.wait_told,
            joined=ears.joined,
        )
    from drumline.engine.flow.upkeep import open_flow_driver

    return open_flow_driver(
        kit,
        run.id,
        observe=ears.observe,
        warn=ears.warn,
        wait_told=ears.wait_told,
        joined=ears.joined,
    )
