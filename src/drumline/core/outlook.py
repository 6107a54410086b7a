"""What is still to do in a plan, how much of it a run gets to, and what of that nothing would prove.

The rule: a step is counted as one that would be proved only if it can end so. Whether its checks fail without the
work is seen when they are run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from drumline.core import graph
from drumline.core.ids import StepId
from drumline.core.kinds import judges, list_commands
from drumline.core.plan import Check, Marks, Reading, Status, Step
from drumline.core.roles import only_reads
from drumline.patterns import compile_late
from drumline.record import Record

_OVER = (Status.DONE, Status.SKIPPED)
_HELD = (Status.BLOCKED, Status.FAILED)
_NOTHING = r"(?:true|:|exit\s+0|echo(?:\s[^|;&<>`$]*)?)"
_NEVER_FAILS = compile_late(rf"{_NOTHING}|.*\|\|\s*{_NOTHING}|(?!.*\b(?:exit|set)\b).*;\s*{_NOTHING}", re.DOTALL)


class Outlook(Record):
    """The steps still to do (`left`), those that a run changes files for (`worked`), and those that can be proved.

    `held` are marked blocked or failed, or wait for one that is; `reading` have a role that may only read.
    """

    left: tuple[Step, ...] = ()
    worked: tuple[Step, ...] = ()
    proved: tuple[Step, ...] = ()
    held: tuple[Step, ...] = ()
    reading: tuple[Step, ...] = ()

    @property
    def unproved(self) -> tuple[Step, ...]:
        """The steps that nothing would prove."""
        proved = {step.id for step in self.proved}
        return tuple(step for step in self.worked if step.id not in proved)

    def in_words(self) -> str:
        """How many steps would be proved, and which are not counted."""
        if not self.left:
            return "would be proved: nothing is left to do"
        told = f"would be proved: {len(self.proved)} of {len(self.worked)}"
        others = [f"{len(self.held)} held up by a blocked or failed step"] if self.held else []
        others += [f"{len(self.reading)} that may only read"] if self.reading else []
        return f"{told} (not counted: {', '.join(others)})" if others else told


def todo(reading: Reading, selection: Collection[StepId] | None = None) -> list[Step]:
    """Steps that are still to do here, of those selected."""
    marks = reading.marks
    here = [step for step in reading.plan.steps if not step.elsewhere and (selection is None or step.id in selection)]
    return [step for step in here if marks.get(step.id, Marks()).status not in _OVER]


def look_ahead(
    reading: Reading, configured: Sequence[str] = (), selection: Collection[StepId] | None = None
) -> Outlook:
    """What a run of this selection comes to; `configured` are checks that are run for every step."""
    left = todo(reading, selection)
    held = _find_held(reading)
    reached = [step for step in left if step.id not in held]
    worked = [step for step in reached if not only_reads(step.role)]
    return Outlook(
        left=tuple(left),
        worked=tuple(worked),
        proved=tuple(step for step in worked if _can_be_proved(step, configured)),
        held=tuple(step for step in left if step.id in held),
        reading=tuple(step for step in reached if only_reads(step.role)),
    )


def never_fails(command: str) -> bool:
    """Whether a command succeeds whatever the work is: such a check proves nothing."""
    return bool(_NEVER_FAILS.fullmatch(command.strip()))


def _can_be_proved(step: Step, configured: Sequence[str]) -> bool:
    """Whether something judges the step, all that should does, and one of its commands can fail."""
    commands = [*list_commands(step.checks), *configured]
    return not step.not_run and not all(never_fails(command) for command in commands)


def _find_held(reading: Reading) -> set[StepId]:
    """Steps that are marked blocked or failed, and those that wait for them, as the schedule has it."""
    held: set[StepId] = set()
    for step_id in graph.topological(reading.plan.steps):
        step, marks = reading.plan.by_id[step_id], reading.marks.get(step_id, Marks())
        marked = marks.status in _HELD and not marks.waits
        if marked or any(_holds(need, step, reading, held) for need in step.needs):
            held.add(step_id)
    return held


def _holds(need: StepId, step: Step, reading: Reading, held: Collection[StepId]) -> bool:
    """Whether a need keeps the step from starting: one that is over does not, unless the order itself is the need."""
    over = reading.marks.get(need, Marks()).status in _OVER
    return need in held and (step.ordered or not over)


def tell_worth(check: Check, *, own: bool) -> str:
    """What a check would prove: one of a step's `own`, or one that is run for every step."""
    if not judges(check):
        return "formats the files that a step changes, before it is judged, and proves nothing"
    if never_fails(check.command):
        return "proves nothing: it cannot fail"
    if own:
        return "proves the step if it fails without the work"
    return "proves steps without checks of their own if it fails without their work; guards the others"
