"""The verdict about a step's work as the templates and conditions of its flow see it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core.corrections import is_asked_for, may_heal
from drumline.core.examination import Verdict
from drumline.core.firstlines import tell_first
from drumline.core.flow.model import Json
from drumline.core.foul import tell_foul
from drumline.core.landing import tell_tries
from drumline.core.orders import Orders
from drumline.core.overstep import tell_stray
from drumline.core.ownword import NOT_DONE
from drumline.core.prompt import write_feedback
from drumline.core.state import RunState
from drumline.core.stepfold import UNCHANGED
from drumline.core.stepstate import StepState
from drumline.core.taxonomy import Failure
from drumline.core.verdicts import UNTESTED, may_fix, tell_verdict


def describe(verdict: Verdict, orders: Orders, state: StepState, run: RunState) -> Mapping[str, Json]:
    """The fields of `check`: `again` is another try of the agent, `heal` a corrective step that may help."""
    asked = is_asked_for(run, orders.step.id)
    faults = () if verdict is Verdict.PASSED else state.faults()
    missing = UNTESTED if verdict is Verdict.UNTESTED else ""
    stray = tell_stray(orders, state, run) if verdict is Verdict.FOREIGN else ""
    plain = {Verdict.UNCHANGED: UNCHANGED, Verdict.DENIED: NOT_DONE, Verdict.FOREIGN: stray}
    told = tell_foul(state.judged) if verdict is Verdict.FOUL else plain.get(verdict, missing)
    return {
        "passed": verdict is Verdict.PASSED,
        "verdict": tell_verdict(orders, state) if verdict is Verdict.PASSED else stray or "fails its checks",
        "failed": ", ".join([*(ended.command for ended in faults), *filter(None, (missing, stray))]),
        "output": "\n".join(ended.output for ended in faults),
        "feedback": "\n\n".join(part for part in (told, write_feedback(faults)) if part),
        "again": not asked and may_fix(orders, state, run),
        "heal": _helps(verdict, orders, state, run),
        "fixes": state.fixes,
        "fixes_left": max(0, orders.retries - state.fixes),
        "class": Failure.VALIDATION.value,
        "tried": tell_tries(state, in_all=asked),
        "first": tell_first(faults),
    }


def _helps(verdict: Verdict, orders: Orders, state: StepState, run: RunState) -> bool:
    """Whether a corrective step may help: its checks fail, and not only together with what landed meanwhile."""
    fails = verdict is Verdict.FAILED and bool(state.failing()) and state.find_clash() is None
    return fails and may_heal(orders.step, run, retries=orders.retries)
