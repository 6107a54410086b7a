"""The promise of a wire format, and which path belongs to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from tests.modelserver.anthropic import Anthropic
from tests.modelserver.chat import Chat
from tests.modelserver.conversation import Ask, Reply
from tests.modelserver.gemini import Gemini
from tests.modelserver.responses import Responses

from drumline.core.flow.model import Json

MODELS = ("claude-sonnet-4-5", "gpt-5.5", "gemini-2.5-flash", "scripted")


class Dialect(Protocol):
    """A wire format."""

    @property
    def name(self) -> str:
        """What it is called in the records."""
        ...

    def read(self, path: str, body: Mapping[str, Json]) -> Ask:
        """The question in a request."""
        ...

    def write(self, reply: Reply, ask: Ask) -> Json:
        """The whole answer at once."""
        ...

    def stream(self, reply: Reply, ask: Ask) -> Iterator[str]:
        """The answer in frames, in the order they are sent."""
        ...

    def refuse(self, status: int, message: str) -> Json:
        """The body of an answer that is an error."""
        ...


ENDINGS: Mapping[str, Dialect] = {
    "/messages": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
    ":generateContent": Gemini(),
    ":streamGenerateContent": Gemini(),
}


def find_dialect(path: str) -> Dialect | None:
    """The dialect in which this path asks a model, or None."""
    return next((dialect for ending, dialect in ENDINGS.items() if path.endswith(ending)), None)


def count_tokens(path: str, body: bytes) -> Json:
    """The answer of the paths that count tokens, by a rule of thumb, or None for any other path."""
    if path.endswith("/count_tokens"):
        return {"input_tokens": len(body) // 4}
    return {"totalTokens": len(body) // 4} if path.endswith(":countTokens") else None


def list_models(path: str) -> Json:
    """The answer of the paths that list models, or None for any other path."""
    if not path.endswith("/models"):
        return None
    if "/v1beta/" in path:
        return {"models": [{"name": f"models/{name}", "displayName": name} for name in MODELS]}
    return {"object": "list", "has_more": False, "data": [_describe(name) for name in MODELS]}


def _describe(name: str) -> Json:
    return {"id": name, "object": "model", "type": "model", "display_name": name, "created": 0, "owned_by": "scripted"}
