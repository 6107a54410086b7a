"""Commands that are found in a repository: proposed by init and validate, written on a yes, shown with their origin."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from drumline.app.adopting import choose_adopted, tell_found
from drumline.app.detection import Found, detect
from drumline.cli.main import main
from drumline.record import replace

PLAN = """# Tasks: Shop

## Phase 1: Setup

- [ ] T001 Add sums in `src/sums.py`
  - Run: `make sums`
- [ ] T002 Tidy up
  - Run: `make tidy || true`
- [ ] T003 Write the docs
"""
FILES = {
    "Makefile": "test:\n\ttrue\nlint:\n\ttrue\n",
    "package.json": '{"devDependencies": {"jest": "1"}, "scripts": {"build": "node build.js"}}',
    "package-lock.json": "{}",
    ".gitignore": "node_modules\n",
    "tasks.md": PLAN,
}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home" / "config"))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("npm", "make"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    found = tmp_path / "repo"
    found.mkdir()
    for name, text in FILES.items():
        (found / name).write_text(text)
    person = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*person, "commit", "-q", "-m", "start")):
        subprocess.run(["git", *words], cwd=found, check=True)
    monkeypatch.chdir(found)
    return found


def say(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[str, str]:
    assert main(list(args)) == 0
    told = capsys.readouterr()
    return told.out, told.err


def read(repo: Path) -> dict[str, object]:
    return tomllib.loads((repo / ".drumline/config.toml").read_text())


def test_init_lists_what_it_finds_and_without_a_terminal_writes_none_of_it(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, err = say(capsys, "init")

    assert "found for setup: npm ci (from package-lock.json)" in out
    assert "found for test: make test (from Makefile)" in out
    assert "drumline init --accept" in err
    assert read(repo) == {}


def test_what_is_accepted_is_written_before_the_explained_settings(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(capsys, "init", "--accept")

    commands = {"lint": "make lint", "build": "npm run build", "test": "make test"}
    assert read(repo) == {"setup": "npm ci", "commands": commands}
    assert '# rigor = "standard"' in (repo / ".drumline/config.toml").read_text()


def test_a_configuration_that_is_there_keeps_what_it_says_and_gets_the_rest(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / ".drumline").mkdir()
    (repo / ".drumline/config.toml").write_text('checks = ["true"]\n\n[agents.me]\nagent = "claude"\n')

    say(capsys, "init", "--accept")
    again, _ = say(capsys, "init", "--accept")

    assert read(repo) == {"setup": "npm ci", "checks": ["true"], "agents": {"me": {"agent": "claude"}}}
    assert "found" not in again


def test_commands_of_a_kind_that_is_named_already_stay_and_the_others_join_them(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / ".drumline").mkdir()
    (repo / ".drumline/config.toml").write_text('[commands] # ours\ntest = "true"\n\n[agents.me]\nagent = "claude"\n')

    out, _ = say(capsys, "init", "--accept")
    again, _ = say(capsys, "init", "--accept")

    commands = {"lint": "make lint", "build": "npm run build", "test": "true"}
    assert read(repo) == {"setup": "npm ci", "commands": commands, "agents": {"me": {"agent": "claude"}}}
    assert "wrote setup, lint, build into" in out
    assert "found" not in again


def test_two_commands_of_one_kind_become_one(tmp_path: Path) -> None:
    tree = {"Cargo.toml": "", "go.mod": ""}
    adopted = choose_adopted(detect([*tree], tree.get), {}, is_installed=lambda program: True)
    adopted.write(tmp_path / "config.toml")

    commands = tomllib.loads((tmp_path / "config.toml").read_text())["commands"]
    assert commands["format"] == "cargo fmt && gofmt -w ."
    assert commands["test"] == "cargo test && go test ./..."


def test_a_command_whose_program_is_not_installed_is_named_and_not_written() -> None:
    found = choose_adopted(detect(["Cargo.toml"], lambda name: ""), {}, is_installed=lambda program: program != "cargo")

    assert found.found == ()
    assert {each.command for each in found.missing} == {"cargo fmt", "cargo build", "cargo test"}


def test_validate_proposes_checks_and_a_setup_command(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = say(capsys, "validate", "tasks.md")

    assert "proposed for every step without a check: make test (from Makefile)" in out
    assert "found for setup: npm ci (from package-lock.json)" in out
    assert "drumline init --accept" in err


def test_checks_says_of_each_command_where_it_comes_from_and_what_it_proves(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(capsys, "init", "--accept")

    out, _ = say(capsys, "checks", "tasks.md")

    lines = out.splitlines()
    own = lines.index("T001: make sums") + 1
    every = lines.index("every step: test: make test") + 1
    assert lines[own] == "    from tasks.md:6; proves the step if it fails without the work"
    origin = "    from [commands] of .drumline/config.toml; proves steps without checks of their own"
    assert lines[every].startswith(origin)


def test_a_check_that_cannot_fail_is_said_to_prove_nothing(
    repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_CHECKS", "make test || true")

    out, _ = say(capsys, "checks")

    assert "every step: make test || true\n    from DRUMLINE_CHECKS; proves nothing: it cannot fail\n" in out


def test_checks_without_a_plan_shows_what_judges_every_step(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = say(capsys, "checks")
    told = json.loads(say(capsys, "checks", "--json")[0])

    assert "found for test: make test (from Makefile)" in out
    assert "drumline init --accept" in err
    assert {"kind": "setup", "command": "npm ci", "from": "package-lock.json"} in told["detected"]
    assert told["configured"] == []


def test_a_command_whose_program_is_missing_is_told_so_wherever_it_is_found() -> None:
    found = Found(kind="setup", command="no-such-program sync", place="some.lock", program="no-such-program")

    assert tell_found(found) == (
        "found for setup: no-such-program sync (from some.lock), but no-such-program is not installed"
    )
    assert tell_found(replace(found, program="git")).endswith("(from some.lock)")
