"""An earlier reading of a plan's folder, by path. Files with errors are not reused: their problems are found anew."""

from __future__ import annotations

from collections.abc import Collection

from drumline.core.plan import Problem, Reading, Severity, Step
from drumline.planfiles.overall import has_others
from drumline.planfiles.stepfile import StepFile


class Known:
    """What can be taken over from an earlier reading. `warnings` are the codes a step's own file gives rise to."""

    def __init__(self, reading: Reading | None, warnings: Collection[str]) -> None:
        self._reading = reading
        self._warnings: dict[str, list[Problem]] = {}
        self.need_lines: dict[str, int] = {}
        self._steps: dict[str, Step] = {}
        self._faulty: set[str] = set()
        if reading is None:
            return
        for problem in reading.problems:
            path = problem.path
            if problem.severity is Severity.ERROR:
                self._faulty.add(path)
            elif problem.code == "redundant_need":
                self.need_lines[path] = problem.line
            elif problem.code in warnings:
                self._warnings.setdefault(path, []).append(problem)
        steps = (step for step in reading.plan.steps if reading.plan.by_id[step.id] is step and not has_others(step))
        self._steps = {step.path: step for step in steps if step.id in reading.marks}

    def has(self, path: str, found: str) -> bool:
        """Whether the file was read before with these bytes and without errors."""
        return self._reading is not None and self._reading.digests.get(path) == found and path not in self._faulty

    def step_file(self, path: str) -> StepFile | None:
        """What the file said."""
        step = self._steps.get(path)
        if step is None or self._reading is None:
            return None
        return StepFile(step=step, marks=self._reading.marks[step.id], problems=tuple(self._warnings.get(path, ())))
