"""Questions of a flow as faces show them: the words, and the command that answers them, safe to paste."""

from __future__ import annotations

from shlex import quote

from drumline.core.events import GateOpened
from drumline.core.gates import QUESTION
from drumline.core.state import Gate
from drumline.views.cells import flatten
from drumline.views.flowsnapshot import FlowSnapshot

ANY_TEXT = "TEXT"


def answer_command(opened: GateOpened, *, driven: bool) -> str:
    """The command that answers with the first option, or with any text; without a driver it also drives on."""
    choice = quote(opened.options[0]) if opened.options else ANY_TEXT
    return f"drumline answer {quote(opened.gate)} {choice}" + ("" if driven else " --resume")


def retry_command(visit: str) -> str:
    """The command that lets a visit go on before its time, in a run that nobody drives."""
    return f"drumline retry {quote(visit)} --resume"


def list_choices(opened: GateOpened) -> str:
    """What may be answered, in words."""
    words = [flatten(option) for option in opened.options]
    if opened.free and opened.options:
        words.append("any text")
    elif opened.free:
        ruled = opened.rule and opened.kind != QUESTION
        words.append(f"any text with {flatten(opened.rule)}" if ruled else "any text")
    return ", ".join(words[:-1]) + (" or " if len(words) > 1 else "") + "".join(words[-1:])


def gate_json(snapshot: FlowSnapshot, gate: Gate) -> dict[str, object]:
    """A gate for programs."""
    opened = gate.opened
    return {
        "id": opened.gate,
        "kind": opened.kind,
        "question": opened.question,
        "options": list(opened.options),
        "free": opened.free,
        "rule": opened.rule or None,
        "default": opened.default or None,
        "asked_at": snapshot.asked.get(opened.gate),
        "answered": snapshot.answers.get(opened.gate),
        "hint": answer_command(opened, driven=bool(snapshot.live)),
    }
