"""Small pieces of text in tables and lists."""

from __future__ import annotations

import pytest

from drumline.views.cells import fold, join_reason, split_lines, width


@pytest.mark.parametrize(
    ("state", "reason", "told"),
    [
        ("blocked", "no disk", "blocked: no disk"),
        ("waiting", "waiting for an answer", "waiting for an answer"),
        ("waiting", "needs step-1 (waiting)", "waiting: needs step-1 (waiting)"),
    ],
)
def test_a_reason_does_not_repeat_the_word_for_the_state(state: str, reason: str, told: str) -> None:
    assert join_reason(state, reason) == told


def test_lines_of_a_diff_stay_as_they_are_set_and_move_no_cursor() -> None:
    diff = "--- a/02.md\n+++ b/02.md\n@@ -1,3 +1,4 @@\n ## Tasks\n \n+- Say left:\n+    - for  two\n+\n\n-\tno\x1b[2J"

    told = split_lines(diff)

    assert told[3:] == [" ## Tasks", "", "+- Say left:", "+    - for  two", "+", "-   no[2J"]


@pytest.mark.parametrize("cells", [1, 2, 7, 12, 40, 80])
@pytest.mark.parametrize(
    "text", ["", "short", "    a line of several words that is indented", "x" * 50, "  字字字字字 字字"]
)
def test_a_folded_text_loses_no_letter_and_fits(text: str, cells: int) -> None:
    lines = fold(text, cells)

    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width(line) <= max(cells, 2 + len(line) - len(line.lstrip())) for line in lines)


def test_a_text_is_folded_between_words_with_its_indentation() -> None:
    assert fold("  because the text is split", 16) == ["  because the", "    text is", "    split"]
