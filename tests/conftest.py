"""What every test relies on: the examples of property tests, and how many tests run at once.

The rule: what is chosen here decides how long the tests take, never which of them there are.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator

import pytest
from tests.examples import choose_examples
from tests.forking import run_forked
from tests.repeats import mark_repeats

MOST_WORKERS = 4

choose_examples()


def pytest_xdist_auto_num_workers() -> int:
    """Two workers more than there are cores: a test that waits for what it started leaves its core to another."""
    return min(MOST_WORKERS, (os.cpu_count() or 1) + 2)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `--forks` say how many processes run the tests that one has collected."""
    parser.addoption("--forks", type=int, default=1, help="run the collected tests in this many forked processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the tests in forks of this process if that was asked for."""
    count: int = session.config.getoption("forks")
    return run_forked(session, count) if count > 1 else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: it is not searched for garbage after every few tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what repeats another test, unless everything is tried."""
    mark_repeats(items)
