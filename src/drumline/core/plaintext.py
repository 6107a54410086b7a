"""Text for a terminal that came from a model. The rule: nothing of it can move a cursor."""

from __future__ import annotations

from drumline.patterns import compile_late

_ESCAPES = compile_late(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_CONTROLS = compile_late(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_controls(text: str) -> str:
    """Text that cannot move a cursor, whatever a model made the program say."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def count_noun(number: int, noun: str, ending: str = "s") -> str:
    """A number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" + ("" if number == 1 else ending)
