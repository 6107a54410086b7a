"""Mutants of a change are tried against checks in its workspace; the ones they do not notice are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from drumline.core.ids import DriverId
from drumline.core.mutants import Mutation, Survivor
from drumline.engine.mutation import LONGEST, SHORTEST, Sample, Trial
from drumline.engine.nodes.mutate import find_test_files
from drumline.engine.reports import Outcomes, keep_outcomes
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
CHECK = "python3 -m unittest -q test_calc"
LIMIT = Survivor(path="calc.py", line=2, before="==", after=">=")
MINUS = Survivor(path="calc.py", line=4, before="-", after="+")


def make(tmp_path: Path, command: str = CHECK, seconds: float = 100.0, longest: float = 600.0) -> Sample:
    work = tmp_path / "work"
    work.mkdir()
    (work / "calc.py").write_text(CALC, encoding="utf-8")
    (work / "test_calc.py").write_text(TESTS, encoding="utf-8")
    return Sample(
        checks={command: seconds},
        folder=work,
        changed={"calc.py": range(1, 99)},
        log=tmp_path / "mutants.log",
        tests=["test_calc.py"],
        longest=longest,
    )


def try_all(sample: Sample, tmp_path: Path) -> Mutation:
    return anyio.run(Trial(sample, SupervisedProcesses(tmp_path / "driver", DriverId("d1"))).run)


def play(sample: Sample, run: Callable[[Job], Ended]) -> Mutation:
    return anyio.run(Trial(sample, FakeProcesses(run)).run)


def execute(job: Job, *lines: str) -> None:
    """Tell which lines were executed, as a Python in the check does."""
    folder = job.env.get("DRUMLINE_LINES")
    if folder is not None:
        (Path(folder) / "1.lines").write_text("".join(f"{job.cwd / line}\n" for line in lines), encoding="utf-8")


def read(job: Job, path: str = "calc.py") -> str:
    return (job.cwd / path).read_text(encoding="utf-8")


def test_what_a_hard_coded_answer_hides_survives(tmp_path: Path) -> None:
    sample = make(tmp_path)
    before = (sample.folder / "calc.py").stat()

    found = try_all(sample, tmp_path)

    assert found.survivors == (LIMIT, MINUS)
    assert found.tried == 8
    after = (sample.folder / "calc.py").stat()
    assert (sample.folder / "calc.py").read_text(encoding="utf-8") == CALC
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert not list(sample.folder.glob("**/*.pyc"))


def test_an_object_that_is_equal_to_everything_survives_other_expectations(tmp_path: Path) -> None:
    sample = make(tmp_path)
    equal = "class Any:\n    def __eq__(self, other):\n        return True\n\n\ndef add(a, b):\n    return Any()\n"
    (sample.folder / "calc.py").write_text(equal, encoding="utf-8")

    found = try_all(sample, tmp_path)

    assert [(survivor.path, survivor.line) for survivor in found.survivors] == [
        ("test_calc.py", 8),
        ("test_calc.py", 11),
    ]


def test_lines_that_did_not_change_have_no_mutants(tmp_path: Path) -> None:
    sample = replace(make(tmp_path), changed={"calc.py": (3,), "a.txt": (1,)}, tests=())

    def run(job: Job) -> Ended:
        execute(job, "calc.py:2", "calc.py:3", "calc.py:4")
        return Ended(
            exit_code=0 if read(job).startswith("def add(a, b):\n    if (a, b) == (2, 3):\n") else 1, seconds=0.1
        )

    found = play(sample, run)

    assert {survivor.line for survivor in found.survivors} == {3}


@pytest.mark.parametrize("lines", [(), ("calc.py:8",), ("other.py:2",)])
def test_a_check_that_executes_nothing_of_the_change_tries_none(tmp_path: Path, lines: tuple[str, ...]) -> None:
    runs: list[Job] = []

    def run(job: Job) -> Ended:
        runs.append(job)
        execute(job, "test_calc.py:8", *lines)
        return Ended(exit_code=0, seconds=0.1)

    found = play(replace(make(tmp_path), changed={"calc.py": range(1, 6)}), run)

    assert (found, len(runs)) == (Mutation(), 1)


def test_a_check_that_does_not_pass_any_more_tries_none(tmp_path: Path) -> None:
    def run(job: Job) -> Ended:
        execute(job, "calc.py:3")
        return Ended(exit_code=1, seconds=0.1)

    assert play(make(tmp_path), run) == Mutation()


def test_a_mutant_survives_only_if_no_check_notices_it(tmp_path: Path) -> None:
    sample = replace(make(tmp_path), checks={"one": 1.0, "two": 1.0}, changed={"calc.py": (3,)}, tests=())

    def run(job: Job) -> Ended:
        execute(job, "calc.py:3")
        noticed = job.argv[-1] == "two" and "return 6" in read(job)
        return Ended(exit_code=1 if noticed else 0, seconds=0.1)

    found = play(sample, run)

    assert (found.tried, [survivor.after for survivor in found.survivors]) == (2, ["None"])


@pytest.mark.parametrize(
    ("seconds", "longest", "most"), [(0.01, LONGEST, SHORTEST), (1.0, LONGEST, 8.0), (30.0, LONGEST, 60.0)]
)
def test_the_time_of_all_mutants_together_is_bounded(
    tmp_path: Path, seconds: float, longest: float, most: float
) -> None:
    limits: list[float] = []

    def run(job: Job) -> Ended:
        limits.append(job.timeout or 0.0)
        return Ended(exit_code=0, seconds=0.1)

    play(make(tmp_path, seconds=seconds, longest=longest), run)

    assert len(limits) == 1
    assert 0 < limits[0] <= most


def test_a_check_that_takes_longer_than_all_of_them_may_is_not_run(tmp_path: Path) -> None:
    def refuse(job: Job) -> Ended:
        raise AssertionError(job)

    assert play(make(tmp_path, seconds=61.0, longest=LONGEST), refuse) == Mutation()


def test_a_mutant_that_loops_is_noticed(tmp_path: Path) -> None:
    def run(job: Job) -> Ended:
        execute(job, "calc.py:3")
        looping = read(job) != CALC
        return Ended(exit_code=None, seconds=3.0, timed_out=True) if looping else Ended(exit_code=0, seconds=0.1)

    found = play(replace(make(tmp_path, seconds=1.0), tests=()), run)

    assert (found.tried > 0, found.survivors) == (True, ())


def test_what_this_machine_lacks_ends_the_trial(tmp_path: Path) -> None:
    def run(job: Job) -> Ended:
        execute(job, "calc.py:3")
        if read(job) != CALC:
            return Ended(exit_code=127, seconds=0.1, output="bash: python3: command not found\n")
        return Ended(exit_code=0, seconds=0.1)

    assert play(replace(make(tmp_path), tests=()), run) == Mutation()


@pytest.mark.parametrize("path", ["../calc.py", "/etc/passwd.py", ".git/a.py", "link.py", "folder/calc.py"])
def test_nothing_is_written_through_links_or_outside_of_the_workspace(tmp_path: Path, path: str) -> None:
    sample = make(tmp_path)
    (sample.folder / "link.py").symlink_to(sample.folder / "calc.py")
    (sample.folder / "folder").symlink_to(tmp_path)
    (tmp_path / "calc.py").write_text(CALC, encoding="utf-8")
    runs: list[Job] = []

    def run(job: Job) -> Ended:
        runs.append(job)
        execute(job, f"{path}:3", "../calc.py:3")
        return Ended(exit_code=0, seconds=0.1)

    found = play(replace(sample, changed={path: range(1, 9)}), run)

    assert (found, len(runs)) == (Mutation(), 1)
    assert {(place / "calc.py").read_text(encoding="utf-8") for place in (tmp_path, sample.folder)} == {CALC}


def test_the_files_of_tests_are_told_from_their_ids(tmp_path: Path) -> None:
    for path in ("tests/test_a.py", "tests/deep/test_b.py", "test_c.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("", encoding="utf-8")
    ids = ["tests/test_a.py::test_x[1]", "tests.deep.test_b.B.test_y", "test_c.C.test_z", "gone.D.test_q", "js > sum"]
    keep_outcomes(tmp_path / "check.log", Outcomes(tests=dict.fromkeys(ids, "passed")))

    found = find_test_files(tmp_path, [tmp_path / "check.log", tmp_path / "none.log"])

    assert found == ("test_c.py", "tests/deep/test_b.py", "tests/test_a.py")
