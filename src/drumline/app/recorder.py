"""Keeps the recording of a run up to it, whatever it walks.

The rule: what the journal tells of an attempt, with the trees before and after it, comes from there, whichever process
drives. Of models, and of agents that work where no trees are kept, only this process knows: these are watched.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from drumline.app.desks import Desks
from drumline.app.edits import Edits, read_edits
from drumline.app.recording import Concluded, Recording
from drumline.core.attempts import count_for_agent
from drumline.core.events import AttemptEnded, AttemptStarted, StepRestarted
from drumline.core.flow.events import NodeEnded, NodeUsed
from drumline.core.ids import FLOW, DriverId, RunId, Stream
from drumline.core.taxonomy import Failure, hands_over
from drumline.engine.services import Services, Tools, Worker
from drumline.errors import DrumlineError
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.journal import Journal
from drumline.ports.journal import Recorded as Entry
from drumline.ports.models import Answer, Models, Question
from drumline.record import Record, replace
from drumline.workspace.git import Git

T = TypeVar("T")
Match = Mapping[str, str | int]
LOOK = 0.5
"""Seconds between two looks at the journal."""
LATE = "what the run did before it was recorded is not in it"


class Recorder:
    """What keeps a recording up to its run; `room` is a folder for what was seen. Close it in the end."""

    def __init__(self, recording: Recording, *, store: Journal, run: RunId, common_dir: Path, room: Path) -> None:
        self.recording = recording
        self._problem = ""
        self._store = store
        self._run = run
        self._git = Git(common_dir=common_dir)
        self._desks = Desks(room=room, recording=recording.path, redaction=recording.redaction)
        self._begun: dict[Stream, AttemptStarted] = {}
        self._readings: dict[Stream, dict[int, str]] = {}
        self._failed: dict[Stream, tuple[str, AttemptEnded]] = {}
        self._seen = 0
        self._turn = anyio.Lock()
        if not recording.rules and any(_is_unseen(entry) for entry in store.tail(run, after=0)):
            self._problem = LATE

    @property
    def problem(self) -> str:
        """Why the recording is not complete; empty if it is."""
        return self._problem or self._desks.problem

    def attach(self, services: Services) -> Services:
        """The same services, whose models and agents are recorded."""

        def equip(driver: DriverId) -> Tools:
            tools = services.equip(driver)
            self._try(self.recording.take_up)  # another process may have driven and recorded since we began

            def open_agent(spec: str) -> Worker:
                worker = tools.open_agent(spec)
                return replace(worker, agent=RecordedAgent(agent=worker.agent, recorder=self))

            return replace(
                tools,
                open_agent=open_agent,
                open_models=lambda: RecordedModels(models=tools.open_models(), recorder=self),
            )

        return replace(services, equip=equip)

    async def watch(self, folder: Path, match: Match, work: Callable[[], Awaitable[T]]) -> tuple[T, Edits]:
        """What came of the work, and what it changed in the folder."""
        return await self._desks.watch(folder, json.dumps(list(match.values())), work)

    def note(self, concluded: Concluded) -> None:
        """Write down what was concluded; a recording that fails never stops the work."""
        self._try(partial(self.recording.add, concluded))

    def close(self, *, over: bool) -> None:
        """Write what is not written yet; what was seen is cleared away if the run is over."""
        if over:
            shutil.rmtree(self._desks.room, ignore_errors=True)
        self._try(self.recording.write)

    def _try(self, act: Callable[[], object]) -> None:
        try:
            act()
        except DrumlineError as error:
            self._problem = str(error)

    async def accompany(self, work: Callable[[], Awaitable[T]]) -> T:
        """Follow the journal meanwhile."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._follow)
            try:
                result = await work()
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await self._catch_up()
                self._try(self.recording.write)
        return result

    async def _follow(self) -> None:
        while True:
            await anyio.sleep(LOOK)
            with anyio.CancelScope(shield=True):  # otherwise an attempt might be lost between two looks
                await self._catch_up()

    async def _catch_up(self) -> None:
        async with self._turn:  # the last look waits for one under way, whose attempt would miss the last writing
            for entry in self._store.tail(self._run, after=self._seen):
                self._seen = entry.seq
                try:
                    await self._note(entry)
                except DrumlineError as error:
                    self._problem = str(error)

    async def _note(self, entry: Entry) -> None:
        match entry.event:
            case StepRestarted():
                self._failed.pop(entry.stream, None)
            case AttemptStarted() as started if started.tree:
                self._begun[entry.stream] = started
                if started.reads:
                    self._readings.setdefault(entry.stream, {})[started.attempt] = started.node
                self._go_on(entry.stream, started)
            case AttemptEnded() as ended if entry.stream in self._begun:
                begun = self._begun.pop(entry.stream)
                if ended.failure:
                    self._failed[entry.stream] = (begun.agent, ended)
                await self._record(entry.stream, begun, ended)

    async def _record(self, stream: Stream, begun: AttemptStarted, ended: AttemptEnded) -> None:
        """Take in an attempt, unless an earlier driver of this run has recorded it."""
        match = self._name(stream, ended)
        if not self.recording.holds(match):
            edits = await read_edits(self._git, begun.tree, ended.tree, redaction=self.recording.redaction)
            self.recording.add(_conclude(match, ended, edits))

    def _name(self, stream: Stream, ended: AttemptEnded) -> Match:
        """The place of an attempt at a step, as its agent knows it."""
        number = count_for_agent(self._readings.get(stream, {}), ended.attempt, node=ended.node)
        return {"step": stream.step, "node": ended.node, "attempt": number}

    def _go_on(self, stream: Stream, started: AttemptStarted) -> None:
        """An agent that could not go on was relieved by another, or by itself once there was quota."""
        agent, failed = self._failed.pop(stream, ("", None))
        if failed is not None and (agent != started.agent or hands_over(Failure(failed.failure))):
            self.recording.relieve(self._name(stream, failed), failed.failure)


def _is_unseen(entry: Entry) -> bool:
    """Whether an event tells of work that nobody can record any more."""
    return isinstance(entry.event, NodeUsed) or (isinstance(entry.event, NodeEnded) and entry.stream.step == FLOW)


def _conclude(match: Match, ended: AttemptEnded, edits: Edits) -> Concluded:
    return Concluded(
        match=match,
        edits=edits,
        said=ended.message,
        failure=ended.failure,
        question=ended.question,
        resets=ended.resets_at is not None,
        usage=ended.usage,
    )


class RecordedAgent(Record):
    """An agent whose work is written down."""

    agent: Agent
    recorder: Recorder

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work; who may only read leaves nothing to look for, and of work on a step the journal keeps trees."""
        if assignment.step != FLOW:
            return await self.agent.work(assignment)
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
    recorder: Recorder

    async def ask(self, question: Question) -> Answer:
        """Let them answer; who has no tools leaves nothing to look for."""
        work = partial(self.models.ask, question)
        match: Match = {
            "step": question.step,
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
