"""Tests with real agent programs: every one is marked, and skipped with the reason where its program is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.programs import find_entry
from tests.agents.seats import BEHIND
from tools.agents.pins import cache_folder, read_pins

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder, so that `make test` leaves it out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.agents)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of an agent, named by its parameter `name`, whose program is not installed."""
    callspec = getattr(item, "callspec", None)
    name = str(callspec.params.get("name", "")) if callspec else ""
    program = BEHIND.get(name, name)
    if program and find_entry(program) is None:
        pin = read_pins()[program]
        pytest.skip(f"{program} {pin.version} is not in {cache_folder()}: make agents")
