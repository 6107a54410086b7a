"""The same piece of work by every agent program: `drumline logs` shows the same transcript of it.

The streams are of real runs against the scripted model server; `test_agent_readers_more.py` says which.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from tests.unit.test_agent_readers import assign
from tests.unit.test_agent_readers_more import read_stream

from drumline.agents import claude, codex, copilot, gemini, goose, opencode, qwen
from drumline.agents.edited import describe_edit
from drumline.agents.program import Program
from drumline.core.flow.model import Json
from drumline.isolation.happenings import keep_happenings
from drumline.isolation.transcripts import name_happenings
from drumline.views.transcript import read_happened, transcript_lines

REPO = Path("/repo")
PROGRAMS = {one.PROGRAM.name: one.PROGRAM for one in (claude, codex, copilot, gemini, goose, opencode, qwen)}
WORK = """\
12:00:00  I begin.
12:00:00  edits hello.txt
          +hello
12:00:00  $ cat hello.txt > copy.txt  ✓ 0.0s
12:00:00  All done."""


def show(program: Program, folder: Path, events: Iterable[Mapping[str, Json]]) -> str:
    """What `drumline logs` shows of an attempt whose program prints these events, all at noon."""
    log = folder / "attempt-1.log"
    reader = program.open_reader(assign(folder, new_session="s", workspace=REPO))
    with keep_happenings(log, REPO, lambda: 0.0) as keep:
        for event in events:
            for happening in reader.read(event):
                keep(happening)
    told = read_happened(name_happenings(log).read_text(encoding="utf-8").splitlines())
    return "\n".join(line.text for line in transcript_lines(told, lambda at: "12:00:00"))


@pytest.fixture(autouse=True)
def codex_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of Codex with the record of the session in its stream: only there it says which lines a patch changes."""
    session = next(read_stream("codex.work"))["thread_id"]
    record = tmp_path / "codex" / "sessions/2026/11/19" / f"rollout-2026-11-19T06-55-32-{session}.jsonl"
    record.parent.mkdir(parents=True)
    # The program writes JSON without spaces, by which lines are found.
    lines = (json.dumps(line, separators=(",", ":")) for line in read_stream("codex.record"))
    record.write_text("".join(f"{line}\n" for line in lines))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_work_is_the_same_transcript(name: str, tmp_path: Path) -> None:
    assert show(PROGRAMS[name], tmp_path, read_stream(f"{name}.work")) == WORK


def test_a_command_that_fails_is_shown_with_what_it_printed(tmp_path: Path) -> None:
    assert show(opencode.PROGRAM, tmp_path, read_stream("opencode.fail_cmd")) == (
        "12:00:00  $ echo nope >&2; exit 3  ✗ 0.0s\n          nope\n12:00:00  It failed."
    )


PATCH = """\
*** Begin Patch
*** Add File: a.py
+new
*** Update File: b.py
@@
-old
+other
*** End Patch
"""


@pytest.mark.parametrize(
    ("given", "path", "lines"),
    [
        ({"file_path": "a", "content": "x\ny\n"}, "a", "+x\n+y"),
        ({"filePath": "a", "oldString": "x\ny", "newString": "x\nz"}, "a", "@@ -1,2 +1,2 @@\n x\n-y\n+z"),
        ({"edits": [{"old_str": "", "new_str": "1"}, {"old_str": "", "new_str": "2"}]}, "a", "+1\n+2"),
        ({"patchText": PATCH}, "b.py", "@@\n-old\n+other"),
        (PATCH, "a.py", "+new"),
        ({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"}, "x", "@@ -1 +1 @@\n-1\n+2"),
        ({"path": "a"}, "a", ""),
        (None, "a", ""),
        ({"content": 3, "edits": "x"}, "a", ""),
    ],
)
def test_the_lines_of_an_edit_are_found_in_what_its_tool_was_given(given: Json, path: str, lines: str) -> None:
    assert describe_edit(given, path) == lines
