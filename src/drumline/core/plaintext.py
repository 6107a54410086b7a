"""Words for people: text of models that cannot move a cursor, numbers with their nouns, the first of many names."""

from __future__ import annotations

from collections.abc import Iterable

from drumline.patterns import compile_late

_ESCAPES = compile_late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_CONTROLS = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_controls(text: str) -> str:
    """Text that cannot move a cursor, whatever a model made the program say."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def count_noun(number: int, noun: str, ending: str = "s") -> str:
    """A number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" + ("" if number == 1 else ending)


def name_some(names: Iterable[str], most: int = 5, *, between: str = ", ", total: int = 0) -> str:
    """The first of many names for a sentence, and how many more there are: of `total`, if that is more than given."""
    listed = list(names)
    left = max(total, len(listed)) - most
    return between.join(listed[:most]) + (f" and {left:,} more" if left > 0 else "")
