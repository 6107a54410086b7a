"""Checks that are flaky, and those that nobody can run. The rule: a check is named by its command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.ids import FINAL, StepId
from drumline.core.orders import orders_for
from drumline.core.state import RunState
from drumline.core.tally import Tally, add_tallies, digest_command


def list_flaky_checks(run: RunState) -> tuple[tuple[str, Tally], ...]:
    """The flaky checks of a run's finished steps, each with its command and its figures in this run."""
    tallies = add_tallies(tally for finished in run.finished.values() for tally in finished.tallies)
    flaky = {check: tally for check, tally in tallies.items() if tally.changed}
    if not flaky:
        return ()
    steps = [run.define(step) for step in run.finished]
    commands = {check.command for step in steps for check in orders_for(run, step).checks}
    named = {digest_command(command): command for command in sorted(commands)}
    return tuple((named[check], tally) for check, tally in flaky.items() if check in named)


def find_tally(ledger: Mapping[str, Tally], command: str) -> Tally | None:
    """The figures of a check that has changed its verdict; None if it never did."""
    found = ledger.get(digest_command(command))
    return found if found is not None and found.changed else None


def tally_json(found: Tally | None) -> dict[str, object] | None:
    """The figures for programs."""
    return {"runs": found.runs, "changed": found.changed} if found is not None else None


def list_not_run(run: RunState) -> tuple[tuple[StepId, str], ...]:
    """What the plan wants to be checked and nobody can run, with the step; that of the plan itself under its end."""
    steps = [(step.id, item) for step in run.selected() for item in orders_for(run, step).step.not_run]
    return (*steps, *((FINAL, item) for item in run.plan.not_run))


def checks_json(
    passed: int, total: int, flaky: Sequence[tuple[str, Tally]], not_run: Sequence[tuple[StepId, str]]
) -> dict[str, object]:
    """The checks of a run for programs."""
    return {
        "passed": passed,
        "total": total,
        "flaky": [{"command": command, "runs": tally.runs, "changed": tally.changed} for command, tally in flaky],
        "not_run": [{"step": step, "item": item} for step, item in not_run],
    }
