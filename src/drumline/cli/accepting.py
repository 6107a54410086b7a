"""Asks before a run begins about steps of which it is known that nothing can prove them.

The rule: it is asked once, before anything is paid for, and only where a person is there; elsewhere the run waits at
the gate `accept` at its end.
"""

from __future__ import annotations

from collections.abc import Collection

import click

from drumline.app.begin import Accepted
from drumline.app.inbox import name_person
from drumline.cli.output import say
from drumline.core.acceptance import foresee
from drumline.core.gates import MOST_DOUBTS, tell_doubt
from drumline.core.ids import StepId
from drumline.core.outlook import look_ahead
from drumline.core.plan import Reading
from drumline.core.vocabulary import GateKind
from drumline.errors import NeedsPerson
from drumline.settings import Settings


def ask_acceptance(
    reading: Reading, selection: Collection[StepId] | None, settings: Settings, *, asks: bool, hint: str
) -> Accepted | None:
    """The steps that a person accepts as they will be; NeedsPerson with the hint if they are not accepted."""
    worked = look_ahead(reading, settings.configured, selection).worked
    doubts = foresee(worked, settings.configured, require=settings.require)
    if not doubts:
        return None
    how_many = "1 step" if len(doubts) == 1 else f"{len(doubts)} steps"
    if not asks:
        say(f"nothing can prove {how_many}: the run will wait at the gate {GateKind.ACCEPT}, or use --require none")
        return None
    say(f"nothing can prove {how_many}:")
    for doubt in doubts[:MOST_DOUBTS]:
        say(f"  {tell_doubt(doubt)}")
    if len(doubts) > MOST_DOUBTS:
        say(f"  … and {len(doubts) - MOST_DOUBTS} more")
    if not click.confirm("Accept that and start", default=False, err=True):
        raise NeedsPerson(f"you did not accept {how_many} that nothing can prove; nothing was started", hint=hint)
    return Accepted(doubts=doubts, by=name_person())
