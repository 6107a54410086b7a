"""What the model of a test does: turns, told as intents. A scenario knows no tool names and no wire format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tests.modelserver.conversation import Usage

from drumline.core.flow.model import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """Write a whole file, with the agent's editing tool or else its shell."""

    path: str
    content: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Read:
    """Read a file."""

    path: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Use:
    """Use a tool by its own name or the end of it, as MCP tools are offered under a prefix."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


Intent: TypeAlias = Write | Read | Run | Use


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A structured answer: through the agent's tool for it where one is offered, else as JSON text."""

    value: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class Refuse:
    """An HTTP error instead of an answer, `times` times for one question; 0 is always."""

    status: int
    message: str = ""
    retry_after: float | None = None
    times: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """The connection breaks in the middle of the answer, `times` times for one question; 0 is always."""

    times: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Hang:
    """No byte comes for `seconds`, then the connection closes; for as long as the server lives by default."""

    seconds: float = float("inf")
    times: int = 0


Fault: TypeAlias = Refuse | Cut | Hang


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One answer: text, then calls, or a structured answer. A fault comes first, `pause` seconds before all."""

    text: str = ""
    calls: tuple[Intent, ...] = ()
    answer: Answer | None = None
    fault: Fault | None = None
    pause: float = 0.0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """Turns for every prompt that contains `when`; the last turn is said again for as long as the agent asks."""

    turns: tuple[Turn, ...]
    when: str = ""
    name: str = ""
