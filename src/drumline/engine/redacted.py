"""Agents, models and commands whose words have no secrets in them. The rule: nothing they say is kept unredacted.

They stand between the engine and what really works, so that the journal never sees what must not be in it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from drumline.core.redaction import Redaction
from drumline.isolation.transcripts import list_logs, redact_files
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.models import Answer, Models, Question
from drumline.ports.processes import Conversation, Ended, Job, Processes
from drumline.record import Record, replace


class RedactedProcesses(Record):
    """Commands whose logs and last words are redacted once they have ended; `printed` is for programs, and raw."""

    processes: Processes
    redaction: Redaction

    async def run(self, job: Job) -> Ended:
        """Run to the end. When this returns, is cancelled, or our process dies, no process of the job is left."""
        try:
            ended = await self.processes.run(job)
        finally:
            await redact_files([job.log], self.redaction)
        hide = self.redaction
        return replace(
            ended,
            output=hide.hide_end(ended.output),
            message=hide.hide(ended.message),
            errors=hide.hide_end(ended.errors),
        )

    @asynccontextmanager
    async def open(self, job: Job) -> AsyncIterator[Conversation]:
        """Run a command to talk with. Once the block is left or our process dies, no process of the job is left."""
        try:
            async with self.processes.open(job) as conversation:
                yield conversation
        finally:
            await redact_files([job.log], self.redaction)


class RedactedAgent(Record):
    """An agent whose outcome and transcript are redacted once it has concluded."""

    agent: Agent
    redaction: Redaction

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work, and keep what it says without secrets."""
        log = assignment.log
        try:
            outcome = await self.agent.work(assignment)
        finally:
            await redact_files(list_logs(log.parent, log.name), self.redaction)
        hide = self.redaction.hide
        return replace(
            outcome,
            message=hide(outcome.message),
            question=hide(outcome.question),
            permissions=tuple(map(hide, outcome.permissions)),
            structured=self.redaction.hide_value(outcome.structured),
            notices=tuple(hide(notice) for notice in outcome.notices),
        )


class RedactedModels(Record):
    """Models whose answers and transcripts are redacted."""

    models: Models
    redaction: Redaction

    async def ask(self, question: Question) -> Answer:
        """The answer without secrets; a failure is an answer too."""
        try:
            answer = await self.models.ask(question)
        finally:
            await redact_files([question.log], self.redaction)
        return replace(
            answer,
            text=self.redaction.hide(answer.text),
            message=self.redaction.hide(answer.message),
            notices=tuple(self.redaction.hide(notice) for notice in answer.notices),
        )
