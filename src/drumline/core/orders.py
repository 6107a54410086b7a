"""What a driver needs to know about the step it holds: who works on it, and what judges it."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.checklist import arrange_checks, list_final, list_unbuilt
from drumline.core.heldout import find_file, name_held_out, spell_held_out
from drumline.core.ids import FINAL, PREFLIGHT, Commit
from drumline.core.kinds import judges
from drumline.core.plan import RUN_WALKS, Check, Step
from drumline.core.routing import Candidate, list_workers
from drumline.core.runwalks import find_unpassed, list_proved
from drumline.core.state import RunState
from drumline.core.trust import find_spec
from drumline.core.vocabulary import FULL, Mutants
from drumline.record import Record, replace

REPORTING = ("maestro", "phased")
"""Formats whose steps end with a report."""


class Orders(Record):
    """A step of a run as those see it who decide about it and act for it.

    The work of a step `lands` on the run branch; a walk of the run itself only looks at what is there. The last one
    compares that with what was there `before` the run. `judge` are globs of files that are tests, too; `mutants` says
    whether such are tried. `held_out` are the files of checks that agents do not
    see, and `last` says that no other step was left to do when this one was begun. With `reports` agents end with a
    report, and are asked once for one that is missing.
    """

    step: Step
    checks: tuple[Check, ...]
    agents: tuple[Candidate, ...]
    retries: int
    autonomy: str
    lands: bool = True
    judge: tuple[str, ...] = ()
    mutants: Mutants = Mutants.OFF
    before: Commit | None = None
    held_out: tuple[str, ...] = ()
    last: bool = False
    reports: bool = False

    def spell(self, number: int) -> str:
        """The command of a check; what is told of it may be less."""
        check = self.checks[number]
        file = find_file(check, self.held_out)
        return spell_held_out(file) if file else check.command

    def find_held_out(self, number: int) -> str:
        """The file that a check executes which agents do not see; empty for any other check."""
        return find_file(self.checks[number], self.held_out)


def orders_for(run: RunState, step: Step) -> Orders:
    """The step with every check that judges it: by kind, its own, the configured ones, then those that are held out.

    After the last step those of all steps that the run has done judge what it leaves behind, each once, but for those
    that have passed on exactly that. Before the first step only the plan's pre-flight commands run, if it has some.
    """
    agents = list_workers(run, step)
    held_out = name_held_out(run.begun.held_out, hidden=_is_held(run, agents))
    checks = arrange_checks(run, step).checks + held_out
    if step.id == PREFLIGHT:
        checks = step.checks or tuple(check for check in checks if judges(check))
    if step.id == FINAL:
        proved, final = list_proved(run), list_final(run, whole=find_unpassed(run) is None)
        checks = tuple(check for check in final + held_out if check.command not in proved)
    unbuilt = list_unbuilt(step, checks)
    return Orders(
        step=replace(step, not_run=(*step.not_run, *unbuilt)) if unbuilt else step,
        checks=checks,
        agents=agents,
        retries=run.begun.retries,
        autonomy=run.begun.autonomy,
        lands=step.id not in RUN_WALKS,
        judge=run.begun.judge,
        mutants=_choose_mutants(run.begun.mutants, step),
        before=run.begun.base if step.id == FINAL else None,
        held_out=run.begun.held_out,
        reports=step.id not in RUN_WALKS and (run.plan.format in REPORTING or run.begun.rigor == FULL),
        last=all(other.id == step.id or other.id in run.finished for other in run.selected()),
    )


def _is_held(run: RunState, agents: Sequence[Candidate]) -> bool:
    """Whether each of these agents works in a jail, which does not show what is held out."""
    specs = [find_spec(agent.name or run.begun.agent, run.begun.profiles) for agent in agents]
    return all(spec.partition(":")[0] in run.begun.jailed for spec in specs)


def _choose_mutants(mutants: Mutants, step: Step) -> Mutants:
    """A step that its file flags for review lands only once its mutants were tried."""
    if step.id in RUN_WALKS or mutants is Mutants.OFF:
        return Mutants.OFF
    return Mutants.GATE if step.review else mutants
