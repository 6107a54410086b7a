"""Logs as people read them: transcripts of agents, checks cut to what decides, and both while they come.

The rule: nothing that a program printed commands the terminal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from drumline.core.events import CheckEnded
from drumline.core.ids import StepId
from drumline.core.plaintext import strip_controls
from drumline.isolation.transcripts import HAPPENINGS, name_happenings
from drumline.views.checklogs import cut_log
from drumline.views.logtitles import Titles
from drumline.views.transcript import (
    Happened,
    Shown,
    is_transcript,
    live_lines,
    read_happened,
    transcript_lines,
)
from drumline.views.visitlogs import CHECKED, SETUP

CUT = (SETUP, *(f"{kind}-" for kind in CHECKED))
"""How the names of logs begin that are cut to what decides: those of commands, on whatever tree they ran."""
_STYLES: Mapping[str, Mapping[str, object]] = {
    "act": {"fg": "cyan"},
    "failed": {"fg": "red"},
    "added": {"fg": "green"},
    "removed": {"fg": "red"},
    "detail": {"dim": True},
    "notice": {"fg": "yellow"},
}


def clock(at: float) -> str:
    """The time of day, where this machine is."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def read_log(file: Path) -> str:
    """What is in a log; one that was removed meanwhile is empty."""
    try:
        return file.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except FileNotFoundError:
        return ""


def read_told(log: Path) -> list[Happened]:
    """What the agent that has this log did, as far as it told."""
    return read_happened(read_log(name_happenings(log)).split("\n"))


def style(lines: Iterable[Shown]) -> Iterator[str]:
    """Lines in colours; a pipe gets none."""
    for line in lines:
        look = _STYLES.get(line.style, {})
        yield click.style(line.text, **look) if look else line.text  # type: ignore[arg-type]


def log_lines(
    file: Path, title: str, notes: Iterable[str], *, raw: bool, check: CheckEnded | None = None
) -> Iterator[str]:
    """A log under its title, after some notes about it: a transcript, a check cut to what decides, or what is there."""
    yield click.style(f"==> {title} <==", bold=True)
    yield from (click.style(f"  {note}", dim=True) for note in notes)
    told = [] if raw else read_told(file)
    if not raw:
        yield from _fold_prompt(file)
    if is_transcript(told):
        yield from style(transcript_lines(told, clock))
    elif not raw and (check is not None or file.name.startswith(CUT)):
        yield from cut_log(read_log(file), failed=check is None or check.exit_code != 0)
    elif text := read_log(file):
        # Line by line: a code without an end must not take the rest of the log with it.
        yield from (strip_controls(line) for line in text.split("\n"))
    yield ""


def _fold_prompt(log: Path) -> Iterator[str]:
    """One line for the prompt of an attempt."""
    prompt = log.with_name(log.name.replace("attempt-", "prompt-").replace("agent-", "prompt-")).with_suffix(".md")
    if prompt != log and prompt.is_file():
        lines = read_log(prompt).split("\n")
        yield click.style(f"{'prompt':<8}  {len(lines)} lines; --prompt shows them", dim=True)


@dataclass(kw_only=True)
class Follower:
    """Looks at folders of logs again and again, and prints what is new in them."""

    list_folders: Callable[[], Mapping[str, Path]]
    """The folder of each step, by the name that its lines begin with; empty where there is only one.

    Asked again and again: a step may be added to the plan while the run goes on.
    """
    is_over: Callable[[], bool]
    list_verdicts: Callable[[], Mapping[Path, Sequence[str]]] = dict
    """What checks came to since the last time it was asked, by their logs."""
    _read: dict[Path, int] = field(default_factory=dict)
    _calls: dict[Path, dict[str, Happened]] = field(default_factory=dict)
    _titled: set[Path] = field(default_factory=set)
    _verdicts: dict[Path, Sequence[str]] = field(default_factory=dict)

    def follow(self, poll: float) -> None:
        """Print what comes until the run needs nobody to drive it any more."""
        over = False
        while not over:
            over = self.is_over()
            self._verdicts.update(self.list_verdicts())
            for name, folder in self.list_folders().items():
                for line in self.look(folder):
                    click.echo(f"{name}  {line}" if name else line)
            if not over:
                time.sleep(poll)

    def look(self, folder: Path) -> Iterator[str]:
        """Whole lines that have come since the last look: what agents tell, and what others print."""
        files = sorted(folder.iterdir(), key=_age) if folder.is_dir() else []
        for file in (file for file in files if file.is_file() and file.suffix in (".log", HAPPENINGS)):
            lines = self._take(file)
            if file.suffix == HAPPENINGS:
                calls = self._calls.setdefault(file, {})
                yield from style(live_lines(read_happened(lines), calls, clock))
                continue
            verdict = self._verdicts.pop(file, ())
            shown = [strip_controls(line) for line in lines if line.strip() and not _is_event(file, line)]
            if (shown or verdict) and file not in self._titled:
                self._titled.add(file)
                yield click.style(f"==> {Titles(step=StepId(folder.name)).name(file.name)} <==", bold=True)
            yield from shown
            yield from (click.style(f"  {line}", dim=True) for line in verdict)

    def _take(self, file: Path) -> list[str]:
        """What was added to a file, up to the end of its last whole line."""
        with file.open("rb") as opened:
            opened.seek(self._read.get(file, 0))
            added = opened.read()
        whole = added[: added.rfind(b"\n") + 1]
        if whole:
            self._read[file] = self._read.get(file, 0) + len(whole)
        return whole.decode("utf-8", "replace").splitlines()


def _is_event(file: Path, line: str) -> bool:
    """Whether it is what an agent's program says to us, which its happenings tell; checks print what they like."""
    return line.startswith("{") and not file.name.startswith(CUT)


def _age(file: Path) -> tuple[int, str]:
    try:
        return file.stat().st_mtime_ns, file.name
    except FileNotFoundError:
        return 0, file.name
