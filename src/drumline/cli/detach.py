"""Starts a driver in the background, in a session of its own, for `--detach`."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import click

from drumline.cli.debugging import VARIABLE, is_debugging
from drumline.cli.output import print_json, say
from drumline.core.ids import RunId
from drumline.wiring import Project

PATIENCE = 10.0
LOOK = 0.05


def detach(project: Project, run: RunId, *, as_json: bool) -> int:
    """Start `drumline resume RUN` in the background and say how to look at it."""
    folder = project.logs(run)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "driver.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "drumline", "resume", run, "--background"],
            cwd=project.here,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={
                **os.environ,
                "DRUMLINE_JOBS": str(project.settings.jobs),
                **({VARIABLE: "1"} if is_debugging() else {}),
            },
        )
    _wait_joined(project, run, process)
    if as_json:
        print_json({"schema_version": 1, "run": run, "pid": process.pid, "log": str(folder / "driver.log")})
    else:
        click.echo(run)
        say(f"driving in the background (pid {process.pid}); look with: drumline attach {run}")
    return 0


def _wait_joined(project: Project, run: RunId, process: subprocess.Popen[bytes]) -> None:
    """Wait until the run has a driver, so that the next command finds it live."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None and not project.roster.drivers(run):
        time.sleep(LOOK)
