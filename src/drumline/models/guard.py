"""Looks at the work tree before and after an agent: one that may only read must not have changed it.

The rule: it reports what the agent did and undoes nothing. Of one that may write, it reports if that changed nothing.

The folder is a person's: undoing there could undo more than the agent did. Whoever else writes meanwhile is blamed on
the agent, for nobody can tell them apart.
"""

from __future__ import annotations

from drumline.core.plaintext import name_some
from drumline.core.taxonomy import Failure
from drumline.models.witness import find_changes, look
from drumline.ports.agents import Agent, Assignment, Outcome
from drumline.record import Record, replace

NAMED = 10


class GuardedAgent(Record):
    """An agent whose assignments are judged by the work tree, not by its word."""

    agent: Agent

    async def work(self, assignment: Assignment) -> Outcome:
        """Let it work. Touched files are a failure that names them, if it was only to read."""
        before = await look(assignment.workspace)
        outcome = await self.agent.work(assignment)
        after = await look(assignment.workspace) if before is not None else None
        if before is None or after is None:
            return outcome
        changed = find_changes(before, after)
        if not changed or not assignment.read_only:
            return replace(outcome, unchanged=not changed and not assignment.read_only)
        return replace(outcome, failure=Failure.VALIDATION.value, message=_explain_changes(changed), structured=None)


def _explain_changes(changed: list[str]) -> str:
    return f"the workspace was changed while the agent was to look only: {name_some(changed, NAMED)}"
