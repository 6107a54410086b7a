"""An agent is blocked if its last line says exactly that; whoever only speaks of it is not."""

from __future__ import annotations

import json

import pytest

from drumline.core.blocked import LONGEST, OFFER, find_question, write_question
from drumline.core.plaintext import strip_controls

LINE = '{"blocked": "Tabs or spaces?"}'
ASKED = "Tabs or spaces?"


@pytest.mark.parametrize(
    "message",
    [
        LINE,
        f"I looked at both.\n\n{LINE}",
        f"{LINE}\n\n  \n",
        f"   {LINE}  ",
        f"I looked.\r\n{LINE}\r\n",
        f"```json\n{LINE}\n```",
        f"I looked.\n\n```\n{LINE}\n```\n",
        f"~~~~ JSON\n\n{LINE}\n\n~~~~",
        '{"blocked":" Tabs or spaces? "}',
        '{"options": [], "blocked": "Tabs or spaces?"}',
    ],
)
def test_a_last_line_that_is_the_object_is_a_question(message: str) -> None:
    assert find_question(message) == ASKED


@pytest.mark.parametrize(
    "message",
    [
        "",
        "\n \n",
        "All done.",
        "I am blocked: tabs or spaces?",
        f"{LINE}\nBut I found a way: spaces.",
        f"I would have said {LINE}",
        f"{LINE}.",
        f"`{LINE}`",
        f"```\nprint(1)\n{LINE}\n```",
        f"{LINE}\n```",
        f"```python\n{LINE}\n```",
        "```\n```\n```",
        '{"blocked": ""}',
        '{"blocked": "  "}',
        '{"blocked": true}',
        '{"blocked": null}',
        '{"blocked": ["Tabs?"]}',
        '{"blocked": "Tabs?", "status": "done"}',
        '{"blocked": "Tabs?", "options": "tabs"}',
        '{"blocked": "Tabs?", "options": ["tabs", 8]}',
        '{"blocked": "Tabs?", "options": ["tabs", " "]}',
        '{"blocked": "Tabs?", "options": null}',
        '{"Blocked": "Tabs?"}',
        '{"options": ["tabs"]}',
        '[{"blocked": "Tabs?"}]',
        '"blocked"',
        "{'blocked': 'Tabs?'}",
        '{\n  "blocked": "Tabs?"\n}',
        '{"blocked": "half \\ud800"}',
        "[" * 5_000,
        json.dumps({"blocked": "x" * LONGEST}),
        OFFER,
    ],
)
def test_nothing_else_is_a_question(message: str) -> None:
    assert find_question(message) == ""


def test_options_are_told_with_the_question() -> None:
    assert find_question('{"blocked": "Which?", "options": ["tabs ", "spaces"]}') == "Which?\n(options: tabs, spaces)"


def test_a_question_cannot_move_a_cursor() -> None:
    assert find_question('{"blocked": "a\\u001b[2Jb\\u0007", "options": ["c\\u009b1m"]}') == "ab\n(options: c1m)"


def test_a_question_without_options_is_itself() -> None:
    assert write_question(" Which?\n") == "Which?"


def test_text_keeps_its_lines_and_loses_what_a_terminal_would_obey() -> None:
    assert strip_controls("a\x1b]0;title\x07b\tc\nd\x1b[31me\r") == "ab\tc\nde"
