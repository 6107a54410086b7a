"""Money that a run may spend: once it is spent, nothing that costs money begins until a person says so.

The rule: what is said counts at once, also before it is in the journal; what begins after that is judged by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from drumline.core import gates
from drumline.core.events import GateAnswered, GateOpened
from drumline.core.spending import Leave, count_allowed, list_leaves
from drumline.core.state import RunState
from drumline.engine.flow.stack import Question, Stack
from drumline.record import replace

REFUSED = "the budget is spent; a person said not to proceed"


@dataclass(kw_only=True, slots=True)
class Purse:
    """What is left of a budget; without one there is always enough. `count_spent` tells what all flows have used.

    `asked` is the question that is open; a yes counts from what is spent when it is given.
    """

    budget: float | None
    count_spent: Callable[[], float]
    leaves: list[Leave] = field(default_factory=list)
    asked: GateOpened | None = None
    held: list[Question] = field(default_factory=list)

    @classmethod
    def of(cls, run: RunState, stack: Stack) -> Purse:
        """The purse of a run as its journal has it, which the stack asks from here on."""
        budget = run.started.budget if run.started else None
        asked = next((gate.opened for gate in run.open_gates if gate.opened.kind == gates.BUDGET), None)
        purse = cls(budget=budget, count_spent=stack.count_cost, leaves=list_leaves(run), asked=asked)
        stack.has_money = purse.has_money
        return purse

    @property
    def left(self) -> float | None:
        """Dollars that may still be spent; None without a budget."""
        return None if self.budget is None else max(0.0, self._allowed - self.count_spent())

    @property
    def is_refused(self) -> bool:
        """Whether a person said no."""
        return any(leave.choice == gates.NO for leave in self.leaves)

    @property
    def _allowed(self) -> float:
        return count_allowed(self.budget or 0.0, self.leaves)

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
        if self.asked is None:
            self.asked = gates.budget(len(self.leaves) + 1, spent=self.count_spent(), allowed=self._allowed)
        return self.asked

    def date(self, answered: GateAnswered) -> GateAnswered:
        """The answer with what was spent when it was given, if it is about money."""
        mine = self.asked is not None and answered.gate == self.asked.gate
        return replace(answered, spent=self.count_spent()) if mine else answered

    def hear(self, choice: str) -> list[Question]:
        """Somebody has answered: the visits that waited for it are to be looked at again."""
        self.leaves.append(Leave(choice=choice, spent=self.count_spent() if self.asked else None))
        self.asked = None
        waited, self.held = self.held, []
        return waited
