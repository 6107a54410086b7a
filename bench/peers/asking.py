"""Our side of the other engines: starts their processes and asks them for one measurement at a time.

An engine that is not installed or does not start is no error: it is left out, and why is said beside our figures.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv-bench" / "bin" / "python"
MODULES = {"LangGraph": "bench.peers.langgraph_chain", "DBOS": "bench.peers.dbos_chain"}
_TRACING = ("LANGSMITH_", "LANGCHAIN_", "DBOS_")
"""Settings of the caller that would make a peer do more than walk."""


class Unavailable(Exception):
    """A peer cannot be measured; the message says why."""


class Peer:
    """One engine in its process."""

    def __init__(self, name: str, child: subprocess.Popen[str], log: Path) -> None:
        self._child = child
        self._log = log
        about = self._read()
        self.name = f"{name} {next(iter(about['versions'].values()))}"
        self.note = str(about["note"])

    @classmethod
    def start(cls, name: str, folder: Path, *, python: Path = PYTHON) -> Self:
        """Start the engine in a folder of its own; Unavailable if it cannot be."""
        if not python.exists():
            raise Unavailable("its packages are not installed; `make bench` installs them")
        place = folder / name
        place.mkdir()
        log = place / "stderr.txt"
        env = {key: value for key, value in os.environ.items() if not key.startswith(_TRACING)}
        with log.open("w") as errors:
            child = subprocess.Popen(
                [python, "-m", MODULES[name], place],
                cwd=ROOT,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
            )
        try:
            return cls(name, child, log)
        except BaseException:
            _stop(child)
            raise

    def ask(self, work: str, *, walks: int = 1) -> float:
        """Seconds for one node, over so many walks of the chain."""
        assert self._child.stdin is not None
        try:
            print(json.dumps({"work": work, "walks": walks}), file=self._child.stdin, flush=True)
        except BrokenPipeError:
            raise self._explain() from None
        return float(self._read()["seconds"])

    def close(self) -> None:
        """Let it end by itself, as it does when nothing can be asked any more."""
        _stop(self._child)

    def _read(self) -> dict[str, Any]:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise self._explain()
        found: dict[str, Any] = json.loads(line)
        return found

    def _explain(self) -> Unavailable:
        said = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return Unavailable(f"its process ended: {said[-1] if said else 'it said nothing'}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Company:
    """The engines that can be measured, and for the others why not."""

    peers: dict[str, Peer]
    absent: dict[str, str]


@contextmanager
def invite(folder: Path, *, python: Path = PYTHON) -> Iterator[Company]:
    """Every engine that this Python can start; they end with the block."""
    company = Company(peers={}, absent={})
    with ExitStack() as stack:
        for name in MODULES:
            try:
                company.peers[name] = peer = Peer.start(name, folder, python=python)
                stack.callback(peer.close)
            except Unavailable as reason:
                company.absent[name] = str(reason)
        yield company


def _stop(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()
