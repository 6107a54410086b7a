"""Broken, foreign, full, locked and read-only stores: each a clear StoreError, and nothing already written is lost."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from drumline.core.events import CancelRequested
from drumline.core.ids import DriverId, RunId, StepId, Stream
from drumline.errors import StoreError
from drumline.ports.journal import Addition, Message
from drumline.store.schema import MIGRATIONS, migrate
from drumline.store.sqlite import SqliteStore

RUN = RunId("r1")
OF_RUN = Stream(RUN)


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


def count_events(file: Path) -> int:
    store = SqliteStore.open(file)
    try:
        return len(store.read(OF_RUN))
    finally:
        store.close()


def alter(file: Path, statement: str, values: tuple[object, ...] = ()) -> None:
    """Change the file behind the store's back."""
    connection = sqlite3.connect(file)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def refuse_to_open(file: Path, match: str) -> StoreError:
    """The error both a writer and a reader get; the file must be the same afterwards."""
    before = file.read_bytes()
    with pytest.raises(StoreError, match=match):
        SqliteStore.open(file, read_only=True)
    with pytest.raises(StoreError, match=match) as caught:
        SqliteStore.open(file)
    assert file.read_bytes() == before
    return caught.value


# --- what is in the file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 10, 100, 5000, 20_000])
def test_a_truncated_file_is_refused_and_left_as_it_is(file: Path, keep: int) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:keep])

    error = refuse_to_open(file, "damaged")

    assert "drumline doctor" in error.hint
    file.write_bytes(whole)
    assert count_events(file) == 100


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.write_text("these are my notes\n" * 500)

    error = refuse_to_open(file, "damaged")

    assert str(file) in str(error)


def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    alter(file, "CREATE TABLE theirs (x)")

    refuse_to_open(file, "another program")


def test_corrupted_pages_are_reported_and_found(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    for page in range(10, len(raw) // 4096):
        raw[page * 4096 : page * 4096 + 200] = b"\xff" * 200
    file.write_bytes(raw)
    store = SqliteStore.open(file)

    with pytest.raises(StoreError, match="damaged") as caught:
        store.read(OF_RUN)

    assert "drumline doctor" in caught.value.hint
    assert store.find_damage()
    store.close()


def test_a_sound_file_has_no_damage(file: Path) -> None:
    store = SqliteStore.open(file, read_only=True)

    assert store.find_damage() == ()
    store.close()


def test_a_log_without_its_file_is_not_replayed_into_a_new_one(file: Path) -> None:
    Path(f"{file}-wal").write_bytes(b"left behind")
    file.unlink()

    with pytest.raises(StoreError, match="the file itself is gone"):
        SqliteStore.open(file)

    assert not file.exists()


def test_an_unknown_event_kind_stops_the_reader_and_names_it(file: Path) -> None:
    alter(file, "UPDATE events SET kind = 'StepTeleported' WHERE version = 50")
    store = SqliteStore.open(file)

    with pytest.raises(StoreError, match="'StepTeleported'") as caught:
        store.read(OF_RUN)

    assert "upgrade" in caught.value.hint
    assert len(store.read(OF_RUN, after=50)) == 50
    store.close()


@pytest.mark.parametrize("body", ["{", None, b"\xff\xfe"])
def test_a_body_that_cannot_be_read_is_damage_and_names_the_file(file: Path, body: object) -> None:
    alter(file, "UPDATE events SET body = CAST(? AS TEXT) WHERE version = 50", (body,))
    store = SqliteStore.open(file)

    with pytest.raises(StoreError, match=r"store\.db' is damaged"):
        store.read(OF_RUN)

    store.close()


# --- schema versions --------------------------------------------------------------------------------------------


def test_a_newer_schema_is_refused_naming_both_versions(file: Path) -> None:
    alter(file, "PRAGMA user_version = 99")

    error = refuse_to_open(file, rf"schema version 99, .* up to {len(MIGRATIONS)}")

    assert "upgrade" in error.hint


def test_a_second_migration_changes_an_old_file_and_keeps_its_content(file: Path) -> None:
    connection = sqlite3.connect(file, isolation_level=None)
    second = ["ALTER TABLE events ADD COLUMN colour TEXT DEFAULT 'red'", "CREATE TABLE extra (x)"]

    migrate(connection, (*MIGRATIONS, second))
    migrate(connection, (*MIGRATIONS, second))

    assert connection.execute("SELECT count(*), min(colour) FROM events").fetchall() == [(100, "red")]
    assert connection.execute("PRAGMA user_version").fetchall() == [(len(MIGRATIONS) + 1,)]
    connection.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(file: Path) -> None:
    connection = sqlite3.connect(file, isolation_level=None)

    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (*MIGRATIONS, ["CREATE TABLE extra (x)", "CREATE TABLE extra (x)"]))

    connection.close()
    assert count_events(file) == 100


def test_a_reader_does_not_migrate_an_older_file(file: Path) -> None:
    alter(file, "PRAGMA user_version = 0")

    with pytest.raises(StoreError, match="older schema version 0"):
        SqliteStore.open(file, read_only=True)


# --- readers ----------------------------------------------------------------------------------------------------


def test_a_reader_does_not_make_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store") as caught:
        SqliteStore.open(tmp_path / "folder" / "store.db", read_only=True)

    assert caught.value.hint == "drumline run PLAN"
    assert list(tmp_path.iterdir()) == []


def test_a_reader_follows_an_active_writer_and_can_write_nothing(file: Path) -> None:
    writer = SqliteStore.open(file)
    reader = SqliteStore.open(file, read_only=True)
    before = reader.position()
    anyio.run(append_one, writer)

    assert len(reader.read(OF_RUN)) == 101
    assert reader.position() != before
    with pytest.raises(StoreError, match="for reading only"):
        anyio.run(append_one, reader)
    with pytest.raises(StoreError, match="for reading only"):
        reader.take(RUN, StepId("a"), DriverId("d"))
    with pytest.raises(StoreError, match="for reading only"):
        reader.put(RUN, Message(kind="cancel"))
    reader.close()
    writer.close()
    assert count_events(file) == 101


def test_a_folder_that_cannot_be_made_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "plain file").write_text("")

    with pytest.raises(StoreError, match=r"store\.db' cannot be made or reached: .*[Nn]ot a directory|File exists"):
        SqliteStore.open(tmp_path / "plain file" / "store.db")


