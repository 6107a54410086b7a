"""What a walk is about: the flow of a run that walks it by itself, or that of a step of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drumline.core.flow.model import Json
from drumline.core.state import RunState
from drumline.record import Record, field


class Course(Record):
    """What a walk is about: the flow, and where and with what it is walked. `agent` and `model` override its own.

    `timeout` is how much working time it may take, beside the flow's own limit.
    """

    path: str
    digest: str
    folder: Path
    prompt: str = ""
    variables: Mapping[str, Json] = field(default_factory=dict)
    values: Mapping[str, Json] = field(default_factory=dict)
    agent: str = ""
    model: str = ""
    worktree: bool = False
    timeout: float | None = None


def find_course(run: RunState) -> Course | None:
    """The course of a run that is one flow, as it was pinned; None for a run whose steps open theirs."""
    pinned = run.flow
    if pinned is None:
        return None
    return Course(
        path=pinned.path,
        digest=pinned.digest,
        folder=Path(pinned.folder),
        prompt=pinned.prompt,
        variables=pinned.variables,
        agent=pinned.agent,
        model=pinned.model,
        worktree=pinned.worktree,
    )
