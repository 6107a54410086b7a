"""`drumline skip`: go on without a step."""

from __future__ import annotations

import click

from drumline.app.inbox import check_skip
from drumline.cli.options import json_option, resume_option, run_option, step_argument
from drumline.cli.sending import Request, send_request
from drumline.ports.journal import Message


@click.command("skip")
@step_argument
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is recorded and written into the plan.")
@run_option
@resume_option
@json_option
def command(step: str, reason: str, run: str, drive_on: bool, as_json: bool) -> int:
    """Leave STEP out; steps that need it go on as if it were done."""
    request = Request(
        message=Message(kind="skip", subject=step, comment=reason),
        check=lambda state, look: check_skip(state, step),
        done=f"{step} is skipped",
    )
    return send_request(request, run, drive_on=drive_on, as_json=as_json)
