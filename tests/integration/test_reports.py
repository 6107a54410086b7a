"""Test runners that a check starts report which tests ran, and run as they would without that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drumline.core.testids import Cut
from drumline.engine.identity import digest_environment
from drumline.engine.reporters import keep_reachable, lead_reporters
from drumline.engine.reports import Outcomes, find_outcomes, keep_outcomes, read_outcomes
from drumline.ports.processes import Job
from drumline.record import replace

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
    assert found.patched == ()


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_runner_that_the_work_ends_does_not_come_to_its_end(project: Path, runner: str) -> None:
    (project / "work" / "test_some.py").write_text("import os\n\nos._exit(0)\n", encoding="utf-8")

    code, found = run(project, *RUNNERS[runner])

    assert code == 0
    assert found is not None
    assert not found.complete


REGISTERS = """import gc
from _pytest.config import PytestPluginManager


class Forger:
    pass


[one.register(Forger()) for one in gc.get_objects() if isinstance(one, PytestPluginManager)]
"""
REPLACES = """import test_some


def add():
    test_some.Some.test_bad.__code__ = (lambda self: None).__code__
"""


BUILDS = "lambda *args, **more: type('Some', (), {})"


@pytest.mark.parametrize(
    ("runner", "calc", "patched"),
    [
        (
            "unittest",
            "from unittest import case\ncase.TestCase.failureException = case._ShouldStop",
            "unittest.case.TestCase.failureException",
        ),
        ("unittest", "from unittest import case\ncase.safe_repr = repr", "unittest.case.safe_repr"),
        (
            "unittest",
            "from unittest import runner\nrunner.TextTestResult.addFailure = print",
            "unittest.runner.TextTestResult.addFailure",
        ),
        ("unittest", REPLACES, "test_some.Some.test_bad"),
        ("pytest", REPLACES, "test_some.py::Some::test_bad"),
        ("pytest", REGISTERS, "plugin calc.py"),
        ("pytest", "from _pytest import main\nmain.wrap_session = None", "_pytest.main.wrap_session"),
        ("unittest", f"import builtins\nbuiltins.__build_class__ = {BUILDS}", "builtins.__build_class__"),
        (
            "unittest",
            "import unittest\nunittest.TestCase.__getattribute__ = lambda *got: object.__getattribute__(*got)",
            "unittest.case.TestCase.__getattribute__",
        ),
        (
            "unittest",
            "import importlib.machinery as found\nfound.SourceFileLoader.get_data = lambda self, path: b''",
            "_frozen_importlib_external.SourceFileLoader.get_data",
        ),
        (
            "unittest",
            "import unittest\nfor kind in unittest.TestCase.__subclasses__():\n    kind.assertEqual = print",
            "test_some.Some.assertEqual",
        ),
    ],
)
def test_what_the_work_replaces_of_runners_and_tests_is_told(
    project: Path, runner: str, calc: str, patched: str
) -> None:
    (project / "work" / "calc.py").write_text(f"{calc}\n", encoding="utf-8")
    calls = "    def test_aaa(self):\n        import calc\n\n        getattr(calc, 'add', int)()\n\n    def test_good"
    tests = TESTS.replace("    def test_good", calls)
    (project / "work" / "test_some.py").write_text(tests, encoding="utf-8")

    _, found = run(project, *RUNNERS[runner])

    assert found is not None
    assert found.patched == (patched,)


ASKS = "import calc; assert calc.add(2, 3) == 5"
CHECK = "import sys\n\nsys.path.insert(0, '.')\nimport calc\n\nassert calc.add(2, 3) == 5\n"
ENDS = {
    "at import": ("import sys\n\nsys.exit(0)\n", "calc.py"),
    "by an exception": ("def add(a, b):\n    raise SystemExit\n", ""),
    "at once": ("import os\n\n\ndef add(a, b):\n    os._exit(0)\n", "calc.py"),
    "after a failure": ("import os\nimport sys\n\nsys.excepthook = lambda *_: os._exit(0)\nadd = max\n", "calc.py"),
    "as another program": ("import os\n\nos.execv('/bin/true', ['true'])\n", "calc.py"),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_program_that_the_work_ends_is_told(project: Path, end: str) -> None:
    text, file = ENDS[end]
    (project / "work" / "calc.py").write_text(text, encoding="utf-8")
    (project / "work" / "check_calc.py").write_text(CHECK, encoding="utf-8")

    given = run(project, "-c", ASKS)
    script = run(project, "check_calc.py")

    assert given[0] == script[0] == 0
    assert given[1] is not None
    assert script[1] is not None
    assert given[1].cut == (Cut(program="<string>", file=file),)
    assert {*script[1].cut} == {*given[1].cut, Cut(program="check_calc.py", file=file)}


HONEST = {
    "passes": "def add(a, b):\n    return a + b\n",
    "fails": "def add(a, b):\n    return a - b\n",
    "help": "import argparse\n\nargparse.ArgumentParser().parse_args(['-h'])\n",
}


@pytest.mark.parametrize("calc", HONEST)
def test_a_program_that_ends_by_itself_or_by_a_package_is_not(project: Path, calc: str) -> None:
    (project / "work" / "calc.py").write_text(HONEST[calc], encoding="utf-8")
    (project / "work" / "check_calc.py").write_text(CHECK, encoding="utf-8")

    _, given = run(project, "-c", ASKS)
    _, script = run(project, "check_calc.py")

    assert given is None
    assert script is None


@pytest.mark.parametrize("call", ["main()", "import sys; sys.exit(main())", "raise SystemExit(main())"])
def test_a_command_line_that_ends_itself_has_nothing_more_to_do(project: Path, call: str) -> None:
    (project / "work" / "app.py").write_text("import sys\n\n\ndef main():\n    sys.exit(0)\n", encoding="utf-8")

    assert run(project, "-c", f"from app import main; {call}") == (0, None)


def test_a_harness_of_tests_ends_its_script_as_it_pleases(project: Path) -> None:
    (project / "work" / "tests").mkdir()
    (project / "work" / "tests" / "harness.py").write_text("import sys\n\n\ndef end():\n    sys.exit(0)\n", "utf-8")
    (project / "work" / "tests" / "test_all.py").write_text("import harness\n\nharness.end()\n", "utf-8")

    assert run(project, "tests/test_all.py") == (0, None)


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


@pytest.mark.parametrize(
    "command",
    [
        "PYTHONPATH=. python3 -m unittest -q test_some",
        "A=1 PYTHONPATH='lib' python3 -m unittest -q test_some",
        "export PYTHONPATH=lib:$PYTHONPATH && python3 -m unittest -q test_some",
        'cd . && env B=2 PYTHONPATH="$PWD" python3 -m unittest -q test_some',
    ],
)
def test_a_runner_with_a_path_of_its_own_is_reached(project: Path, command: str) -> None:
    told = lead_reporters(project / "reports", {}, root=project / "work")
    line = ["bash", "-c", keep_reachable(command)]
    subprocess.run(line, cwd=project / "work", env={**os.environ, **told}, capture_output=True, check=False)

    found = read_outcomes(project / "reports")

    assert found is not None
    assert len(found.tests) == 4


@pytest.mark.parametrize(
    ("command", "file", "text"),
    [
        ("make test", "Makefile", "test:\n\tPYTHONPATH=. python3 -m unittest -q test_some\n"),
        ("make test", "Makefile", "export PYTHONPATH = lib\ntest:\n\tpython3 -m unittest -q test_some\n"),
        ("sh all.sh", "all.sh", "export PYTHONPATH=.\nexec python3 -m unittest -q test_some\n"),
    ],
)
def test_a_runner_is_reached_where_a_target_or_a_script_sets_the_path(
    project: Path, command: str, file: str, text: str
) -> None:
    (project / "work" / file).write_text(text, encoding="utf-8")
    told = lead_reporters(project / "reports", {}, root=project / "work", command=command)
    line = ["bash", "-c", command]
    subprocess.run(line, cwd=project / "work", env={**os.environ, **told}, capture_output=True, check=False)

    found = read_outcomes(project / "reports")

    assert found is not None
    assert len(found.tests) == 4
    job = Job(argv=line, cwd=project, log=project / "log", env={"PATH": told["PATH"]})
    assert digest_environment(job) == digest_environment(replace(job, env={}))


def test_programs_stay_as_they_are_where_nobody_sets_the_path(project: Path) -> None:
    (project / "work" / "Makefile").write_text("test:\n\tpython3 -m unittest\n", encoding="utf-8")

    assert "PATH" not in lead_reporters(project / "reports", {}, root=project / "work", command="make test")


@pytest.mark.parametrize(
    "command", ["grep -q 'PYTHONPATH=src' a", "echo PYTHONPATH=src", "PYTHONPATH= pytest", "pytest"]
)
def test_a_command_that_sets_no_path_stays_as_it_is(command: str) -> None:
    assert keep_reachable(command) == command


def test_a_list_of_tests_is_kept_beside_its_log(tmp_path: Path) -> None:
    log = tmp_path / "check-1-1.log"
    assert find_outcomes(log) is None

    keep_outcomes(log, Outcomes(tests={"a": "passed"}))

    assert find_outcomes(log) == {"a": "passed"}
