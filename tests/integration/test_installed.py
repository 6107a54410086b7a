"""Dependencies that a check has changed serve no other check; caches that tools keep among them do no harm."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from drumline.workspace.installed import is_as_installed


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for path in ("node_modules/lib/index.js", "packages/a/node_modules/x.js", ".venv/lib/pkg/a.py", "src/a.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("1\n", encoding="utf-8")
    (tmp_path / ".venv/lib/pkg/__pycache__").mkdir()
    (tmp_path / ".venv/lib/pkg/__pycache__/old.pyc").write_text("1\n", encoding="utf-8")
    return tmp_path


def note(top: Path) -> int:
    """The time at which a setup is noted; what is written later has a later time, however coarse the clock is."""
    file = top.parent / f"{top.name}.note"
    file.write_text("x", encoding="utf-8")
    time.sleep(0.02)
    return file.stat().st_mtime_ns


def write(path: str) -> Callable[[Path], object]:
    return lambda top: (top / path).write_text("2\n", encoding="utf-8")


def forge_time(top: Path) -> None:
    file = top / "node_modules/lib/index.js"
    before = file.stat()
    file.write_text("2\n", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def remove(top: Path) -> None:
    (top / "packages/a/node_modules/x.js").unlink()


@pytest.mark.parametrize("change", [write("node_modules/lib/index.js"), write("node_modules/.new"), forge_time, remove])
def test_a_change_among_dependencies_is_noticed(top: Path, change: Callable[[Path], object]) -> None:
    noted = note(top)
    assert is_as_installed(top, noted)

    change(top)

    assert not is_as_installed(top, noted)


def test_work_and_caches_may_change_and_what_came_into_a_cache_goes(top: Path) -> None:
    noted = note(top)
    (top / "src/a.py").write_text("2\n", encoding="utf-8")
    (top / "node_modules/.cache").mkdir()
    for path in ("node_modules/.cache/x", ".venv/lib/pkg/__pycache__/new.pyc"):
        (top / path).write_text("2\n", encoding="utf-8")

    assert is_as_installed(top, noted)

    assert not (top / "node_modules/.cache/x").exists()
    assert not (top / ".venv/lib/pkg/__pycache__/new.pyc").exists()
    assert (top / ".venv/lib/pkg/__pycache__/old.pyc").exists()
