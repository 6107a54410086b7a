"""What a step that raises nothing costs with rigor standard beside quick, by the demo's plan: calls and tokens."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median

from bench.figures import Figure
from drumline.demo.project import PLAN, clean_environment, make_project

PLAIN = ("step-1", "step-2")
"""The steps of the demo that come before one that is blocked with rigor quick, and whose first attempt passes."""
LETTERS = 4
"""Letters of a prompt that stand for one token."""


def measure_rigor(folder: Path) -> list[Figure]:
    """Both ways of the same plan, played by its script; what a step raises (a fix, a heal) is not compared."""
    quick, standard = (_play(folder / rigor, rigor) for rigor in ("quick", "standard"))
    note = f"median of {len(PLAIN)} steps of the demo"
    calls, tokens = [[median(part) for part in pair] for pair in zip(quick, standard, strict=True)]
    return [
        Figure(
            name="model calls of a step that raises nothing, standard",
            unit="calls",
            values=[calls[1]],
            reference="the same with quick",
            references=[calls[0]],
            target=1.0,
            note=note,
        ),
        Figure(
            name="tokens sent for a step that raises nothing, standard",
            unit="tokens",
            values=[tokens[1]],
            reference="the same with quick",
            references=[tokens[0]],
            target=1.5,
            note=note,
        ),
    ]


def _play(folder: Path, rigor: str) -> tuple[list[float], list[float]]:
    """How many prompts each of the plain steps got, and how long they were."""
    project = make_project(folder)
    env = {**clean_environment(), "DRUMLINE_RIGOR": rigor}
    command = project.start("run", PLAN, "--autonomy", "autopilot")
    subprocess.run(command, cwd=project.top, env=env, capture_output=True, check=False)
    prompts = {step: [*project.top.glob(f".git/drumline/runs/*/{step}/prompt-*.md")] for step in PLAIN}
    texts = [[file.read_text(encoding="utf-8") for file in found] for found in prompts.values()]
    return [float(len(found)) for found in texts], [sum(map(len, found)) / LETTERS for found in texts]
