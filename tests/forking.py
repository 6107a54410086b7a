"""The collected tests, run by several processes at once: each is a fork of the one that has collected them.

The rule: a test is run by one process, and what it reported is told to pytest by the first process alone. To collect in
each process, as pytest-xdist does, costs seconds of every one of them.
"""

from __future__ import annotations

import atexit
import gc
import marshal
import os
import selectors
import signal
import struct
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain, groupby, pairwise
from pathlib import Path
from traceback import format_exc
from typing import Any, NoReturn

import pytest

PIECE = 16
"""How many tests of one file a process takes at a time."""
HEAVY = ("anthropic", "openai", "google", "mcp")
"""The extras whose libraries take seconds to import."""
HEAVY_USERS = ("test_builtin_agent", "test_models")
"""The files, by how they begin, that ask providers for models."""
PLAIN_PYTEST = "PYTEST_DISABLE_PLUGIN_AUTOLOAD"
"""A project under test has none of the plugins of our environment: loading them is most of the start of its pytest."""
SPAN = struct.Struct("<II")
SIZE = struct.Struct("<I")


@dataclass(kw_only=True, slots=True)
class Worker:
    """A forked process as the first one sees it."""

    pid: int
    pipe: int
    heard: bytes = b""
    at: int | None = None
    """The test that it is at."""
    trouble: str = ""
    """What made it end."""


@dataclass(kw_only=True)
class Forks:
    """The processes of one session."""

    session: pytest.Session
    count: int
    ended: set[int] = field(default_factory=set)
    """The tests, by their place in the session, that nobody has to run any more."""

    def run(self) -> None:
        """Run every test, also those that a process which has died had taken along."""
        self.session.config.pluginmanager.getplugin("terminalreporter").showfspath = False
        while left := [place for place in range(len(self.session.items)) if place not in self.ended]:
            before = len(self.ended)
            self._run_round(split(self.session.items, left))
            assert len(self.ended) > before, "the processes that run tests end before they begin"

    def _run_round(self, spans: Sequence[tuple[int, int]]) -> None:
        queue = write_queue(spans)
        base = find_base(self.session.config)
        workers = [self._fork(queue, base / f"worker-{number}") for number in range(self.count)]
        os.close(queue)
        try:
            self._listen(workers)
        finally:
            for worker in workers:
                os.kill(worker.pid, signal.SIGTERM)
                os.waitpid(worker.pid, 0)

    def _fork(self, queue: int, temp: Path) -> Worker:
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(reading)
            work(self.session, queue, Teller(config=self.session.config, pipe=writing), temp)
        os.close(writing)
        return Worker(pid=pid, pipe=reading)

    def _listen(self, workers: Iterable[Worker]) -> None:
        """Tell pytest what the processes report, until all are gone or it wants no more."""
        with selectors.DefaultSelector() as selector:
            for worker in workers:
                selector.register(worker.pipe, selectors.EVENT_READ, worker)
            while selector.get_map():
                for key, _ in selector.select():
                    piece = os.read(key.fd, 1 << 16)
                    self._hear(key.data, piece)
                    if not piece:
                        selector.unregister(key.fd)
                        os.close(key.fd)
                stop_if_wanted(self.session)

    def _hear(self, worker: Worker, piece: bytes) -> None:
        worker.heard += piece
        while (word := take_word(worker)) is not None:
            kind, value = word
            getattr(self, f"_on_{kind}")(worker, value)
        if not piece and worker.at is not None:
            self._on_death(worker, worker.at)

    def _on_start(self, worker: Worker, place: int) -> None:
        worker.at = place
        item = self.session.items[place]
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)

    def _on_report(self, worker: Worker, data: dict[str, Any]) -> None:
        hook = self.session.config.hook
        hook.pytest_runtest_logreport(
            report=hook.pytest_report_from_serializable(config=self.session.config, data=data)
        )

    def _on_end(self, worker: Worker, place: int) -> None:
        worker.at = None
        self.ended.add(place)
        item = self.session.items[place]
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _on_trouble(self, worker: Worker, text: str) -> None:
        worker.trouble = text

    def _on_death(self, worker: Worker, place: int) -> None:
        """A test during which its process died has failed."""
        item = self.session.items[place]
        report = pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"the process that ran {item.nodeid} has died\n{worker.trouble}",
            when="call",
        )
        item.ihook.pytest_runtest_logreport(report=report)
        self._on_end(worker, place)