def test_a_folder_in_the_stores_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store.db").mkdir()

    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore.open(tmp_path / "store.db")


# --- full and read-only disks -----------------------------------------------------------------------------------


def test_a_file_that_may_not_grow_fails_the_whole_group_and_keeps_what_was_there(file: Path) -> None:
    store = SqliteStore.open(file)
    store._database.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size as the least

    async def write_group() -> list[str]:
        said: list[str] = []

        async def write(step: str, size: int) -> None:
            try:
                event = CancelRequested(reason="x" * size)
                await store.append({Stream(RUN, StepId(step)): Addition(events=[event])})
            except StoreError as error:
                said.append(str(error))

        async with anyio.create_task_group() as group:
            group.start_soon(write, "small", 1)
            group.start_soon(write, "big", 900_000)
        return said

    said = anyio.run(write_group)

    assert len(said) == 2
    assert all("the disk is full" in message for message in said)
    assert len(store.tail(RUN)) == 100
    store._database.execute("PRAGMA max_page_count = 100000")
    anyio.run(append_one, store)
    store.close()
    assert count_events(file) == 101


MOUNT = ["unshare", "--map-root-user", "--mount"]


@pytest.fixture
def own_mounts(tmp_path: Path) -> Iterator[Path]:
    """A folder on which a child process may mount a small disk that nobody else sees and that ends with it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    probe = [*MOUNT, "mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(folder)]
    if shutil.which("unshare") is None or subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting in a namespace of one's own is not allowed here")
    yield folder
    assert list(folder.iterdir()) == []


PREAMBLE = """
import json, subprocess, sys
from pathlib import Path
import anyio
from drumline.core.events import CancelRequested
from drumline.core.ids import RunId, Stream
from drumline.errors import StoreError
from drumline.ports.journal import Addition
from drumline.store.sqlite import SqliteStore

disk, file, stream = sys.argv[1], Path(sys.argv[1]) / "store.db", Stream(RunId("r1"))

def mount(*options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", disk], check=True)

def append(store, size=3000):
    async def work():
        await store.append({stream: Addition(events=[CancelRequested(reason="x" * size)])})
    anyio.run(work)

def tell(call):
    try:
        call()
    except StoreError as error:
        return [str(error), error.hint]
    return ["", ""]
"""


def run_on_disk(folder: Path, body: str) -> dict[str, object]:
    argv = [*MOUNT, sys.executable, "-c", PREAMBLE + textwrap.dedent(body), str(folder)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, object] = json.loads(ended.stdout)
    return found


def test_a_full_disk_refuses_the_write_and_goes_on_once_there_is_space(own_mounts: Path) -> None:
    found = run_on_disk(
        own_mounts,
        """
        mount("size=512k")
        store, written, error = SqliteStore.open(file), 0, ["", ""]
        ballast = Path(disk) / "ballast"
        ballast.write_bytes(b"b" * 200_000)
        while not error[0]:
            error = tell(lambda: append(store))
            written += not error[0]
        again = tell(lambda: append(store))
        kept = len(store.read(stream))
        ballast.unlink()
        append(store)
        store.close()
        reopened = SqliteStore.open(file)
        print(json.dumps({"error": error, "again": again, "lost": written - kept,
                          "after": len(reopened.read(stream)) - written, "damage": list(reopened.find_damage())}))
        """,
    )

    assert "the disk is full" in str(found["error"])
    assert "drumline resume" in str(found["error"])
    assert "the disk is full" in str(found["again"])
    assert (found["lost"], found["after"], found["damage"]) == (0, 1, [])


def test_a_read_only_disk_is_named_as_the_reason_and_loses_nothing(own_mounts: Path) -> None:
    found = run_on_disk(
        own_mounts,
        """
        mount("size=2m")
        store = SqliteStore.open(file)
        append(store)
        store.close()
        mount("remount", "ro")
        writer = tell(lambda: SqliteStore.open(file))
        reader = tell(lambda: SqliteStore.open(file, read_only=True))
        fresh = tell(lambda: SqliteStore.open(file.with_name("other.db")))
        mount("remount", "rw")
        print(json.dumps({"writer": writer, "reader": reader, "fresh": fresh,
                          "events": len(SqliteStore.open(file).read(stream))}))
        """,
    )

    assert "read-only" in str(found["writer"])
    assert "read-only" in str(found["reader"])
    assert "Read-only file system" in str(found["fresh"])
    assert found["events"] == 1
