"""Runs inside the test runners that a check starts, and finds functions of theirs that were replaced meanwhile.

What is looked at are assertions, and what calls a test and takes its outcome. The rule: it changes nothing about the
run. It has to work with every Python from 3.8 on and without Drumline.
"""

from __future__ import annotations

import builtins
import os
import sys
from typing import Any

MODULES = (
    "unittest.case",
    "unittest.result",
    "unittest.suite",
    "unittest.runner",
    "unittest.loader",
    "unittest.main",
    "unittest.util",
    "unittest.async_case",
    "_pytest.unittest",
    "_pytest.python",
    "_pytest.runner",
    "_pytest.reports",
    "_pytest.python_api",
    "_pytest.raises",
    "_pytest.main",
    "_pytest.nodes",
    "_pytest.skipping",
    "_pytest.outcomes",
    "_pytest.terminal",
    "_pytest.assertion.rewrite",
    "_pytest.assertion.util",
)
_BUILTINS = (
    *("__build_class__", "__import__", "isinstance", "issubclass", "getattr", "hasattr", "callable", "compile", "eval"),
    *("exec", "all", "any", "abs", "len", "max", "min", "repr", "round", "sorted", "sum"),
)
"""Functions of Python that tests are made of, or assert with."""
_LOADERS = ("_frozen_importlib", "_frozen_importlib_external")
"""What reads tests and their modules."""
_ASSERTS = ("assert", "fail", "_callTest", "run", "__getattribute__", "__call__")
_INSTALLED = ("site-packages", "dist-packages", os.path.dirname(os.__file__))
_known: dict[tuple[str, str], Any] = {}
_plain: dict[str, Any] = {}
_asserts: list[tuple[str, Any, str, Any, Any]] = []
_tests: list[tuple[str, Any, str, Any, Any]] = []
_owners: set[int] = set()
_plugins: set[int] = set()


def remember_python() -> None:
    """Keep what Python itself reads and makes tests with."""
    _plain.update({name: vars(builtins)[name] for name in _BUILTINS if name in vars(builtins)})
    for name in _LOADERS:
        if name in sys.modules:
            remember(sys.modules[name], name)


def remember(module: Any, name: str = "") -> None:
    """Keep what a module of a runner has now; `name` is that under which Python knows it."""
    name = name or module.__name__
    _known.update({(name, path): _identify(found) for path, found in _list_functions(name, module)})


def list_replaced() -> list[str]:
    """The functions that are others by now."""
    present: dict[tuple[str, str], Any] = {}
    for name in {module for module, _ in _known}:
        module = sys.modules.get(name)
        if module is not None:
            present.update({(name, path): _identify(found) for path, found in _list_functions(name, module)})
    others = [f"{name}.{path}" for (name, path), found in _known.items() if present.get((name, path)) != found]
    others += [f"builtins.{name}" for name, found in _plain.items() if vars(builtins).get(name) is not found]
    others += [f"{name}.{path}" for name, path in present if (name, path) not in _known and _is_hook(name, path)]
    others += [name for name, *test in _tests if _find_code(*test[:2]) != tuple(test[2:])]
    said = {name.rpartition(".")[2] for name in others}  # what a class of a runner has, all that inherit from it have
    others += [name for name, *test in _asserts if test[1] not in said and _find_code(*test[:2]) != tuple(test[2:])]
    return sorted(others)


def _is_hook(module: str, path: str) -> bool:
    """Whether what was added to a class decides what others of it are, or takes the place of what it inherits."""
    kind, _, name = path.rpartition(".")
    if (module, kind) not in _known:
        return False
    inherited = getattr(getattr(sys.modules.get(module), kind, None), "__mro__", ())[1:]
    return (name.startswith("__") and name.endswith("__")) or any(name in vars(one) for one in inherited)


def watch_test(name: str, owner: Any, attribute: str) -> None:
    """Keep the code of a test before any test is executed, and what its class asserts with."""
    _tests.append((name, owner, attribute, *_find_code(owner, attribute)))
    if isinstance(owner, type) and id(owner) not in _owners:
        _owners.add(id(owner))
        path = f"{owner.__module__}.{owner.__qualname__}"
        words = [word for word in dir(owner) if word.startswith(_ASSERTS) and _is_steady(owner, word)]
        _asserts.extend((f"{path}.{word}", owner, word, *_find_code(owner, word)) for word in words)


def _is_steady(owner: Any, attribute: str) -> bool:
    """Whether a class has the same each time that it is asked."""
    return _find_code(owner, attribute) == _find_code(owner, attribute)


def _find_code(owner: Any, attribute: str) -> tuple[Any, Any]:
    found = getattr(owner, attribute, None)
    function = getattr(found, "__func__", found)
    return function, getattr(function, "__code__", None)


def watch_plugins(manager: Any) -> None:
    """Keep the plugins that there are when a session begins."""
    _plugins.update(map(id, manager.get_plugins()))


def list_plugins(manager: Any) -> list[str]:
    """The plugins of the project that the code under test has registered meanwhile."""
    fresh = [plugin for plugin in manager.get_plugins() if id(plugin) not in _plugins]
    modules = [sys.modules.get(_name_module(plugin)) for plugin in fresh]
    files = [str(getattr(module, "__file__", None) or "") for module in modules]
    own = {file for file in files if file and not any(place in file for place in _INSTALLED)}
    return sorted(f"plugin {os.path.basename(file)}" for file in own if os.path.basename(file) != "conftest.py")


def _name_module(plugin: Any) -> str:
    return str(plugin.__name__ if isinstance(plugin, type(sys)) else type(plugin).__module__)


def _list_functions(name: str, module: Any) -> list[tuple[str, Any]]:
    """The functions of a module, and the functions and classes that its own classes have."""
    found: list[tuple[str, Any]] = []
    for word, thing in list(vars(module).items()):
        if isinstance(thing, type) and thing.__module__ == name:
            found += [(f"{word}.{key}", value) for key, value in list(vars(thing).items())]
        found.append((word, thing))
    return [(path, thing) for path, thing in found if _identify(thing)]


def _identify(thing: Any) -> tuple[int, int] | None:
    """What tells a function from another, also from itself with other code; None for what cannot be called."""
    if isinstance(thing, type):
        return (id(thing), 0)
    function = getattr(thing, "__func__", None) or getattr(thing, "fget", None) or thing
    code = getattr(function, "__code__", None)
    return (id(function), id(code)) if code is not None else None
