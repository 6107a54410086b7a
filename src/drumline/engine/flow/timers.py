"""Visits whose agents wait for a time: until a quota is there again, or a failure may have passed.

The rule: nothing acts meanwhile, so the waiting counts against no budget of time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from drumline.core.flow.questions import question_id
from drumline.core.flow.state import Key
from drumline.engine.flow.stack import Question
from drumline.ports.clock import Clock


@dataclass(kw_only=True, slots=True)
class Timers:
    """What one walk waits for."""

    clock: Clock
    waiting: dict[Key, Question] = field(default_factory=dict)

    @property
    def first(self) -> float | None:
        """When the first of them may go on; None if nothing waits."""
        return min((_find_time(question) for question in self.waiting.values()), default=None)

    @property
    def reason(self) -> str:
        """What the first of them waits for; empty if nothing waits."""
        found = min(self.waiting.values(), key=_find_time, default=None)
        return "" if found is None else found.state.visit_attempts[found.key].cut_short

    def take(self, question: Question) -> bool:
        """Keep a visit that waits for a time; False if it waits for a person."""
        attempts = question.state.visit_attempts.get(question.key)
        if attempts is None or attempts.until is None:
            return False
        self.waiting[question.key] = question
        return True

    def take_due(self) -> list[Question]:
        """The visits whose time has come; they wait no more."""
        if not self.waiting:
            return []
        now = self.clock.now()
        due = [question for question in self.waiting.values() if _find_time(question) <= now]
        for question in due:
            del self.waiting[question.key]
        return due

    def take_called(self, name: str) -> list[Question]:
        """The visit of this name, whose time a person does not wait for; it waits no more."""
        called = [question for key, question in self.waiting.items() if question_id(key) == name]
        for question in called:
            del self.waiting[question.key]
        return called

    async def wait_first(self, woken: anyio.Event) -> None:
        """Return when the first time has come, or somebody is woken before."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ring, woken)
            await woken.wait()
            tasks.cancel_scope.cancel()

    async def _ring(self, woken: anyio.Event) -> None:
        await self.clock.sleep(max(0.0, (self.first or 0.0) - self.clock.now()))
        woken.set()


def _find_time(question: Question) -> float:
    attempts = question.state.visit_attempts[question.key]
    return 0.0 if attempts.until is None else attempts.until
