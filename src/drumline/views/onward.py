"""The commands that come next after a run has ended or waits: to let it go on, to look, or to take over what landed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from drumline.core.acceptance import list_red_steps
from drumline.core.plan import RUN_WALKS
from drumline.core.proof import Level
from drumline.core.vocabulary import RunStanding, StepEnd
from drumline.core.waves import find_stop
from drumline.views.causes import find_waiting, list_rounds, round_hint
from drumline.views.gates import answer_command, list_asking, merge_command, retry_command
from drumline.views.snapshot import Snapshot
from drumline.views.standing import begin_after_login, resume_after_login
from drumline.views.states import run_state

MOST_GATES = 3
"""Open gates whose answers are named as next commands."""


def list_next(snapshot: Snapshot, *, anything_landed: bool) -> tuple[str, ...]:
    """The commands that come next, the one that looks at the run first, unless it has to be merged."""
    branch = snapshot.run.begun.branch
    state = run_state(snapshot)
    onward = list(_onward(snapshot, state))
    if snapshot.flow_walk is not None:
        answers = state is RunStanding.PARKED and snapshot.run.open_gates
        return tuple(
            onward if answers or state is RunStanding.RUNNING else [*onward, f"drumline logs --run {snapshot.run.id}"]
        )
    look = [f"drumline status {snapshot.run.id}", *onward]
    look += _look_at_doubt(snapshot)
    if anything_landed:
        look.append(f"git log --oneline {branch}")
    # A run that merges says itself what is left to do if it cannot; one in the checkout is where it should be.
    merges = bool(snapshot.run.begun.merge) and state is RunStanding.DONE
    there = merges or bool(snapshot.run.begun.checkout)
    onwards = state in (RunStanding.PARKED, RunStanding.INTERRUPTED)  # it is to be driven on first
    if anything_landed and not there and not onwards:
        look.insert(0 if state is RunStanding.DONE else len(look), merge_command(snapshot.run))
    return tuple(look)


def _onward(snapshot: Snapshot, state: RunStanding) -> Iterator[str]:
    """The commands that let the run go on, or that say more about what it came to."""
    run, flow_walk = snapshot.run, snapshot.flow_walk
    match state:
        case RunStanding.PARKED if run.open_gates and not run.parked_for:
            yield from (answer_command(gate.opened, driven=False) for gate in run.open_gates[:MOST_GATES])
        case RunStanding.PARKED if waiting := find_waiting(snapshot):
            yield retry_command(waiting)
        case RunStanding.PARKED | RunStanding.INTERRUPTED | RunStanding.CANCELLED:
            yield f"drumline resume {run.id}"
        case RunStanding.FAILED if find_stop(run):
            yield f"drumline resume {run.id}"
        case RunStanding.RUNNING if flow_walk is not None:
            yield f"drumline attach {run.id}"
        case RunStanding.BLOCKED if flow_walk is not None and flow_walk.end is None:
            yield resume_after_login(run)
        case _ if flow_walk is not None:
            yield from filter(None, [begin_after_login(run)])
        case RunStanding.BLOCKED | RunStanding.FAILED | RunStanding.REJECTED:
            yield from (answer_command(gate.opened, driven=False) for gate in list_asking(run)[:MOST_GATES])
            stuck = [found for found in run.finished.values() if found.state in (StepEnd.BLOCKED, StepEnd.FAILED)]
            yield from list_rounds(run)[:MOST_GATES]
            yield from (f"drumline logs {found.step}" for found in stuck[:1])
            yield from (f"drumline resume {run.id}" for found in stuck if found.step in RUN_WALKS)
            yield from [round_hint(found, snapshot.run) for found in stuck if found.login][:1]
            if not stuck and run.ended is not None and run.ended.step:  # its plan calls it blocked or failed
                yield f"drumline why {run.ended.step}"
        case RunStanding.RUNNING | RunStanding.DONE:
            pass
        case _:
            assert_never(state)


def _look_at_doubt(snapshot: Snapshot) -> list[str]:
    """The command that says why a step is in doubt: one that is asked about, then one whose check fails by now."""
    doubtful = (Level.KEPT, Level.UNPROVED)
    asked = [doubt.step for gate in snapshot.run.open_gates for doubt in gate.opened.doubts]
    red = [step.id for step in list_red_steps(snapshot.run)]
    low = [f.step for f in snapshot.run.finished.values() if f.proof is not None and f.proof.level in doubtful]
    steps = [*asked, *red, *low]
    return [f"drumline why {step}" for step in steps[:1]]
