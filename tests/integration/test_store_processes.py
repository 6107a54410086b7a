"""One SQLite file shared by tasks, connections and processes: group commit, locks, sudden death."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from tests.contract.stores import ME, NO, OF_A, OF_B, OF_RUN, RUN, YES, YOU, A, add, append, claim, mode, names_in

from drumline.core.events import CancelRequested
from drumline.core.ids import StepId, Stream
from drumline.errors import Conflict, StoreError
from drumline.ports.journal import Addition, Claim, Store
from drumline.store.faults import find_writer
from drumline.store.sqlite import SqliteStore


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """Two connections to one file, as two processes have them."""
    one, other = SqliteStore.open(tmp_path / "store.db"), SqliteStore.open(tmp_path / "store.db")
    yield one, other
    one.close()
    other.close()


async def append_chains(store: Store, chains: int, length: int) -> None:
    async def grow(stream: Stream) -> None:
        for version in range(length):
            await store.append({stream: add(str(version), expected=version)})

    async with anyio.create_task_group() as group:
        for number in range(chains):
            group.start_soon(grow, Stream(RUN, StepId(f"s{number}")))


def test_chains_in_one_loop_share_transactions(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")

    anyio.run(append_chains, store, 8, 10)

    assert len(store.tail(RUN)) == 80
    assert store.commits <= 20
    store.close()


def test_a_big_body_is_kept_once_however_often_it_is_written(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")
    big = mode("x" * 400_000)

    for _ in range(5):
        append(store, {OF_A: Addition(events=[big, big])})

    assert [r.event for r in store.read(OF_A)] == [big] * 10
    store.close()
    assert (tmp_path / "store.db").stat().st_size < 2 * 400_000


def test_two_connections_see_each_other_at_once(shared: tuple[SqliteStore, SqliteStore]) -> None:
    one, other = shared
    before = other.position()

    append(one, {OF_A: add("1")})
    token = claim(one)
    one.put(RUN, YES)

    assert other.position() != before
    assert names_in(other.tail(RUN)) == ["1"]
    assert other.take(RUN, A, YOU) is None
    assert other.list_claims(RUN) == {A: Claim(driver=ME, token=token)}
    assert other.put(RUN, NO) == YES


def test_versions_remembered_by_one_connection_do_not_hide_what_another_wrote(
    shared: tuple[SqliteStore, SqliteStore],
) -> None:
    one, other = shared
    append(one, {OF_A: add("1", expected=0)})
    append(other, {OF_A: add("2", expected=1)})

    with pytest.raises(Conflict, match="at version 2, not at 1"):
        append(one, {OF_B: add("never"), OF_A: add("lost", expected=1)})
    append(other, {OF_A: add("3")})
    append(one, {OF_A: add("4")})

    assert names_in(one.tail(RUN)) == ["1", "2", "3", "4"]


def test_an_empty_addition_notices_what_another_connection_wrote(shared: tuple[SqliteStore, SqliteStore]) -> None:
    one, other = shared
    append(one, {OF_A: add("1", expected=0)})
    append(other, {OF_A: add("2", expected=1)})

    with pytest.raises(Conflict):
        append(one, {OF_A: add(expected=1), OF_RUN: add("never")})

    assert one.read(OF_RUN) == []


CONTENDER = """
import sys, anyio
from pathlib import Path
from drumline.core.events import CancelRequested
from drumline.core.ids import DriverId, RunId, StepId, Stream
from drumline.ports.journal import Addition
from drumline.store.sqlite import SqliteStore

async def main():
    store, me = SqliteStore.open(Path(sys.argv[1])), DriverId(sys.argv[2])
    for number in range(40):
        step = StepId(str(number))
        token = store.take(RunId("r1"), step, me)
        if token is not None:
            event = CancelRequested(reason=me)
            await store.append({Stream(RunId("r1"), step): Addition(events=[event], expected=0)}, token=token)
            await store.append({Stream(RunId("r1")): Addition(events=[event])})
    store.close()

