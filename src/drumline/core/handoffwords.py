"""What an agent says for the handoff of a step, as a record: its words for each section but the evidence."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.record import Record, field

MOST_WORDS = 4_000
"""Characters of one section."""


class HandoffWords(Record):
    """The words of `by` for the sections of a handoff, by the sections' names; `failure` says why there are none.

    `faults` is what is wrong with them, and `tries` how often they were asked for about the same work.
    """

    by: str = ""
    failure: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    tries: int = 1

    @property
    def usable(self) -> bool:
        """Whether the document can have them."""
        return not self.failure and not self.faults
