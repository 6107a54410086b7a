"""What an agent claims about scenarios that it was to play by itself. The rule: a claim is shown and proves nothing."""

from __future__ import annotations

import re

_LINE = re.compile(
    r"^[\s*_#>-]*Automated QA[\s*_]*:[\s*_]*(\d{1,4})\s*(?:/|of)\s*(\d{1,4})", re.IGNORECASE | re.MULTILINE
)
ASKED = (
    "Play the scenarios under Automated QA yourself, and end your last message with the line "
    "`Automated QA: N/M passed`. Nobody repeats them."
)
"""What an agent is told whose step has such scenarios."""


def count_claimed(message: str, items: int) -> int:
    """How many of so many scenarios passed, if the agent is believed; the last line that says so counts."""
    found = [match for match in _LINE.finditer(message) if int(match[2]) == items]
    return min(int(found[-1][1]), items) if found else 0


def tell_claims(claimed: int, items: int) -> str:
    """The claim in words; empty if there are no scenarios."""
    return f"Automated QA {claimed}/{items} by the word of its agent, not proved" if items else ""
