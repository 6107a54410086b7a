"""Files that decide what a check does though nothing of a judge is in their names.

They take the place of what tests rely on, or a command finds them by a pattern. The rule: such a file counts as a test,
so that the checks run once more without its change; nobody is asked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, dirname, normpath

from drumline.core.judge import CREATED
from drumline.core.shellwords import split_command
from drumline.patterns import compile_late

_SOURCES = frozenset({"", "src", "lib", "python"})
"""Folders in which Python looks for modules, beside those of tests."""
_MODULE = compile_late(r"(?P<folder>(?:.*/)?)(?P<name>(?!__init__)[A-Za-z_]\w*)(?:\.(?:py|pyc|so|pyd)|/__init__\.py)")
_DEFINES = (
    r"^(?:def|class)[ ]+{word}\b|^{word}\b[ ]*[=:,]|[\"']{word}[\"']|^[ ]*(?:from[^\n]*)?\bimport\b[^\n]*\b{word}\b"
)
"""Where a module has a name."""
_LOOPS = compile_late(
    r"\bxargs\b[^|;&]*?[\s/](?P<one>(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl)\b(?!\s+-n\b)"
    r"|-exec(?:dir)?\s+(?P<two>(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl)\b(?!\s+-n\b)"
    r"|\bfor\s+\w+\s+in\b[^;]*;\s*do\b.*?(?:^|[\s;&|/])(?P<three>(?:ba|da|k|z)?sh|python[\d.]*|node|ruby|perl|\.)\s+[\"']?\$"
    r"|\bfor\s+\w+\s+in\b[^;]*;\s*do\s+[\"']?\$|\brun-parts\b",
    re.DOTALL,
)
"""Commands that execute files whose names they do not say."""
_C = (".h", ".hh", ".hpp", ".hxx", ".inl", ".c", ".cc", ".cpp", ".cxx")
_HEADERS = frozenset(
    {"assert.h", "cassert", "setjmp.h", "signal.h", "stdlib.h", "cstdlib", "stdio.h", "string.h", "unistd.h"}
)
"""Headers of C that tests include: a compiler finds one of the project before its own."""
_MACROS = compile_late(
    r"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(?:assert|NDEBUG|abort|_?exit|static_assert|main|TEST_ASSERT\w*|ck_assert\w*"
    r"|(?:EXPECT|ASSERT|REQUIRE|CHECK|TEST)(?:_\w+)?)\b.*",
    re.MULTILINE,
)


def list_shadows(changed: Mapping[str, str], tests: Iterable[str], files: Collection[str] = ()) -> dict[str, str]:
    """New modules that have the name of one of Python's own, each with the name; not what the step's `files` name.

    `tests` are paths of tests: Python looks for modules beside them.
    """
    places = _SOURCES | {dirname(path) for path in tests}
    found = {}
    for path, change in changed.items():
        match = _MODULE.fullmatch(path)
        if match is None or change != CREATED or path in files:
            continue
        if match["folder"].rstrip("/") in places and match["name"] in sys.stdlib_module_names:
            found[path] = match["name"]
    return found


def takes_over(text: str, module: str, original: str) -> bool:
    """Whether a text of Python uses a module of Python's own; `original` is its source, empty if it has none.

    A text that asks for nothing that is there means another one: that of the project.
    """
    if module not in text:
        return False
    listed = re.findall(rf"\bfrom[ \t]+{module}(?:\.\w+)*[ \t]+import[ \t(]+([\w \t,*]+)", text)
    if not listed and not re.search(rf"\bimport[ \t]+(?:[\w., \t]+,[ \t]*)?{module}\b", text):
        return False
    named = {word for names in listed for word in re.findall(r"\w+", names)}
    used = named | {*re.findall(rf"(?<![\w.]){module}\.(\w+)", text)}
    opaque = not used or not original or "import *" in original
    return opaque or any(re.search(_DEFINES.format(word=word), original, re.MULTILINE) for word in used)


def list_looped(changed: Mapping[str, str], commands: Sequence[str]) -> list[str]:
    """The scripts, not new, that a command finds by a pattern and executes."""
    looping = [command for command in commands if _LOOPS.search(command)]
    words = {word for command in looping for part in split_command(command) for word in part.words}
    patterns = [normpath(word.rstrip(";")) for word in words if word and not word.startswith(("-", "$"))]
    return [
        path
        for path, change in changed.items()
        if change != CREATED and any(_is_found(path, pattern) for pattern in patterns)
    ]


def _is_found(path: str, pattern: str) -> bool:
    """Whether a word of a command is a pattern of a path, or a folder above it."""
    if any(sign in pattern for sign in "*?["):
        return "/" in pattern and fnmatchcase(path, pattern)
    return path.startswith(f"{pattern}/")


def stands_for_header(path: str, change: str) -> bool:
    """Whether a new file has the name of a header that tests of C include."""
    return change == CREATED and basename(path) in _HEADERS


def is_c(path: str) -> bool:
    """Whether a file may define macros of C."""
    return path.endswith(_C)


def list_macros(text: str) -> list[str]:
    """The lines that define, or take away, what tests of C assert with."""
    return [found[0].strip() for found in _MACROS.finditer(text)]
