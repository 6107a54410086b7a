"""Verdicts about trees are kept in files for other drivers and later runs: whole or not at all, and not for long."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from drumline.core.ids import Tree
from drumline.engine import basecache
from drumline.engine.basecache import OLDEST, BaseCache, CacheKey, Kept
from drumline.record import replace

KEY = CacheKey(tree=Tree("a" * 40), command="make test", setup="s", environment="e")
KEPT = Kept(exit_code=1, output="1 failed\n", seconds=2.5, tests={"test_a": "failed"}, patched=("assertEqual",))


@pytest.fixture
def cache(tmp_path: Path) -> BaseCache:
    return BaseCache(folder=tmp_path / "bases")


def test_a_verdict_is_found_again(cache: BaseCache) -> None:
    cache.keep(KEY, KEPT)

    assert cache.find(KEY) == KEPT
    assert [place.name for place in cache.folder.iterdir()] == [KEY.name]


@pytest.mark.parametrize("field", ["tree", "command", "setup", "environment"])
def test_a_verdict_about_something_else_is_not_one(cache: BaseCache, field: str) -> None:
    other = replace(KEY, **{field: "other"})
    cache.keep(KEY, KEPT)

    assert cache.find(other) is None
    (cache.folder / KEY.name).rename(cache.folder / other.name)
    assert cache.find(other) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"key": {}, "kept": {}}', b"\xff\xfe"])
def test_a_damaged_file_is_not_a_verdict(cache: BaseCache, content: bytes) -> None:
    cache.keep(KEY, KEPT)

    (cache.folder / KEY.name).write_bytes(content)

    assert cache.find(KEY) is None


def test_what_is_too_old_is_not_found_and_goes(cache: BaseCache) -> None:
    cache.keep(KEY, KEPT)
    before = time.time() - OLDEST - 60
    os.utime(cache.folder / KEY.name, (before, before))
    (cache.folder / ".left.tmp").touch()
    os.utime(cache.folder / ".left.tmp", (before, before))

    assert cache.find(KEY) is None
    cache.keep(replace(KEY, command="other"), KEPT)

    assert len([*cache.folder.iterdir()]) == 1


def test_there_are_never_more_than_so_many(cache: BaseCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basecache, "MOST", 3)

    for number in range(5):
        cache.keep(replace(KEY, command=f"{number}"), KEPT)
        os.utime(cache.folder / replace(KEY, command=f"{number}").name, (number + time.time() - 10,) * 2)

    assert [cache.find(replace(KEY, command=f"{number}")) is not None for number in range(5)] == [False] * 2 + [
        True
    ] * 3


def test_a_verdict_that_is_too_large_and_a_folder_that_cannot_be_written_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    BaseCache(folder=tmp_path / "file/bases").keep(KEY, KEPT)
    large = BaseCache(folder=tmp_path / "bases")
    large.keep(KEY, replace(KEPT, output="x" * basecache.MOST_BYTES))

    assert large.find(KEY) is None
