"""Money that a run may spend: once it is spent, nothing that costs money begins until a person says so.

The rule: what is said counts at once, also before it is in the journal; what begins after that is judged by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from drumline.core import gates
from drumline.core.events import GateOpened
from drumline.core.spending import list_answers
from drumline.core.state import RunState
from drumline.engine.flow.stack import Question

REFUSED = "the budget is spent; a person said not to proceed"


@dataclass(kw_only=True, slots=True)
class Purse:
    """What is left of a budget; without one there is always enough. `count_spent` tells what all flows have used."""

    budget: float | None
    count_spent: Callable[[], float]
    answers: list[str] = field(default_factory=list)
    held: list[Question] = field(default_factory=list)

    @classmethod
    def of(cls, run: RunState, count_spent: Callable[[], float]) -> Purse:
        """The purse of a run as its journal has it."""
        budget = run.started.budget if run.started else None
        return cls(budget=budget, count_spent=count_spent, answers=list_answers(run))

    @property
    def left(self) -> float | None:
        """Dollars that may still be spent; None without a budget."""
        return None if self.budget is None else max(0.0, self._allowed - self.count_spent())

    @property
    def is_refused(self) -> bool:
        """Whether a person said no."""
        return gates.NO in self.answers

    @property
    def _allowed(self) -> float:
        return (self.budget or 0.0) * (1 + self.answers.count(gates.YES))

    def has_money(self) -> bool:
        """Whether something that costs money may begin."""
        return self.budget is None or self.count_spent() < self._allowed

    def limit(self, other: float | None) -> float | None:
        """The smaller of what is left here and there."""
        left = self.left
        return other if left is None else left if other is None else min(left, other)

    def hold(self, question: Question) -> GateOpened:
        """Keep a visit until somebody has answered; the gate at which it waits."""
        if all(question.key != one.key for one in self.held):
            self.held.append(question)
        return gates.budget(len(self.answers) + 1, spent=self.count_spent(), allowed=self._allowed)

    def hear(self, choice: str) -> list[Question]:
        """Somebody has answered: the visits that waited for it are to be looked at again."""
        self.answers.append(choice)
        waited, self.held = self.held, []
        return waited
