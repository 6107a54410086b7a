"""`drumline retry`: give a blocked or failed step another round, as it was or in another way."""

from __future__ import annotations

from pathlib import Path

import click

from drumline.app.inbox import check_heal, check_retry
from drumline.cli.options import config_option, json_option, read_words, resume_option, run_option, step_argument
from drumline.cli.sending import Request, send_request
from drumline.core.retryrequest import RetryRequest, write_round
from drumline.core.routing import TIERS
from drumline.errors import InvalidInput
from drumline.ports.journal import Message


@click.command("retry")
@step_argument
@run_option
@click.option("--heal", is_flag=True, help="Have its last work diagnosed, and a corrective step planned.")
@click.option("--agent", default="", metavar="NAME", help="Who works on it: an agent of [agents], or any other.")
@click.option("--tier", type=click.Choice(TIERS), default=None, help="How strong a model works on it.")
@click.option("--context", default="", metavar="TEXT", help="What the agent should know; @FILE and - are read.")
@resume_option
@config_option
@json_option
def command(
    step: str,
    run: str,
    heal: bool,
    agent: str,
    tier: str | None,
    context: str,
    drive_on: bool,
    config: str | None,
    as_json: bool,
) -> int:
    """Try STEP again with a fresh workspace and fresh budgets.

    In a run of a flow, STEP is a node that is blocked or whose agent waits for a quota; it goes on at once.
    """
    words = read_words(context, Path.cwd(), what="the context", hint="drumline retry --help") if context else ""
    wanted = RetryRequest(heal=heal, agent=agent, tier=tier or "", context=words)
    return ask_for_round(step, run, wanted, drive_on=drive_on, config=config, as_json=as_json)


def ask_for_round(
    step: str, run: str, wanted: RetryRequest, *, drive_on: bool, config: str | None, as_json: bool
) -> int:
    """Say that the step gets another round, which is as it is wanted."""
    if wanted.heal and (wanted.agent or wanted.tier):
        raise InvalidInput(
            "--heal plans a corrective step, which has its own agent and tier; leave out --agent and --tier",
            hint=f"drumline heal {step}",
        )
    check = check_heal if wanted.heal else check_retry
    request = Request(
        message=Message(kind="retry", subject=step, value=write_round(wanted)),
        check=lambda state, look: check(state, step, look),
        done=f"{step} will be diagnosed" if wanted.heal else f"{step} will be tried again",
        agent=wanted.agent,
    )
    return send_request(request, run, drive_on=drive_on, as_json=as_json, config=config)
