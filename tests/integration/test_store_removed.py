"""Stores and logs that somebody deletes or replaces under a process that has them open."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from drumline.core.events import ModeChanged
from drumline.core.ids import DriverId, RunId, StepId, Stream
from drumline.core.vocabulary import Mode
from drumline.errors import StoreError
from drumline.ports.journal import Addition
from drumline.store.sqlite import SqliteStore

OF_RUN = Stream(RunId("r1"))
OF_STEP = Stream(RunId("r1"), StepId("s"))
RUN = RunId("r1")


async def append(store: SqliteStore, count: int = 1) -> None:
    await store.append({OF_RUN: Addition(events=[ModeChanged(mode=Mode.PARALLEL)] * count)})


def remove(file: Path) -> None:
    file.unlink()


def remove_all(file: Path) -> None:
    shutil.rmtree(file.parent)


def replace_by_copy(file: Path) -> None:
    copy = file.with_name("copy")
    shutil.copy(file, copy)
    copy.replace(file)


@pytest.mark.parametrize("lose", [remove, remove_all, replace_by_copy])
def test_a_store_that_is_not_at_its_place_any_more_is_noticed_by_the_next_write(
    tmp_path: Path, lose: Callable[[Path], None]
) -> None:
    file = tmp_path / "state" / "state.db"
    store = SqliteStore.open(file)
    anyio.run(append, store)

    lose(file)

    with pytest.raises(StoreError, match=r"was removed|was replaced") as caught:
        anyio.run(append, store)
    assert "drumline resume" in caught.value.hint
    store.close()


@pytest.mark.parametrize("lose", [remove, replace_by_copy])
def test_a_claimed_append_and_a_look_notice_it_as_well(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    file = tmp_path / "state.db"
    store = SqliteStore.open(file)
    token = store.take(RUN, StepId("s"), DriverId("d"))

    async def work(times: int) -> None:
        for number in range(times):
            addition = Addition(events=[ModeChanged(mode=Mode.PARALLEL)], expected=start + number)
            await store.append({OF_STEP: addition}, token=token)

    start = 0
    anyio.run(work, 8)
    lose(file)
    start = 8

    with pytest.raises(StoreError, match=r"was removed|was replaced"):
        anyio.run(work, 1)
    with pytest.raises(StoreError, match=r"was removed|was replaced"):
        store.position()
    with pytest.raises(StoreError, match=r"was removed|was replaced"):
        store.tail(RUN)
    store.close()


def test_a_log_that_is_deleted_in_use_loses_nothing(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    store = SqliteStore.open(file)
    anyio.run(append, store, 50)

    Path(f"{file}-wal").unlink()

    with pytest.raises(StoreError, match=r"log .* was deleted") as caught:
        anyio.run(append, store)
    assert caught.value.hint == "drumline resume"
    store.close()
    again = SqliteStore.open(file)
    assert len(again.tail(RUN)) == 51
    assert again.find_damage() == ()
    again.close()


def test_the_log_of_a_killed_process_can_be_deleted_without_losing_the_run(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    code = (
        "import anyio, os, signal, sys; from pathlib import Path\n"
        "from tests.integration.test_store_removed import append\n"
        "from drumline.store.sqlite import SqliteStore\n"
        "store = SqliteStore.open(Path(sys.argv[1])); anyio.run(append, store, 20)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, file], check=False, cwd=Path(__file__).parents[2])

    Path(f"{file}-wal").unlink()
    Path(f"{file}-shm").unlink()

    store = SqliteStore.open(file)
    assert len(store.tail(RUN)) == 20
    store.close()


def move_aside(file: Path) -> None:
    file.rename(file.with_name("aside"))


def move_folder_aside(file: Path) -> None:
    file.parent.rename(file.parent.with_name("aside"))


@pytest.mark.parametrize("lose", [move_aside, move_folder_aside])
def test_a_store_that_was_moved_is_noticed_soon(tmp_path: Path, lose: Callable[[Path], None]) -> None:
    file = tmp_path / "state" / "state.db"
    store = SqliteStore.open(file)
    anyio.run(append, store)

    lose(file)
    time.sleep(0.05)

    with pytest.raises(StoreError, match=r"was removed|was replaced"):
        anyio.run(append, store)
    store.close()
