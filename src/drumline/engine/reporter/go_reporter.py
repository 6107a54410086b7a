"""Runs a test binary of Go in place of `go test`, and writes down which tests ran and how they ended.

`go_reporter.py FOLDER ROOT BINARY ARGUMENT …`: the report goes to FOLDER, names are relative to ROOT. The lines are
those of `drumline_reporter`. The rule: what the binary prints reaches `go test` as it would without us, but that
what passing tests log is shown if the package fails.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import TextIO

MARKER = "\x16"
"""Stands before the lines of the test runner itself, if it is asked for."""
OUTCOMES = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
_ENDED = re.compile(r"--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$")
_FRAME = re.compile(r"\s*(?:=== (?:RUN|PAUSE|CONT|NAME) |--- (?:PASS|SKIP): )")
_OVER = ("PASS", "FAIL")


def main(folder: str, root: str, binary: str, *args: str) -> int:
    """The exit code of the binary."""
    path = os.path.join(folder, f"{os.getpid()}-{time.time_ns()}.jsonl")
    place = os.path.relpath(os.getcwd(), root)
    asked = any(arg.split("=")[0] == "-test.v" and not arg.endswith("=false") for arg in args)
    added = [] if asked else ["-test.v=test2json" if _knows_markers(binary) else "-test.v=true"]
    with open(path, "x", encoding="utf-8") as report:
        _write(report, "begin", "go test")
        child = subprocess.Popen([binary, *args, *added], stdout=subprocess.PIPE)
        for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda got, frame: child.send_signal(got))
        for raw in child.stdout or ():
            line = raw.decode("utf-8", "replace").rstrip("\n")
            _note(report, place, line.lstrip(MARKER).strip())
            shown = raw if asked else _show(raw, line)
            sys.stdout.buffer.write(shown)
            sys.stdout.buffer.flush()
        return child.wait()


def _note(report: TextIO, place: str, line: str) -> None:
    found = _ENDED.search(line)
    if found:
        _write(report, "test", f"{place}: {found[2]}", OUTCOMES[found[1]])
    if line in _OVER:
        _write(report, "end")


def _show(raw: bytes, line: str) -> bytes:
    """A line as it is without `-v`: nothing of tests that pass, and no markers."""
    return b"" if _FRAME.match(line.lstrip(MARKER)) else raw.replace(MARKER.encode(), b"")


def _knows_markers(binary: str) -> bool:
    """Whether the test runner in the binary puts markers before its lines."""
    with open(binary, "rb") as file:
        return b"test2json" in file.read()


def _write(report: TextIO, *line: str) -> None:
    report.write(json.dumps(line) + "\n")
    report.flush()


if __name__ == "__main__":
    code = main(*sys.argv[1:])
    sys.exit(code if code >= 0 else 128 - code)
