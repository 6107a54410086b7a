"""What people say to a run that walks a flow, checked before it is left there: only what can take effect is taken."""

from __future__ import annotations

from drumline.errors import InvalidInput
from drumline.views.flowplaces import list_rests
from drumline.views.flowsnapshot import FlowSnapshot
from drumline.views.flowvisits import find_place, visit_name
from drumline.views.flowwhy import flow_why


def check_rest(snapshot: FlowSnapshot, name: str) -> str:
    """Return the visit that is called so and waits for a time; refuse any other with what it waits for instead."""
    key = find_place(snapshot, name)
    if any(rest.key == key for rest in list_rests(snapshot)):
        return visit_name(key)
    found = flow_why(snapshot, name)
    raise InvalidInput(
        f"in a flow, only a visit that waits for a quota can be retried; {found.sentence}", hint=found.hint
    )
