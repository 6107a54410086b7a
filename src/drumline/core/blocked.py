"""How an agent says that it is blocked: the last line of its last message is a JSON object with the question.

The rule: exactly that counts, and nothing that merely speaks of it. Guessing would stop work that is done.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from drumline.core.flow.model import Json
from drumline.core.plaintext import strip_controls
from drumline.patterns import compile_late
from drumline.record import Record

OFFER = (
    "If you cannot go on without a person's decision, do not guess: stop, and end your last message with one line that "
    'is nothing but this JSON object: {"blocked": "your question, with all that is needed to answer it"}. Where there '
    'is a choice, add "options": ["…", "…"]. The answer comes with your next task. Do not ask for leave to do the task.'
)
"""What an agent is told that may ask a person. Only the answer to a prompt with these words is read as a question:
the assignment says that it has them."""
WRONG = (
    "If the step itself is wrong (it contradicts itself or the code, what it asks for is there already, or it cannot "
    'be done), end with this object in its place: {"status": "blocked", "class": "plan", "blocker": "what is wrong", '
    '"evidence": "files and lines"}.'
)
"""How an agent says that not its work but the plan is wrong."""
LONGEST = 8_000
"""Characters of a line that is looked at."""
_FENCE = compile_late(r"(`{3,}|~{3,})\s*(?:jsonc?)?", re.IGNORECASE)


class Reply(Record):
    """What a person said to a question of an agent. `permissions` are what that question asked leave for."""

    asked: str
    said: str
    permissions: tuple[str, ...] = ()


def find_question(message: str) -> str:
    """The question that a message ends with, and its options if it has some; empty if it ends otherwise."""
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    if len(lines) > 2 and _is_fence(lines[-1]) and _is_fence(lines[-3]):
        lines.pop()
    return _read_line(lines[-1]) if lines else ""


def write_question(question: str, options: Sequence[str] = ()) -> str:
    """A question in one text. Its options are suggestions: any text is an answer."""
    asked = question.strip()
    text = f"{asked}\n(options: {', '.join(option.strip() for option in options)})" if options else asked
    return strip_controls(text)


def _is_fence(line: str) -> bool:
    return _FENCE.fullmatch(line) is not None


def _read_line(line: str) -> str:
    if len(line) > LONGEST:
        return ""
    try:
        value: Json = json.loads(line)
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be kept as text
    except (ValueError, RecursionError):
        return ""
    if not isinstance(value, dict) or not value.keys() <= {"blocked", "options"}:
        return ""
    question, options = value.get("blocked"), value.get("options", [])
    if not isinstance(question, str) or not isinstance(options, list):
        return ""
    named = [option for option in options if isinstance(option, str) and option.strip()]
    if not question.strip() or len(named) < len(options):
        return ""
    return write_question(question, named)
