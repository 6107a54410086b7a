"""A program that asks while it works, with a stand-in that is a real process: it prints requests and reads answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest
from tests.supervision import supervise

from drumline.agents.talking import run_talking
from drumline.core.flow.model import Json
from drumline.ports.agents import Outcome
from drumline.ports.processes import Ended, Job
from drumline.record import replace

STAND_IN = """
import sys
print(sys.stdin.readline().strip(), flush=True)
for number in range(3):
    print('{"ask": %d}' % number, flush=True)
    print('{"heard": %s}' % sys.stdin.readline().strip(), flush=True)
print('{"end": true}', flush=True)
print("left: " + repr(sys.stdin.read()), file=sys.stderr)
"""


class Doubling:
    """Answers each number by twice as much."""

    async def answer(self, event: Mapping[str, Json]) -> str:
        asked = event.get("ask")
        return f"{2 * asked}\n" if isinstance(asked, int) else ""

    def ends_with(self, event: Mapping[str, Json]) -> bool:
        return "end" in event

    def conclude(self, outcome: Outcome) -> Outcome:
        return outcome


def write_job(folder: Path, script: str) -> Job:
    """The job of a script."""
    argv = (sys.executable, "-c", script)
    return Job(argv=argv, cwd=folder, log=folder / "log", stdin='"hi"\n', timeout=60.0, printed=folder / "printed")


def talk(folder: Path, job: Job) -> Ended:
    """Run the job, and answer it."""
    return anyio.run(run_talking, supervise(folder), job, Doubling())


def test_it_is_answered_until_it_is_done_and_then_told_to_end(tmp_path: Path) -> None:
    ended = talk(tmp_path, write_job(tmp_path, STAND_IN))

    lines = (tmp_path / "printed").read_text().splitlines()
    assert lines[0] == '"hi"'
    assert [json.loads(line)["heard"] for line in lines if "heard" in line] == [0, 2, 4]
    assert (ended.exit_code, ended.cut, ended.errors.strip()) == (0, False, "left: ''")
    assert '{"ask": 2}\n4\n{"heard": 4}\n' in (tmp_path / "log").read_text()


def test_what_an_earlier_run_had_printed_is_gone(tmp_path: Path) -> None:
    (tmp_path / "printed").write_text('{"ask": 7}\n')

    talk(tmp_path, write_job(tmp_path, STAND_IN))

    assert '{"ask": 7}' not in (tmp_path / "printed").read_text()


def test_one_that_does_not_listen_is_told_by_its_end(tmp_path: Path) -> None:
    script = "import os, sys; os.close(0); print('{\"ask\": 1}', flush=True); sys.exit(3)"

    ended = talk(tmp_path, replace(write_job(tmp_path, script), stdin="x" * 1_000_000))

    assert ended.exit_code == 3


def test_one_that_prints_too_much_is_told_to_end_and_cut(tmp_path: Path) -> None:
    script = "import sys; print('x' * 5000, flush=True); sys.stdin.read()"

    ended = talk(tmp_path, replace(write_job(tmp_path, script), printed_limit=1000))

    assert (ended.exit_code, ended.cut) == (0, True)
    assert (tmp_path / "printed").stat().st_size == 1000


@pytest.mark.parametrize("script", ["import time; time.sleep(600)"])
def test_one_that_takes_too_long_is_ended(script: str, tmp_path: Path) -> None:
    ended = talk(tmp_path, replace(write_job(tmp_path, script), timeout=0.5))

    assert ended.timed_out


def test_a_program_that_cannot_be_started_says_why(tmp_path: Path) -> None:
    ended = talk(tmp_path, replace(write_job(tmp_path, ""), argv=("/nowhere/at/all",)))

    assert ended.exit_code is None
    assert "/nowhere/at/all" in ended.message
