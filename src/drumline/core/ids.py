"""Names of things, so that a step's id cannot be passed where a run's is meant."""

from __future__ import annotations

from typing import NamedTuple, NewType

RunId = NewType("RunId", str)
StepId = NewType("StepId", str)
GateId = NewType("GateId", str)
DriverId = NewType("DriverId", str)
Token = NewType("Token", int)
Commit = NewType("Commit", str)
Tree = NewType("Tree", str)

NO_STEP = StepId("")
NO_DRIVER = DriverId("")
NO_GATE = GateId("")
NO_TREE = Tree("")
FLOW = StepId("flow")
"""The one step of a run that walks a flow by itself: the walk is in its stream."""
IMPLEMENT = "implement"
"""The node of an attempt that names none: the step's own agent is at work."""
PREFLIGHT, FINAL = StepId("@preflight"), StepId("@final")
"""The walks of a run of a plan itself: before its first step, and after its last. No step of a plan is called so."""


class Stream(NamedTuple):
    """One ordered sequence of events: the run's own (no step) or that of one of its steps."""

    run: RunId
    step: StepId = NO_STEP
