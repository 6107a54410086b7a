"""Records a run that walks a flow: every answer of a model, every piece of work of an agent, with its edits.

The rule: what changed since the last look is told once. Where several work in one folder at the same time, it belongs
to whoever ends next. Work that was lost with its driver and is done again begins where it began the first time, as what
the lost one left in the folder is still there; so the looks are kept in a folder of the run.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from drumline.app.edits import Edits, read_edits
from drumline.app.recording import Concluded, Recorder, Recording
from drumline.core.ids import Commit, DriverId, Tree
from drumline.engine.kit import Kit, Tools, Worker
from drumline.errors import DrumlineError
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.models import Answer, Models, Question
from drumline.record import Record, replace
from drumline.workspace.files import WorkFiles
from drumline.workspace.git import Git
from drumline.workspace.repository import Repository, find_repository

T = TypeVar("T")
Match = Mapping[str, str | int]
FLOW = "flow"
"""What stands for the step in scripts where there is none."""
BEGUN = "begun.json"
"""Where a desk keeps the trees before the work."""
EMPTY = Tree("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
"""The tree without files, which git knows everywhere."""


class FlowRecorder(Recorder):
    """Looks at a folder before and after; needs a git repository around it. Close it in the end.

    `room` is a folder for what was seen, the same for every driver of the run.
    """

    def __init__(self, recording: Recording, *, room: Path) -> None:
        Recorder.__init__(self, recording)
        self._room = room
        self._desks: dict[Path, _Desk] = {}

    def attach(self, kit: Kit) -> Kit:
        """The same kit, whose models and agents are recorded."""

        def equip(driver: DriverId) -> Tools:
            tools = kit.equip(driver)
            self._take_up()

            def open_agent(spec: str) -> Worker:
                worker = tools.open_agent(spec)
                return replace(worker, agent=RecordedAgent(agent=worker.agent, recorder=self))

            return replace(
                tools,
                open_agent=open_agent,
                open_models=lambda: RecordedModels(models=tools.open_models(), recorder=self),
            )

        return replace(kit, equip=equip)

    async def watch(self, folder: Path, match: Match, work: Callable[[], Awaitable[T]]) -> tuple[T, Edits]:
        """What came of the work, and what it changed in the folder."""
        who = json.dumps(list(match.values()))
        desk = await self._sit_down(folder, who)
        if desk is None:
            return await work(), Edits()
        try:
            result = await work()
        except BaseException:
            desk.active -= 1
            raise
        desk.active -= 1
        return result, await self._read_edits(desk, who)

    def note(self, concluded: Concluded) -> None:
        """Write down what was concluded; a recording that fails never stops the work."""
        try:
            self.recording.add(concluded)
        except DrumlineError as error:
            self.problem = str(error)

    def close(self, *, over: bool) -> None:
        """Clear away if the run is over, too."""
        if over:
            shutil.rmtree(self._room, ignore_errors=True)
        Recorder.close(self, over=over)

    def _take_up(self) -> None:
        """Another process may have driven and recorded since we began."""
        try:
            self.recording.take_up()
        except DrumlineError as error:
            self.problem = str(error)

    async def _sit_down(self, folder: Path, who: str) -> _Desk | None:
        try:
            desk = self._desks.get(folder) or self._make_desk(folder)
            self._desks[folder] = desk
            async with desk.lock:
                if not desk.active:
                    desk.known = desk.read_begun().get(who) or await desk.look()
                    desk.begun.clear()
                desk.begun[who] = desk.known
                desk.write_begun()
                desk.active += 1
        except (DrumlineError, OSError) as error:
            self.problem = f"what changed in {folder} is not recorded: {error}"
            return None
        return desk

    async def _read_edits(self, desk: _Desk, who: str) -> Edits:
        try:
            async with desk.lock:
                before, desk.known = desk.known, await desk.look()
                desk.begun = dict.fromkeys(desk.begun, desk.known) | {who: before}
                desk.write_begun()
                return await read_edits(
                    desk.git, before, desk.known, redaction=self.recording.redaction, folder=desk.place
                )
        except (DrumlineError, OSError) as error:
            self.problem = f"what changed in {desk.top} is not recorded: {error}"
            return Edits()

    def _make_desk(self, folder: Path) -> _Desk:
        repository = find_repository(folder)
        room = self._room / hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
        (room / "objects").mkdir(parents=True, exist_ok=True)
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
    """One folder that is worked in: how many are at it, and the tree that was seen last.

    `begun` has the tree before the work of each; it is on disk before they begin.
    """

    git: Git
    top: Path
    room: Path
    base: Commit
    place: str
    spared: tuple[str, ...]
    active: int = 0
    known: Tree = EMPTY
    begun: dict[str, Tree] = field(default_factory=dict)
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    async def look(self) -> Tree:
        """The tree of everything not ignored, but for the recording itself."""
        return await WorkFiles(self.git, self.top, self.room).read(self.base, self.spared)

    def read_begun(self) -> dict[str, Tree]:
        """What was there before the last ones began, whichever process drove them."""
        try:
            found = json.loads((self.room / BEGUN).read_bytes())
        except (FileNotFoundError, ValueError):  # it is no JSON if the machine went down while it was written
            return {}
        return {str(who): Tree(str(tree)) for who, tree in found.items()}

    def write_begun(self) -> None:
        """Let a later driver know; in one stroke, as this one may be killed."""
        draft = self.room / f"{BEGUN}.new"
        draft.write_text(json.dumps(self.begun), encoding="utf-8")
        draft.replace(self.room / BEGUN)


class RecordedAgent(Record):
    """An agent whose work is written down."""

    agent: Agent
    recorder: FlowRecorder

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work; who may only read leaves nothing to look for."""
        work = partial(self.agent.work, assignment)
        match: Match = {
            "step": assignment.step,
            "node": assignment.node,
            "attempt": assignment.attempt,
            "scope": assignment.scope,
            "visit": assignment.visit,
        }
        if assignment.read_only:
            outcome, edits = await work(), Edits()
        else:
            outcome, edits = await self.recorder.watch(assignment.workspace, match, work)
        said = outcome.message if outcome.structured is None else json.dumps(outcome.structured, ensure_ascii=False)
        self.recorder.note(
            Concluded(
                match=match,
                edits=edits,
                said=outcome.message if outcome.failure else said,
                failure=outcome.failure,
                question=outcome.question,
                resets=outcome.resets_at is not None,
                usage=outcome.usage,
            )
        )
        return outcome


class RecordedModels(Record):
    """Models whose answers are written down."""

    models: Models
    recorder: FlowRecorder

    async def ask(self, question: Question) -> Answer:
        """Let them answer; who has no tools leaves nothing to look for."""
        work = partial(self.models.ask, question)
        match: Match = {
            "step": FLOW,
            "node": question.node,
            # A script counts questions so: the n-th visit's first one is its n-th attempt.
            "attempt": question.visit + question.attempt - 1,
            "scope": question.scope,
            "visit": question.visit,
        }
        if question.tools:
            answer, edits = await self.recorder.watch(question.workspace, match, work)
        else:
            answer, edits = await work(), Edits()
        self.recorder.note(
            Concluded(
                match=match,
                edits=edits,
                said=answer.message if answer.failure else answer.text,
                failure=answer.failure,
                usage=answer.usage,
            )
        )
        return answer
