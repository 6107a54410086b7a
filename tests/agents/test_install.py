"""Installing a program: it appears whole or not at all. npm is played by a small script; nothing is fetched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.agents.install import NotInstalled, install
from tools.agents.pins import Pin, find_program, read_pins

PIN = Pin(name="agent", version="1.2.3", package="agent@1.2.3", program="node_modules/agent/bin/*", needs="node")
NODE = Pin(name="node", version="22.0.0", package="node@22.0.0", program="node_modules/node/bin/node")
PINS = {"agent": PIN, "node": NODE}

NPM = """#!/bin/sh
for word in "$@"; do
  case $before in --prefix) room=$word ;; esac
  before=$word
done
echo called >> {calls}
mkdir -p "$room/node_modules/agent/bin"
printf '#!/bin/sh\\necho agent {version}\\n' > "$room/node_modules/agent/bin/agent"
exit {code}
"""


def play_npm(folder: Path, monkeypatch: pytest.MonkeyPatch, *, version: str = "1.2.3", code: int = 0) -> Path:
    """Put an npm on PATH that brings an agent of this version; the file of its calls is returned."""
    npm = folder / "path" / "npm"
    npm.parent.mkdir()
    npm.write_text(NPM.format(calls=folder / "calls", version=version, code=code))
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
    assert calls.read_text() == "called\n"


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


def test_every_pin_names_one_version_of_one_package() -> None:
    pins = read_pins()

    assert {"claude", "codex", "gemini", "opencode", "qwen", "goose", "node"} <= pins.keys()
    for pin in pins.values():
        assert pin.version in pin.package
        assert not pin.needs or pin.needs in pins
