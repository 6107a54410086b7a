"""Agents that may end blocked, and whose word against their own work is heard.

It stands where all agents pass, of plans and of flows, so that none needs a word about it in its adapter. The rules: a
question is read only out of the answer to a prompt that offered to ask; what an agent reports against itself is a
question if it is blocked, and else a failed attempt, or if checks follow something that is said beside them. An agent
that has a schema to fit answers by that alone, and a failure stays one: there the last message is not looked at.
"""

from __future__ import annotations

from drumline.core.blocked import find_question, write_question
from drumline.core.ownword import NOT_DONE
from drumline.core.selfreport import BLOCKED, find_denial
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.record import Record, replace


class AskingAgent(Record):
    """An agent whose last line may be a question to a person."""

    agent: Agent

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work; it is blocked if it says so. A question that it asked in a way of its own comes first."""
        outcome = await self.agent.work(assignment)
        if outcome.failure or outcome.question or assignment.output_schema is not None:
            return outcome
        question = find_question(outcome.message) if assignment.may_ask else ""
        if question or not assignment.self_report:
            return replace(outcome, question=question)
        return _heed(outcome, judged=assignment.judged)


def _heed(outcome: Outcome, *, judged: bool) -> Outcome:
    """The outcome by what the agent itself says against it."""
    denial = find_denial(outcome.message)
    if denial is None:
        return outcome
    if denial.kind == BLOCKED and judged:
        return replace(outcome, question=write_question(denial.text), stuck=True, wrong=denial.wrong)
    if denial.kind == BLOCKED:
        return replace(outcome, question=write_question(f"The agent reports that it is blocked:\n{denial.text}"))
    if judged:
        return replace(outcome, denial=denial.text)
    return replace(outcome, failure=Failure.VALIDATION.value, message=f"{NOT_DONE}: {denial.text}")
