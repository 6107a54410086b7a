"""Folders for the time of one piece of work: empty at the start, gone at the end, and nobody else's is touched."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from drumline.isolation.scratch import clear_scratches, name_temp, open_scratch, open_temp


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder, for this test alone."""
    folder = tmp_path / "system"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A scratch beside a log, as if its work were going on."""
    folder = tmp_path / "logs" / "attempt-1.log.tmp"
    folder.mkdir(parents=True)
    return folder


def test_a_temporary_folder_has_a_short_name_is_for_us_alone_and_goes(scratch: Path, system: Path) -> None:
    with open_temp(scratch) as temp:
        (temp / "made" / "deep").mkdir(parents=True)
        mode = stat.S_IMODE(temp.stat().st_mode)

    assert temp.parent == system
    assert len(temp.name) == len("drumline-") + 12
    assert mode == 0o700
    assert list(system.iterdir()) == []


def test_a_socket_fits_into_it_however_deep_the_logs_are(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / "attempt-1.log.tmp"

    with open_scratch(deep) as scratch, open_temp(scratch) as temp, socket.socket(socket.AF_UNIX) as listener:
        # As long as the names that multiprocessing makes.
        place = temp / "pymp-12345678" / "listener-12345678"
        place.parent.mkdir()
        listener.bind(str(place))
        bound = place.is_socket()

    assert bound
    assert not temp.exists()


def test_what_killed_work_left_is_gone_when_it_is_begun_again(scratch: Path, system: Path) -> None:
    (name_temp(scratch) / "old").mkdir(parents=True)

    with open_temp(scratch) as temp:
        found = list(temp.iterdir())

    assert found == []
    assert list(system.iterdir()) == []


def test_two_pieces_of_work_do_not_share(tmp_path: Path, system: Path) -> None:
    logs = [tmp_path / run / "step" / "attempt-1.log.tmp" for run in ("one", "two")]

    with (
        open_scratch(logs[0]) as first,
        open_temp(first) as mine,
        open_scratch(logs[1]) as second,
        open_temp(second) as other,
    ):
        (mine / "file").touch()
        seen = list(other.iterdir())

    assert seen == []
    assert mine != other


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_name_that_somebody_else_has_is_left_alone(kind: str, scratch: Path, system: Path) -> None:
    elsewhere = system.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    place = name_temp(scratch)
    if kind == "link":
        place.symlink_to(elsewhere)
    else:
        place.touch()

    with open_temp(scratch) as temp:
        told = (scratch / "tmp").readlink()
        (temp / "mine").touch()

    assert told == temp != place
    assert list(system.iterdir()) == [place]
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_folder_of_another_user_is_neither_used_nor_removed(scratch: Path, system: Path) -> None:
    place = name_temp(scratch)
    place.mkdir()
    os.chown(place, 12345, 12345)

    with open_temp(scratch) as temp:
        pass
    clear_scratches(scratch.parent)

    assert temp != place
    assert list(system.iterdir()) == [place]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to every folder")
def test_folders_that_nobody_may_write_to_go_as_well(scratch: Path, system: Path) -> None:
    with open_temp(scratch) as temp:
        (temp / "module" / "inner").mkdir(parents=True)
        (temp / "module" / "inner" / "file").touch()
        (temp / "module" / "inner").chmod(0o000)
        (temp / "module").chmod(0o500)

    assert list(system.iterdir()) == []


def test_clearing_up_removes_scratches_with_their_temporary_folders_and_no_log(scratch: Path, system: Path) -> None:
    logs = scratch.parent
    (scratch / "stream.jsonl").write_text("raw")
    (logs / "attempt-1.log").write_text("kept")
    (logs / "attempt-1.log.asked").mkdir()
    (name_temp(scratch) / "old").mkdir(parents=True)
    (system / "drumline-of-others").mkdir()

    clear_scratches(logs)
    clear_scratches(logs / "missing")

    assert [path.name for path in logs.iterdir()] == ["attempt-1.log"]
    assert [path.name for path in system.iterdir()] == ["drumline-of-others"]
