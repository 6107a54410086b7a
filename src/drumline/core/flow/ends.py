"""How a flow ended, where the file does not say it. The rule: an end that calls itself failed is never done.

Graphs of the adopted format have no `status` on their ends: they name them `end_blocked`, or begin an output with
`STEP_FAILED`. The id decides, then the first word of the output; `status`, where it is given, overrules both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from drumline.core.flow.model import END_STATES, EndNode
from drumline.core.vocabulary import WalkEnd

STATUS_WORDS: Mapping[WalkEnd, Sequence[str]] = MappingProxyType(
    {
        WalkEnd.BLOCKED: ("blocked", "stuck"),
        WalkEnd.REJECTED: (
            "rejected",
            "reject",
            "refused",
            "declined",
            "denied",
            "abort",
            "aborted",
            "cancel",
            "cancelled",
        ),
        WalkEnd.FAILED: (
            "failed",
            "fail",
            "failure",
            "failures",
            "error",
            "errors",
            "crash",
            "crashed",
            "timeout",
            "incomplete",
        ),
    }
)
"""The words of an id or of an output by the status that they stand for."""
DENIALS = frozenset({"no", "not", "non", "without", "zero", "never"})
"""Words after which such a word says the opposite."""
REPAIRS = frozenset({"free", "fixed", "handled", "resolved", "repaired", "solved"})
"""Words before which it says the opposite."""

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_FIRST = re.compile(r"[^\s]*[A-Za-z][^\s]*")
_MARKER = re.compile(r"[A-Z][A-Z_-]*")
_REFERENCE = "{{"


def find_status(node: EndNode, output: str | None = None) -> WalkEnd:
    """The status of an end: the stated one, else that of its id, else that of its output's first word, else done.

    `output` is the output as it was filled in. Where its first word comes from the state it counts only as a marker in
    capitals (`CODER_FAILED`): a sentence of an agent may begin with any word.
    """
    if node.status in END_STATES:
        return WalkEnd(node.status)
    return _read_words(_PARTS.findall(node.id)) or _read_output(node.output, output) or WalkEnd.DONE


def warn_of_status(node: EndNode, status: WalkEnd) -> str:
    """What to tell about an end to which a run came and that states no status; empty if it is done or states one."""
    if node.status is not None or status is WalkEnd.DONE:
        return ""
    sign = "id" if _read_words(_PARTS.findall(node.id)) else "output"
    return (
        f"the end {node.id!r} states no status; its {sign} says {status}, so the flow is {status} "
        f"(write `status: {status}` into it, or another to overrule that)"
    )


def _read_output(template: str, output: str | None) -> WalkEnd | None:
    first = _find_first(template)
    if _REFERENCE not in first:
        return _read_words(_PARTS.findall(first))
    word = _find_first(output or "").strip("*_`#:.!,")
    return _read_words(_PARTS.findall(word)) if _MARKER.fullmatch(word) else None


def _find_first(text: str) -> str:
    """The first word that has letters: marks of headings, lists and pictures are none."""
    found = _FIRST.search(text)
    return found.group() if found else ""


_STATUSES = {word: status for status, words in STATUS_WORDS.items() for word in words}


def _read_words(parts: Sequence[str]) -> WalkEnd | None:
    words = [part.lower() for part in parts]
    for number, word in enumerate(words):
        before, after = words[number - 1] if number else "", words[number + 1] if number + 1 < len(words) else ""
        if word in _STATUSES and before not in DENIALS and after not in REPAIRS:
            return _STATUSES[word]
    return None
