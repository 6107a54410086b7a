"""What a driver and its supervisors tell each other, whatever is in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from drumline.processes import wire

WORDS = st.text(st.characters(), max_size=40)
VALUES = st.text() | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def read_in(pieces: Sequence[bytes]) -> Callable[[], bytes]:
    left = iter(pieces)
    return lambda: next(left, b"")


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1), st.integers(1, 50))
def test_a_request_is_read_as_it_was_written_in_whatever_pieces_it_comes(
    fields: list[tuple[str, str]], size: int
) -> None:
    data = wire.write_request(fields)

    assert wire.read_request(read_in([data[at : at + size] for at in range(0, len(data), size)])) == fields


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1), st.data())
def test_a_request_that_is_cut_off_is_none(fields: list[tuple[str, str]], data: st.DataObject) -> None:
    request = wire.write_request(fields)
    cut = data.draw(st.integers(0, len(request) - 1))

    assert wire.read_request(read_in([request[:cut]])) == []


@given(st.dictionaries(st.text(), VALUES))
def test_a_report_is_a_line_of_json(report: dict[str, str | float | None]) -> None:
    line = wire.write_report(report)

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == report
