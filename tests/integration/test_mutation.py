"""Mutants of a change are tried against a check in a copy; the ones it does not notice are named."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from drumline.core.ids import DriverId
from drumline.core.mutants import Mutation, Survivor
from drumline.engine.mutation import LONGEST, Sample, try_mutants
from drumline.errors import InvalidInput
from drumline.ports.processes import Ended, Job
from drumline.processes.supervised import SupervisedProcesses
from drumline.record import replace
from drumline.testing.processes import FakeProcesses

CALC = """def add(a, b):
    if (a, b) == (2, 3):
        return 5
    return a - b


def never(a):
    return a + 1
"""
TESTS = """import unittest

from calc import add


class Adding(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(add(2, 3), 5)

    def test_nothing(self):
        self.assertEqual(add(0, 0), 0)
"""


def make(tmp_path: Path, command: str = "python3 -m unittest -q test_calc", longest: float = 600.0) -> Sample:
    work = tmp_path / "work"
    work.mkdir()
    (work / "calc.py").write_text(CALC, encoding="utf-8")
    (work / "test_calc.py").write_text(TESTS, encoding="utf-8")
    (work / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    return Sample(
        command=command,
        folder=work,
        seconds=100.0,
        changed={"calc.py": range(1, 99)},
        log=tmp_path / "check.log",
        longest=longest,
    )


def try_all(sample: Sample, tmp_path: Path) -> Mutation:
    return anyio.run(try_mutants, sample, SupervisedProcesses(tmp_path / "driver", DriverId("d1")))


def test_what_a_hard_coded_answer_hides_survives(tmp_path: Path) -> None:
    sample = make(tmp_path)

    found = try_all(sample, tmp_path)

    assert found.survivors == (Survivor(path="calc.py", line=4, before="-", after="+"),)
    assert found.tried >= 3
    assert (sample.folder / "calc.py").read_text(encoding="utf-8") == CALC
    assert sorted(path.name for path in tmp_path.iterdir()) == ["driver", "work"]


def test_lines_that_did_not_change_have_no_mutants(tmp_path: Path) -> None:
    sample = make(tmp_path)

    found = try_all(replace(sample, changed={"calc.py": (3,), "a.txt": (1,)}), tmp_path)

    assert (found.tried > 0, found.survivors) == (True, ())


@pytest.mark.parametrize("command", ["exit 1", "true"])
def test_a_check_that_fails_or_executes_nothing_of_it_tries_none(tmp_path: Path, command: str) -> None:
    assert try_all(make(tmp_path, command), tmp_path) == Mutation()


def test_the_time_of_all_mutants_together_is_bounded(tmp_path: Path) -> None:
    limits: list[float] = []

    def run(job: Job) -> Ended:
        limits.append(job.timeout or 0.0)
        return Ended(exit_code=0, seconds=0.1)

    anyio.run(try_mutants, make(tmp_path, longest=LONGEST), FakeProcesses(run))

    assert len(limits) == 1
    assert 0 < limits[0] <= 60


def test_a_path_outside_of_the_workspace_is_refused(tmp_path: Path) -> None:
    sample = make(tmp_path)

    with pytest.raises(InvalidInput, match="leaves the workspace"):
        try_all(replace(sample, changed={"../x.py": (3,)}), tmp_path)
