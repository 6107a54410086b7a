"""`drumline answer`: answer a gate, from anywhere, also hours later."""

from __future__ import annotations

import click

from drumline.app.inbox import check_answer
from drumline.cli.gateprompt import ask_comment
from drumline.cli.options import json_option, resume_option
from drumline.cli.output import is_terminal
from drumline.cli.sending import Request, send_request
from drumline.core import gates
from drumline.core.ids import GateId
from drumline.core.state import RunState
from drumline.ports.journal import Message
from drumline.record import replace


@click.command("answer")
@click.argument("gate")
@click.argument("choice")
@click.option("--comment", default="", metavar="TEXT", help="Goes to the agent, or into the record.")
@click.option("--run", "run", default="", metavar="RUN", help="Which run; if not given, the one that asks.")
@resume_option
@json_option
def command(gate: str, choice: str, comment: str, run: str, drive_on: bool, as_json: bool) -> int:
    """Answer GATE with CHOICE; the first answer counts."""
    request = Request(
        message=Message(kind="answer", subject=gate, value=choice, comment=comment),
        check=lambda state, look: check_answer(state, gate, choice),
        done=f"answered {gate}: {choice}",
        complete=lambda state, message: message if as_json else _complete(state, message),
    )
    return send_request(request, run, drive_on=drive_on, as_json=as_json)


def _complete(run: RunState, message: Message) -> Message:
    """Ask for the words of a revision that has none, if somebody is at the terminal."""
    gate = run.unanswered.get(GateId(message.subject))
    if gate is None or message.comment.strip() or not is_terminal():
        return message
    if not gates.needs_words(gate.opened, message.value):
        return message
    return replace(message, comment=ask_comment(gate.opened, message.value))
