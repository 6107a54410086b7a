"""What an agent did, as lines for people; and logs of checks, cut to what decides."""

from __future__ import annotations

import json

from drumline.views.checklogs import MOST_LINES, cut_log
from drumline.views.transcript import (
    MOST_DIFFERENCE,
    Happened,
    is_transcript,
    live_lines,
    read_happened,
    transcript_lines,
)


def clock(at: float) -> str:
    return f"at {at:g}"


def show(*told: Happened) -> list[str]:
    return [line.text for line in transcript_lines(told, clock)]


def test_a_use_of_a_tool_is_one_line_with_its_own_result() -> None:
    told = [
        Happened(at=1, kind="command", text="make\n\tall", call="a"),
        Happened(at=2, kind="tool", text="Read a.py", call="b"),
        Happened(at=4, kind="result", call="b"),
        Happened(at=6, kind="result", call="a", failed=True, detail="one\ntwo\n"),
    ]

    assert show(*told) == [
        "at 1      $ make all  ✗ 5.0s",
        "          one",
        "          two",
        "at 2      Read a.py  ✓ 2.0s",
    ]


def test_a_use_without_a_result_is_still_shown() -> None:
    assert show(Happened(at=1, kind="tool", text="Read a.py", call="b")) == ["at 1      Read a.py"]


def test_an_edit_is_shown_as_its_difference_and_not_as_a_tool_too() -> None:
    told = [
        Happened(at=1, kind="tool", text="Edit a.py", call="a"),
        Happened(at=2, kind="edit", text="a.py", call="a", detail="-x\n+y"),
        Happened(at=2, kind="result", call="a", detail="edited"),
    ]

    assert show(*told) == ["at 2      edits a.py", "          -x", "          +y"]
    assert [line.style for line in transcript_lines(told, clock)] == ["act", "removed", "added"]


def test_a_long_edit_is_cut_and_says_how_much_is_missing() -> None:
    detail = "\n".join(f"+{number}" for number in range(MOST_DIFFERENCE + 7))

    lines = show(Happened(at=1, kind="edit", text="a.py", detail=detail))

    assert len(lines) == MOST_DIFFERENCE + 2
    assert lines[-1].strip() == "… and 7 more lines"


def test_nothing_that_an_agent_says_commands_the_terminal() -> None:
    told = [
        Happened(at=1, kind="text", text="a\x1b[2Jb\nc\x07"),
        Happened(at=1, kind="command", text="x\x1b]0;t\x07y", call="a"),
        Happened(at=1, kind="result", call="a", failed=True, detail="\x1b[31mz"),
    ]

    assert "\x1b" not in "".join(show(*told))
    assert "\x07" not in "".join(show(*told))


def test_lines_that_are_cut_off_or_damaged_say_nothing() -> None:
    whole = json.dumps({"at": 1, "kind": "text", "text": "x"})

    told = read_happened([whole, whole[:-4], "[]", "{}", '{"at": "x"}', "[" * 100_000, '{"at": 2, "kind": 3}'])

    assert [(one.kind, one.text) for one in told] == [("text", "x"), ("", "")]
    assert is_transcript(told)
    assert not is_transcript(read_happened(['{"at": 1, "kind": "notice", "text": "x"}']))


def test_while_it_works_a_result_has_a_line_of_its_own() -> None:
    calls: dict[str, Happened] = {}
    first = live_lines([Happened(at=1, kind="command", text="make", call="a")], calls, clock)
    then = live_lines([Happened(at=3, kind="result", call="a"), Happened(at=3, kind="result", call="z")], calls, clock)

    assert [line.text for line in first] == ["at 1      $ make"]
    assert [line.text for line in then] == ["at 3      $ make  ✓ 2.0s"]
    assert calls == {}


def test_a_short_log_is_whole_and_a_long_one_is_cut_to_what_decides() -> None:
    short = "\n".join(map(str, range(MOST_LINES)))
    lines = [f"line {number}" for number in range(500)]
    lines[100] = "E   AssertionError: 1 != 2"

    failed, passed = cut_log("\n".join(lines), failed=True), cut_log("\n".join(lines), failed=False)

    assert cut_log(short, failed=True) == short.split("\n")
    assert failed == [
        "… 99 lines left out; --raw shows them",
        *lines[99:102],
        "… 393 lines left out; --raw shows them",
        *lines[-5:],
    ]
    assert passed == [f"… {500 - MOST_LINES} lines left out; --raw shows them", *lines[-MOST_LINES:]]
    assert len(cut_log("\n".join("error" for _ in range(500)), failed=True)) <= MOST_LINES + 2
