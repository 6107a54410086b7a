"""What judges a step of a run, in the order in which it runs; what is held out comes after it."""

from __future__ import annotations

from collections.abc import Sequence

from drumline.core.kinds import CONFIGURED, EVERYWHERE, Arranged, arrange, judges
from drumline.core.plan import Check, Step
from drumline.core.state import RunState
from drumline.core.vocabulary import CheckKind, StepEnd
from drumline.record import replace

COMPILE_CHECK = "compile check only (no command is named for the kind build)"


def list_checks(run: RunState, step: Step) -> tuple[Check, ...]:
    """What judges a step by the plan: its own checks; those of the step that it was planned to help, too, unless it was
    planned with a test of its own.

    Where its own file lists one of the latter, that line says that it passes.
    """
    planned = run.corrections.get(step.id)
    helped = run.plan.by_id.get(planned.helps) if planned is not None and not planned.correction.test else None
    if helped is None:
        return step.checks
    lines = {check.command: check.line for check in step.checks}
    carried = {c.command: replace(c, line=lines.get(c.command, 0)) for c in list_checks(run, helped)}
    return (*carried.values(), *(check for check in step.checks if check.command not in carried))


def list_carried(run: RunState, step: Step) -> tuple[Check, ...]:
    """The checks of a step that a corrective step for it has in its file, too: those that not every step has."""
    found = arrange_checks(run, step).checks
    return tuple(replace(check, line=0) for check in found if check.source not in EVERYWHERE)


def list_shared(run: RunState) -> tuple[Check, ...]:
    """What judges every step of a run: commands for kinds, and the configured checks."""
    return (*run.begun.kinds, *(Check(command=command, source=CONFIGURED) for command in run.begun.checks))


def arrange_checks(run: RunState, step: Step) -> Arranged:
    """The checks of a step, and the commands that lost for their kind."""
    return arrange_step(replace(step, checks=list_checks(run, step)), list_shared(run))


def arrange_step(step: Step, shared: Sequence[Check]) -> Arranged:
    """The checks of a step; tests that are named for all steps are not among those of one that only has to compile."""
    tests = [check for check in shared if check.kind is CheckKind.TEST] if step.compiles else []
    found = arrange(step.checks, [check for check in shared if check not in tests])
    return replace(found, lost=(*found.lost, *tests))


def list_unbuilt(step: Step, checks: Sequence[Check]) -> tuple[str, ...]:
    """What cannot be run of a step that only has to compile: all of it, if no command builds."""
    built = any(check.kind is CheckKind.BUILD for check in checks)
    return (COMPILE_CHECK,) if step.compiles and not built else ()


def list_own(run: RunState, step: Step) -> tuple[Check, ...]:
    """Those of its checks that judge the step and that no other step has because it is one."""
    return tuple(c for c in arrange_checks(run, step).checks if judges(c) and c.source not in EVERYWHERE)


def list_final(run: RunState, *, whole: bool = True) -> tuple[Check, ...]:
    """What judges all that a run leaves behind: the checks of the steps that are done, each once, the shared ones, and
    those of the plan for its end, if the `whole` of it is done.

    Nobody works there, so that nothing is formatted.
    """
    done = [step for step in run.selected() if step.id in run.finished and run.finished[step.id].state is StepEnd.DONE]
    shared = arrange((), list_shared(run)).checks
    commands = {check.command for check in shared}
    own = {check.command: check for step in done for check in list_own(run, step) if check.command not in commands}
    final = (check for check in run.plan.final if whole and check.command not in commands | own.keys())
    return tuple(sorted((check for check in (*own.values(), *shared, *final) if judges(check)), key=_find_place))


def _find_place(check: Check) -> int:
    return list(CheckKind).index(check.kind)
