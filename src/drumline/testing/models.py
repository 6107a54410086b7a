"""Models without a model: a Python callable plays each answer."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

import anyio.lowlevel

from drumline.ports.models import Answer, Question


class FakeModels:
    """Answers every question by `script`, which may be async to take its time; `questions` keeps them in order."""

    def __init__(self, script: Callable[[Question], Answer | Awaitable[Answer]]) -> None:
        self._script = script
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> Answer:
        """Ask the script; other tasks run meanwhile, and cancellation is heard."""
        self.questions.append(question)
        await anyio.lowlevel.checkpoint()
        said = self._script(question)
        answer = await said if inspect.isawaitable(said) else said
        question.log.parent.mkdir(parents=True, exist_ok=True)
        with question.log.open("a", encoding="utf-8") as log:
            log.write(f"{answer.message or answer.text}\n")
        return answer
