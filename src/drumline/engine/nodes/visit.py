"""One visit of a node, as those who act for it see it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from drumline.core.blocked import Reply
from drumline.core.events import AttemptEnded, AttemptStarted, AttemptUsed, SessionOpened
from drumline.core.flow.events import NodeUsed, SessionKept
from drumline.core.flow.model import Flow, Json, ScriptNode
from drumline.core.flow.outcome import Outcome
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.flow.visitattempts import VisitAttempts
from drumline.core.ids import FLOW, NO_TREE, RunId, StepId, Tree
from drumline.engine.nodes.leftovers import NO_WATCH, Watch
from drumline.isolation.transcripts import begin_log
from drumline.ports.agents import Around

LONGEST = 160
"""Bytes of a visit's name in the name of a log."""


Noted = AttemptStarted | SessionOpened | AttemptUsed | NodeUsed
Settle = Callable[[AttemptStarted, AttemptEnded, Outcome], Awaitable[tuple[AttemptEnded, Outcome]]]


async def forget(event: Noted) -> None:
    """Nobody keeps it."""


class Visit(NamedTuple):
    """Where and with what a node acts: `values` is the state it sees, `folder` where it works, `logs` takes its logs.

    `agent` and `model` are the caller's, which override what the node names; empty if there are none. For an agent,
    `attempts` says what came before in this visit, `kept` is the session that its node continues, `answers` are what
    people said to its questions, `budget` is how many dollars are left; `note` records what is known before it is over.
    `watch` sees what checks do to the folder, if no other node can act meanwhile. `step` is the step that is walked. If
    that is one of a plan, `attempt` is the number of the attempt at it, `told` the one that its agent is told, `tree`
    the work before it, `around` what may change outside, and `settle` keeps what the agent left.
    """

    run: RunId
    key: Key
    flow: Flow
    values: Mapping[str, Json]
    folder: Path
    logs: Path
    timeout: float | None = None
    variables: Mapping[str, Json] = MappingProxyType({})
    agent: str = ""
    model: str = ""
    attempts: VisitAttempts | None = None
    kept: SessionKept | None = None
    answers: tuple[Reply, ...] = ()
    budget: float | None = None
    note: Callable[[Noted], Awaitable[None]] = forget
    watch: Watch = NO_WATCH
    step: StepId = FLOW
    attempt: int = 0
    told: int = 0
    tree: Tree = NO_TREE
    settle: Settle | None = None
    around: Around = Around()

    @property
    def source(self) -> Path:
        """The folder of the flow's file, which its scripts are relative to."""
        return Path(self.flow.path).parent

    @property
    def sealed(self) -> tuple[Path, ...]:
        """The flow's scripts, where they lie in the folder: who works there does not say what is executed next."""
        named = dict.fromkeys(node.script for node in self.flow.nodes.values() if isinstance(node, ScriptNode))
        scripts, folder = (self.source.absolute() / name for name in named), self.folder.resolve()
        return tuple(path for path in scripts if path.resolve().is_relative_to(folder))

    @property
    def name(self) -> str:
        """What this visit is called among all of the run: `fix#2/ask#1`."""
        return call_scope(self.key.scope, self.key.node, self.key.visit)

    def log_attempt(self, number: int) -> tuple[Path, Path]:
        """Fresh files for the prompt and the transcript of an agent; a step counts its attempts over all visits."""
        if not self.attempt:
            return self.log(f"prompt-{number}", ".md"), self.log(f"agent-{number}")
        return begin_log(self.logs / f"prompt-{self.attempt}.md"), begin_log(self.logs / f"attempt-{self.attempt}.log")

    def log(self, kind: str, suffix: str = ".log") -> Path:
        """A fresh file for this visit; an older one of that name, left by a lost visit, is kept aside."""
        return begin_log(self.logs / f"{_shorten(self.name.replace('/', '~'))}.{kind}{suffix}")


def _shorten(name: str) -> str:
    """A name that a file can have: of a long one the end is told apart by a digest."""
    raw = name.encode("utf-8", "replace")
    if len(raw) <= LONGEST:
        return name
    return f"{raw[: LONGEST - 20].decode('utf-8', 'ignore')}-{blake2b(raw, digest_size=8).hexdigest()}"
