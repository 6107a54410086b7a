"""What is said of a plan before its first run, and by a dry run: how it was read, and which checks could be added.

The rule: nothing is written without a yes, and without a terminal nothing is asked; what would have been is said.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import click

from drumline.app.detection import detect_at_head
from drumline.app.proposing import Proposal, as_checks, propose
from drumline.cli.output import say
from drumline.configfiles import CONFIG
from drumline.core.ids import StepId
from drumline.core.kinds import CONFIGURED
from drumline.core.outlook import look_ahead
from drumline.core.parallelism import measure_parallelism
from drumline.core.plan import Reading
from drumline.errors import InvalidInput
from drumline.views.cells import flatten
from drumline.views.explain import explain, list_caveats
from drumline.wiring import Project

TOLD = "told-commands"
"""The file that says that a note about `[commands]` was given."""
MOST_SHOWN = 8
"""How many proposals are listed: with the explanation of the plan they fit on one screen."""


def introduce(
    project: Project, reading: Reading, selection: Collection[StepId] | None, *, first: bool, asks: bool, named: str
) -> Reading:
    """Say how the plan is read; before its first run propose checks, and keep them on a yes. Returns the plan as it is
    then. `named` is the plan as a person typed it.
    """
    if not first:
        say(f"{reading.plan.path}: format {reading.plan.format}, {_count_proved(project, reading, selection)}")
        return reading
    proposals = propose_checks(project, reading)
    explain_plan(project, reading, selection, proposals, tell=say, named=named)
    if not proposals:
        return reading
    if not asks:
        say(f"  next time with them: drumline checks {named} --accept")
        return reading
    planfiles = project.open_plan(str(project.repository.top / reading.plan.path), reading.plan.format)
    try:
        if not click.confirm("Keep them beside the plan and run them", default=False, err=True):
            return reading
        say(f"wrote {planfiles.keep_checks(as_checks(proposals))}")
    except InvalidInput as refused:
        say(f"{refused}: {refused.hint}")
        return reading
    reading = planfiles.read()
    outlook = look_ahead(reading, project.settings.configured, selection)
    for line in [
        outlook.in_words(),
        *list_caveats(outlook, measure_parallelism(reading.plan.steps, reading.plan.format)),
    ]:
        say(line)
    return reading


def tell_commands(project: Project) -> None:
    """Say once in a repository that its commands for kinds of checks, which flows may have used before, judge steps."""
    named = [check for check in project.settings.kinds if check.source == CONFIGURED]
    told = project.state_dir / TOLD
    if not named or told.exists():
        return
    kinds = ", ".join(check.kind for check in named)
    say(f"note: {kinds} in [commands] of {CONFIG.as_posix()} judge every step, too; drumline checks lists them")
    told.parent.mkdir(parents=True, exist_ok=True)
    told.touch()


def propose_checks(project: Project, reading: Reading) -> list[Proposal]:
    """Checks that could be added to the plan."""
    return propose(reading, detect_at_head(project.repository), project.settings.configured)


def explain_plan(
    project: Project,
    reading: Reading,
    selection: Collection[StepId] | None,
    proposals: Sequence[Proposal],
    *,
    tell: Callable[[str], None],
    named: str,
) -> None:
    """At most a screen: the format and how it was read, how much would be proved, what could be added."""
    outlook = look_ahead(reading, project.settings.configured, selection)
    listed = list_proposals(proposals)
    left = len(listed) - MOST_SHOWN
    more = [f"and {left} more: drumline checks {named}"] if left > 0 else []
    for line in [
        *explain(reading, measure_parallelism(reading.plan.steps, reading.plan.format), outlook),
        *listed[:MOST_SHOWN],
        *more,
    ]:
        tell(line)


def list_proposals(proposals: Sequence[Proposal], *, word: str = "proposed") -> list[str]:
    """One line for each proposal."""
    places = [f"step {one.step}" if one.step else "every step without a check" for one in proposals]
    return [
        f"{word} for {place}: {flatten(one.command)} (from {one.why})"
        for place, one in zip(places, proposals, strict=True)
    ]


def _count_proved(project: Project, reading: Reading, selection: Collection[StepId] | None) -> str:
    return look_ahead(reading, project.settings.configured, selection).in_words()
