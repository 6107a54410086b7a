"""Whether a new test may change what other tests run, as far as its text tells.

The rule: what is in doubt may. The doubt costs one more run of the checks, and asks nobody.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from drumline.patterns import compile_late

_WORDS = frozenset(
    {
        *("setattr", "delattr", "vars", "globals", "locals", "exec", "eval", "compile", "builtins", "monkeypatch"),
        *("patch", "mock", "Mock", "MagicMock", "modules", "meta_path", "importlib", "import_module", "reload"),
        *("ctypes", "gc", "inspect", "settrace", "setprofile", "atexit", "register", "pytest_plugins", "runpy"),
        *("write_text", "write_bytes", "symlink_to", "hardlink_to", "rename", "unlink", "shutil", "subprocess"),
    }
)
"""Names by which a test of Python replaces functions, modules or files."""
_PLAIN = frozenset({"__name__", "__file__", "__doc__", "__init__", "__version__", "__all__", "__main__", "__future__"})
_OWN = frozenset({"self", "cls"})
_SCRIPT = compile_late(
    r"\b(?:spyOn|stub|mock|prototype|__proto__|defineProperty|defineProperties|assign|Reflect|cache|register|module|eval)\b"
    r"|\b(?:setattr|exec|instance_variable_set|define_method|class_eval|runkit\w*)\b"
    r"|\b(?:writeFile|appendFile|copyFile|rename|symlink|unlink)\w*"
    r"|(?:^|[;{}(\[,])[^\S\n]*(?!(?:self|this)\.)[A-Za-z_$][\w$.]*(?:\.\w+|\[[^\]\n]*\])\s*(?:\]\s*)?(?:,[^=\n]*)?=(?![=>])",
    re.MULTILINE,
)
"""The same in other languages, by their form alone."""

_JAVASCRIPT = (".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx")
_USES_RUNNER = compile_late(
    r"\b(?:expect|chai)\s*\.\s*(?:extend|use|overwriteMethod|addMethod|Assertion)\b|\bjest\s*\.\s*(?:mock|spyOn|setMock|doMock)\b"
    r"|(?:\bfrom|\brequire\(|\bimport\(?)\s*[\"'](?:vitest|chai|expect|@jest/\w+|@vitest/\w+|node:test)[\"']"
    r"|\bassert(?:[\"']\s*\))?(?:\.strict)?\s*\.\s*\w+\s*=(?![=>])|jest-matchers-object|\b(?:globalThis|global)\s*\.\s*(?:expect|test|it|describe)\b"
)
"""What only tests and their helpers do: they use a test runner of JavaScript, or change what it asserts with."""


def uses_runner(path: str, text: str) -> bool:
    """Whether a file of JavaScript uses a test runner, so that it belongs to the tests whatever its name is."""
    return path.endswith(_JAVASCRIPT) and _USES_RUNNER.search(text) is not None


def may_reach(path: str, text: str) -> bool:
    """Whether a test of this name may replace what it imports: then others may pass because of it."""
    if not path.endswith(".py"):
        return _SCRIPT.search(text) is not None
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(map(_reaches, ast.walk(tree)))


def _reaches(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()):
            return not (isinstance(node.value, ast.Name) and node.value.id in _OWN)
        case ast.Subscript(ctx=ast.Store() | ast.Del()):
            return not isinstance(node.value, ast.Name) and not _is_own(node.value)
        case ast.Call(func=ast.Name(id="open")):
            return _writes(node)
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(), *_]):
            return False
        case ast.Call(func=ast.Name(id="getattr")):
            return True
    return any(name in _WORDS or _is_hidden(name) for name in _list_names(node))


def _is_own(node: ast.expr) -> bool:
    """Whether it is an attribute of the test itself: `self.found`."""
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _OWN


def _writes(call: ast.Call) -> bool:
    """Whether a file is opened to be written to, or nobody knows how."""
    named = [word.value for word in call.keywords if word.arg == "mode"]
    modes = [*call.args[1:2], *named]
    return any(not isinstance(mode, ast.Constant) or not {*str(mode.value)} <= {*"rbt"} for mode in modes)


def _is_hidden(name: str) -> bool:
    return name.startswith("__") and name.endswith("__") and name not in _PLAIN


def _list_names(node: ast.AST) -> Iterator[str]:
    """The names that a part of a program uses, imports or, as a hook or a parameter, defines."""
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            yield name
        case ast.Constant(value=str(text)) if _is_hidden(text):
            yield text
        case ast.alias(name=name):
            yield from name.split(".")
        case ast.ImportFrom(module=str(name)):
            yield from name.split(".")
        case ast.FunctionDef(name=name) if name.startswith("pytest_"):
            yield "pytest_plugins"
