"""`drumline retry`: give a blocked or failed step another round."""

from __future__ import annotations

import click

from drumline.app.say import check_retry
from drumline.cli.options import config_option, json_option, resume_option, run_option, step_argument
from drumline.cli.telling import Wish, tell
from drumline.ports.journal import Message


@click.command("retry")
@step_argument
@run_option
@resume_option
@config_option
@json_option
def command(step: str, run: str, drive_on: bool, config: str | None, as_json: bool) -> int:
    """Try STEP again with a fresh workspace and fresh budgets.

    In a run of a flow, STEP is a node that is blocked or whose agent waits for a quota; it goes on at once.
    """
    wish = Wish(
        message=Message(kind="retry", subject=step),
        check=lambda state, look: check_retry(state, step, look),
        done=f"{step} will be tried again",
    )
    return tell(wish, run, drive_on=drive_on, as_json=as_json, config=config)
