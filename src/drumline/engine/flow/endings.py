"""How a driver's work ends: the end of its run, or the one error that stopped it."""

from __future__ import annotations

from drumline.core import events as ev
from drumline.core.flow.events import FlowEnded


def end_run(ended: FlowEnded) -> ev.RunEnded:
    """The end of a run that walked a flow: a rejected one has failed, and says that it was rejected."""
    state = "failed" if ended.status == "rejected" else ended.status
    reason = ended.reason or ("rejected" if ended.status == "rejected" else "")
    return ev.RunEnded(state=state, reason=reason)


def find_sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error in a group, so that callers can tell conflicts from bugs; the group itself if there are more."""
    inner = group.exceptions[0]
    if len(group.exceptions) > 1:
        return group
    return find_sole(inner) if isinstance(inner, BaseExceptionGroup) else inner
