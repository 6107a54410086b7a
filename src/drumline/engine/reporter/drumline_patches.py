"""Runs inside the test runners that a check starts, and finds functions of theirs that were replaced meanwhile.

What is looked at are assertions, and what calls a test and takes its outcome. The rule: it changes nothing about the
run. It has to work with every Python from 3.8 on and without Drumline.
"""

from __future__ import annotations

import sys
from typing import Any

_WATCHED: dict[str, tuple[str, ...]] = {
    "unittest.case": ("TestCase", "_Outcome", "_AssertRaisesContext"),
    "unittest.result": ("TestResult",),
    "unittest.suite": ("TestSuite", "BaseTestSuite"),
    "_pytest.unittest": ("TestCaseFunction",),
    "_pytest.python": ("Function", "pytest_pyfunc_call"),
    "_pytest.runner": ("CallInfo", "call_and_report", "pytest_runtest_call", "pytest_runtest_makereport"),
    "_pytest.reports": ("TestReport",),
    "_pytest.python_api": ("raises", "approx"),
    "_pytest.raises": ("raises",),
}
MODULES = tuple(_WATCHED)
_known: dict[tuple[str, str], Any] = {}


def remember(module: Any) -> None:
    """Keep what a module of a runner has now."""
    name = module.__name__
    _known.update({(name, path): _identify(found) for path, found in _list_functions(name, module)})


def list_replaced() -> list[str]:
    """The functions that are others by now."""
    present: dict[tuple[str, str], Any] = {}
    for name in {module for module, _ in _known}:
        module = sys.modules.get(name)
        if module is not None:
            present.update({(name, path): _identify(found) for path, found in _list_functions(name, module)})
    return sorted(f"{name}.{path}" for (name, path), found in _known.items() if present.get((name, path)) != found)


def _list_functions(name: str, module: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for word in _WATCHED.get(name, ()):
        thing = vars(module).get(word)
        if isinstance(thing, type):
            found += [(f"{word}.{key}", value) for key, value in vars(thing).items() if _identify(value)]
        elif thing is not None:
            found.append((word, thing))
    return found


def _identify(thing: Any) -> tuple[int, int] | None:
    """What tells a function from another, also from itself with other code; None for what cannot be called."""
    function = getattr(thing, "__func__", thing)
    code = getattr(function, "__code__", None)
    return (id(function), id(code)) if code is not None else None
