"""Plays a file of scenarios until it is interrupted: `python -m tests.modelserver FILE [PORT]`."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.modelserver.scenariofile import read_scenarios
from tests.modelserver.server import ModelServer

from drumline.errors import DrumlineError


def main(arguments: list[str]) -> int:
    """Print the address, serve, and say at the end what was asked."""
    if not 1 <= len(arguments) <= 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        scenarios = read_scenarios(Path(arguments[0]).read_text(encoding="utf-8"))
    except (OSError, DrumlineError) as error:
        print(error, file=sys.stderr)
        return 3
    with ModelServer(scenarios, port=int(arguments[1]) if arguments[1:] else 0) as server:
        print(server.url, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
        for request in server.requests:
            print(f"{request.method} {request.path} {request.scenario} {request.turn} {request.played}".rstrip())
    return 0


if __name__ == "__main__":
    # Blocked before the server's threads start, so that none of them takes the signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    sys.exit(main(sys.argv[1:]))
