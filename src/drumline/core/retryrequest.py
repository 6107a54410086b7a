"""What a person wants of another round of a step, as the value of a message: who works, with which tier, told what."""

from __future__ import annotations

import json

from drumline.core.events import StepReopened
from drumline.record import Record, replace, to_plain


class RetryRequest(Record):
    """Another round of a step; with `heal` its last work is diagnosed first."""

    heal: bool = False
    agent: str = ""
    tier: str = ""
    context: str = ""


def write_round(request: RetryRequest) -> str:
    """The value of a message with this request; empty if it is an ordinary round."""
    return "" if request == RetryRequest() else json.dumps(to_plain(request))


def read_round(value: str, reopened: StepReopened) -> StepReopened:
    """The event with what the value of a message asks for."""
    wanted = json.loads(value) if value else {}
    return replace(reopened, **{name: wanted[name] for name in RetryRequest.__struct_fields__ if name in wanted})
