"""What a profile takes away from an agent: paths and the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.agents.jail import Jail, tighten
from drumline.errors import InvalidInput
from drumline.ports.jail import Bounds
from drumline.ports.processes import Job
from drumline.profiles import NOTHING, Grant, find_grant, read_profiles

JAIL = Jail(program="bwrap")


def test_all_tables_about_an_agent_take_away_together() -> None:
    tables = read_profiles(
        {
            "agents": {
                "command": {"hide": ["~/customers"]},
                "mine": {"agent": "command:work", "hide": ["/data/secret"], "network": False},
            }
        }
    ).agents

    grant = find_grant(tables, "mine", "command:work")

    assert grant.hide == ("~/customers", "/data/secret")
    assert not grant.network
    assert find_grant(tables, "", "claude") == NOTHING


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("hide", "~/x", "is not a list of files and folders"),
        ("hide", ["relative"], "is not a list of files and folders"),
        ("network", "no", "legal: true or false"),
    ],
)
def test_what_cannot_be_meant_is_refused(key: str, value: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_profiles({"agents": {"command": {key: value}}})


def test_without_network_the_jail_has_one_of_its_own(tmp_path: Path) -> None:
    job = Job(argv=["true"], cwd=tmp_path, log=tmp_path / "log")
    held = tighten(JAIL, Grant(network=False))

    assert held is not None
    assert "--unshare-net" in held.wrap(job, Bounds()).argv
    assert "--unshare-net" not in JAIL.wrap(job, Bounds()).argv


def test_what_is_to_be_hidden_is_not_made(tmp_path: Path) -> None:
    job = Job(argv=["true"], cwd=tmp_path, log=tmp_path / "log")
    held = tighten(JAIL, Grant(hide=(f"{tmp_path}/missing/",)))

    assert held is not None
    held.wrap(job, Bounds())

    assert not (tmp_path / "missing").exists()


def test_without_a_jail_there_is_nothing_to_tighten() -> None:
    assert tighten(None, Grant(network=False)) is None
