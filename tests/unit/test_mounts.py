"""What a jailed program finds where, told from the mounts alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.agents.mounts import DATA, EMPTY, LINK, READ, WRITE, Layout, write_words


@pytest.fixture
def area(tmp_path: Path) -> Path:
    """A folder that the jail has of its own."""
    folder = tmp_path.resolve() / "area"
    folder.mkdir()
    return folder


def list_mounts(layout: Layout) -> list[tuple[str, str]]:
    return [(mount.how, mount.path.name) for mount in layout.list_mounts()]


def test_a_file_that_a_link_outside_leads_to_stays_readable(tmp_path: Path, area: Path) -> None:
    (area / "resolve").mkdir()
    (area / "resolve" / "stub.conf").touch()
    link = tmp_path / "resolv.conf"
    link.symlink_to("area/resolve/stub.conf")
    layout = Layout()

    layout.empty([area])
    layout.read([link])

    assert list_mounts(layout) == [(EMPTY, "area"), (READ, "stub.conf")]


def test_a_link_in_an_empty_folder_is_made_again(tmp_path: Path, area: Path) -> None:
    (tmp_path / "store").mkdir()
    (area / "current-system").symlink_to(tmp_path.resolve() / "store")
    layout = Layout()

    layout.empty([area])
    layout.read([area / "current-system"])

    assert (LINK, "current-system") in list_mounts(layout)


def test_a_link_that_leads_to_itself_is_left_alone(area: Path) -> None:
    (area / "loop").symlink_to("loop")
    layout = Layout()

    layout.empty([area])
    layout.read([area / "loop"])

    assert (WRITE, "loop") not in list_mounts(layout)


def test_what_is_readable_in_a_writable_folder_stays_writable(area: Path) -> None:
    (area / "work" / "bin").mkdir(parents=True)
    layout = Layout()

    layout.empty([area])
    layout.write([area / "work"])
    layout.read([area / "work" / "bin", area])

    assert list_mounts(layout) == [(EMPTY, "area"), (WRITE, "work")]


def test_folders_around_what_is_sealed_cannot_be_moved(tmp_path: Path) -> None:
    hooks = tmp_path.resolve() / "work" / "a" / "b" / "hooks"
    hooks.mkdir(parents=True)
    layout = Layout()

    layout.write([tmp_path / "work"])
    layout.seal([hooks])

    assert list_mounts(layout) == [(WRITE, "work"), (WRITE, "a"), (WRITE, "b"), (READ, "hooks")]


def test_what_is_granted_is_not_hidden_and_what_lies_in_it_is(tmp_path: Path) -> None:
    config = tmp_path / ".config"
    (config / "gh").mkdir(parents=True)
    (tmp_path / ".ssh").mkdir()
    layout = Layout()

    layout.write([config, tmp_path / ".ssh"])
    layout.hide([tmp_path / ".ssh", config / "gh", tmp_path / "missing"])

    assert sorted(list_mounts(layout)) == sorted([(WRITE, ".config"), (WRITE, ".ssh"), (EMPTY, "gh")])


def test_words_name_data_by_descriptors_and_freeze_at_the_end(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "netrc").touch()
    (tmp_path / "npmrc").touch()
    layout = Layout()

    layout.hide([tmp_path / "keys", tmp_path / "netrc"])
    layout.replace(tmp_path / "npmrc", b"save-exact=true\n")
    words, data = write_words(layout.list_mounts(), first=101)

    assert words[-2:] == ["--remount-ro", str(tmp_path.resolve() / "keys")]
    assert data == [b"", b"save-exact=true\n"]
    assert [DATA, "101", str(tmp_path.resolve() / "netrc")] == words[2:5]
    assert [DATA, "102", str(tmp_path.resolve() / "npmrc")] == words[5:8]
