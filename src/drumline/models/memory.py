"""Sessions of the built-in agent: what was said, in a file beside the transcripts. The rule: no secret is in it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from drumline.core.redaction import Secrets
from drumline.ports.agents import Assignment

LEGAL = re.compile(r"[A-Za-z0-9-]{1,64}")


class Memory:
    """The session of one assignment: `past` is what it continues with, `lost` the one that could not be had."""

    def __init__(self, assignment: Assignment, secrets: Secrets) -> None:
        self._folder = assignment.log.parent
        self._secrets = secrets
        past = self._read(assignment.session) if assignment.session else None
        self.past = past or []
        self.lost = assignment.session if assignment.session and past is None else ""
        wanted = assignment.session if past is not None else assignment.new_session
        self.id = wanted if LEGAL.fullmatch(wanted) else str(uuid.uuid4())

    def keep(self, messages: Sequence[ModelMessage]) -> None:
        """Write down what was said so far; the file appears whole or not at all."""
        text = self._secrets.hide(ModelMessagesTypeAdapter.dump_json(list(messages)).decode())
        path = self._find(self.id)
        draft = path.with_suffix(".new")
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)

    def _find(self, name: str) -> Path:
        return self._folder / f"session-{name}.json"

    def _read(self, name: str) -> list[ModelMessage] | None:
        if not LEGAL.fullmatch(name):
            return None
        try:
            found = ModelMessagesTypeAdapter.validate_json(self._find(name).read_bytes())
        except (OSError, ValidationError):
            return None
        # Tools that were called when it was stopped have no answer, and nobody can go on from there.
        while found and isinstance(found[-1], ModelResponse) and _calls(found[-1]):
            found.pop()
        return found


def _calls(message: ModelResponse) -> bool:
    return any(isinstance(part, ToolCallPart) for part in message.parts)
