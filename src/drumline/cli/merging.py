"""`do --merge`: brings a task's commit onto the branch that a person is on.

The rule: only what landed proved, only as a fast-forward, only into a clean checkout of the branch that was checked out
when the task began. In any other case nothing is touched, and the command to type is said.
"""

from __future__ import annotations

import click

from drumline.cli.output import is_terminal, print_json, say
from drumline.core.state import RunState
from drumline.core.task import STEP
from drumline.errors import InvalidInput, NeedsPerson
from drumline.record import Record
from drumline.wiring import Site
from drumline.workspace.merging import fast_forward, read_stat


class Wish(Record):
    """That a task is merged into a branch; with `asks` a person has to look first, for others wrote the text."""

    branch: str
    asks: bool = False


def wish_merge(site: Site, *, asks: bool) -> Wish:
    """A merge into the branch that is checked out now."""
    branch = site.repository.branch_name()
    if not branch:
        raise InvalidInput("--merge needs a branch, and none is checked out", hint="git switch BRANCH")
    return Wish(branch=branch, asks=asks)


def merge(site: Site, run: RunState, wish: Wish, *, as_json: bool) -> None:
    """Carry the wish out; NeedsPerson with the reason and the command to type if that cannot be."""
    finished = run.finished[STEP]
    by_hand = f"git merge {run.begun.branch}"
    if not finished.is_proved or finished.commit is None:
        raise NeedsPerson("not merged: nothing proves the result", hint=f"git show {run.begun.branch}, then: {by_hand}")
    repository = site.repository
    now = repository.branch_name()
    if now != wish.branch:
        raise NeedsPerson(f"not merged: {now or 'no branch'} is checked out by now, not {wish.branch}", hint=by_hand)
    changed = repository.list_changed()
    if changed:
        named = ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
        raise NeedsPerson(
            f"not merged: your checkout has uncommitted changes ({named})", hint=f"git commit, then: {by_hand}"
        )
    if wish.asks:
        _ask(site, run, wish, by_hand=by_hand, as_json=as_json)
    refusal = fast_forward(repository.top, finished.commit)
    if refusal:
        raise NeedsPerson(f"not merged into {wish.branch}: {refusal}", hint=by_hand)
    if as_json:
        told = {"event": "merged", "run": run.id, "branch": wish.branch, "commit": finished.commit}
        print_json({"schema_version": 1, **told})
    else:
        click.echo(f"merged into {wish.branch}")


def _ask(site: Site, run: RunState, wish: Wish, *, by_hand: str, as_json: bool) -> None:
    look = f"git show {run.begun.branch}, then: {by_hand}"
    if as_json or not is_terminal():
        raise NeedsPerson("not merged: somebody else wrote the issue, so a person has to look first", hint=look)
    say(read_stat(site.repository.top, run.begun.base, run.begun.branch))
    if not click.confirm(
        f"Somebody else wrote the issue. Merge the result into {wish.branch}", default=False, err=True
    ):
        raise NeedsPerson("not merged: you said no", hint=look)
