"""Records a run that walks a flow: every answer of a model, every piece of work of an agent, with its edits.

The rule: what changed since the last look is told once. Where several work in one folder at the same time, it belongs
to whoever ends next.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from drumline.app.edits import Edits, read_edits
from drumline.app.recording import Concluded, Recording
from drumline.core.ids import Commit, DriverId, Tree
from drumline.engine.flow.kit import FlowKit, Hands
from drumline.errors import DrumlineError
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.models import Answer, Models, Question
from drumline.workspace.files import WorkFiles
from drumline.workspace.git import Git
from drumline.workspace.repository import Repository, find_repository

T = TypeVar("T")
FLOW = "flow"
"""What stands for the step in scripts where there is none."""
EMPTY = Tree("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
"""The tree without files, which git knows everywhere."""


class FlowRecorder:
    """Looks at a folder before and after; needs a git repository around it. Close it in the end."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.problem = ""
        self._room = tempfile.TemporaryDirectory(prefix="drumline-recording-")
        self._desks: dict[Path, _Desk] = {}

    def attach(self, kit: FlowKit) -> FlowKit:
        """The same kit, whose models and agents are recorded."""

        def equip(driver: DriverId) -> Hands:
            hands = kit.equip(driver)
            return replace(
                hands,
                models=RecordedModels(models=hands.models, recorder=self),
                open_agent=lambda spec: RecordedAgent(agent=hands.open_agent(spec), recorder=self),
            )

        return replace(kit, equip=equip)

    async def watch(self, folder: Path, work: Callable[[], Awaitable[T]]) -> tuple[T, Edits]:
        """What came of the work, and what it changed in the folder."""
        desk = await self._sit_down(folder)
        if desk is None:
            return await work(), Edits()
        try:
            result = await work()
        except BaseException:
            desk.active -= 1
            raise
        desk.active -= 1
        return result, await self._read_edits(desk)

    def note(self, concluded: Concluded) -> None:
        """Write down what was concluded; a recording that fails never stops the work."""
        try:
            self.recording.add(concluded)
        except DrumlineError as error:
            self.problem = str(error)

    def close(self) -> None:
        """Write what is not written yet, and clear away."""
        with suppress(OSError):
            self._room.cleanup()
        try:
            self.recording.write()
        except DrumlineError as error:
            self.problem = str(error)

    async def _sit_down(self, folder: Path) -> _Desk | None:
        try:
            desk = self._desks.get(folder) or self._make_desk(folder)
            self._desks[folder] = desk
            async with desk.lock:
                if not desk.active:
                    desk.known = await desk.look()
                desk.active += 1
        except (DrumlineError, OSError) as error:
            self.problem = f"what changed in {folder} is not recorded: {error}"
            return None
        return desk

    async def _read_edits(self, desk: _Desk) -> Edits:
        try:
            async with desk.lock:
                before, desk.known = desk.known, await desk.look()
                return await read_edits(
                    desk.git, before, desk.known, redaction=self.recording.redaction, folder=desk.place
                )
        except (DrumlineError, OSError) as error:
            self.problem = f"what changed in {desk.top} is not recorded: {error}"
            return Edits()

    def _make_desk(self, folder: Path) -> _Desk:
        repository = find_repository(folder)
        room = Path(self._room.name) / str(len(self._desks))
        (room / "objects").mkdir(parents=True)
        # What is only looked at does not belong into the user's repository.
        objects = {
            "GIT_OBJECT_DIRECTORY": str(room / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repository.common_dir / "objects"),
        }
        place, own = folder.resolve(), self.recording.path.resolve()
        top = repository.top
        return _Desk(
            git=Git(common_dir=repository.common_dir, env=objects),
            top=top,
            room=room,
            base=_find_base(repository),
            place=place.relative_to(top).as_posix().removeprefix("."),
            spared=(own.relative_to(top).as_posix(),) if own.is_relative_to(top) else (),
        )


def _find_base(repository: Repository) -> Commit:
    """Where a look begins: files that are tracked are seen even if they are ignored by now."""
    try:
        return repository.head_commit()
    except DrumlineError:  # there is no commit yet
        return Commit(EMPTY)


@dataclass(kw_only=True, slots=True)
class _Desk:
    """One folder that is worked in: how many are at it, and the tree that was seen last."""

    git: Git
    top: Path
    room: Path
    base: Commit
    place: str
    spared: tuple[str, ...]
    active: int = 0
    known: Tree = EMPTY
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def look(self) -> Tree:
        """The tree of everything not ignored, but for the recording itself."""
        return await WorkFiles(self.git, self.top, self.room).read(self.base, self.spared)


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedAgent:
    """An agent whose work is written down."""

    agent: Agent
    recorder: FlowRecorder

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work; who may only read leaves nothing to look for."""
        work = partial(self.agent.work, assignment)
        watched = (
            (await work(), Edits()) if assignment.read_only else await self.recorder.watch(assignment.workspace, work)
        )
        outcome, edits = watched
        said = outcome.message if outcome.structured is None else json.dumps(outcome.structured, ensure_ascii=False)
        self.recorder.note(
            Concluded(
                match={
                    "step": assignment.step,
                    "node": assignment.node,
                    "attempt": assignment.attempt,
                    "scope": assignment.scope,
                    "visit": assignment.visit,
                },
                edits=edits,
                said=outcome.message if outcome.failure else said,
                failure=outcome.failure,
                question=outcome.question,
                resets=outcome.resets_at is not None,
                usage=outcome.usage,
            )
        )
        return outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedModels:
    """Models whose answers are written down."""

    models: Models
    recorder: FlowRecorder

    async def ask(self, question: Question) -> Answer:
        """Let them answer; who has no tools leaves nothing to look for."""
        work = partial(self.models.ask, question)
        watched = await self.recorder.watch(question.workspace, work) if question.tools else (await work(), Edits())
        answer, edits = watched
        self.recorder.note(
            Concluded(
                match={
                    "step": FLOW,
                    "node": question.node,
                    # A script counts questions so: the n-th visit's first one is its n-th attempt.
                    "attempt": question.visit + question.attempt - 1,
                    "scope": question.scope,
                    "visit": question.visit,
                },
                edits=edits,
                said=answer.message if answer.failure else answer.text,
                failure=answer.failure,
                usage=answer.usage,
            )
        )
        return answer
