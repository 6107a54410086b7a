"""What `drumline agents` says: which agents can be used, what they lack, and how a trial of one went."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

import pytest
from tests.integration import acpactor
from tests.modelserver import ModelServer, Scenario, Turn, Write
from tests.supervision import supervise

from drumline import extras
from drumline.agents import open_agent
from drumline.agents.acp import AcpAgent
from drumline.agents.command import CommandAgent
from drumline.agents.jail import Jail, find_jail
from drumline.app.agents import ask_version, describe_builtin, is_jailed, judge, list_agents, sort_listed, try_agent
from drumline.cli.main import main
from drumline.core.taxonomy import Failure
from drumline.models.builtin import BuiltinAgent
from drumline.models.tiers import KEYS
from drumline.ports.agents import Outcome
from drumline.record import replace

HELD = ("acp", "builtin", "command")
READY = (Turn(calls=(Write(path="hello.txt", content="ready\n"),)), Turn(text="done"))


@pytest.fixture(autouse=True)
def keyless(monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider's key is in the environment."""
    for name in os.environ:
        if name.endswith("_API_KEY"):
            monkeypatch.delenv(name)


def test_the_built_in_agent_without_a_key_cannot_be_used_and_says_what_to_set() -> None:
    listed = describe_builtin({"ANTHROPIC_API_KEY": ""})

    assert (listed.installed, listed.usable) == (True, False)
    assert all(key in listed.fault for key in KEYS)
    assert listed.next.startswith("export ANTHROPIC_API_KEY=")
    assert "resumes" in listed.abilities


@pytest.mark.parametrize("key", KEYS)
def test_the_built_in_agent_can_be_used_with_any_providers_key(key: str) -> None:
    listed = describe_builtin({key: "sk-secret"})

    assert (listed.usable, listed.fault, listed.next) == (True, "", "")
    assert all(listed.tiers.values())
    assert "sk-secret" not in repr(listed)


@pytest.mark.parametrize(
    ("environ", "said", "extra"),
    [
        (
            {"OPENAI_API_KEY": "x"},
            "the models of 'openai' need the package 'pydantic-ai', which is not installed",
            "openai",
        ),
        ({}, "which is not installed; it also has no API key: set one of ANTHROPIC_API_KEY", "models"),
    ],
)
def test_the_built_in_agent_without_its_library_cannot_be_used_and_says_what_to_install(
    environ: dict[str, str], said: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)

    listed = describe_builtin(environ)

    assert not listed.usable
    assert said in listed.fault
    assert f"'drumline[{extra}]'" in listed.next


def test_agents_that_cannot_be_used_come_last(monkeypatch: pytest.MonkeyPatch) -> None:
    last = sort_listed(list_agents())[-1]
    monkeypatch.setenv("OPENAI_API_KEY", "x")

    usable = [listed.usable for listed in sort_listed(list_agents())]

    assert not last.usable
    assert usable == sorted(usable, reverse=True)


def test_scripts_read_whether_an_agent_can_be_used(capsys: pytest.CaptureFixture[str]) -> None:
    main(["agents", "--json"])

    found = {agent["name"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}
    assert (found["builtin"]["usable"], found["command"]["usable"]) == (False, True)


def test_the_list_tells_people_what_the_built_in_agent_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    main(["agents"])

    told = capsys.readouterr().out
    assert "· builtin: has no API key" in told
    assert "✓ builtin" not in told


@pytest.mark.parametrize("jail", [Jail(program="bwrap"), None], ids=["jailed", "free"])
@pytest.mark.parametrize("spec", ["acp:" + shlex.quote(sys.executable), "builtin", "command:true"], ids=HELD)
def test_agents_that_are_no_programs_of_ours_are_jailed_if_they_have_a_jail(
    spec: str, jail: Jail | None, tmp_path: Path
) -> None:
    agent = open_agent(spec, processes=supervise(tmp_path), base=tmp_path)
    assert isinstance(agent, AcpAgent | BuiltinAgent | CommandAgent)

    held = replace(agent, jail=jail)

    assert is_jailed(held) == (jail is not None)


def test_a_script_is_never_jailed(tmp_path: Path) -> None:
    (tmp_path / "play.yaml").write_text("default: {say: hello}\n")
    agent = open_agent("scripted:play.yaml", processes=supervise(tmp_path), base=tmp_path)

    assert not is_jailed(agent)


def test_a_trial_of_the_built_in_agent_says_whether_it_was_held(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer([Scenario(turns=READY)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        code = main(["agents", "test", "builtin:openai-chat:scripted", "--json"])

    told = json.loads(capsys.readouterr().out)
    assert (code, told["edited"], told["fault"]) == (0, True, "")
    assert told["jailed"] == (find_jail() is not None)


def test_a_name_that_is_no_agent_is_refused_before_anybody_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["agents", "test", "cluade"])

    told = capsys.readouterr().err
    assert code == 3
    assert "'cluade' does not name an agent; the nearest is 'claude' (legal: " in told
    assert "is asked" not in told


@pytest.mark.parametrize(
    ("said", "version"), [("copilot 1.0.102.", "1.0.102"), ("v2.1.0-beta.3 (x)", "2.1.0-beta.3"), ("none", "")]
)
def test_the_version_is_taken_out_of_what_a_program_says(tmp_path: Path, said: str, version: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho '{said}'\n", encoding="utf-8")
    program.chmod(0o755)

    assert ask_version(program, cache=tmp_path / "cache.json") == version


def test_a_trial_without_a_key_says_what_to_set() -> None:
    trial = try_agent("builtin")

    assert trial.fault.startswith("auth: ")
    assert trial.next.startswith("export ANTHROPIC_API_KEY=")


def test_a_trial_over_the_protocol_says_whether_it_was_held(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.join([sys.executable, acpactor.__file__, str(tmp_path), "locked"])

    code = main(["agents", "test", f"acp:{words}"])

    told = capsys.readouterr().out
    assert code == 1
    assert "Authentication required" in told
    assert f"held by bubblewrap: {'yes' if find_jail() else 'no'}" in told


def test_what_to_type_to_try_again_names_the_whole_agent() -> None:
    _, advice = judge("acp:gemini --acp", Outcome(failure=Failure.CRASH.value, message="gone"), edited=False)

    assert advice == "drumline agents test 'acp:gemini --acp'"
