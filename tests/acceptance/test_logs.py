"""`drumline logs`: what an agent did as a person reads it, failures, and what comes while the run goes on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.acceptance.cli_user import Ran, User, leaving_nothing, make_user, step_text
from tests.acceptance.test_doctor import RESULT, WORKS, put_on_path

CHECK = "for n in $(seq 60); do echo line $n; done; grep -q good step-1.txt || { echo 'Error: it is bad'; exit 4; }"
CHECKED = "==> check 1 on the work of attempt 1 (check-1-1.log) <=="


def use(call: str, tool: str, **given: str) -> dict[str, object]:
    block = {"type": "tool_use", "id": call, "name": tool, "input": given}
    return {"type": "assistant", "message": {"content": [block]}}


def answer(call: str, said: str, *, failed: bool = False, **more: object) -> dict[str, object]:
    block = {"type": "tool_result", "tool_use_id": call, "content": said, "is_error": failed}
    return {"type": "user", "message": {"content": [block]}, **more}


PATCH = {"filePath": "step-1.txt", "structuredPatch": [{"lines": ["-bad", "+good"]}]}
WORK = (
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "I look first.\nThen I write."}]}},
    use("a", "Read", file_path="notes.md"),
    answer("a", "nothing here", failed=True),
    use("b", "Bash", command="make lint"),
    answer("b", "clean"),
    use("c", "Edit", file_path="step-1.txt"),
    answer("c", "edited", tool_use_result=PATCH),
)
SPOKEN = "".join(f"{json.dumps(event)}\n" for event in WORK)
AGENT = f"""\
#!/bin/bash
if [ "$1" = --version ]; then echo '9.8.7 (Claude Code)'; exit; fi
read -r _
if [ -e step-1.txt ]; then echo good > step-1.txt; else echo bad > step-1.txt; fi
cat <<'END'
{SPOKEN}{RESULT}
END
"""


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    with leaving_nothing(tmp_path):
        yield make_user(tmp_path, step_text("step-1", checks=[CHECK]))


def run(user: User) -> Ran:
    return user.run(agent="claude", env=put_on_path(user, claude=AGENT, bwrap=WORKS))


def plain(text: str) -> list[str]:
    """Lines without the times of day and lengths of time, which differ."""
    return [re.sub(r"^\d\d:\d\d:\d\d|\d+\.\ds", "T", line).rstrip() for line in text.splitlines()]


def test_an_agents_work_is_a_transcript_and_a_check_is_cut_to_what_decides(user: User) -> None:
    ran = run(user)

    told = user.drumline("logs", "step-1")
    lines = plain(told.out)
    first = lines[: lines.index(CHECKED)]

    assert ran.code == 0, ran.text
    assert [line for line in first if not line.startswith("  ")] == [
        "==> attempt 1 at implement#1 (attempt-1.log) <==",
        first[2],
        "T  I look first.",
        "T  Read notes.md  ✗ T",
        "T  $ make lint  ✓ T",
        "T  edits step-1.txt",
        "",
    ]
    assert re.match(r"prompt +\d+ lines; --prompt shows them", first[2])
    assert "          Then I write." in first
    assert "          nothing here" in first
    assert first[-4:-1] == ["T  edits step-1.txt", "          -bad", "          +good"]
    failed = lines[lines.index(CHECKED) : lines.index("==> attempt 2 at implement#2 (attempt-2.log) <==")]
    assert "  failed with exit code 4 in T" in failed
    assert "Error: it is bad" in failed
    assert "line 30" not in failed
    assert any("left out; --raw shows them" in line for line in failed)
    compared = lines[lines.index("==> check 1 without the work (base-2-1.log) <==") :]
    assert compared[2:3] == ["  fails"]


@pytest.mark.parametrize("words", [("step-1",), ("--errors",)], ids=["step", "errors"])
def test_a_log_is_as_it_was_looked_at(user: User, words: tuple[str, ...]) -> None:
    run(user)
    file = Path(__file__).parents[1] / "unit" / "golden" / f"logs-{words[0].strip('-')}.txt"

    told = user.drumline("logs", *words).out

    shown = "".join(f"{re.sub(r'[0-9]+ lines; --prompt', 'N lines; --prompt', line)}\n" for line in plain(told))
    if os.environ.get("GOLDEN") == "write":
        file.write_text(shown, encoding="utf-8")
    assert shown == file.read_text(encoding="utf-8"), "look at it, then set GOLDEN=write"


def test_what_was_printed_can_be_had_whole_and_its_end_alone(user: User) -> None:
    run(user)

    raw, end = user.drumline("logs", "step-1", "--raw").out, user.drumline("logs", "step-1", "--tail", "3").out
    told = user.drumline("logs", "step-1", "--json").json["logs"]

    assert '"type": "tool_use"' in raw
    assert "line 30\n" in raw
    assert len(end.splitlines()) == 3
    assert isinstance(told, list)
    kinds = [one["kind"] for one in told[0]["happenings"]]
    assert kinds == ["text", "tool", "result", "command", "result", "tool", "edit", "result"]


def test_failures_are_told_with_their_class_and_what_came_of_them(user: User) -> None:
    run(user)

    told = user.drumline("logs", "--errors")
    listed = user.drumline("logs", "step-1", "--errors", "--json").json["errors"]

    assert isinstance(listed, list)
    assert [(one["what"][:9], one["class"], one["agent"]) for one in listed] == [("check for", "work", "claude")]
    assert "Error: it is bad" in told.out
    assert "  → attempt 2 by claude; passed later" in told.out


def test_a_run_without_failures_says_so(user: User) -> None:
    user.edit("step-1", CHECK, "test -e step-1.txt")
    run(user)

    told = user.drumline("logs", "--errors")

    assert (told.code, told.out) == (0, "")
    assert "nothing failed in run" in told.err


def test_following_prints_what_comes_and_ends_with_the_run(user: User) -> None:
    run(user)

    one, every = user.drumline("logs", "step-1", "-f"), user.drumline("logs", "-f")

    assert one.code == every.code == 0, one.text
    assert "T  $ make lint  ✓ T" in plain(one.out)
    assert "Error: it is bad" in plain(one.out)
    assert all(line.startswith("step-1  ") or not line.strip() for line in every.out.splitlines())
    assert f"{CHECKED}\n" in one.out
    assert f"  $ {CHECK}\n  failed with exit code 4 in T" in "\n".join(plain(one.out))
    assert '"type"' not in one.out


def test_logs_of_several_steps_name_the_step_and_fold_the_prompt_of_any_agent(tmp_path: Path) -> None:
    with leaving_nothing(tmp_path):
        user = make_user(tmp_path, step_text("step-1"), step_text("step-2"))
        ran = user.run()
        told = user.type("logs").out

    assert ran.code == 0, ran.text
    assert "==> step-1: attempt 1 at implement#1 (attempt-1.log) <==" in told
    assert "==> step-2: check 1 on the work of attempt 1 (check-1-1.log) <==" in told
    assert len(re.findall(r"^prompt +\d+ lines; --prompt shows them$", told, re.MULTILINE)) == 2
