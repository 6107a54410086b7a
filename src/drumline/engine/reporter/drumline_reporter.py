"""Runs inside the test runners that checks start, and writes down which tests ran and how they ended.

Each runner writes a file of JSON lines: `["begin", RUNNER]`, `["test", ID, OUTCOME]` for each test,
`["patched", NAME]` for a function of the runner that was replaced meanwhile, `["end"]`. The rule: it changes nothing
about the run; what it cannot do it leaves undone. It has to work with every Python from 3.8 on and without Drumline.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

drumline_patches: Any = __import__("drumline_patches")  # it lies beside this file

FOLDER, ENDING = "DRUMLINE_REPORT", "DRUMLINE_ENDING"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Report:
    """The file of one runner; only the process that began it writes it."""

    def __init__(self, folder: str, runner: str) -> None:
        self._pid = os.getpid()
        name = f"{self._pid}-{time.time_ns()}.jsonl"
        self._fd = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o600)
        self.write("begin", runner)

    def write(self, *line: str) -> None:
        """Add a line; each is whole or not there."""
        if os.getpid() == self._pid:
            os.write(self._fd, (json.dumps(line) + "\n").encode("utf-8", "backslashreplace"))

    def end(self, more: Sequence[str] = ()) -> None:
        """Add what became of the runner meanwhile, and the last line."""
        for name in (*drumline_patches.list_replaced(), *more):
            self.write("patched", name)
        self.write("end")


_report: Report | None = None


def begin(runner: str) -> Report | None:
    """The report of the first runner in this process; what it starts itself does not report."""
    global _report
    folder = os.environ.pop(FOLDER, "")
    os.environ.pop(ENDING, None)
    if not folder or _report is not None:
        return None
    _report = Report(folder, runner)
    return _report


# --- pytest ------------------------------------------------------------------------------------------------------


class PytestPlugin:
    """What a session of pytest tells us; workers of pytest-xdist tell it their session, which tells us."""

    def __init__(self) -> None:
        self._report: Report | None = None

    def pytest_sessionstart(self, session: Any) -> None:
        """A session begins, before anything is collected."""
        if not hasattr(session.config, "workerinput"):
            self._report = begin("pytest")
            _try(lambda: drumline_patches.watch_plugins(session.config.pluginmanager))

    def pytest_collection_finish(self, session: Any) -> None:
        """All tests are known, and none was executed."""
        if self._report is not None:
            _try(lambda: _watch_items(session.items))

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test is over."""
        if self._report is not None and (report.when == "call" or report.outcome != PASSED):
            outcome = report.outcome if report.outcome in (PASSED, SKIPPED) else FAILED
            self._report.write("test", report.nodeid, outcome)

    def pytest_sessionfinish(self, session: Any) -> None:
        """The session is over."""
        _tell_outside()
        if self._report is not None:
            self._report.end(_try(lambda: drumline_patches.list_plugins(session.config.pluginmanager)) or ())


def _watch_items(items: Sequence[Any]) -> None:
    """Keep the code of tests of pytest."""
    for item in items:
        name = getattr(item, "originalname", None) or item.name
        drumline_patches.watch_test(item.nodeid, getattr(item, "cls", None) or getattr(item.parent, "obj", None), name)


def _try(act: Callable[[], Any]) -> Any:
    """Do what the run must not notice; nothing if that goes wrong."""
    try:
        return act()
    except Exception:
        return None


def _tell_outside() -> None:
    """Let be written down what was loaded: a worker of pytest-xdist may end without saying so."""
    watcher = sys.modules.get("drumline_outside")
    if watcher is not None:
        watcher.tell()


def _hook_pytest(module: Any) -> None:
    manager = module.PytestPluginManager
    original = manager.consider_env

    def consider_env(self: Any) -> Any:
        found = original(self)
        if not self.has_plugin("drumline-reporter"):
            self.register(PytestPlugin(), "drumline-reporter")
        return found

    manager.consider_env = consider_env


