"""`drumline --debug`: the maintainer's log, on stderr and in the run's folder.

The rule: a line is a sentence and facts (`name=value`), and has no secrets in it. What decides is in the journal; this
log says what a process did and how long it took.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from drumline.core.redaction import Redaction, read_redaction

VARIABLE = "DRUMLINE_DEBUG"
FILE = "debug.log"
_ROOT = logging.getLogger("drumline")
_USUAL = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; the rest are its facts."""


class LineFormatter(logging.Formatter):
    """One line per record, without secrets; a traceback follows where there is one."""

    def __init__(self, redaction: Redaction) -> None:
        super().__init__(f"%(asctime)s.%(msecs)03d {os.getpid()} %(name)s: %(message)s", datefmt="%H:%M:%S")
        self._redaction = redaction

    def format(self, record: logging.LogRecord) -> str:
        """The sentence, then the facts by name."""
        head, *trace = super().format(record).split("\n")
        facts = [f"{name}={value}" for name, value in vars(record).items() if name not in _USUAL]
        return self._redaction.hide("\n".join([" ".join([head, *facts]), *trace]))


def start_debugging() -> None:
    """Write the log to stderr from here on."""
    _add(logging.StreamHandler(sys.stderr), read_redaction(os.environ))
    _ROOT.setLevel(logging.DEBUG)


def is_debugging() -> bool:
    """Whether somebody wants the log."""
    return _ROOT.isEnabledFor(logging.DEBUG)


def keep_debug_log(folder: Path, redaction: Redaction) -> None:
    """Write the log of this process into the run's folder, too, if somebody wants it."""
    if is_debugging():
        folder.mkdir(parents=True, exist_ok=True)
        _add(logging.FileHandler(folder / FILE, encoding="utf-8", errors="replace"), redaction)


def stop_debugging() -> None:
    """Close the log; another command of this process begins without it."""
    _ROOT.setLevel(logging.NOTSET)
    for handler in list(_ROOT.handlers):
        _ROOT.removeHandler(handler)
        handler.close()


def _add(handler: logging.Handler, redaction: Redaction) -> None:
    handler.setFormatter(LineFormatter(redaction))
    _ROOT.addHandler(handler)
