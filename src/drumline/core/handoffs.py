"""What an agent is told of the steps that its own needs. The rule: what is not known is said to be missing."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.ids import StepId
from drumline.core.plaintext import name_some
from drumline.record import Record

MOST_WORDS = 1_500
"""Characters of what one step left for the next ones."""
MOST_FILES = 12
MOST_HANDOFFS = 8
SHORT = 12
"""Digits of a commit that a prompt names."""


class Handoff(Record):
    """A step that is needed: what changed with it, and what was left for the steps behind it.

    `words` are its document, or what its agent said at the end, which nobody has proved; empty if nothing is known.
    `notes` are what another agent wrote for the steps behind it.
    """

    step: StepId
    title: str
    words: str = ""
    claimed: bool = False
    notes: str = ""
    commit: str = ""
    files: tuple[str, ...] = ()


def tell_handoffs(handoffs: Sequence[Handoff]) -> str:
    """All of them for a prompt; those that are too many are named."""
    told = [_tell(handoff) for handoff in handoffs[:MOST_HANDOFFS]]
    rest = [f"{handoff.step} ({handoff.title})" for handoff in handoffs[MOST_HANDOFFS:]]
    told += [f"It needs these too, of which nothing is told here: {', '.join(rest)}."] if rest else []
    return "\n\n".join(told)


def _tell(handoff: Handoff) -> str:
    parts = [f"### {handoff.step}: {handoff.title}"]
    if handoff.commit:
        parts.append(f"Landed as {handoff.commit[:SHORT]}. {_tell_files(handoff.files)}".strip())
    if not handoff.words.strip():
        return "\n\n".join([*parts, "Its handoff is missing."])
    parts += ["Its agent reported, which nobody has proved:"] if handoff.claimed else []
    parts.append(_cut(handoff.words.strip()))
    parts += [f"Its handoff adds, which nobody has proved:\n\n{_cut(handoff.notes)}"] if handoff.notes else []
    return "\n\n".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= MOST_WORDS else f"{text[:MOST_WORDS].rstrip()} … (cut)"


def _tell_files(files: Sequence[str]) -> str:
    if not files:
        return ""
    return f"It changed {name_some((f'`{path}`' for path in files), MOST_FILES)}."
