"""What the server was asked. Credentials never get in here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Condition
from urllib.parse import parse_qsl, urlencode

from drumline.core.flow.model import Json
from drumline.record import Record, field

SECRET_HEADERS = frozenset({"authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"})
SECRET_PARAMETERS = frozenset({"key", "api_key", "access_token"})
REDACTED = "redacted"


class Request(Record):
    """One request and how it was answered; `turn` is -1 where no scenario was played."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Json] = field(default_factory=dict)
    dialect: str = ""
    scenario: str = ""
    turn: int = -1
    played: str = ""


class Records:
    """The requests in the order they came; safe to read while the server answers."""

    def __init__(self) -> None:
        self._requests: list[Request] = []
        self._changed = Condition()

    def add(self, request: Request) -> None:
        """Keep a request."""
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()

    def all(self) -> tuple[Request, ...]:
        """Every request so far."""
        with self._changed:
            return tuple(self._requests)

    def wait_for(self, wanted: Callable[[Request], bool], *, seconds: float) -> Request | None:
        """The first request that is wanted, waiting for it if need be; None when it did not come in time."""
        with self._changed:
            return self._changed.wait_for(lambda: next((r for r in self._requests if wanted(r)), None), seconds)


def hide_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers by their name in small letters, without what proves who asks."""
    return {name.lower(): REDACTED if name.lower() in SECRET_HEADERS else value for name, value in headers.items()}


def hide_query(target: str) -> str:
    """A request's target without keys in its query."""
    path, mark, query = target.partition("?")
    pairs = [(k, REDACTED if k in SECRET_PARAMETERS else v) for k, v in parse_qsl(query, keep_blank_values=True)]
    return f"{path}{mark}{urlencode(pairs)}"
