"""The repository's own instructions reach the model through the programs, as the docs say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.agents.agent_fixture import open_office
from tests.modelserver import ModelServer, Scenario, Turn

MARK = "always whistle quietly before lunch"
READ = [
    ("claude", "CLAUDE.md"),
    ("claude", "AGENTS.md"),
    ("codex", "AGENTS.md"),
    ("gemini", "GEMINI.md"),
    ("gemini", "AGENTS.md"),
    ("opencode", "AGENTS.md"),
]


@pytest.mark.parametrize(("name", "file"), READ)
def test_the_instructions_of_the_repository_are_in_the_first_request(
    name: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([Scenario(turns=(Turn(text="done"),))]) as server:
        office = open_office(tmp_path, monkeypatch, name, server)
        if name == "gemini":
            name_instructions(tmp_path / "home" / ".gemini" / "settings.json")
        (office.workspace / file).write_text(f"# Rules\n\nYou must {MARK}.\n")
        office.work()

    assert MARK in repr(server.turns[0])


def name_instructions(settings: Path) -> None:
    """Set what the page about Gemini CLI says: it heeds no such setting but in the user's own file."""
    told = json.loads(settings.read_text())
    settings.write_text(json.dumps({**told, "context": {"fileName": ["GEMINI.md", "AGENTS.md"]}}))
