"""What a step that raises nothing costs with rigor standard beside quick, by the demo's plan: calls and tokens.

And what each node of its steps is sent with rigor full.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median

from bench.figures import Figure
from drumline.core.events import AttemptStarted
from drumline.core.ids import RunId
from drumline.demo.project import PLAN, clean_environment, make_project
from drumline.store.sqlite import SqliteStore

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


def measure_nodes(folder: Path) -> list[Figure]:
    """Tokens that each node of the demo's steps is sent with rigor full: the median of its prompts."""
    found = _read_prompts(folder)
    task = median(found["implement"])
    return [
        Figure(
            name=f"tokens sent to the node {node}",
            unit="tokens",
            values=[median(lengths)],
            reference="the node implement",
            references=[task],
            note=f"{len(lengths)} prompts of the demo with rigor full",
        )
        for node, lengths in sorted(found.items())
    ]


def _read_prompts(folder: Path) -> dict[str, list[float]]:
    """The lengths of all prompts of a run of the demo, by node, in tokens."""
    project = make_project(folder)
    env = {**clean_environment(), "DRUMLINE_RIGOR": "full"}
    command = project.start("run", PLAN, "--autonomy", "autopilot")
    subprocess.run(command, cwd=project.top, env=env, capture_output=True, check=False)
    (home,) = project.top.glob(".git/drumline/runs/*")
    lengths: dict[str, list[float]] = {}
    store = SqliteStore.open(project.top / ".git" / "drumline" / "state.db")
    for entry in store.tail(RunId(home.name)):
        event, folder = entry.event, home / entry.stream.step
        file = _find_first(folder, event.attempt) if isinstance(event, AttemptStarted) else None
        if file is not None and isinstance(event, AttemptStarted):
            lengths.setdefault(event.node, []).append(len(file.read_text(encoding="utf-8")) / LETTERS)
    return lengths


def _find_first(folder: Path, attempt: int) -> Path | None:
    """What an attempt was sent first; the demo's agent has no fields to answer with, and is asked for them again."""
    names = (f"prompt-{attempt}.lost-1.md", f"prompt-{attempt}.md")
    return next((folder / name for name in names if (folder / name).is_file()), None)


def _play(folder: Path, rigor: str) -> tuple[list[float], list[float]]:
    """How many prompts each of the plain steps got, and how long they were."""
    project = make_project(folder)
    env = {**clean_environment(), "DRUMLINE_RIGOR": rigor}
    command = project.start("run", PLAN, "--autonomy", "autopilot")
    subprocess.run(command, cwd=project.top, env=env, capture_output=True, check=False)
    prompts = {step: [*project.top.glob(f".git/drumline/runs/*/{step}/prompt-*.md")] for step in PLAIN}
    texts = [[file.read_text(encoding="utf-8") for file in found] for found in prompts.values()]
    return [float(len(found)) for found in texts], [sum(map(len, found)) / LETTERS for found in texts]
