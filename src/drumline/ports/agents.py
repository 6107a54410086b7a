"""A coding agent program behind one port."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from drumline.core.ids import RunId, StepId


@dataclass(frozen=True, kw_only=True, slots=True)
class Assignment:
    """What an agent is asked to do, and where. `log` takes its transcript, `prompt_file` holds the prompt on disk.

    `scope` and `visit` say where in a flow; with `read_only` it may look at the workspace but not change it.
    """

    run: RunId
    step: StepId
    node: str
    attempt: int
    prompt: str
    prompt_file: Path
    workspace: Path
    log: Path
    tier: str = "standard"
    timeout: float | None = None
    scope: str = ""
    visit: int = 1
    read_only: bool = False
    model: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How the agent concluded. `failure` is empty or a class of the failure taxonomy."""

    failure: str = ""
    message: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)


class Agent(Protocol):
    """Works on one assignment at a time per call; calls may overlap."""

    async def work(self, assignment: Assignment) -> Outcome:
        """Do the assignment in its workspace. No process of it is left when this returns or is cancelled."""
        ...
