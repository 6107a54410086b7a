"""Models behind one port: a question goes in, an answer comes out, with tools used on the way if they are allowed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from drumline.core.ids import FLOW, RunId, StepId
from drumline.record import Record, field


class Question(Record):
    """What a model is asked, and what it may use.

    `model` is `provider:model`, a tier, `scripted:FILE`, or empty for the configured default. `tools` and
    `mcp_servers` are everything it may call; tools see nothing outside `workspace`, and change nothing that is `sealed`
    there. `max_iterations` caps its turns.
    `skills` are texts by name; who can offer tools offers `skill_load`, which takes a name and gives the text.
    `log` takes the transcript. (`step`, `scope`, `node`, `visit`, `attempt`) say whose question it is.
    """

    run: RunId
    node: str
    prompt: str
    workspace: Path
    log: Path
    step: StepId = FLOW
    scope: str = ""
    visit: int = 1
    attempt: int = 1
    instructions: str = ""
    model: str = ""
    temperature: float | None = None
    top_p: float | None = None
    reasoning_effort: str | None = None
    tools: tuple[str, ...] = ()
    mcp_servers: tuple[str, ...] = ()
    skills: Mapping[str, str] = field(default_factory=dict)
    max_iterations: int = 10
    sealed: tuple[Path, ...] = ()


class Answer(Record):
    """What the model said last. `failure` is empty or a class of the failure taxonomy, `message` says why.

    `notices` are remarkable things about it that are not failures.
    """

    text: str = ""
    failure: str = ""
    message: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class Models(Protocol):
    """Answers questions; calls may overlap."""

    async def ask(self, question: Question) -> Answer:
        """The answer; a failure is an answer too. Nothing it started is left when this returns or is cancelled."""
        ...
