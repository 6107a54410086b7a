"""`drumline agents test` with real programs against a scripted model: it tells what works, or what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.agents.agent_fixture import isolate
from tests.modelserver import ModelServer, Refuse, Scenario, Turn, Write

from drumline.cli.main import main

READY = (Turn(calls=(Write(path="hello.txt", content="ready\n"),)), Turn(text="done"))


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_an_agent_that_works_is_told_with_what_it_took(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer([Scenario(turns=READY)]) as server:
        isolate(tmp_path, monkeypatch, name, server)
        code = main(["agents", "test", name, "--json"])

    told = json.loads(capsys.readouterr().out)
    assert (code, told["ok"], told["edited"], told["message"]) == (0, True, True, "done")
    assert told["usage"]["input"] == 200
    assert told["session"]


@pytest.mark.parametrize(("name", "login"), [("claude", "claude auth login"), ("codex", "codex login")])
def test_an_agent_that_is_not_logged_in_is_told_with_how_to_log_in(
    name: str, login: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer([Scenario(turns=(Turn(fault=Refuse(status=401)),))]) as server:
        isolate(tmp_path, monkeypatch, name, server)
        code = main(["agents", "test", name])

    told = capsys.readouterr().out
    assert code == 1
    assert "auth: " in told
    assert f"next: {login}" in told


@pytest.mark.parametrize("name", ["claude"])
def test_the_list_says_which_version_is_installed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer([Scenario(turns=READY)]) as server:
        isolate(tmp_path, monkeypatch, name, server)
        code = main(["agents", "--json"])

    listed = {agent["name"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}
    assert code == 0
    assert listed[name]["installed"]
    assert listed[name]["version"].count(".") == 2
    assert "resumes" in listed[name]["abilities"]
