"""What an adapter says about an agent program: how it is started, how its events read, and what it can do.

The rule: an adapter is one small file with a `PROGRAM`. Everything that is the same for all of them is in `cli.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol

from drumline.core.flow.model import Json
from drumline.isolation.homes import Home
from drumline.ports.agents import Assignment, Happening, Outcome
from drumline.ports.processes import Ended
from drumline.profiles import McpServer
from drumline.record import Record, field


class Abilities(Record):
    """What the program offers by itself; what it does not, the engine does around it or says that it cannot be had."""

    resumes: bool = False
    names_session: bool = False
    validates_schema: bool = False
    reads_only: bool = False
    takes_budget: bool = False
    takes_servers: bool = False
    counts_tokens: bool = False
    prices: bool = False


class Setting(Record):
    """What a launch may rely on: the program found, the model chosen, and a folder of this assignment's own.

    `jailed` says that the kernel keeps the program's writes in bounds, so that it need not ask for leave. `servers`
    are the MCP servers that the assignment names.
    """

    executable: Path
    model: str
    scratch: Path
    jailed: bool = False
    servers: tuple[McpServer, ...] = ()


class Talk(Protocol):
    """Answers a program that asks on its stdout while it works."""

    async def answer(self, event: Mapping[str, Json]) -> str:
        """The line that answers an event, or nothing where it asks for none."""
        ...

    def ends_with(self, event: Mapping[str, Json]) -> bool:
        """Whether nothing is asked any more after an event."""
        ...

    def conclude(self, outcome: Outcome) -> Outcome:
        """The outcome with what came of the answers."""
        ...


class Launch(Record):
    """How the program is started. Prompts go through stdin or a file, not through `argv`, which everybody can read.

    With a `talk` its stdin stays open after that, for the answers.
    """

    argv: tuple[str, ...]
    stdin: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    talk: Talk | None = None


class Reader(Protocol):
    """Understands one run of the program, event by event."""

    def read(self, event: Mapping[str, Json]) -> Iterable[Happening]:
        """What an event of the program's stream means; unknown ones mean nothing."""
        ...

    def conclude(self, ended: Ended) -> Outcome:
        """The outcome, from the final event first and the exit code last.

        Where it was stopped, only what it used, its session and the notices count: they are told in any case.
        """
        ...


class Program(Record):
    """An agent program. `keep` are the variables of our environment it may see, beside harmless ones: its credentials.

    `homes` are folders of its own: it works on private copies of them, and each says what of a copy comes back; of one
    that is only a place nothing does. `folders` are granted: it may write to them, with `~` or `$NAME`. `tiers` are its
    models; an empty one leaves the choice to the program, and `efforts` say how hard it thinks then. `suggest` has the
    models that depend on how the user has set it up, for work in a folder. `find` is for programs that are not simply
    on PATH. `gone` are words by which it says that a session cannot be used, `offline` those of its notices by which it
    says, for as long as that lasts, that it waits for the network. `install` and
    `login` are what to type where it is missing or lets nobody in.
    """

    name: str
    executables: tuple[str, ...]
    build: Callable[[Assignment, Setting], Launch]
    open_reader: Callable[[Assignment], Reader]
    abilities: Abilities
    keep: tuple[str, ...] = ()
    homes: tuple[Home | str, ...] = ()
    folders: tuple[str, ...] = ()
    tiers: Mapping[str, str] = field(default_factory=dict)
    efforts: Mapping[str, str] = field(default_factory=dict)
    suggest: Callable[[Path], Mapping[str, str]] | None = None
    find: Callable[[], Path | None] | None = None
    gone: tuple[str, ...] = ()
    offline: tuple[str, ...] = ()
    install: str = ""
    login: str = ""

    def list_models(self, folder: Path) -> Mapping[str, str]:
        """The models of the tiers for work in a folder, as far as they are known without asking the program."""
        return {**self.tiers, **(self.suggest(folder) if self.suggest else {})}
