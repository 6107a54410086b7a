"""What the suites of the store share: every implementation of the port, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from drumline.ports.journal import Store
from drumline.store.sqlite import SqliteStore
from drumline.testing.store import MemoryStore


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A new store of each kind."""
    found: Store = MemoryStore() if request.param == "memory" else SqliteStore.open(tmp_path / "store.db")
    yield found
    found.close()
