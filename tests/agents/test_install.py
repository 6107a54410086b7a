"""Installing a program: it appears whole or not at all. npm is played by a small script; nothing is fetched."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from tests.agents.conftest import explain
from tools.agents import install as installer
from tools.agents.install import NotInstalled, install, install_all
from tools.agents.pins import Pin, find_program, read_pins

PIN = Pin(name="agent", version="1.2.3", package="agent@1.2.3", program="node_modules/agent/bin/*", needs="node")
NODE = Pin(name="node", version="22.0.0", package="node@22.0.0", program="node_modules/node/bin/node")
PINS = {"agent": PIN, "node": NODE}

NPM = """#!/bin/sh
echo "$1" >> {calls}
{answer}
for word in "$@"; do
  case $before in --prefix) room=$word ;; esac
  before=$word
done
mkdir -p "$room/node_modules/agent/bin"
printf '#!/bin/sh\\necho agent {version}\\n' > "$room/node_modules/agent/bin/agent"
exit {code}
"""


# What npm does when it is asked for a package: it knows it, it does not, it reaches nobody, it waits for an answer.
KNOWN = "[ $1 = view ] && echo 1.2.3 && exit"
UNKNOWN = "echo npm error code E404 >&2; exit 1"
CUT_OFF = "echo npm error code ECONNREFUSED >&2; exit 1"
WAITING = "exec sleep 60"


def play_npm(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *, version: str = "1.2.3", code: int = 0, answer: str = KNOWN
) -> Path:
    """Put an npm on PATH that brings an agent of this version; the file of its calls is returned."""
    npm = folder / "path" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM.format(calls=folder / "calls", version=version, code=code, answer=answer))
    npm.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npm.parent}{os.pathsep}{os.defpath}")
    (folder / "cache").mkdir()
    return folder / "calls"


def test_an_installed_program_stands_in_a_folder_of_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = play_npm(tmp_path, monkeypatch)

    entry = install(PIN, tmp_path / "cache", PINS)
    again = install(PIN, tmp_path / "cache", PINS)

    assert entry == again == tmp_path / "cache" / "agent-1.2.3" / "bin" / "agent"
    assert entry.resolve().read_text().startswith("#!/bin/sh")
    assert (entry.parent / "node").readlink() == Path("../../node-22.0.0/bin/node")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["agent-1.2.3"]
    assert calls.read_text().split() == ["view", "install"]


@pytest.mark.parametrize(("version", "code"), [("9.9.9", 0), ("1.2.3", 7)], ids=["another version", "npm fails"])
def test_what_is_not_right_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, code: int
) -> None:
    play_npm(tmp_path, monkeypatch, version=version, code=code)

    with pytest.raises(NotInstalled):
        install(PIN, tmp_path / "cache", PINS)

    assert list((tmp_path / "cache").iterdir()) == []
    assert find_program(PIN, tmp_path / "cache") is None


def test_without_npm_it_is_said_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(NotInstalled, match="npm is not on PATH"):
        install(PIN, tmp_path, PINS)


@pytest.mark.parametrize(
    ("answer", "reason", "asked"),
    [(UNKNOWN, "E404", 2), (CUT_OFF, "ECONNREFUSED", 1), (WAITING, "got no answer", 1)],
    ids=["unknown", "cut off", "waiting"],
)
def test_a_program_that_cannot_be_had_is_skipped_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, reason: str, asked: int
) -> None:
    calls = play_npm(tmp_path, monkeypatch, answer=answer)
    monkeypatch.setenv("DRUMLINE_AGENTS_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(installer, "ASK_LIMIT", 1.0)

    code = install_all([PIN], PINS)

    assert code == 1
    # Where nobody is reached, it is no use to ask for the next one.
    assert calls.read_text().split() == ["view"] * asked
    assert [reason in explain(pin, tmp_path / "cache") for pin in (NODE, PIN)] == [True, True]


def test_the_reason_is_forgotten_once_the_program_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play_npm(tmp_path, monkeypatch)
    monkeypatch.setenv("DRUMLINE_AGENTS_DIR", str(tmp_path / "cache"))
    alone = dataclasses.replace(PIN, needs="")
    (tmp_path / "cache" / "agent-1.2.3.missing").write_text("an old reason\n")

    code = install_all([alone], {"agent": alone})

    assert code == 0
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["agent-1.2.3"]


def test_a_cache_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DRUMLINE_AGENTS_DIR", str(tmp_path / "file" / "cache"))

    code = install_all([PIN], PINS)

    assert code == 1
    assert "cannot be made" in capsys.readouterr().err


def test_every_pin_names_one_version_of_one_package() -> None:
    pins = read_pins()

    assert {"claude", "codex", "gemini", "opencode", "qwen", "goose", "node"} <= pins.keys()
    for pin in pins.values():
        assert pin.version in pin.package
        assert not pin.needs or pin.needs in pins
