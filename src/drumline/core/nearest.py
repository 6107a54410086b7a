"""The name that somebody may have meant. The rule: a guess is offered, never taken."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one; empty if none is alike."""
    from difflib import get_close_matches  # only mistakes pay for it

    spelled = {one.casefold(): one for one in known}
    found = get_close_matches(name.casefold()[:200], spelled, n=1, cutoff=0.6)
    return spelled[found[0]] if found else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that refuses a name: a question, if there is something to ask."""
    found = nearest(name, known)
    return f"; did you mean {found!r}?" if found else ""
