"""Coding agents in the place of a model. The rule: an agent that stands in for a model looks and does not touch.

A scripted agent is the exception: its script plays what a model with tools would do, effects included.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.models.guard import GuardedAgent
from drumline.models.toolbox import WRITING, choose_tools
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.ports.models import Answer, Question
from drumline.record import Record, replace


class ScriptedModels(Record):
    """Answers by the file of a scripted agent, which `spec` names as `scripted:FILE`."""

    spec: str
    open_agent: Callable[[str], Agent]

    async def ask(self, question: Question) -> Answer:
        """What the script says for the question's node; the n-th visit counts as the n-th attempt."""
        try:
            tools = choose_tools(question.tools)
            agent = self.open_agent(self.spec)
        except InvalidInput as error:
            return refuse(question, str(error))
        nth = question.visit + question.attempt - 1
        read_only = not any(tool in WRITING for tool in tools)
        return _convey(await agent.work(assign(question, attempt=nth, read_only=read_only)))


class AgentModels(Record):
    """Asks a coding agent that may look at the workspace, and sees to it that it only looked."""

    spec: str
    open_agent: Callable[[str], Agent]
    tier: str = "standard"

    async def ask(self, question: Question) -> Answer:
        """What the agent says. Touched files are a failure that names them; they are left as they are."""
        try:
            if writing := [tool for tool in choose_tools(question.tools) if tool in WRITING]:
                return refuse(question, _explain_writing(writing), failure=Failure.AUTH)
            agent = GuardedAgent(agent=self.open_agent(self.spec))
        except InvalidInput as error:
            return refuse(question, str(error))
        assignment = replace(assign(question, attempt=question.attempt, read_only=True), tier=self.tier)
        return _convey(await agent.work(assignment))


def assign(question: Question, *, attempt: int, read_only: bool) -> Assignment:
    """The question as work for an agent; its prompt is on disk as well."""
    skills = [f"The skill {name!r}:\n\n{text}" for name, text in question.skills.items()]
    prompt = "\n\n".join(part for part in (question.instructions, *skills, question.prompt) if part)
    return Assignment(
        run=question.run,
        step=question.step,
        node=question.node,
        attempt=attempt,
        prompt=prompt,
        prompt_file=_write_prompt(question.log, prompt),
        workspace=question.workspace,
        log=question.log,
        scope=question.scope,
        visit=question.visit,
        read_only=read_only,
        sealed=question.sealed,
        self_report=False,  # it answers a question; it does no work of its own
    )


def refuse(question: Question, message: str, *, failure: Failure = Failure.PERMANENT) -> Answer:
    """A failure before anybody was asked, told in the transcript too."""
    question.log.parent.mkdir(parents=True, exist_ok=True)
    with question.log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"failed ({failure.value}): {message}\n")
    return Answer(failure=failure.value, message=message)


def _convey(outcome: Outcome) -> Answer:
    if outcome.failure:
        return Answer(failure=outcome.failure, message=outcome.message, usage=outcome.usage)
    if not outcome.message.strip():
        return Answer(failure=Failure.TRANSIENT.value, message="the agent produced no output", usage=outcome.usage)
    return Answer(text=outcome.message, usage=outcome.usage)


def _write_prompt(log: Path, prompt: str) -> Path:
    log.parent.mkdir(parents=True, exist_ok=True)
    path = log.with_name(f"{log.name}.prompt")
    path.write_text(prompt, encoding="utf-8", errors="backslashreplace")
    return path


def _explain_writing(tools: list[str]) -> str:
    return (
        f"the node's tools {', '.join(tools)} write, and an agent in read-only mode cannot: "
        "name a model as provider:model and set its API key"
    )
