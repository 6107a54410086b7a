"""What is asked before a run begins on a plan that another tool has begun.

The rule: two tools work on one plan only if a person wants that.
"""

from __future__ import annotations

from shlex import quote

import click

from drumline.cli.output import say
from drumline.core.plan import Problem, Reading
from drumline.errors import NeedsPerson
from drumline.planfiles.runstate import OLD_OTHER_RUN, OTHER_RUN

RESUME, STOP = "resume", "stop"


def ask_about_other_run(reading: Reading, *, new: bool, asks: bool) -> None:
    """Name the run of another tool, and ask about one that may still be at work; NeedsPerson if that is left alone.

    `new` says that a person wants a run in any case, `asks` that there is somebody to ask.
    """
    found = next((one for one in reading.problems if one.code in (OTHER_RUN, OLD_OTHER_RUN)), None)
    if found is None:
        return
    if found.code == OLD_OTHER_RUN or new:
        say(f"{found.where}: {found.message}")
    elif not asks:
        raise _refuse(found, reading)
    else:
        say(f"{found.where}: {found.message}")
        if _ask() == STOP:
            raise _refuse(found, reading)


def _ask() -> str:
    """Both answers of those tools lead to the step that the plan does not call done, so that one is enough here."""
    question = "Resume from the marks if it has ended, or stop"
    return str(click.prompt(question, type=click.Choice([RESUME, STOP]), default=STOP, err=True))


def _refuse(found: Problem, reading: Reading) -> NeedsPerson:
    told = f"{found.where}: {found.message}; nothing was begun"
    return NeedsPerson(told, hint=f"drumline run {quote(reading.plan.path)} --new")