# --- unittest ----------------------------------------------------------------------------------------------------

_WORST = {PASSED: 0, SKIPPED: 1, FAILED: 2}
_METHODS = {
    "addFailure": FAILED,
    "addError": FAILED,
    "addUnexpectedSuccess": FAILED,
    "addSkip": SKIPPED,
    "addExpectedFailure": PASSED,
}
_open: dict[str, str] = {}


def _hook_main(module: Any) -> None:
    program = module.TestProgram
    original = program.__init__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        _enclose(lambda: original(self, *args, **kwargs))

    program.__init__ = __init__
    module.main = program
    drumline_patches.remember(module)


def _hook_runner(module: Any) -> None:
    original = module.TextTestRunner.run

    def run(self: Any, test: Any) -> Any:
        _try(lambda: _watch_tests(test, sys.modules["unittest.suite"].BaseTestSuite))
        return _enclose(lambda: original(self, test))

    module.TextTestRunner.run = run
    drumline_patches.remember(module)


def _watch_tests(test: Any, suites: Any) -> None:
    """Keep the code of all tests of a suite."""
    if isinstance(test, suites):
        for inner in test:
            _watch_tests(inner, suites)
    else:
        drumline_patches.watch_test(test.id(), type(test), test._testMethodName)


def _enclose(run: Callable[[], Any]) -> Any:
    """Run the tests between the first and the last line of a report, unless that is done further out."""
    report = begin("unittest")
    try:
        return run()
    finally:
        if report is not None:
            report.end()


def _hook_result(module: Any) -> None:
    for name, outcome in _METHODS.items():
        _watch(module.TestResult, name, outcome)
    _watch(module.TestResult, "startTest", PASSED)
    _watch_sub(module.TestResult)
    stop = module.TestResult.stopTest

    def stop_test(self: Any, test: Any) -> Any:
        outcome = _open.pop(test.id(), "")
        if outcome and _report is not None:
            _report.write("test", test.id(), outcome)
        return stop(self, test)

    module.TestResult.stopTest = stop_test
    drumline_patches.remember(module)


def _watch(kind: Any, name: str, outcome: str) -> None:
    original = getattr(kind, name)

    def watched(self: Any, test: Any, *args: Any) -> Any:
        _note(test, outcome)
        return original(self, test, *args)

    setattr(kind, name, watched)


def _watch_sub(kind: Any) -> None:
    original = kind.addSubTest

    def watched(self: Any, test: Any, subtest: Any, err: Any) -> Any:
        _note(test, PASSED if err is None else FAILED)
        return original(self, test, subtest, err)

    kind.addSubTest = watched


def _note(test: Any, outcome: str) -> None:
    """Keep the worst of a test; modules and classes that fail before their tests have no id of their own."""
    known = _open.get(test.id(), PASSED)
    _open[test.id()] = max(known, outcome, key=lambda word: _WORST[word])


# --- finding them ------------------------------------------------------------------------------------------------

_HOOKS: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(drumline_patches.MODULES, drumline_patches.remember),
    "_pytest.config": _hook_pytest,
    "unittest.main": _hook_main,
    "unittest.runner": _hook_runner,
    "unittest.result": _hook_result,
}


class Finder:
    """Sees a runner being imported, and changes it then: nothing is imported that the program does not want."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """The module as the other finders find it."""
        hook = _HOOKS.get(name)
        if hook is None:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None and finder is not self else None
            if spec is not None:
                _change(spec.loader, hook)
                return spec
        return None


def _change(loader: Any, hook: Callable[[Any], None]) -> None:
    load = loader.exec_module

    def exec_module(module: Any) -> None:
        load(module)
        try:
            hook(module)
        except Exception:  # another version of the runner, about which we learn nothing
            pass

    loader.exec_module = exec_module


def install() -> None:
    """Wait for a runner."""
    drumline_patches.remember_python()
    sys.meta_path.insert(0, Finder())
