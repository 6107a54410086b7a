"""What `run` does when the plan already has runs: join a live one, never pick up a dead one silently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from shlex import quote

from drumline.app.catalog import RunBrief
from drumline.core.ids import Commit, StepId
from drumline.core.state import RunState
from drumline.errors import InvalidInput
from drumline.ports.roster import Roster
from drumline.record import Record

OLD = 2 * 3600.0
"""Seconds after which an abandoned run is warned about: the repository may have moved on."""


class Standing(Record):
    """The runs of a plan that matter for a new `run`: the newest live one, and the newest unfinished one."""

    live: RunBrief | None = None
    abandoned: RunBrief | None = None


def survey(runs: Sequence[RunBrief], roster: Roster) -> Standing:
    """Look at the plan's runs, newest first."""
    live = next((r for r in reversed(runs) if r.state.ended is None and roster.drivers(r.run)), None)
    newest = runs[-1] if runs else None
    abandoned = newest if live is None and newest is not None and newest.unfinished else None
    return Standing(live=live, abandoned=abandoned)


def assert_agrees(run: RunState, wanted: Mapping[str, str], *, otherwise: str) -> None:
    """Refuse to drive a run that was begun on other terms, naming each difference; `otherwise` takes it as it is."""
    has = {
        "selection": name_selection(run.begun.selection),
        "context": run.begun.context,
        "agent": run.begun.agent,
        "mode": str(run.mode),
        "autonomy": run.begun.autonomy,
        "require": run.begun.require,
        "branch": run.begun.branch,
    }
    differing = [f"{key} is {has[key]!r}, not {value!r}" for key, value in wanted.items() if value != has[key]]
    if differing:
        raise InvalidInput(
            f"run {run.id} is driven on other terms: {'; '.join(differing)}",
            hint=f"{otherwise}, or start another run with: drumline run {quote(run.begun.plan)} --new",
        )


def name_selection(selection: Sequence[StepId] | None) -> str:
    """The steps a run is about, in words that can be compared."""
    return "the whole plan" if selection is None else ", ".join(selection)


def unmerged(runs: Sequence[RunBrief], contains: Mapping[Commit, bool]) -> RunBrief | None:
    """The newest run of the plan that landed steps which the checkout does not contain."""
    for brief in reversed(runs):
        landed = last_landed(brief)
        if landed is not None and not contains.get(landed, True):
            return brief
    return None


def last_landed(brief: RunBrief) -> Commit | None:
    """The commit of the step that landed last."""
    commits = [f.commit for f in brief.state.finished.values() if f.commit is not None]
    return commits[-1] if commits else None
