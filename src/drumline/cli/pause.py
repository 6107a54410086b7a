"""`drumline pause`: let what is at work end its node, and begin nothing new."""

from __future__ import annotations

import click

from drumline.app.inbox import check_pause
from drumline.cli.options import json_option, run_argument
from drumline.cli.sending import Request, send_request
from drumline.ports.journal import Message

DONE = "pausing: what is at work ends its node, then the run is parked"


@click.command("pause")
@run_argument
@click.option("--reason", default="", metavar="TEXT", help="Why; it is recorded.")
@json_option
def command(run: str, reason: str, as_json: bool) -> int:
    """Pause RUN (the newest if not given): nodes at work end, no other begins, and the run is parked.

    Its drivers exit with code 2 then; `wait` waits for it, `resume` drives it on from there.
    """
    request = Request(
        message=Message(kind="pause", comment=reason),
        check=lambda state, look: check_pause(state, driven=bool(look().live)),
        done=DONE,
    )
    return send_request(request, run, drive_on=False, as_json=as_json)