def take_word(worker: Worker) -> tuple[str, Any] | None:
    """The next thing that a process has told, if it has come as a whole."""
    end = SIZE.size + int.from_bytes(worker.heard[: SIZE.size], "little")
    if len(worker.heard) < max(end, SIZE.size):
        return None
    word, worker.heard = worker.heard[SIZE.size : end], worker.heard[end:]
    kind, value = marshal.loads(word)  # noqa: S302 - from our own process; JSON would make lists of tuples
    return kind, value


def run_forked(session: pytest.Session, count: int) -> bool:
    """Run the tests of a session in this many processes, as the loop of pytest does in one."""
    if session.testsfailed and not session.config.option.continue_on_collection_errors:
        raise session.Interrupted(f"{session.testsfailed} errors during collection")
    if not session.config.option.collectonly:
        load_heavy(session.items)
        Forks(session=session, count=count).run()
    return True


def load_heavy(items: Iterable[pytest.Item]) -> None:
    """Import what takes seconds once for all processes, if a test needs it."""
    if any(item.path.name.startswith(HEAVY_USERS) for item in items):
        for extra in HEAVY:
            with suppress(ImportError):  # the test that needs it says what is missing
                import_module("pydantic_ai.mcp" if extra == "mcp" else f"pydantic_ai.models.{extra}")
        gc.collect()
        gc.freeze()


def stop_if_wanted(session: pytest.Session) -> None:
    """What the loop of pytest does after each test."""
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)


def split(items: Sequence[pytest.Item], places: Sequence[int]) -> list[tuple[int, int]]:
    """Spans of tests that are taken together: neighbours of one file, which share what their file prepares."""
    runs = [
        [place for _, place in found]
        for _, found in groupby(enumerate(places), key=lambda pair: (pair[1] - pair[0], items[pair[1]].path))
    ]
    return [
        (run[begin], run[min(begin + PIECE, len(run)) - 1] + 1) for run in runs for begin in range(0, len(run), PIECE)
    ]


def write_queue(spans: Iterable[tuple[int, int]]) -> int:
    """A pipe full of spans: whoever reads takes the next one, and at its end nothing is left to do."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # more than it holds is an error, not a wait for ever
    os.write(writing, b"".join(SPAN.pack(*span) for span in spans))
    os.close(writing)
    return reading


def find_base(config: pytest.Config) -> Path:
    """The folder below which the tests of this session have their folders."""
    found: Path = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    return found


# --- in a forked process ----------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class Teller:
    """The way back to the first process."""

    config: pytest.Config
    pipe: int

    def tell(self, kind: str, value: Any) -> None:
        """Send one thing."""
        word = marshal.dumps((kind, value))
        left = SIZE.pack(len(word)) + word
        while left:
            left = left[os.write(self.pipe, left) :]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send on what a test reports."""
        self.tell("report", self.config.hook.pytest_report_to_serializable(config=self.config, report=report))


def work(session: pytest.Session, queue: int, teller: Teller, temp: Path) -> NoReturn:
    """Run tests until the queue is empty, and end; the one behind the present decides which fixtures stay."""
    code = 1
    try:
        settle_in(session.config, temp)
        session.config.pluginmanager.register(teller)
        for place, following in pairwise(chain(read_queue(queue), (None,))):
            teller.tell("start", place)
            nextitem = None if following is None else session.items[following]
            session.config.hook.pytest_runtest_protocol(item=session.items[place or 0], nextitem=nextitem)
            teller.tell("end", place)
        atexit._run_exitfuncs()
        code = 0
    except BaseException:
        with suppress(OSError):
            teller.tell("trouble", format_exc())
    finally:
        os._exit(code)  # nothing of this process may run on as if it were the first


def read_queue(queue: int) -> Iterator[int]:
    """The places of the tests that fall to this process."""
    while span := os.read(queue, SPAN.size):
        yield from range(*SPAN.unpack(span))


def settle_in(config: pytest.Config, temp: Path) -> None:
    """Part with what the processes must not share: folders, the terminal, and files of captured output."""
    temp.mkdir(exist_ok=True)
    os.environ[PLAIN_PYTEST] = "1"
    config._tmp_path_factory._basetemp = temp  # type: ignore[attr-defined]
    config.get_terminal_writer()._file = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    captured = config.pluginmanager.getplugin("capturemanager")._global_capturing
    for stream in (captured.out, captured.err) if config.option.capture == "fd" else ():
        # The objects stay: a library may have kept one of them when it was imported.
        with tempfile.TemporaryFile() as fresh:
            os.dup2(fresh.fileno(), stream.tmpfile.fileno())
