"""Tells somebody that a run waits for an answer or is over: by the terminal's bell, on the desktop, or by a command.

The rule: what it tells is never part of a shell line, and its failure stops nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from drumline.cli.output import say
from drumline.core.state import RunState
from drumline.views.cells import flatten
from drumline.views.states import name_state
from drumline.wiring import Project

PATIENCE = 30
LONGEST = 300


def notify(project: Project, run: RunState) -> None:
    """Tell the way that the setting `notify` says; nothing without it."""
    match project.settings.notify:
        case "":
            return
        case "bell":
            _ring()
        case "desktop":
            _show(run)
        case command:
            _run_command(project, run, command)


def _ring() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\a")
        sys.stderr.flush()


def _show(run: RunState) -> None:
    """A notice on the desktop, if there is a program that shows one."""
    title, text = f"drumline: run {run.id} is {name_state(run, live=False)}", _describe(run)
    if program := shutil.which("notify-send"):
        _start([program, "--app-name=drumline", "--", title, text])
    elif program := shutil.which("osascript"):
        script = "on run told\ndisplay notification (item 2 of told) with title (item 1 of told)\nend run"
        _start([program, "-e", script, title, text])
    else:
        say("nothing shows notices on this desktop: notify-send is missing; set notify to bell or to a command")


def _describe(run: RunState) -> str:
    asked = [flatten(gate.opened.question) for gate in run.open_gates]
    reason = run.ended.reason if run.ended is not None else run.parked_for
    return flatten(asked[0] if asked else reason or run.plan.title or run.begun.plan, LONGEST)


def _run_command(project: Project, run: RunState, command: str) -> None:
    """Run it with the run, its state and its open gates in the environment, and the questions on stdin."""
    told = {
        "DRUMLINE_RUN": run.id,
        "DRUMLINE_STATE": name_state(run, live=False).value,
        "DRUMLINE_GATES": " ".join(gate.opened.gate for gate in run.open_gates),
    }
    questions = "\n".join(gate.opened.question for gate in run.open_gates)
    _start(["bash", "-c", command], text=questions, more=told, folder=str(project.repository.top))


def _start(argv: list[str], *, text: str = "", more: dict[str, str] | None = None, folder: str | None = None) -> None:
    try:
        subprocess.run(
            argv,
            input=text.encode(),
            env={**os.environ, **(more or {})},
            cwd=folder,
            timeout=PATIENCE,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        say(f"the notify command failed: {error}")
