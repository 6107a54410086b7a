"""Whether steps may be worked on in the checkout itself, on its branch. Pure.

The rule: a branch that others build on is never worked on in place, and nothing of the person's is mixed into a step.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from drumline.core.plaintext import name_some
from drumline.record import Record

PROTECTED = ("main", "master", "develop", "development", "release/*")
"""Branches that are never worked on in place, as globs."""
_BRANCH = "git switch -c NAME"
_WORKTREE = "work_in = worktree"


class Checkout(Record):
    """The checkout that is to be worked in. `default` is the branch that others see first, `changed` is not committed.

    `busy` is a live run that works in it, `odd` says what of it cannot be worked in place.
    """

    branch: str
    default: str = ""
    changed: tuple[str, ...] = ()
    busy: str = ""
    odd: str = ""


class Objection(Record):
    """Why a checkout is not worked in, and the next command to type."""

    text: str
    hint: str


def find_objection(checkout: Checkout) -> Objection | None:
    """What speaks against working in the checkout; None if nothing does."""
    branch = checkout.branch
    if not branch:
        return Objection(text="work_in = inplace needs a branch, and none is checked out", hint=_BRANCH)
    if any(fnmatchcase(branch.casefold(), pattern) for pattern in PROTECTED):
        named = ", ".join(PROTECTED)
        return Objection(text=f"work_in = inplace does not work on {branch!r} (nor on any of {named})", hint=_BRANCH)
    if branch == checkout.default:
        return Objection(text=f"work_in = inplace does not work on {branch!r}, the default branch", hint=_BRANCH)
    if checkout.odd:
        return Objection(text=f"work_in = inplace does not work in {checkout.odd}", hint=_WORKTREE)
    if checkout.busy:
        text = f"run {checkout.busy} works in this checkout"
        return Objection(text=text, hint=f"drumline attach {checkout.busy}")
    if checkout.changed:
        text = f"work_in = inplace needs a clean checkout, and this one has changes: {name_some(checkout.changed)}"
        return Objection(text=text, hint="git stash -u, or git commit")
    return None
