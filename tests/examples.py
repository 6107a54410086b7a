"""How many examples a property test tries, and which.

The rule: `make test` tries the same ones every time and fewer of them, `make test-full` fresh ones and more.
"""

from __future__ import annotations

import os

from hypothesis import settings

FRESH = os.environ.get("HYPOTHESIS_EXAMPLES") == "fresh"
MANY = 2_000 if FRESH else 150
"""For a test that throws broken documents at a reader: most are alike, and it is there for the rare ones."""


def some(most: int) -> int:
    """How many of `most` examples are tried now: all of them, or an eighth."""
    return most if FRESH else max(10, most // 8)


def choose_examples() -> None:
    """Load the profile that was asked for."""
    settings.register_profile("chosen", derandomize=not FRESH, max_examples=some(100))
    settings.load_profile("chosen")
