"""Notes that people and agents keep beside a plan, for the prompts of its steps: the newest, where they are long."""

from __future__ import annotations

from pathlib import Path

from drumline.core.plan import Problem
from drumline.planfiles.source import BOM, NEWLINE, decode, read_bytes

NOTES = "NOTES.md"
MAX_NOTES = 8_000
"""Characters of the notes in a prompt: about 2,000 tokens."""


def tell_notes(text: str | None) -> str:
    """What a prompt says of the notes; nothing without any."""
    notes = NEWLINE.sub("\n", text or "").removeprefix(BOM).strip()
    if not notes:
        return ""
    cut = len(notes) - MAX_NOTES
    left_out = f"(the first {cut} characters of {NOTES} are left out here)\n\n" if cut > 0 else ""
    return f"\n\n# Notes of the plan ({NOTES})\n\n{left_out}{notes[-MAX_NOTES:]}\n"


def read_notes(plan: Path, *, repo: Path) -> str:
    """What a prompt says of the notes beside a plan of one file.

    Notes at the top of the repository are about all of it, so they are not the plan's.
    """
    if plan.parent == repo:
        return ""
    data = read_bytes(plan.with_name(NOTES), NOTES)
    text = data if isinstance(data, Problem) else decode(data, NOTES)
    return "" if isinstance(text, Problem) else tell_notes(text)
