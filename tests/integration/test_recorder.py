"""The recorder of a plan's run beside the work that it records."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from drumline.app import recording
from drumline.app.recorder import LOOK, Recorder
from drumline.app.recording import Recording, read_rules
from drumline.core.events import AttemptEnded, AttemptStarted
from drumline.core.ids import RunId, StepId, Stream, Tree
from drumline.core.redaction import Redaction
from drumline.ports.journal import Addition
from drumline.testing.store import MemoryStore

RUN = RunId("r1")
STEP = Stream(RUN, StepId("step-1"))
REAL_GIT = shutil.which("git") or "git"


def make_trees(folder: Path) -> tuple[Tree, Tree]:
    """Two trees of a new repository: one that is empty, and one with a file."""
    subprocess.run([REAL_GIT, "init", "-q", str(folder)], check=True)
    found = []
    for text in ("", "made"):
        if text:
            (folder / "file").write_text(text, encoding="utf-8")
            subprocess.run([REAL_GIT, "-C", str(folder), "add", "file"], check=True)
        made = subprocess.run([REAL_GIT, "-C", str(folder), "write-tree"], check=True, capture_output=True, text=True)
        found.append(Tree(made.stdout.strip()))
    before, after = found
    return before, after


def test_an_attempt_that_is_being_taken_in_when_the_work_ends_is_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = make_trees(tmp_path / "repo")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/bash\nsleep 0.7\nexec {REAL_GIT} "$@"\n', encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(recording, "SHARE", 1_000_000)  # as if writing the file took long
    store = MemoryStore()
    file = tmp_path / "record.yaml"
    recorder = Recorder(
        Recording(file, run=RUN, redaction=Redaction()),
        store=store,
        run=RUN,
        common_dir=tmp_path / "repo" / ".git",
        room=tmp_path / "seen",
    )

    async def work() -> None:
        events = [
            AttemptStarted(node="implement", attempt=1, tree=before),
            AttemptEnded(node="implement", attempt=1, tree=after, message="made"),
        ]
        await store.append({STEP: Addition(events=events)})
        await anyio.sleep(LOOK + 0.2)

    anyio.run(recorder.accompany, work)

    assert list(read_rules(file)) == [("step-1", "implement", 1)]
