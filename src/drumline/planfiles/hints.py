"""Files that the text of a native step names for itself: lines such as "**File**: `src/a.py`".

The rule: they are hints. They keep steps apart and are told where another step changes them, and refuse nothing.
"""

from __future__ import annotations

import re

from drumline.core.proselines import read_lines
from drumline.core.validation import normal_path
from drumline.patterns import compile_late
from drumline.planfiles.spans import code_spans

_LINE = compile_late(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?\*\*Files?(?::\*\*|\*\*\s*:)(?P<rest>.*)", re.IGNORECASE)
_PATH = compile_late(r"[\w@.+*?\[\]{}-]+(?:/[\w@.+*?\[\]{}-]*)*")
_LINES = compile_late(r":\d+(?:-\d+)?$")


def read_hints(text: str) -> tuple[str, ...]:
    """The paths of such lines, in order; what is not a path inside the repository is left out."""
    if "**file" not in text.casefold():
        return ()
    named = [found["rest"] for line in read_lines(text) if (found := _LINE.fullmatch(line.text)) is not None]
    words = [word for rest in named for word in (code_spans(rest) or [part.strip() for part in rest.split(",")])]
    paths = (normal_path(_LINES.sub("", word)) for word in words if "/" in word or "." in word)
    return tuple(dict.fromkeys(path for path in paths if path and _PATH.fullmatch(path)))
