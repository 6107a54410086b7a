"""The list of repeated cases is true: each entry leaves something out, and something of the same test stays."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from tests.forking import PLAIN_PYTEST
from tests.repeats import REPEATS, is_repeat, name_test
from tests.shown import SHOWN

HERE = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is collected here are our own tests, which need the plugins that projects under test start without."""
    monkeypatch.delenv(PLAIN_PYTEST, raising=False)


class Collected:
    """Keeps what pytest has collected."""

    def __init__(self) -> None:
        self.items: list[pytest.Function] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Hear of the end of the collection."""
        self.items = [item for item in session.items if isinstance(item, pytest.Function)]


@pytest.mark.long
def test_each_entry_leaves_cases_out_and_one_case_stays() -> None:
    files = sorted({path for name in REPEATS for path in HERE.glob(f"*/{name.partition('.')[0]}.py")})
    found = Collected()

    pytest.main(["--collect-only", "-q", *map(str, files)], plugins=[found])

    cases = {(name_test(item), item.callspec.id): item for item in found.items if hasattr(item, "callspec")}
    unused = [
        (name, pattern)
        for name, patterns in REPEATS.items()
        for pattern in patterns
        if not any(test == name and fnmatchcase(case, pattern) for test, case in cases)
    ]
    short = {test for (test, _), item in cases.items() if not is_repeat(item)}
    assert unused == []
    assert set(REPEATS) <= short


@pytest.mark.long
def test_what_is_left_out_as_a_whole_is_there_and_so_is_what_shows_the_same() -> None:
    found = Collected()

    pytest.main(["--collect-only", "-q", "-m", "not agents", str(HERE)], plugins=[found])

    every = {name_test(item) for item in found.items}
    short = {name_test(item) for item in found.items if item.get_closest_marker("long") is None}
    assert sorted(set(SHOWN) - every) == []
    assert sorted(set(SHOWN.values()) - short) == []
    assert sorted(set(SHOWN) & short) == []
