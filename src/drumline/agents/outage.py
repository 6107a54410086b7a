"""How long a program has been saying that it waits for the network.

The rule: only an unbroken row of such words counts. Who does anything else in between has reached its service.
"""

from __future__ import annotations

from drumline.ports.agents import Happening

GRACE = 30.0
"""Seconds that such a row may last: a network that comes back sooner costs nothing."""
QUIET = ("notice", "usage", "session")
"""What a program tells also while it reaches nobody."""


class Outage:
    """The row of notices with one of the `words` of a program; `longest` is how long it may last."""

    def __init__(self, words: tuple[str, ...], *, longest: float | None = None) -> None:
        self._words = words
        self._longest = GRACE if longest is None else min(GRACE, longest)
        self._began: float | None = None
        self._latest = 0.0
        self.told = ""

    def note(self, happening: Happening, now: float) -> None:
        """Take in what happened. A row is broken by any work, and by a pause in which there was likely some."""
        if happening.kind not in QUIET:
            self._began, self.told = None, ""
        if happening.kind != "notice" or not any(words in happening.text for words in self._words):
            return
        if self._began is None or now - self._latest > 2 * self._longest:
            self._began = now
        self._latest, self.told = now, happening.text

    def is_too_long(self) -> bool:
        """Whether the program was still waiting after all the time it may wait."""
        return self._began is not None and self._latest - self._began > self._longest
