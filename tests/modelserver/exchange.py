"""One HTTP request and its answer. A request is recorded before it is answered, so that a test can wait for it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer
from threading import Event
from typing import assert_never

from tests.modelserver.conversation import Ask, Reply, as_map
from tests.modelserver.dialect import Dialect, count_tokens, find_dialect, list_models
from tests.modelserver.records import Records, Request, hide_headers, hide_query
from tests.modelserver.scenario import Cut, Fault, Hang, Refuse, Turn
from tests.modelserver.script import Script, is_aside
from tests.modelserver.spelling import spell

from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.record import Record, field, replace

ASIDE = Turn(text="A small task")


class Stage(Record):
    """What all exchanges of a server share; `closing` ends those that wait."""

    script: Script
    records: Records = field(default_factory=Records)
    closing: Event = field(default_factory=Event)


class Exchange(BaseHTTPRequestHandler):
    """Answers one request on one connection, then closes it."""

    protocol_version = "HTTP/1.1"

    def __init__(self, stage: Stage, request: object, client_address: object, server: BaseServer) -> None:
        self._stage = stage
        super().__init__(request, client_address, server)  # type: ignore[arg-type]  # the library's own types

    def do_HEAD(self) -> None:
        """Say that somebody is here."""
        self._record(self._request())
        self._send(200, None)

    def do_GET(self) -> None:
        """List the models."""
        self._record(self._request())
        listed = list_models(self._path)
        self._send(404 if listed is None else 200, listed)

    def do_POST(self) -> None:
        """Answer a question in its dialect, or count its tokens."""
        # Also where no answer is given that could say so: one request per connection.
        self.close_connection = True
        body = self._read_body()
        request = replace(self._request(), body=parse(body))
        if dialect := find_dialect(self._path):
            self._answer(dialect, replace(request, dialect=dialect.name))
            return
        self._record(request)
        counted = count_tokens(self._path, body)
        self._send(404 if counted is None else 200, counted)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the records have it all."""

    @property
    def _path(self) -> str:
        return self.path.partition("?")[0]

    def _request(self) -> Request:
        return Request(method=self.command, path=hide_query(self.path), headers=hide_headers(dict(self.headers)))

    def _record(self, request: Request) -> None:
        self._stage.records.add(request)

    def _read_body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces: list[bytes] = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        return b"".join(pieces)

    def _answer(self, dialect: Dialect, request: Request) -> None:
        ask = dialect.read(self._path, request.body)
        try:
            turn, request = self._choose(ask, request)
            reply = spell(turn, ask, id=uuid.uuid4().hex[:12])
        except InvalidInput as problem:
            self._record(replace(request, played=f"impossible: {problem}"))
            self._send(400, dialect.refuse(400, str(problem)))
            return
        self._record(request)
        if turn.pause and self._stage.closing.wait(turn.pause):
            return
        if turn.fault is None:
            self._say(dialect, reply, ask)
        else:
            self._fail(turn.fault, dialect, (reply, ask))

    def _choose(self, ask: Ask, request: Request) -> tuple[Turn, Request]:
        """The turn to play, with its fault only if that is due, and the request saying so."""
        if is_aside(ask):
            return ASIDE, replace(request, played="aside")
        cue = self._stage.script.cue(ask)
        fault = self._stage.script.take_fault(cue)
        played = type(fault).__name__.lower() if fault else "turn"
        noted = replace(request, scenario=cue.scenario.name or cue.scenario.when, turn=cue.number, played=played)
        return replace(cue.turn, fault=fault), noted

    def _say(self, dialect: Dialect, reply: Reply, ask: Ask) -> None:
        if ask.streamed:
            self._stream(dialect.stream(reply, ask))
        else:
            self._send(200, dialect.write(reply, ask))

    def _fail(self, fault: Fault, dialect: Dialect, said: tuple[Reply, Ask]) -> None:
        match fault:
            case Refuse():
                after = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
                message = fault.message or f"the scenario refuses with {fault.status}"
                self._send(fault.status, dialect.refuse(fault.status, message), headers=after)
            case Cut():
                self._cut(dialect, *said)
            case Hang():
                self._stage.closing.wait(None if fault.seconds == float("inf") else fault.seconds)
            case _:
                assert_never(fault)

    def _cut(self, dialect: Dialect, reply: Reply, ask: Ask) -> None:
        if ask.streamed:
            self._stream([half("".join(dialect.stream(reply, ask)))], ends=False)
            return
        whole = json.dumps(dialect.write(reply, ask))
        self._head(200, {"content-type": "application/json", "content-length": str(len(whole))})
        self.wfile.write(half(whole).encode())

    def _stream(self, frames: Iterable[str], *, ends: bool = True) -> None:
        self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for frame in frames:
            data = frame.encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if ends:
            self.wfile.write(b"0\r\n\r\n")

    def _send(self, status: int, body: Json, *, headers: Mapping[str, str] | None = None) -> None:
        content = b"" if self.command == "HEAD" else json.dumps(body).encode()
        length = {"content-type": "application/json", "content-length": str(len(content))}
        self._head(status, {**length, **(headers or {})})
        self.wfile.write(content)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        # One request per connection: an idle one would keep a thread.
        self.send_header("connection", "close")
        self.end_headers()


def parse(body: bytes) -> Mapping[str, Json]:
    """The JSON object in a body, or an empty one."""
    try:
        return as_map(json.loads(body))
    except ValueError:
        return {}


def half(text: str) -> str:
    """The first half of an answer."""
    return text[: len(text) // 2]
