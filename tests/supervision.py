"""Real commands for tests. The rule: no two tests share a driver, for whatever bears its name is swept away with it."""

from __future__ import annotations

import uuid
from pathlib import Path

from drumline.core.ids import DriverId
from drumline.processes.supervised import SupervisedProcesses


def supervise(folder: Path) -> SupervisedProcesses:
    """Commands under supervisors of a driver that nobody else on this machine is; its files are below `folder`."""
    return SupervisedProcesses(folder / "driver", DriverId(f"d-{uuid.uuid4().hex[:12]}"))
