"""Runs inside the Pythons that a check starts, and writes down which lines of some files were executed.

The folder that `DRUMLINE_LINES` names has a file `files` with their paths; each process adds a file of its own with
lines `PATH:NUMBER`. The rule: it changes nothing about the run. It has to work with every Python from 3.8 on and
without Drumline.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

FOLDER = "DRUMLINE_LINES"
FILES = "files"
ENDING = ".lines"


class Recorder:
    """Writes each line once, at once: a process may end without saying so."""

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, FILES), encoding="utf-8") as file:
            self._wanted = set(file.read().splitlines())
        self._folder = folder
        self._names: dict[str, str] = {}
        self._seen: set[tuple[str, int]] = set()

    def wants(self, name: str) -> bool:
        """Whether a file of code is one of those that are asked about."""
        if name not in self._names:
            self._names[name] = os.path.realpath(name)
        return self._names[name] in self._wanted

    def note(self, name: str, line: int) -> None:
        """Write down that a line was executed."""
        if (name, line) in self._seen:
            return
        self._seen.add((name, line))
        path = os.path.join(self._folder, f"{os.getpid()}{ENDING}")
        text = f"{self._names[name]}:{line}\n".encode("utf-8", "surrogateescape")
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, text)
        os.close(fd)


def install() -> None:
    """Watch this process, if it is asked for."""
    recorder = Recorder(os.environ[FOLDER])
    if sys.version_info >= (3, 12):
        _monitor(recorder)
    else:
        tracer = _trace(recorder)
        sys.settrace(tracer)
        threading.settrace(tracer)


def _monitor(recorder: Recorder) -> None:
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009 # older Pythons have none
    tool = next(number for number in (4, 3, 5) if monitoring.get_tool(number) is None)

    def note(code: Any, line: int) -> Any:
        if recorder.wants(code.co_filename):
            recorder.note(code.co_filename, line)
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "drumline")
    monitoring.register_callback(tool, monitoring.events.LINE, note)
    monitoring.set_events(tool, monitoring.events.LINE)


def _trace(recorder: Recorder) -> Callable[[Any, str, Any], Any]:
    def local(frame: Any, event: str, value: Any) -> Any:
        if event == "line":
            recorder.note(frame.f_code.co_filename, frame.f_lineno)
        return local

    def begin(frame: Any, event: str, value: Any) -> Any:
        return local if recorder.wants(frame.f_code.co_filename) else None

    return begin
