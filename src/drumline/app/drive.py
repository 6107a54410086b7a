"""Drives a run in this process: signals stop the driver cleanly, everything else is the engine's."""

from __future__ import annotations

import os
import signal

import anyio
from anyio.abc import TaskStatus

from drumline.core.state import RunState
from drumline.engine.driver import Driver
from drumline.planfiles.gitwork import hurry, patient

INTERRUPTED = 130


async def drive(driver: Driver, *, resuming: bool) -> RunState:
    """Drive until the run ends or parks, or a signal stops this driver. A second signal ends the process at once."""
    with patient():
        return await _drive(driver, resuming=resuming)


async def _drive(driver: Driver, *, resuming: bool) -> RunState:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_watch_signals, driver)
        run = await driver.drive(resuming=resuming)
        tasks.cancel_scope.cancel()
    return run


async def _watch_signals(driver: Driver, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as signals:
        task_status.started()
        async for _ in signals:
            if driver.stopping:
                # Supervisors see our pipes close and end everything we started; the journal knows where we were.
                os._exit(INTERRUPTED)
            hurry()
            driver.stop()
