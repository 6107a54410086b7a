"""A seal over the journal of a run: a hash chain, of which every landed commit has the present head.

The rule: an event that is changed, removed or added below a seal changes it. Rows are sealed as the store keeps them,
so that a later version of Drumline, which knows more fields, computes the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii as quote

from drumline.core.ids import StepId
from drumline.record import Record

TRAILER = "Drumline-Journal"
_TEXT = re.compile(r"([0-9]{1,18}):([0-9a-f]{64})", re.ASCII)

SealedRow = tuple[int, StepId, int, float, str, int, str]
"""Sequence number, step, version, time, kind, version of the kind, and body of an event."""


class Seal(Record):
    """The head of the chain: the number of the last event that it covers, and the digest of all up to it."""

    seq: int = 0
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.seq}:{self.digest}"


def extend(seal: Seal, rows: Iterable[SealedRow]) -> Seal:
    """The seal over the rows that follow, in order."""
    seq, digest = seal.seq, seal.digest
    for seq, step, version, at, kind, v, body in rows:
        # The compact JSON of a list of these; written out, since a step that lands reads all its events for it.
        line = f'["{digest}",{seq},{quote(step)},{version},{at!r},{quote(kind)},{v},{quote(body)}]'
        digest = hashlib.sha256(line.encode("ascii")).hexdigest()
    return Seal(seq=seq, digest=digest)


def read_seal(text: str) -> Seal | None:
    """The seal that a trailer has; None if it is not one."""
    found = _TEXT.fullmatch(text.strip())
    return Seal(seq=int(found[1]), digest=found[2]) if found else None
