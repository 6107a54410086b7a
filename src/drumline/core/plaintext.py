"""Text for a terminal that came from a model. The rule: nothing of it can move a cursor."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_controls(text: str) -> str:
    """Text that cannot move a cursor, whatever a model made the program say."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))
