"""Whose secrets root's agents do not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.agents.hidden import OF_OTHERS, list_homes


def test_people_live_where_the_list_of_users_says_and_services_keep_no_keys(tmp_path: Path) -> None:
    ann, db = tmp_path / "srv" / "ann", tmp_path / "db"
    ann.mkdir(parents=True)
    db.mkdir()
    passwd = tmp_path / "passwd"
    rows = [f"ann:x:1001:1001:Ann:{ann}:/bin/bash", f"db:x:33:33::{db}:/bin/sh", "gone:x:1002:1002::/srv/gone:/bin/sh"]
    passwd.write_text("\n".join([*rows, "all:x:1003:1003::/:/bin/sh", "odd:x:1004", "worse:x:y:1::/tmp:"]) + "\n")

    found = list_homes(passwd)

    assert [home for home in found if home.is_relative_to(tmp_path)] == [ann]
    assert Path("/") not in found
    assert [home for home in found if home.parent != Path("/home") and not home.is_relative_to(tmp_path)] == []


def test_the_own_home_is_not_one_of_others_and_one_that_cannot_be_looked_at_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = tmp_path / "ann", tmp_path / "bob"
    ann.mkdir()
    bob.mkdir()
    passwd = tmp_path / "passwd"
    homes = {1001: ann, 1002: bob, 1003: tmp_path / ("x" * 300)}
    passwd.write_text("".join(f"u{number}:x:{number}:1::{home}:/bin/sh\n" for number, home in homes.items()))
    monkeypatch.setenv("HOME", str(tmp_path / "link"))
    (tmp_path / "link").symlink_to(ann)

    found = list_homes(passwd)

    assert [home for home in found if home.is_relative_to(tmp_path)] == [bob]


def test_without_a_list_of_users_those_below_home_are_left(tmp_path: Path) -> None:
    assert [home for home in list_homes(tmp_path / "none") if home.parent != Path("/home")] == []


def test_of_others_settings_and_logins_of_agent_programs_are_hidden_too() -> None:
    assert {".ssh", ".npmrc", ".claude/.credentials.json", ".codex/auth.json"} <= set(OF_OTHERS)
