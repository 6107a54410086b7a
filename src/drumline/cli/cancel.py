"""`drumline cancel`: stop a run until somebody resumes it."""

from __future__ import annotations

import click

from drumline.app.inbox import check_cancel
from drumline.cli.options import json_option, run_argument
from drumline.cli.sending import Request, send_request
from drumline.ports.journal import Message


@click.command("cancel")
@run_argument
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@json_option
def command(run: str, reason: str, as_json: bool) -> int:
    """Stop RUN (the newest if not given): its drivers stop their steps, what landed stays. `resume` drives it on.

    A run that is blocked or failed is given up: its worktrees go, and a ref keeps what was in them.
    """
    request = Request(
        message=Message(kind="cancel", comment=reason), check=lambda state, look: check_cancel(state), done="cancelled"
    )
    return send_request(request, run, drive_on=False, as_json=as_json)
