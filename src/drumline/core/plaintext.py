"""Words for people: text of models that cannot move a cursor, numbers with their nouns, the first of many names."""

from __future__ import annotations

from collections.abc import Iterable

from drumline.patterns import compile_late

_ESCAPES = compile_late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_CONTROLS = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARKS = ("**", "__", "*", "`", "_")


def strip_controls(text: str) -> str:
    """Text that cannot move a cursor, whatever a model made the program say."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def strip_marks(text: str) -> str:
    """Text without the marks of emphasis and code around all of it, or left over on one side; those within stay."""
    bare = text.strip()
    for mark in _MARKS:
        inner = bare[len(mark) : -len(mark)]
        if len(bare) > 2 * len(mark) and bare == f"{mark}{inner}{mark}" and mark not in inner:
            bare = inner.strip()
        elif "_" not in mark and bare.count(mark) == 1:
            bare = bare.removeprefix(mark).removesuffix(mark).strip()
    return bare


def count_noun(number: int, noun: str, ending: str = "s") -> str:
    """A number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" + ("" if number == 1 else ending)


def name_some(names: Iterable[str], most: int = 5, *, between: str = ", ", total: int = 0) -> str:
    """The first of many names for a sentence, and how many more there are: of `total`, if that is more than given."""
    listed = list(names)
    left = max(total, len(listed)) - most
    return between.join(listed[:most]) + (f" and {left:,} more" if left > 0 else "")
