"""Dollars as people write them. The rule: no amount is rounded to nothing, and two that differ look different."""

from __future__ import annotations

CENTS = 2
FINEST = 6
"""Digits after the point: fewer, if they say enough, and at most."""


def dollars(amount: float) -> str:
    """`$1.23`, `$0.0042`, `$0.00`; less than the finest amount is said to be so."""
    if amount == 0 or amount >= 0.01:
        return f"${amount:.{CENTS}f}"
    if amount < 10**-FINEST:
        return f"<${10**-FINEST:.{FINEST}f}"
    digits = next(d for d in range(CENTS, FINEST + 1) if round(amount, d) >= 10 ** -(d - 1) or d == FINEST)
    return f"${amount:.{digits}f}".rstrip("0")


def compare_dollars(one: float, other: float) -> tuple[str, str]:
    """Two amounts with as many digits as it takes to tell them apart."""
    for digits in range(CENTS, FINEST + 1):
        told = f"${one:.{digits}f}", f"${other:.{digits}f}"
        lost = any(amount and not round(amount, digits) for amount in (one, other))
        if not lost and (told[0] != told[1] or one == other):
            return told
    return dollars(one), dollars(other)
