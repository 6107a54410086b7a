"""Tests with real agent programs: every one is marked, and skipped with the reason where its program is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.agents.agent_fixture import BEHIND
from tests.agents.extras import find_agent, mark_extras
from tests.agents.programs import find_entry
from tools.agents.pins import Pin, cache_folder, find_reason, read_pins

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder, so that `make test` leaves it out, and what of it is long."""
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.agents)
    mark_extras(ours)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of an agent, named by its parameter `name`, whose program is not installed."""
    name = find_agent(item)
    program = BEHIND.get(name, name)
    if program and find_entry(program) is None:
        pytest.skip(explain(read_pins()[program], cache_folder()))


def explain(pin: Pin, cache: Path) -> str:
    """Why a program is missing: what stood in the way when it was to be installed, or that nobody has tried yet."""
    reason = find_reason(pin, cache)
    if reason.is_file():
        return f"{pin.name} {pin.version} could not be installed: {reason.read_text().strip()}"
    return f"{pin.name} {pin.version} is not in {cache}: make agents"
