"""A real program that refreshes its login: the new tokens are in the user's home, and nothing else changed there."""

from __future__ import annotations

import base64
import dataclasses
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.agents.agent_fixture import open_office
from tests.agents.programs import CODEX_CONFIG
from tests.modelserver import ModelServer, Scenario, Turn

from drumline.agents.cli import CliAgent
from drumline.agents.jail import find_jail
from drumline.record import replace

OVERRIDE = "CODEX_REFRESH_TOKEN_URL_OVERRIDE"


def make_token(**claims: Any) -> str:
    """A token as the service hands it out; nobody looks at its signature."""
    parts = ({"alg": "none"}, {"exp": 1, "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"}, **claims})
    return ".".join(
        [*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), "x"]
    )


@contextmanager
def serve_tokens(answer: dict[str, str]) -> Iterator[str]:
    """A service that refreshes every token."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
@pytest.mark.parametrize("name", ["codex"])
def test_a_token_that_the_program_refreshed_is_in_the_users_home(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = make_token(n="old"), make_token(n="new", exp=4_000_000_000)
    tokens = {"id_token": old, "access_token": old, "refresh_token": "r-old", "account_id": "acc-1"}
    login = {"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": "2020-01-01T00:00:00Z"}
    renewed = {"id_token": new, "access_token": new, "refresh_token": "r-new"}
    with ModelServer([Scenario(turns=(Turn(text="Here."),))]) as server, serve_tokens(renewed) as url:
        desk = open_office(tmp_path, monkeypatch, name, server)
        home = tmp_path / "home" / ".codex"
        config = CODEX_CONFIG.format(url=server.url).replace(
            'env_key = "SCRIPTED_API_KEY"', "requires_openai_auth = true"
        )
        (home / "config.toml").write_text(config)
        (home / "auth.json").write_text(json.dumps(login))
        monkeypatch.setenv(OVERRIDE, url)
        agent = desk.agent
        assert isinstance(agent, CliAgent)
        program = replace(agent.program, keep=(*agent.program.keep, OVERRIDE))
        outcome = dataclasses.replace(desk, agent=replace(agent, program=program)).work()

    found = json.loads((home / "auth.json").read_text())
    assert (outcome.failure, outcome.message) == ("", "Here.")
    assert found["tokens"] == {**renewed, "account_id": "acc-1"}
    assert found["last_refresh"] > "2020-01-02"
    assert (home / "config.toml").read_text() == config
    assert sorted(path.name for path in home.iterdir()) == ["auth.json", "config.toml", "sessions"]
