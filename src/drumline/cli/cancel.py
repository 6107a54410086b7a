"""`drumline cancel`: stop a run until somebody resumes it."""

from __future__ import annotations

import click

from drumline.app.say import check_cancel
from drumline.cli.options import json_option, run_argument
from drumline.cli.telling import Wish, tell
from drumline.ports.journal import Message


@click.command("cancel")
@run_argument
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@json_option
def command(run: str, reason: str, as_json: bool) -> int:
    """Stop RUN (the newest if not given): its drivers stop their steps, what landed stays. `resume` drives it on."""
    wish = Wish(
        message=Message(kind="cancel", comment=reason), check=lambda state, look: check_cancel(state), done="cancelled"
    )
    return tell(wish, run, drive_on=False, as_json=as_json)
