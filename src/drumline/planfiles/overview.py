"""What the files beside the steps say of a plan as a whole."""

from __future__ import annotations

from drumline.core.plan import Check, Plan, Problem
from drumline.planfiles.markdown import Item
from drumline.record import Record, replace


class Overview(Record):
    """What the files beside the steps say of the plan as a whole, and what does not agree."""

    title: str = ""
    autonomy: str = ""
    flow: str = ""
    require: str = ""
    kinds: tuple[Check, ...] = ()
    preamble: str = ""
    preflight: tuple[Check, ...] = ()
    final: tuple[Check, ...] = ()
    not_run: tuple[str, ...] = ()
    manual: tuple[Item, ...] = ()
    problems: tuple[Problem, ...] = ()

    def add_to(self, plan: Plan) -> Plan:
        """The plan with these words, but for the title."""
        named = ("autonomy", "flow", "require", "kinds", "preamble", "preflight", "final", "not_run")
        return replace(plan, **{name: getattr(self, name) for name in named})
