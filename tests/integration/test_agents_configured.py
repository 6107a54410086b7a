"""`drumline agents`, its trial and `doctor` in a repository: what is configured there counts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from drumline.cli.main import main
from drumline.health import examine

CLAUDE = """\
#!/bin/bash
if [ "$1" = --version ]; then echo '9.8.7 (Claude Code)'; exit; fi
read -r _
echo ready > hello.txt
echo "{\\"type\\":\\"result\\",\\"subtype\\":\\"success\\",\\"is_error\\":false,\\"result\\":\\"$*\\",\
\\"terminal_reason\\":\\"completed\\"}"
"""
LISTED = """\
agent = "claude"

[agents.claude]
fast = "my-own"

[agents.mine]
agent = "claude:chosen"

[agents.default-one]
tier = "strong"

[agents.script]
agent = "command:true"

[agents.typo]
agent = "cluade"
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository to be in, on a machine with Claude Code."""
    place, programs = tmp_path / "repository", tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text(CLAUDE)
    (programs / "claude").chmod(0o755)
    subprocess.run(["git", "init", "--quiet", str(place)], check=True)
    (place / ".drumline").mkdir()
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(place)
    return place


def configure(repository: Path, text: str) -> None:
    """Write the configuration."""
    (repository / ".drumline" / "config.toml").write_text(text)


def test_the_list_has_the_names_and_models_of_the_configuration(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(repository, LISTED)

    code = main(["agents", "--json"])

    listed = {agent["name"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}
    assert code == 0
    assert (listed["claude"]["tiers"]["fast"], listed["claude"]["agent"]) == ("my-own", "")
    assert listed["mine"]["agent"] == "claude:chosen"
    assert set(listed["mine"]["tiers"].values()) == {"chosen"}
    assert (listed["default-one"]["agent"], listed["default-one"]["version"]) == ("claude", "9.8.7")
    assert listed["script"]["usable"]
    assert (listed["typo"]["usable"], listed["typo"]["fault"]) == (False, "there is no agent 'cluade'")


def test_a_table_without_an_agent_where_there_is_no_default_one_says_so(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(repository, '[agents.lost]\ntier = "fast"\n')

    main(["agents"])

    assert "· lost: names no agent, and there is no default one" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("config", "name", "words"),
    [
        ('[agents.mine]\nagent = "claude"\nmodel = "chosen"\n', "mine", "--model chosen"),
        ('[agents.claude]\nfast = "my-own"\n', "claude", "--model my-own"),
        ('[agents.mine]\nagent = "claude"\ntier = "strong"\nstrong = "best"\n', "mine", "--model best"),
        ('agent = "claude"\n\n[agents.mine]\nmodel = "chosen"\n', "mine", "--model chosen"),
    ],
)
def test_a_trial_opens_an_agent_as_a_run_would(
    config: str, name: str, words: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(repository, config)

    code = main(["agents", "test", name, "--json"])

    told = json.loads(capsys.readouterr().out)
    assert (code, told["agent"], told["edited"]) == (0, name, True)
    assert words in told["message"]


def test_a_trial_lends_what_the_configuration_lends(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(repository, '[agents.command]\nenv = ["LENT"]\n')
    monkeypatch.setenv("LENT", "ready")
    monkeypatch.setenv("UNLENT", "never")

    code = main(["agents", "test", "command:echo $LENT$UNLENT > hello.txt", "--json"])

    assert (code, json.loads(capsys.readouterr().out)["edited"]) == (0, True)


def test_a_broken_configuration_is_told(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(repository, "[agents.mine]\nagnet = 'claude'\n")

    code = main(["agents", "test", "mine"])
    findings = {finding.name: finding for finding in examine()}

    assert code != 0
    assert "agents.mine.agnet" in capsys.readouterr().err
    assert findings["config"].level == "problem"
    assert "agents.mine.agnet" in findings["config"].text


def test_outside_a_repository_agents_are_listed_and_tried_without_configuration(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    configure(repository, LISTED)
    monkeypatch.chdir(tmp_path)

    main(["agents", "--json"])
    listed = {agent["name"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}
    code = main(["agents", "test", "command:echo ready > hello.txt"])

    assert code == 0
    assert "mine" not in listed
    assert listed["claude"]["tiers"]["fast"] != "my-own"


@pytest.mark.usefixtures("repository")
def test_doctor_says_of_no_agent_without_a_key_that_it_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    told = {finding.name: finding.text for finding in examine()}

    assert "acp" not in told
    assert told["claude"].startswith("9.8.7 at ")


def test_doctor_tells_names_that_stand_for_no_agent(repository: Path) -> None:
    configure(repository, LISTED)

    told = {finding.name: finding.text for finding in examine()}

    assert told["typo"] == "there is no agent 'cluade'"
    assert told["mine"].startswith("9.8.7 at ")


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1 + 'x'", "TypeError: unsupported operand"),
        ("raise SystemExit", "SystemExit"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_a_package_that_breaks_while_it_is_loaded_is_told_and_the_others_are_listed(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    info = tmp_path / "site" / "broken_agents-1.0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "broken_agents.py").write_text(f"{line}\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-agents\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[drumline.agents]\nbroken = broken_agents:X\n")
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.delitem(sys.modules, "broken_agents", raising=False)

    code = main(["agents"])
    told = capsys.readouterr().out
    findings = {finding.name: finding.text for finding in examine()}

    assert code == 0
    assert f"cannot be loaded from broken_agents:X of the package broken-agents: {words}" in told
    assert "✓ claude 9.8.7" in told
    assert words in findings["broken"]