anyio.run(main)
"""


def test_processes_that_create_and_share_one_file_claim_every_step_once(tmp_path: Path) -> None:
    file = tmp_path / "not yet made" / "store.db"
    argv = [sys.executable, "-c", CONTENDER, str(file)]

    children = [subprocess.Popen([*argv, f"d{n}"]) for n in range(3)]
    codes = [child.wait(timeout=120) for child in children]

    assert codes == [0, 0, 0]
    store = SqliteStore.open(file, read_only=True)
    claims = store.list_claims(RUN)
    assert len(claims) == 40
    assert len({c.token for c in claims.values()}) == 40
    for step, held in claims.items():
        assert names_in(store.read(Stream(RUN, step))) == [held.driver]
    assert [r.version for r in store.read(OF_RUN)] == list(range(1, 41))
    store.close()


def test_what_was_queued_when_a_loop_ended_does_not_block_the_next_loop(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.db")

    async def end_with_an_append_queued() -> None:
        store.append({OF_A: add("abandoned")}).send(None)
        raise SystemExit

    loop = asyncio.new_event_loop()
    with pytest.raises(SystemExit):
        loop.run_until_complete(end_with_an_append_queued())
    loop.close()
    append(store, {OF_B: add("kept")})

    assert names_in(store.read(OF_B)) == ["kept"]
    store.close()


def test_closing_writes_what_is_still_queued(tmp_path: Path) -> None:
    async def work() -> None:
        store = SqliteStore.open(tmp_path / "store.db")
        async with anyio.create_task_group() as group:
            group.start_soon(store.append, {OF_A: add("queued")})
            group.start_soon(close, store)

    async def close(store: SqliteStore) -> None:
        store.close()

    anyio.run(work)

    reopened = SqliteStore.open(tmp_path / "store.db")
    assert names_in(reopened.read(OF_A)) == ["queued"]
    reopened.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with a hundred events, closed."""
    found = tmp_path / "store.db"
    store = SqliteStore.open(found)
    anyio.run(fill, store, 100)
    store.close()
    return found


async def fill(store: SqliteStore, count: int, size: int = 500) -> None:
    events = [CancelRequested(reason=f"{number:05d}" + "x" * size) for number in range(count)]
    await store.append({OF_RUN: Addition(events=events)})


async def append_one(store: SqliteStore) -> int:
    return await store.append({OF_RUN: Addition(events=[CancelRequested(reason="one")])})


HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
connection.execute("INSERT INTO events (run, step, version, kind, v, at, body) VALUES ('r1', '', 101, 'X', 1, 0, '{}')")
print("holding", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(file: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a transaction on the store."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(file)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "holding\n"
        yield child
        child.kill()


def test_a_process_killed_in_mid_transaction_leaves_all_committed_events(
    file: Path, holder: subprocess.Popen[str]
) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()

    store = SqliteStore.open(file)

    assert len(store.read(OF_RUN)) == 100
    anyio.run(append_one, store)
    assert len(store.read(OF_RUN)) == 101
    assert store.find_damage() == ()
    store.close()


def test_readers_do_not_wait_for_a_writer_in_mid_transaction(file: Path, holder: subprocess.Popen[str]) -> None:
    store = SqliteStore.open(file, read_only=True)

    assert holder.poll() is None
    assert len(store.read(OF_RUN)) == 100
    store.close()


def test_a_store_that_stays_locked_is_reported_as_such(file: Path, holder: subprocess.Popen[str]) -> None:
    calls: list[int] = []
    store = SqliteStore.open(file, on_busy=lambda: calls.append(1), busy_limit=0.3)

    with pytest.raises(StoreError, match="is locked by another process") as caught:
        anyio.run(append_one, store)

    assert not isinstance(caught.value, Conflict)
    assert caught.value.hint == "drumline doctor"
    assert calls
    holder.kill()
    holder.wait()
    anyio.run(append_one, store)
    assert len(store.read(OF_RUN)) == 101
    store.close()


def test_whoever_is_told_of_the_lock_can_free_it(file: Path, holder: subprocess.Popen[str]) -> None:
    """A frozen owner is killed from `on_busy`; the append then goes through by itself."""
    holder.send_signal(signal.SIGSTOP)
    store = SqliteStore.open(file, on_busy=holder.kill)

    anyio.run(append_one, store)

    assert len(store.read(OF_RUN)) == 101
    store.close()


def test_the_pid_of_the_writer_is_found_in_the_lock_table(file: Path, tmp_path: Path) -> None:
    shm = Path(f"{file}-shm")
    shm.write_bytes(b"")
    inode, device = shm.stat().st_ino, shm.stat().st_dev
    where = f"{device >> 8 & 0xFFF:02x}:{device & 0xFF:02x}:{inode}"
    table = tmp_path / "locks"

    table.write_text(
        f"1: FLOCK  ADVISORY  WRITE 11 {where} 0 EOF\n"
        f"2: POSIX  ADVISORY  READ 12 {where} 123 123\n"
        f"3: POSIX  ADVISORY  WRITE 13 {where}9 120 120\n"
        f"4: POSIX  ADVISORY  WRITE 14 {where} 120 120\n"
        f"4: -> POSIX  ADVISORY  WRITE 15 {where} 120 120\n"
    )

    assert find_writer(file, table=table) == 14


def test_the_pid_of_a_real_writer_is_found_where_the_kernel_tells(file: Path, holder: subprocess.Popen[str]) -> None:
    if str(holder.pid) not in Path("/proc/locks").read_text().split():
        pytest.skip("the kernel does not list this process's locks here")

    assert find_writer(file) == holder.pid


def test_without_a_lock_table_nobody_is_named(file: Path, tmp_path: Path) -> None:
    assert find_writer(file, table=tmp_path / "none") is None
