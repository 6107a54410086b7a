"""Opens the driver of a run for this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from drumline.core.plan import Problem
from drumline.core.recorded import Recorded
from drumline.core.state import RunState
from drumline.engine.driver import Driver
from drumline.engine.upkeep import Upkeep
from drumline.ports.trust import Trust
from drumline.record import Record
from drumline.store.sqlite import SqliteStore
from drumline.wiring import Project
from drumline.wiring.services import open_services

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
    project: Project,
    store: SqliteStore,
    run: RunState,
    *,
    started_at: float,
    trust: Trust,
    recorder: Recorder | None,
    ears: Ears,
) -> Driver:
    """A driver for this process."""
    services = open_services(project, store, run, started_at=started_at, trust=trust)
    services = services if recorder is None else recorder.attach(services)
    return Driver(
        upkeep=Upkeep(services=services, complain=ears.complain, warn=ears.warn),
        run_id=run.id,
        jobs=project.settings.jobs,
        observe=ears.observe,
        wait_told=ears.wait_told,
        joined=ears.joined,
    )
