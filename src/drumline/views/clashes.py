"""What work does not fit to: the steps that landed meanwhile, and whether text conflicts or a check fails together.

The rule: the files and the steps are named, so that a person need not read a prompt to know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumline.core import events as ev
from drumline.core.checkfailure import is_work
from drumline.core.plaintext import name_some
from drumline.core.stepstate import StepState
from drumline.record import replace
from drumline.views.cells import flatten

UNFIT = "it does not fit to what landed meanwhile"
LONGEST_COMMAND = 200


def tell_clash(since: Sequence[str], conflicts: Sequence[str], failing: Iterable[str]) -> str:
    """That work does not fit, and to what: files that both sides changed, or checks that fail with both."""
    theirs = f" with {name_some(since)}" if since else ""
    red = [flatten(command, LONGEST_COMMAND) for command in dict.fromkeys(failing)]
    if conflicts:
        return f"{UNFIT}: text conflict{theirs} in {name_some(map(flatten, conflicts))}"
    return f"{UNFIT}: no text conflict, but together{theirs} it fails {name_some(red)}" if red else UNFIT


def note_clash(state: StepState) -> list[str]:
    """The same of a step that has not landed, as far as its stream was read; nothing if its work fits."""
    clash = state.clash or state.find_clash()
    if clash is None:
        return []
    return [tell_clash(clash.since, clash.conflicts, (ended.command for ended in state.faults() or state.feedback))]


def list_clashes(events: Iterable[ev.Event]) -> dict[int, str]:
    """Why attempts were begun that are to make work fit, by number."""
    found: dict[int, str] = {}
    joined: ev.WorkRebased | None = None
    red: list[str] = []
    for event in events:
        match event:
            case ev.WorkRebased():
                joined, red = event, []
            case ev.CheckEnded() if event.failed and is_work(event.failure):
                red.append(event.command)
            case ev.AttemptEnded():
                red = []
            case ev.AttemptStarted() if not event.reads:
                if joined is not None and (joined.conflicts or red):
                    found[event.attempt] = tell_clash(joined.since, joined.conflicts, red)
                    joined = replace(joined, conflicts=())  # it may still fail together
                else:
                    joined = None
    return found
