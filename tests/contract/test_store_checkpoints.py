"""Checkpoints: a cache beside the journal, the newest of each run."""

from __future__ import annotations

from drumline.core.ids import RunId
from drumline.ports.journal import Checkpoint, Store

ONE, OTHER = RunId("one"), RunId("other")


def test_a_run_without_a_checkpoint_has_none(store: Store) -> None:
    assert store.checkpoint(ONE) is None


def test_the_newest_checkpoint_of_each_run_is_kept(store: Store) -> None:
    first, second = Checkpoint(version=3, seq=9, body="a" * 100_000), Checkpoint(version=7, seq=20, body="b")

    store.keep_checkpoint(ONE, first)
    store.keep_checkpoint(OTHER, second)
    store.keep_checkpoint(ONE, second)
    store.keep_checkpoint(ONE, first)

    assert store.checkpoint(ONE) == second
    assert store.checkpoint(OTHER) == second
