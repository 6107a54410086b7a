"""The lines that an edit changes, from what the tool was given. The rule: no file is read for it.

Programs call the same fields by different names; one that none of these names fits tells no lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from drumline.agents.reading import read_list, read_map, read_text
from drumline.core.changedlines import compare_lines
from drumline.core.flow.model import Json

OLD = ("old_string", "oldString", "old_str", "old_text", "oldText", "before", "search")
NEW = ("new_string", "newString", "new_str", "new_text", "newText", "after", "replace")
WHOLE = ("content", "file_text", "fileText", "contents")
PATCHES = ("patchText", "patch", "diff")
FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$")


def describe_edit(given: Json, path: str = "") -> str:
    """The lines that an edit of `path` changes, as far as its input says; of a patch those of this file."""
    if patch := read_text(given) or _find(read_map(given), PATCHES):
        return "\n".join(_pick_lines(patch, path))
    fields = read_map(given)
    parts = [read_map(part) for part in read_list(fields.get("edits"))] or [fields]
    told = [compare_lines(_find(part, OLD), _find(part, NEW)) for part in parts]
    return "\n".join(filter(None, told)) or compare_lines("", _find(fields, WHOLE))


def _find(fields: Mapping[str, Json], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := read_text(fields.get(name)))), "")


def _pick_lines(patch: str, path: str) -> Iterator[str]:
    """The changed lines of one file of a patch, or of all if it names none."""
    inside = True
    for line in patch.splitlines():
        if found := FILE.match(line):
            inside = not path or path == found[1].strip() or path.endswith(f"/{found[1].strip()}")
        elif inside and line[:1] in ("+", "-", "@") and not line.startswith(("+++ ", "--- ")):
            yield line
