"""A coding agent program behind one port: an assignment goes in, happenings come by, one outcome comes out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from drumline.core.blocked import Reply
from drumline.core.flow.model import Json
from drumline.core.ids import RunId, StepId
from drumline.record import Record, field


class Happening(Record):
    """Something an agent did on the way, in the same words for all agents.

    `text` is what it said, the tool it called, the file it edited, the command it ran, the notice, the id of its
    session, or, of its usage, the model if that is known; `usage` counts what was spent so far, all of it, not the
    difference. It is also told when the work is cut short. `call` names one use of a tool; its
    result has the same and says whether it `failed`. `detail` is what came back, or the lines that an edit changed.
    """

    kind: Literal["text", "tool", "edit", "command", "result", "usage", "notice", "session"]
    text: str = ""
    call: str = ""
    failed: bool = False
    detail: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)


Report = Callable[[Happening], Awaitable[None]]


async def ignore(happening: Happening) -> None:
    """Nobody wants to know."""


class Around(Record):
    """What changes around a workspace while an agent works, where writes to there are only detected.

    `ours` are patterns of files in the checkout that Drumline itself writes, `branch` is the one that the run moves;
    `list_idle` tells other workspaces in which nobody works at the moment: they do not change.
    """

    ours: tuple[str, ...] = ()
    branch: str = ""
    list_idle: Callable[[], Sequence[Path]] = list


class Assignment(Record):
    """What an agent is asked to do, and where. `log` takes its transcript, `prompt_file` holds the prompt on disk.

    `scope` and `visit` say where in a flow; with `read_only` it may look at the workspace but not change it. `model`
    overrules the tier. `tools`, where given, are all it may use. Its last answer has to fit `output_schema`. `session`
    is one to continue, `new_session` the id that a new one should have. `idle` is how many seconds it may be silent,
    `budget` how many dollars it may spend, where it can be told, and `turns` how often its model may answer, which the
    engine counts as well. `writable` are folders beside the workspace that it may write to, `sealed` paths in it that
    it may not. `answers` are what a
    person said to earlier questions of this work, each with the question as the agent's outcome had it; the prompt
    tells them, too. With `may_ask` it offers to ask a person. With `self_report` its own word against its work is
    heard; without, who gave it the work reads it. With `judged` checks follow, and are heard beside that word.
    `around` is what may change outside of the workspace.
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
    instructions: str = ""
    tools: tuple[str, ...] | None = None
    output_schema: Mapping[str, Json] | None = None
    mcp_servers: tuple[str, ...] = ()
    session: str = ""
    new_session: str = ""
    idle: float | None = None
    budget: float | None = None
    turns: int | None = None
    writable: tuple[Path, ...] = ()
    sealed: tuple[Path, ...] = ()
    answers: tuple[Reply, ...] = ()
    may_ask: bool = False
    self_report: bool = True
    judged: bool = False
    report: Report = ignore
    around: Around = Around()


class Outcome(Record):
    """How the agent concluded. `failure` is empty or a class of the failure taxonomy; `message` its last words or why.

    `structured` is the answer to an `output_schema`, if the agent gives one by itself: it still has to be validated.
    `usage` has `input`, `output`, `cached` tokens and `cost_usd` if that is known: without it the work is unpriced;
    `source` says who counted, `model` which model did the work, where that is known. `resets_at` is when a quota is
    there again, in seconds since the epoch. `question` is what a person has to answer before the agent can go on: then
    it is blocked, which is not a failure. `permissions` are what that question asks leave for. `unchanged` says that
    somebody looked and that no file had changed. `login` is what a person types where nobody is logged in. With
    `stuck` the question is the agent's report that it is blocked, with `wrong` that the plan is wrong; `denial` is
    what it says against work that is yet to be judged.
    """

    failure: str = ""
    message: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    structured: Json = None
    session: str = ""
    source: str = ""
    model: str = ""
    resets_at: float | None = None
    question: str = ""
    notices: tuple[str, ...] = ()
    unchanged: bool = False
    permissions: tuple[str, ...] = ()
    login: str = ""
    stuck: bool = False
    wrong: bool = False
    denial: str = ""


class Agent(Protocol):
    """Works on one assignment at a time per call; calls may overlap."""

    async def work(self, assignment: Assignment) -> Outcome:
        """Do the assignment in its workspace. No process of it is left when this returns or is cancelled."""
        ...
