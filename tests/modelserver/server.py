"""A model server on loopback. Whatever it says comes from the scenarios it was given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from http.server import ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, Self

from tests.modelserver.exchange import Exchange, Stage
from tests.modelserver.records import Request
from tests.modelserver.scenario import Scenario
from tests.modelserver.script import Script


class ModelServer:
    """Serves while it is entered: `with ModelServer([scenario]) as server: … server.url …`."""

    def __init__(self, scenarios: Sequence[Scenario], *, port: int = 0) -> None:
        self._stage = Stage(script=Script(scenarios))
        self._http = _Http(("127.0.0.1", port), partial(Exchange, self._stage))
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        """Where it listens, without a path; OpenAI's dialects are below `/v1`."""
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far."""
        return self._stage.records.all()

    @property
    def turns(self) -> tuple[Request, ...]:
        """The requests that a scenario answered, in order."""
        return tuple(request for request in self.requests if request.turn >= 0)

    def wait_for(self, wanted: Callable[[Request], bool], *, seconds: float = 60.0) -> Request | None:
        """The first request that is wanted, waiting for it if need be; None when it did not come in time."""
        return self._stage.records.wait_for(wanted, seconds=seconds)

    def close(self) -> None:
        """Stop listening, and end the exchanges that wait."""
        self._stage.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    # Six agents at once, each with several connections.
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        # An agent that is killed or gives up closes its connection: that is what is being tested.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)
