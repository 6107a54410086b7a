"""The lines that an edit changes, as a person reads them: removed ones with `-`, added ones with `+`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drumline.late import import_late

if TYPE_CHECKING:
    import difflib
else:
    difflib = import_late("difflib")


def compare_lines(old: str, new: str) -> str:
    """What one text has and the other has not, with a line around it; all lines of a text that is new."""
    if not old:
        return "\n".join(f"+{line}" for line in new.splitlines())
    told = difflib.unified_diff(old.splitlines(), new.splitlines(), n=1, lineterm="")
    return "\n".join(list(told)[2:])
