"""Tests with real agent programs: every one is marked, and skipped with the reason where its program is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.programs import find_entry
from tests.agents.seats import BEHIND
from tools.agents.pins import Pin, cache_folder, find_reason, read_pins

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
        pytest.skip(explain(read_pins()[program], cache_folder()))


def explain(pin: Pin, cache: Path) -> str:
    """Why a program is missing: what stood in the way when it was to be installed, or that nobody has tried yet."""
    reason = find_reason(pin, cache)
    if reason.is_file():
        return f"{pin.name} {pin.version} could not be installed: {reason.read_text().strip()}"
    return f"{pin.name} {pin.version} is not in {cache}: make agents"
