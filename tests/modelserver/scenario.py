"""What the model of a test does: turns, told as intents. A scenario knows no tool names and no wire format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tests.modelserver.conversation import Usage

from drumline.core.flow.model import Json
from drumline.record import Record, field


class Write(Record):
    """Write a whole file, with the agent's editing tool or else its shell."""

    path: str
    content: str


class Read(Record):
    """Read a file."""

    path: str


class Run(Record):
    """Run a shell command."""

    command: str


class Use(Record):
    """Use a tool by its own name or the end of it, as MCP tools are offered under a prefix."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


Intent: TypeAlias = Write | Read | Run | Use


class Answer(Record):
    """A structured answer: through the agent's tool for it where one is offered, else as JSON text."""

    value: Json


class Refuse(Record):
    """An HTTP error instead of an answer, `times` times for one question; 0 is always."""

    status: int
    message: str = ""
    retry_after: float | None = None
    times: int = 0


class Cut(Record):
    """The connection breaks in the middle of the answer, `times` times for one question; 0 is always."""

    times: int = 0


class Hang(Record):
    """No byte comes for `seconds`, then the connection closes; for as long as the server lives by default."""

    seconds: float = float("inf")
    times: int = 0


Fault: TypeAlias = Refuse | Cut | Hang


class Turn(Record):
    """One answer: text, then calls, or a structured answer. A fault comes first, `pause` seconds before all."""

    text: str = ""
    calls: tuple[Intent, ...] = ()
    answer: Answer | None = None
    fault: Fault | None = None
    pause: float = 0.0
    usage: Usage = field(default_factory=Usage)


class Scenario(Record):
    """Turns for every prompt that contains `when`; the last turn is said again for as long as the agent asks."""

    turns: tuple[Turn, ...]
    when: str = ""
    name: str = ""
