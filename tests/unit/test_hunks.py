"""The parts of files that conflict, as an agent sees them."""

from __future__ import annotations

from drumline.core.hunks import MOST_LETTERS, MOST_LINES, WIDTH, Hunk, choose_hunks, cut_hunks

CONFLICT = "<<<<<<< 1a\nours\n=======\ntheirs\n>>>>>>> 2b\n"


def test_each_part_between_both_markers_is_cut_out_with_its_line() -> None:
    text = f"one\n{CONFLICT}=======\ntwo\n{CONFLICT}>>>>>>> alone\n<<<<<<< alone\n"

    found = cut_hunks("a.txt", text)

    assert found == [Hunk(path="a.txt", line=line, text=CONFLICT.strip()) for line in (2, 9)]


def test_markers_may_be_longer_than_seven() -> None:
    text = CONFLICT.replace("<<", "<<<<").replace(">>", ">>>>")

    assert cut_hunks("a.txt", text) == [Hunk(path="a.txt", line=1, text=text.strip())]


def test_of_long_parts_the_middle_is_left_out_and_of_long_lines_the_end() -> None:
    text = "<<<<<<< 1a\n" + "x" * 300 + "\n" + "y\n" * 100 + ">>>>>>> 2b\n"

    (hunk,) = cut_hunks("a.txt", text)

    lines = hunk.text.splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[1] == "x" * WIDTH + "…"
    assert "… (63 lines)" in lines
    assert lines[-1] == ">>>>>>> 2b"


def test_as_many_as_fit_are_shown_and_always_one() -> None:
    small = Hunk(path="a", line=1, text="x" * (MOST_LETTERS // 2))
    large = Hunk(path="b", line=1, text="x" * (2 * MOST_LETTERS))

    assert choose_hunks([small, small, small]) == (small, small)
    assert choose_hunks([large, small]) == (large,)
    assert choose_hunks([]) == ()
