"""Trust in memory: keeps what people said for as long as it lives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumline.core.trust import Brought
from drumline.record import Record, field


class MemoryTrust(Record):
    """Asks about everything that was not accepted, or with `asks` unset only about what was refused."""

    asks: bool = True
    said: dict[str, bool] = field(default_factory=dict)

    def find_untrusted(self, found: Iterable[Brought], *, made: bool = False) -> Sequence[Brought]:
        """Those that must not be executed before a person has accepted them."""
        commands = {item.digest: item for item in found}
        return [item for digest, item in commands.items() if not self.said.get(digest, not (made or self.asks))]

    def accept(self, found: Iterable[Brought]) -> None:
        """Remember that a person accepted the commands."""
        self.said.update({item.digest: True for item in found})

    def refuse(self, found: Iterable[Brought]) -> None:
        """Remember that a person refused them."""
        self.said.update({item.digest: False for item in found})
