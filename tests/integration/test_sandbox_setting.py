"""The setting `sandbox`: what it refuses, what it says first, and how to get a sandbox on this system."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import PLAN, SCRIPTED, User, make_user, standing_in, step_text

from drumline.agents import open_agent
from drumline.agents.command import CommandAgent
from drumline.agents.jail import find_jail
from drumline.agents.sandbox import UNKNOWN, choose_jail, explain_absence, find_install_command
from drumline.cli.main import main
from drumline.core.ids import NO_DRIVER
from drumline.errors import InvalidInput
from drumline.processes.supervised import SupervisedProcesses

AGENT = "command:touch step-1.txt"
FLOW = """\
name: f
version: "1.0"
start: ask
nodes:
  ask: {{{}, prompt: x, next: over}}
  over: {{type: end, output: ok}}
"""


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[User]:
    """Somebody in a repository on a machine whose bubblewrap does not work."""
    made = make_user(tmp_path, step_text("step-1"))
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bwrap").write_text("#!/bin/sh\nexit 1\n")
    (programs / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    find_jail.cache_clear()
    with standing_in(made.repo, made.env):
        yield made
    find_jail.cache_clear()


def configure(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("place", ["repo/.drumline/config.toml", "home/config/drumline/config.toml"])
def test_where_it_is_required_no_agent_runs_without_it_and_nothing_is_begun(
    place: str, user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(user.folder / place, 'sandbox = "required"\n')

    code = main(["run", PLAN, "--agent", AGENT])

    said = capsys.readouterr().err
    assert code == 3
    assert "bubblewrap is there but may not make namespaces here" in said
    assert "sandbox = 'required' does not let an agent run without it" in said
    assert "next: sysctl kernel.unprivileged_userns_clone" in said
    assert not user.git("branch", "--list", "drumline/*")


def test_where_it_is_required_a_flow_is_refused_too(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    configure(user.repo / "f.yaml", FLOW.format("type: agent, agent: default"))
    configure(user.repo / ".drumline" / "config.toml", 'sandbox = "required"\n')

    code = main(["flow", "run", "f.yaml", "--agent", AGENT])

    assert code == 3
    assert "sandbox = 'required'" in capsys.readouterr().err


def test_a_model_that_may_start_commands_needs_it_as_well(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    configure(user.repo / "f.yaml", FLOW.format("type: llm, tools: [execute_command]"))
    configure(user.repo / ".drumline" / "config.toml", 'sandbox = "required"\n')

    code = main(["flow", "run", "f.yaml", "--model", "anthropic:x"])

    assert code == 3
    assert "sandbox = 'required'" in capsys.readouterr().err


def test_without_it_the_first_line_of_a_run_says_how_to_get_it(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", PLAN, "--agent", AGENT, "--autonomy", "autopilot"])

    first = capsys.readouterr().err.splitlines()[0]
    assert code == 0
    assert first.startswith("bubblewrap is there but may not make namespaces here (next: sysctl ")


def test_one_that_is_off_is_not_used_and_the_run_says_so(
    user: User, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_SANDBOX", "off")

    code = main(["run", PLAN, "--agent", AGENT, "--autonomy", "autopilot"])

    assert code == 0
    assert capsys.readouterr().err.splitlines()[0].startswith("the sandbox is off: ")


def test_what_an_agent_of_a_flow_writes_outside_is_told(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    configure(user.repo / "f.yaml", FLOW.format("type: agent, agent: default"))

    code = main(["flow", "run", "f.yaml", "--agent", "command:echo evil >> $HOME/.bashrc; echo done"])

    told = f"{user.folder}/home/.bashrc changed while it worked, outside its workspace"
    assert code == 0
    assert told in capsys.readouterr().err
    assert main(["flow", "run", "f.yaml", "--agent", "command:echo more >> $HOME/.bashrc; echo done", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["notices"] for event in events if event.get("notices")] == [[told]]


def test_an_agent_that_plays_a_file_needs_none(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRUMLINE_SANDBOX", "required")

    assert main(["run", PLAN, "--agent", SCRIPTED, "--autonomy", "autopilot"]) == 0


@pytest.mark.skipif(find_jail() is None, reason="bubblewrap does not work here")
def test_off_means_off_even_where_it_works(tmp_path: Path) -> None:
    processes = SupervisedProcesses(tmp_path, NO_DRIVER)
    free = open_agent(AGENT, processes=processes, base=tmp_path, sandbox="off")
    held = open_agent(AGENT, processes=processes, base=tmp_path, sandbox="required")

    assert isinstance(free, CommandAgent)
    assert isinstance(held, CommandAgent)
    assert (free.jail, held.jail) == (None, find_jail())


def test_a_machine_without_bubblewrap_is_told_from_one_that_forbids_it(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(user.folder))
    find_jail.cache_clear()

    absence = explain_absence()

    assert absence.reason == "is not installed"
    assert absence.hint == find_install_command()
    with pytest.raises(InvalidInput, match="bubblewrap is not installed"):
        choose_jail("required")


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=ubuntu\nID_LIKE=debian\n", "apt-get install bubblewrap"),
        ('ID="rocky"\nID_LIKE="rhel centos fedora"\n', "dnf install bubblewrap"),
        ("ID=opensuse-leap\n", "zypper install bubblewrap"),
        ("ID=alpine\n", "apk add bubblewrap"),
        ("ID=manjaro\nID_LIKE=arch\n", "pacman -S bubblewrap"),
        ("ID=plan9\n", UNKNOWN),
    ],
)
def test_the_command_that_installs_it_is_that_of_the_system(release: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text(release)

    found = find_install_command(tmp_path / "os-release")

    assert found.removeprefix("sudo ") == command
    assert find_install_command(tmp_path / "nowhere") == UNKNOWN
