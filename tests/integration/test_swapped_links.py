"""Links, pipes and devices where an agent works: what we do there, outside the jail, is not led elsewhere or held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio
import pytest
from acp.exceptions import RequestError
from tests.integration.test_cli_agent import assign
from tests.integration.test_mutation import make, try_all
from tests.integration.test_private_homes import EITHER_WAY, HOME, _own_home, make_home, open_plain, run_script, slug

from drumline.agents.acp_client import Desk
from drumline.agents.acp_policy import Policy
from drumline.engine.borrowed import find_borrowed
from drumline.engine.nodes.compare import _read_start
from drumline.engine.reporters import lead_reporters
from drumline.engine.reports import read_lines, read_outcomes, watch_lines
from drumline.errors import InvalidInput
from drumline.isolation.contained import copy_contained, read_start
from drumline.models.filetools import FileTools
from drumline.record import replace

__all__ = ["_own_home"]
TRYING = 0.3
"""Seconds in which a folder is swapped with a link thousands of times."""
SWAP = """
import ctypes
exchange = ctypes.CDLL(None).renameat2
while exchange(-100, b"sub", -100, b"link", 2) == 0:
    pass
"""
SECRET = "to be read by nobody inside"  # noqa: S105 - a made-up one
ENDLESS = pytest.param(lambda place: place.symlink_to("/dev/zero"), id="device")
WAITING = pytest.param(os.mkfifo, id="pipe")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A workspace with a folder in it, and beside it a folder with files of the same names."""
    for folder in (tmp_path / "work" / "sub", tmp_path / "outside"):
        folder.mkdir(parents=True)
    (tmp_path / "outside" / "a").write_text(SECRET)
    return tmp_path / "work"


@contextmanager
def swapping(work: Path) -> Iterator[None]:
    """In the folder `sub` there is now what it was, now a link that leads outside, while the block lasts."""
    (work / "link").symlink_to(work.parent / "outside")
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", SWAP], cwd=work) as process:
        try:
            yield
            assert process.poll() is None
        finally:
            process.kill()


def write_for_agent(work: Path, folder: Path) -> Callable[[], object]:
    """What an agent asks of us by the Agent Client Protocol."""

    async def write() -> None:
        desk = Desk(replace(assign(folder, ""), workspace=work), Policy(workspace=work, jailed=True))
        await desk.write_text_file("s-1", "sub/planted", "by the agent")

    return lambda: anyio.run(write)


ACTS: dict[str, Callable[[Path, Path], Callable[[], object]]] = {
    "an agent asks for": write_for_agent,
    "write": lambda work, _: lambda: FileTools(workspace=work).write("sub/planted", "by a model"),
    "make a folder": lambda work, _: lambda: FileTools(workspace=work).make_folder("sub/planted"),
    "remove": lambda work, _: lambda: FileTools(workspace=work).remove("sub/a"),
    "read": lambda work, _: lambda: FileTools(workspace=work).read("sub/a"),
}


@pytest.mark.parametrize("name", ACTS)
def test_a_link_that_comes_after_the_look_at_a_path_is_not_followed(name: str, work: Path, tmp_path: Path) -> None:
    act, seen = ACTS[name](work, tmp_path), []
    ends = time.monotonic() + TRYING

    with swapping(work):
        while time.monotonic() < ends:
            with suppress(OSError, InvalidInput, RequestError):
                seen.append(act())

    assert [path.name for path in (tmp_path / "outside").iterdir()] == ["a"]
    assert SECRET not in seen


@pytest.mark.parametrize("jailed", EITHER_WAY)
@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_a_session_is_not_fetched_through_a_link_that_an_attempt_left(
    swapped: str, jailed: bool, tmp_path: Path
) -> None:
    place, folder = make_home(HOME), f"projects/{slug(tmp_path)}"
    aim = tmp_path / "home" / "outside" / "planted"
    agent = open_plain(tmp_path, [HOME], jailed=jailed)
    here = str(place) if jailed else '"$TOOL_HOME"'
    link = {"file": f"ln -s {aim} {folder}/s-1.jsonl", "folder": f"rmdir {folder}; ln -s {aim.parent} {folder}"}[
        swapped
    ]
    run_script(agent, tmp_path, f"cd {here}; mkdir -p {folder}; echo 'run me' > {folder}/s-1.jsonl")
    run_script(agent, tmp_path, f"cd {here}; rm {folder}/s-1.jsonl; {link}", session="s-1")

    outcome = run_script(agent, tmp_path, f"test ! -L {here}/{folder}/s-1.jsonl || exit 4", session="s-1")

    assert outcome.message == "ok"
    assert [path.name for path in aim.parent.iterdir()] == ["secret.txt"]


def test_a_session_that_is_kept_already_is_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / "kept" / "in").mkdir(parents=True)
    (tmp_path / "kept" / "in" / "it").write_text("newer")
    (tmp_path / "own").write_text("older")

    copy_contained(tmp_path / "kept", "in/it", tmp_path / "own")

    assert (tmp_path / "kept" / "in" / "it").read_text() == "newer"


def test_a_check_that_puts_a_link_in_the_place_of_a_mutant_changes_nothing_elsewhere(tmp_path: Path) -> None:
    aim = tmp_path / "outside.py"
    # The first run only records which lines are executed.
    first = "test -e first || { touch first; exec python3 -m unittest -q test_calc; }"
    sample = make(tmp_path, command=f"{first}; rm calc.py; ln -s {aim} calc.py; false")
    sample = replace(sample, tests=())

    with suppress(OSError):
        try_all(sample, tmp_path)

    assert (sample.folder / "calc.py").is_symlink()
    assert not aim.exists()


@pytest.mark.timeout(20)
@pytest.mark.parametrize("make_trap", [WAITING, ENDLESS])
def test_a_file_that_never_ends_holds_nobody(make_trap: Callable[[Path], None], tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    watch_lines(reports, ["a.py"])
    for place in (tmp_path / "Makefile", reports / "1.jsonl", reports / "1.cut", reports / "lines" / "1.lines"):
        make_trap(place)

    found = find_borrowed("make test", tmp_path)
    told = lead_reporters(reports, {}, root=tmp_path, command="make test")
    outcomes = read_outcomes(reports)

    assert (found, "PATH" in told, read_lines(reports, ["a.py"])) == ("", False, {})
    assert _read_start(tmp_path / "Makefile") == ""
    assert outcomes is not None
    assert not outcomes.complete
    with pytest.raises(OSError, match="not a regular file"):
        read_start(tmp_path / "Makefile", 10)
