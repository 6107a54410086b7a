"""Test runners from npm, at the versions in `runners.toml`; a test that needs one is skipped without a registry."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.agents.install import NotInstalled, install
from tools.agents.pins import cache_folder, read_pins

PINS = {**read_pins(), **read_pins(Path(__file__).with_name("runners.toml"))}


def find_packages(name: str) -> Path:
    """The folder `node_modules` in which a runner is installed."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    try:
        install(PINS["node"], cache, PINS)
        program = install(PINS[name], cache, PINS)
    except NotInstalled as error:
        pytest.skip(f"{name} cannot be installed: {error}")
    return program.parent.parent / "node_modules"
