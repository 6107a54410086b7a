"""`drumline heal`: have the work of a blocked step diagnosed, and a corrective step planned for it."""

from __future__ import annotations

import click

from drumline.cli.options import config_option, json_option, resume_option, run_option, step_argument
from drumline.cli.retry import ask_for_round
from drumline.core.retryrequest import RetryRequest


@click.command("heal")
@step_argument
@run_option
@click.option("--context", default="", metavar="TEXT", help="What the diagnosis should know.")
@resume_option
@config_option
@json_option
def command(step: str, run: str, context: str, drive_on: bool, config: str | None, as_json: bool) -> int:
    """Let another agent, or the same one tier up, say why the last work of STEP fails.

    If another way may work, the plan gets a corrective step that takes it; STEP is done when that passes its checks.
    The same as drumline retry STEP --heal.
    """
    wanted = RetryRequest(heal=True, context=context)
    return ask_for_round(step, run, wanted, drive_on=drive_on, config=config, as_json=as_json)
