"""What a jail holds, as root and as a user without rights: attacks, and what must go on working."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.integration.jailed import USERS, Cell, open_cell


@pytest.fixture(params=USERS)
def cell(request: pytest.FixtureRequest) -> Iterator[Cell]:
    with open_cell(request.param) as opened:
        yield opened


def test_the_root_of_the_machine_cannot_be_mounted_writable(cell: Cell) -> None:
    said = cell.shell(f"mount -o remount,rw,bind / && echo OPEN; touch {cell.outside}/planted && echo WRITTEN")

    assert "OPEN" not in said
    assert "WRITTEN" not in said
    assert not (cell.outside / "planted").exists()


def test_there_are_no_capabilities_and_none_can_be_had(cell: Cell) -> None:
    said = cell.shell("grep -E 'Cap(Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp:' /proc/self/status; unshare -Ur id")

    assert [line.split()[1] for line in said.splitlines() if line.startswith("Cap")] == ["0" * 16] * 4
    assert "NoNewPrivs:\t1" in said
    assert "Seccomp:\t2" in said
    assert "uid=" not in said
