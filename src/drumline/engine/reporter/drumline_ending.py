"""Runs inside the Pythons that a check starts, and writes down where code of the project ends one.

A script of tests, or what `python -c` is given, proves nothing if the code that it tests ends it: each such end is a
line `["cut", PROGRAM, FILE]` in a file of its own; FILE is empty where nobody knows it. The rule: it changes nothing
about the run. It has to work with every Python from 3.8 on and without Drumline.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any

FOLDER = "DRUMLINE_ENDING"
ENDING = ".cut"
_PACKAGES = ("site-packages", "dist-packages")
_EXITS = frozenset(("exit", "_exit", "quit", "SystemExit"))
_IDLE = (
    "NOP",
    "CACHE",
    "POP_",
    "PRECALL",
    "CALL",
    "KW_NAMES",
    "JUMP_",
    "RAISE_",
    "SETUP_",
    "BEGIN_",
    "END_",
    "EXTENDED",
)
"""What is left of a program that does nothing more, or only ends."""
_FAILS = ("RAISE_", "RERAISE")


class Watcher:
    """Knows the program of this process, and who ended it."""

    def __init__(self, folder: str) -> None:
        self._place = os.path.join(folder, f"{os.getpid()}{ENDING}")
        self._pid, self._root = os.getpid(), os.path.realpath(os.getcwd()) + os.sep
        self._frame: FrameType | None = None
        self._ender = ""

    def find_program(self, frame: FrameType, event: str, _: Any) -> None:
        """Keep the frame of the program, and look at no other."""
        name = frame.f_globals.get("__name__")
        if event == "call" and name == "__main__" and frame.f_code.co_name == "<module>":
            sys.setprofile(None)
            if self._is_own(frame.f_code.co_filename):
                self._frame = frame
                os.environ.pop(FOLDER, None)

    def note(self, file: str, *, at_once: bool) -> None:
        """Somebody ends the process, `at_once` or by an exception that may still be caught."""
        self._ender = file
        frame = self._frame
        if at_once and frame is not None and self._ends_others(frame, file):
            self._write(frame, self._cut(file))

    def look(self) -> None:
        """The process ends: whether its program did, and if not, whether code of the project has ended it."""
        frame, file = self._frame, self._ender
        failed = getattr(sys, "last_type", None) is not None  # what nobody caught says so by the exit code
        if frame is None or failed or _has_returned(frame) or _raises(frame):
            return
        if file and self._ends_others(frame, file):
            self._write(frame, self._cut(file))
        elif not file and not _mentions_exit(frame.f_code):
            self._write(frame, "")

    def _ends_others(self, frame: FrameType, file: str) -> bool:
        return file != frame.f_code.co_filename and self._is_own(file) and not file.startswith("<")

    def _write(self, frame: FrameType, file: str) -> None:
        if os.getpid() != self._pid:
            return
        program = frame.f_code.co_filename
        given = program.startswith("<")
        whole = not given or any(True for _ in _list_inner(frame.f_code))
        if not _is_over(frame.f_code, frame.f_lasti, whole=whole):
            line = ["cut", program if given else self._cut(program), file]
            fd = os.open(self._place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(fd, (json.dumps(line) + "\n").encode("utf-8", "backslashreplace"))
            os.close(fd)

    def _cut(self, file: str) -> str:
        return os.path.relpath(os.path.realpath(file), self._root)

    def _is_own(self, file: str) -> bool:
        if file.startswith("<"):
            return file in ("<string>", "<stdin>")
        real = os.path.realpath(file)
        return real.startswith(self._root) and not any(name in real.split(os.sep) for name in _PACKAGES)


def _is_over(code: CodeType, at: int, *, whole: bool) -> bool:
    """Whether a program has come to its end, or, unless it shall be `whole`, has nothing more to do but to end."""
    import opcode  # asked for once, by the few processes that end early

    names = [opcode.opname[op] for op in code.co_code[at::2]]
    if whole or names[0].startswith(_FAILS):  # an exception of its own, which another one answers
        return names[0].startswith("RETURN")
    for number, name in enumerate(names[1:], 1):
        nothing = name.startswith("LOAD_CONST") and code.co_consts[code.co_code[at + 2 * number + 1]] is None
        if name.startswith("RETURN") or not (nothing or name.startswith(_IDLE)):
            return name.startswith("RETURN")
    return True


def _has_returned(frame: FrameType) -> bool:
    """Whether a program has ended as all do that are not ended."""
    return frame.f_code.co_code[frame.f_lasti] == compile("", "", "exec").co_code[-2]


def _raises(frame: FrameType) -> bool:
    """Whether a program raises an exception itself."""
    import opcode

    return opcode.opname[frame.f_code.co_code[frame.f_lasti]].startswith(_FAILS)


def _mentions_exit(code: CodeType) -> bool:
    """Whether a program ends itself somewhere."""
    return not _EXITS.isdisjoint(code.co_names) or any(map(_mentions_exit, _list_inner(code)))


def _list_inner(code: CodeType) -> Iterator[CodeType]:
    """The functions of a program."""
    yield from (found for found in code.co_consts if isinstance(found, CodeType))


def _enclose(module: Any, name: str, watcher: Watcher) -> None:
    """Let a function that ends the process say first who calls it."""
    original = getattr(module, name)

    def ending(*args: Any) -> Any:
        try:
            watcher.note(sys._getframe(1).f_code.co_filename, at_once=module is os)
        except Exception:  # what nobody can tell is not known
            pass
        return original(*args)

    ending.__name__ = ending.__qualname__ = name
    ending.__doc__ = original.__doc__
    setattr(module, name, ending)


def install() -> None:
    """Wait for the program to begin."""
    watcher = Watcher(os.environ[FOLDER])
    for module, name in ((sys, "exit"), (os, "_exit"), (os, "execv"), (os, "execve")):
        _enclose(module, name, watcher)
    atexit.register(watcher.look)
    sys.setprofile(watcher.find_program)
