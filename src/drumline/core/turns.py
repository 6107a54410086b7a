"""How often a model has answered, counted in what its agent does.

The rule: an answer begins with a text or with a call that was not told yet, the first of all or after the result of a
call. Calls that an agent makes one by one, each after the result of the one before, are as many answers.
"""

from __future__ import annotations

from drumline.record import State, field

SAID = "text"
RESULT = "result"
CALLS = ("tool", "command", "edit")


class Turns(State):
    """The answers so far; with `most`, how many there may be. `last` is what the agent did last."""

    most: int | None = None
    answers: int = 0
    last: str = ""
    answering: bool = False
    calls: set[str] = field(default_factory=set)

    def hear(self, kind: str, text: str = "", call: str = "") -> None:
        """Take in one thing that the agent told; some tell an edit only together with its result."""
        known = bool(call) and call in self.calls
        self.calls.add(call)
        if kind in CALLS:
            self.last = f"{kind} {text}".strip()
        if kind == RESULT:
            self.answering = False
        elif (kind == SAID or (kind in CALLS and not known)) and not self.answering:
            self.answering = True
            self.answers += 1

    @property
    def exceeded(self) -> bool:
        """Whether it answered more often than it may."""
        return self.most is not None and self.answers > self.most

    def describe(self) -> str:
        """Why it was stopped."""
        doing = f"; the last thing it did: {self.last[:500]}" if self.last else ""
        return f"it took more turns than it may ({self.most}){doing}"
