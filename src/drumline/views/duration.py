"""Lengths of time in the words people use. Two units at most: more precision than that is noise on a board."""

from __future__ import annotations

DAY = 86_400


def duration(seconds: float) -> str:
    """`3.4s`, `42s`, `2m 03s`, `1h 02m`, `2 days`; less than nothing counts as nothing."""
    seconds = max(0.0, seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3_600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < DAY:
        return f"{whole // 3_600}h {whole % 3_600 // 60:02d}m"
    days = whole // DAY
    return "1 day" if days == 1 else f"{days} days"


def age(then: float, now: float) -> str:
    """How long ago something was."""
    return f"{duration(now - then)} ago"
