"""Skills: texts that say how a kind of work is done. They are read and handed on, never executed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from drumline.record import Record


class Skill(Record):
    """A skill as it is listed. `origin` is `flow`, `repository`, `user` or `shipped`.

    With a `fault` it cannot be loaded.
    """

    name: str
    description: str
    origin: str
    path: Path
    fault: str = ""


class Skills(Protocol):
    """Finds skills by name; of two that have the same name, the one that was looked at first counts."""

    def near(self, flow: Path) -> Skills:
        """The skills that a flow in this folder finds: those that come with it first."""
        ...

    def list_skills(self) -> Sequence[Skill]:
        """All skills by name, those that cannot be loaded included."""
        ...

    def find_skill(self, name: str) -> Skill:
        """The skill of that name; InvalidInput if there is none, or if it cannot be loaded."""
        ...

    def load(self, name: str) -> str:
        """The text of the skill of that name, bounded; InvalidInput if there is none, or if it cannot be loaded."""
        ...
