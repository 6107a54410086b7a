"""What every test relies on: the examples of property tests, and how many tests run at once.

The rule: `make test` tries the same examples every time, `make test-full` fresh ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

MOST_WORKERS = 4

settings.register_profile("same", derandomize=True)
settings.register_profile("fresh", derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_EXAMPLES", "same"))


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: a test that waits for what it started leaves its core to another."""
    return min(MOST_WORKERS, (os.cpu_count() or 1) + 1)
