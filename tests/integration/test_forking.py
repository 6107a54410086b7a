"""Tests that several processes run are told as one process tells them, also if one of the processes dies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
import pytest
from tests.forking import run_forked

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    return run_forked(session, 2)
"""
TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(40))
def test_good(number, tmp_path):
    print("said")
    assert "worker-" in str(tmp_path)

def test_bad():
    print("said before it failed".upper())
    assert 1 == 2

def test_deadly():
    os._exit(3)

@pytest.mark.skip(reason="not now")
def test_skipped():
    pass
"""


@pytest.mark.long
def test_every_test_is_told_once_and_one_whose_process_dies_has_failed(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_some.py").write_text(TESTS)

    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'base'}", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "2 failed, 40 passed, 1 skipped" in told.stdout, told.stdout + told.stderr
    assert told.returncode == pytest.ExitCode.TESTS_FAILED
    assert told.stdout.count("SAID BEFORE IT FAILED") == 1
    assert "the process that ran test_some.py::test_deadly has died" in told.stdout
    assert "SKIPPED [1] test_some.py" in told.stdout
