"""What is found in a scenario: findings by class, and what a person was needed for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

LOST, DOUBLED, STALLED, BROKEN, TRACEBACK, LEFTOVER, WRONG = (
    "lost",
    "doubled",
    "stalled",
    "broken git",
    "traceback",
    "leftover",
    "wrong code",
)
CLASSES = (LOST, DOUBLED, STALLED, BROKEN, TRACEBACK, LEFTOVER, WRONG)

_PLACES = re.compile(r"(/[\w.+-]+){2,}/?")
_BRANCHES = re.compile(r"\bdrumline/[\w.-]+")
_HASHES = re.compile(r"\b[0-9a-f]{7,40}\b")
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that must not be."""

    kind: str
    text: str


@dataclass(kw_only=True)
class Outcome:
    """What came of one scenario: faults that hit, findings, resumes typed, and why a person was needed."""

    name: str
    theme: str
    state: str = ""
    seconds: float = 0.0
    injected: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    needed: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    folder: str = ""


def group_reason(text: str) -> str:
    """A reason without what differs from case to case: places, hashes, numbers."""
    line = " ".join(text.split())
    return _NUMBERS.sub("N", _HASHES.sub("HASH", _BRANCHES.sub("BRANCH", _PLACES.sub("PATH", line))))[:160]
