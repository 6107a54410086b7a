"""Which commands of a repository may be executed, as people said, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from drumline.core.trust import Brought


class Trust(Protocol):
    """Remembers what people accepted and refused, for one repository."""

    def find_untrusted(self, found: Iterable[Brought], *, made: bool = False) -> Sequence[Brought]:
        """Those of the commands that must not be executed before a person has accepted them.

        With `made` they were made up in a run, by a flow or an agent: what is new waits for a person in any case.
        """
        ...

    def accept(self, found: Iterable[Brought]) -> None:
        """Remember that a person accepted the commands; it holds for all processes from now on."""
        ...

    def refuse(self, found: Iterable[Brought]) -> None:
        """Remember that a person refused them."""
        ...


class EverythingTrusted:
    """Trusts every command, for those who have asked already or need not ask."""

    def find_untrusted(self, found: Iterable[Brought], *, made: bool = False) -> Sequence[Brought]:
        """Nothing."""
        return ()

    def accept(self, found: Iterable[Brought]) -> None:
        """Nothing has to be remembered."""

    def refuse(self, found: Iterable[Brought]) -> None:
        """Nothing has to be remembered."""


TRUSTING = EverythingTrusted()
