"""What runs the checks of a run again: no agent, no model and no plan file is needed for it."""

from __future__ import annotations

from functools import partial

from drumline.app.pins import apply_pins
from drumline.core.ids import DriverId
from drumline.core.setups import read_setup
from drumline.core.state import RunState
from drumline.engine.checkslots import CheckSlots
from drumline.engine.redacted import RedactedProcesses
from drumline.engine.services import FlowServices, Services, Tools, Worker
from drumline.engine.verifying import Verifier
from drumline.planfiles.task import TaskFiles
from drumline.ports.models import Models
from drumline.processes.census import MARK
from drumline.processes.supervised import SupervisedProcesses
from drumline.store.sqlite import SqliteStore
from drumline.wiring.project import Project
from drumline.wiring.services import SystemClock, open_hold


def open_verifier(project: Project, store: SqliteStore, run: RunState, driver: DriverId) -> Verifier:
    """What runs the checks of this run again; everything that it starts ends with the driver."""
    workspaces = project.workspaces(run)
    workspaces.mark_processes({MARK: driver})
    tools = Tools(
        processes=RedactedProcesses(
            processes=SupervisedProcesses(project.roster.home(driver), driver), redaction=project.redaction
        ),
        open_agent=_refuse_agent,
        open_models=_refuse_models,
        checks=open_hold(project, provide=read_setup("", run.begun.provide).paths),
        slots=CheckSlots(project.settings.check_jobs),
    )
    services = Services(
        store=store,
        roster=project.roster,
        workspaces=workspaces,
        planfiles=TaskFiles(run.plan),
        clock=SystemClock(),
        logs=project.logs(run.id),
        equip=partial(_give, tools),
        open_flows=_refuse_flows,
        check_timeout=apply_pins(project.settings, run.begun).check_timeout,
        redaction=project.redaction,
        base=project.repository.top,
    )
    return Verifier(services=services, tools=tools, run=run)


def _give(tools: Tools, driver: DriverId) -> Tools:
    return tools


def _refuse_agent(name: str) -> Worker:
    raise AssertionError(f"checks run again without agents: {name!r} is not opened")


def _refuse_models() -> Models:
    raise AssertionError("checks run again without models")


def _refuse_flows() -> FlowServices:
    raise AssertionError("checks run again without a flow")
