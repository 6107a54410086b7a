"""Tells somebody that a run waits for an answer, through the command in the configuration."""

from __future__ import annotations

import os
import subprocess

from drumline.cli.output import say
from drumline.core.state import RunState
from drumline.wiring import Site

PATIENCE = 30


def notify(site: Site, run: RunState) -> None:
    """Run the notify command with the run and its open gates in the environment; its failure stops nothing."""
    gates = " ".join(gate.opened.gate for gate in run.open_gates)
    questions = "\n".join(gate.opened.question for gate in run.open_gates)
    environment = {**os.environ, "DRUMLINE_RUN": run.id, "DRUMLINE_GATES": gates}
    try:
        subprocess.run(
            ["bash", "-c", site.settings.notify],
            input=questions.encode(),
            env=environment,
            cwd=site.repository.top,
            timeout=PATIENCE,
            check=True,
            stdout=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        say(f"the notify command failed: {error}")
