"""What every implementation of Trust promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.core.trust import CHECK, SCRIPT, Brought
from drumline.ports.trust import Trust
from drumline.store.trustfile import FileTrust
from drumline.testing.trust import MemoryTrust

ONE = Brought(kind=CHECK, text="make test", place="plans/p/step-1.md")
TWO = Brought(kind=SCRIPT, text="go.sh", content="abc", place="flow.yaml", slot="go.sh")


@pytest.fixture(params=["file", "memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def open_one(kind: str, tmp_path: Path, *, asks: bool) -> Trust:
    if kind == "memory":
        return MemoryTrust(asks=asks)
    return FileTrust(path=tmp_path / "deep" / "trust.json", repository="/repo/.git", asks=asks)


def test_where_a_person_is_there_everything_new_has_to_be_accepted_first(kind: str, tmp_path: Path) -> None:
    trust = open_one(kind, tmp_path, asks=True)

    assert list(trust.find_untrusted([ONE, TWO, ONE])) == [ONE, TWO]


def test_where_nobody_is_there_only_what_was_refused_is_held_back(kind: str, tmp_path: Path) -> None:
    trust = open_one(kind, tmp_path, asks=False)
    trust.refuse([TWO])

    assert list(trust.find_untrusted([ONE, TWO])) == [TWO]


@pytest.mark.parametrize("asks", [True, False])
def test_what_was_made_up_in_a_run_waits_for_a_person_in_any_case(kind: str, tmp_path: Path, *, asks: bool) -> None:
    trust = open_one(kind, tmp_path, asks=asks)

    first, again = (list(trust.find_untrusted([ONE], made=True)) for _ in range(2))
    trust.accept([ONE])

    assert first == again == [ONE]
    assert list(trust.find_untrusted([ONE], made=True)) == []


@pytest.mark.parametrize("asks", [True, False])
def test_the_last_word_about_a_command_counts(kind: str, tmp_path: Path, asks: bool) -> None:
    trust = open_one(kind, tmp_path, asks=asks)
    trust.refuse([ONE])
    trust.accept([ONE])
    trust.accept([TWO])
    trust.refuse([TWO])

    assert list(trust.find_untrusted([ONE, TWO])) == [TWO]


def test_a_changed_command_is_another_one_and_its_place_does_not_matter(kind: str, tmp_path: Path) -> None:
    trust = open_one(kind, tmp_path, asks=True)
    trust.accept([ONE, TWO])
    moved = Brought(kind=CHECK, text="make test", place="elsewhere.md")
    changed = Brought(kind=SCRIPT, text="go.sh", content="other", slot="go.sh")

    assert list(trust.find_untrusted([moved, changed])) == [changed]
