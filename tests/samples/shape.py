"""A sample: a small plan as some tool's users write it, and what reading it must give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A document and its steps, each as `id < need need : status ! check` with the parts that it has.

    `!!` stands before a check that must be red first.

    `codes` are those of all warnings but `no_checks` and `file_overlap`; `beside` are files next to the document.
    """

    text: str
    steps: str
    codes: tuple[str, ...] = ()
    name: str = "tasks.md"
    beside: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """One line for each step."""
        return [" ".join(line.split()) for line in self.steps.strip().splitlines()]
