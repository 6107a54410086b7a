"""Test runners that a check starts report which tests ran, and run as they would without that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drumline.engine.reporters import lead_reporters
from drumline.engine.reports import Outcomes, find_outcomes, keep_outcomes, read_outcomes

TESTS = """import unittest


class Some(unittest.TestCase):
    def test_good(self):
        pass

    def test_bad(self):
        self.fail()

    @unittest.skip("")
    def test_left_out(self):
        pass

    def test_parts(self):
        with self.subTest(a=1):
            self.fail()
"""
RUNNERS = {
    "unittest": ["-m", "unittest", "-q", "test_some"],
    "pytest": ["-m", "pytest", "-q", "-p", "no:cacheprovider"],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "reports").mkdir()
    (tmp_path / "work" / "test_some.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def run(project: Path, *args: str, **env: str) -> tuple[int, Outcomes | None]:
    """Run Python in the project, and read what was reported."""
    told = lead_reporters(project / "reports", env, root=project / "work")
    ended = subprocess.run(
        [sys.executable, *args], cwd=project / "work", env={**os.environ, **told}, capture_output=True, check=False
    )
    return ended.returncode, read_outcomes(project / "reports")


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_runner_tells_which_tests_ran(project: Path, runner: str) -> None:
    code, found = run(project, *RUNNERS[runner])

    assert code == 1
    assert found is not None
    assert found.complete
    names = {name.replace("::", ".").rpartition(".")[2]: outcome for name, outcome in found.tests.items()}
    assert names == {"test_good": "passed", "test_bad": "failed", "test_left_out": "skipped", "test_parts": "failed"}


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_runner_that_the_work_ends_does_not_come_to_its_end(project: Path, runner: str) -> None:
    (project / "work" / "test_some.py").write_text("import os\n\nos._exit(0)\n", encoding="utf-8")

    code, found = run(project, *RUNNERS[runner])

    assert code == 0
    assert found is not None
    assert not found.complete


def test_what_a_test_starts_does_not_report(project: Path) -> None:
    call = "subprocess.run([sys.executable, '-m', 'unittest', '-q', 'inner'])"
    inner = f"import subprocess, sys\n\n\ndef test_outer():\n    {call}\n"
    (project / "work" / "test_some.py").write_text(inner, encoding="utf-8")
    (project / "work" / "inner.py").write_text(TESTS, encoding="utf-8")

    _, found = run(project, *RUNNERS["pytest"])

    assert found is not None
    assert [*found.tests] == ["test_some.py::test_outer"]


def test_the_sitecustomize_of_the_user_is_read_as_well(project: Path) -> None:
    (project / "theirs").mkdir()
    (project / "theirs" / "sitecustomize.py").write_text("import builtins\n\nbuiltins.theirs = 1\n", encoding="utf-8")

    code, found = run(project, "-c", "assert theirs == 1", PYTHONPATH=str(project / "theirs"))

    assert (code, found) == (0, None)


def test_a_list_of_tests_is_kept_beside_its_log(tmp_path: Path) -> None:
    log = tmp_path / "check-1-1.log"
    assert find_outcomes(log) is None

    keep_outcomes(log, Outcomes(tests={"a": "passed"}))

    assert find_outcomes(log) == {"a": "passed"}
