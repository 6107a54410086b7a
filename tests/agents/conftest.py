"""Tests with real agent programs: every one is marked, and skipped with the reason where its program is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.programs import find_entry
from tools.agents.pins import cache_folder, read_pins

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder, so that `make test` leaves it out."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.agents)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of a program, named by its parameter `name`, that is not installed."""
    callspec = getattr(item, "callspec", None)
    name = callspec.params.get("name") if callspec else None
    if name and find_entry(name) is None:
        pin = read_pins()[name]
        pytest.skip(f"{name} {pin.version} is not in {cache_folder()}: make agents")
