"""Agents that may end blocked. The rule: a question is read only out of the answer to a prompt that offered to ask.

It stands where all agents pass, of plans and of flows, so that none needs a word about it in its adapter. Whoever has a
schema to fit answers by that alone, and a failure stays one: there the last line is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from drumline.core.blocked import OFFER, find_question
from drumline.ports.agents import Agent, Assignment, Outcome


@dataclass(frozen=True, kw_only=True, slots=True)
class AskingAgent:
    """An agent whose last line may be a question to a person."""

    agent: Agent

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work; it is blocked if it says so. A question that it asked in a way of its own comes first."""
        outcome = await self.agent.work(assignment)
        answers_freely = assignment.output_schema is None and OFFER in assignment.prompt
        if outcome.failure or outcome.question or not answers_freely:
            return outcome
        return replace(outcome, question=find_question(outcome.message))
