"""Transcripts and logs on disk, above all once nobody writes them any more. The rule: what is kept has no secrets.

While a command runs, its log is raw and for its owner alone. A log that cannot be rewritten is removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from drumline.core.redaction import Redaction

OWN = 0o700
"""Mode of a folder of logs: what is in it is for its owner alone, whoever makes the files."""
HAPPENINGS = ".happenings"
SMALL = 64 * 1024
"""Bytes that are looked through faster than another thread begins to."""


def name_happenings(log: Path) -> Path:
    """Where it is kept what an agent did that has this log; it is redacted and set aside with the log."""
    return log.with_name(f"{log.name}{HAPPENINGS}")


def begin_log(path: Path) -> Path:
    """The path of a log, with a folder around it and nothing there: one that a lost attempt left is kept aside."""
    path.parent.mkdir(mode=OWN, parents=True, exist_ok=True)
    if path.exists():
        literal = path.stem.replace("[", "[[]")
        aside = sum(1 for _ in path.parent.glob(f"{literal}.lost-*{path.suffix}"))
        lost = path.with_name(f"{path.stem}.lost-{aside + 1}{path.suffix}")
        path.rename(lost)
        with suppress(FileNotFoundError):
            name_happenings(path).rename(name_happenings(lost))
    return path


def redact_file(path: Path, redaction: Redaction) -> bool:
    """Take the secrets out of a file, atomically; whether there were any. A file that is not there has none."""
    try:
        raw = b"" if path.is_symlink() else path.read_bytes()
    except OSError:
        return False
    if not redaction.is_revealing(raw):
        return False
    draft = path.with_name(f"{path.name}.clean")
    clean = redaction.hide(raw.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    try:
        with open(draft, "wb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600)) as file:
            file.write(clean)
        draft.replace(path)
    except OSError:
        for name in (draft, path):
            with suppress(OSError):
                name.unlink()
    return True


async def redact_files(paths: Iterable[Path], redaction: Redaction) -> bool:
    """Take the secrets out of several files, whatever is cancelled meanwhile; whether there were any."""
    found = False
    with anyio.CancelScope(shield=True):
        for path in paths:
            if _measure(path) <= SMALL:
                found = redact_file(path, redaction) or found
            else:
                found = await anyio.to_thread.run_sync(redact_file, path, redaction) or found
    return found


def list_logs(folder: Path, name: str = "") -> list[Path]:
    """The logs in a folder, those of one `name` with what was put beside them."""
    try:
        return sorted(path for path in folder.iterdir() if ".log" in path.name and path.name.startswith(name))
    except OSError:
        return []


def _measure(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
