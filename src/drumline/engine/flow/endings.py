"""How a driver's work ends: the end of its run, or the one error that stopped it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core import events as ev
from drumline.core.flow.events import FlowEnded
from drumline.core.flow.scopes import call_scope
from drumline.core.flow.state import Key
from drumline.core.state import RunState, fold_run
from drumline.engine.flow.stack import Stack
from drumline.ports.journal import Message


def end_run(ended: FlowEnded) -> ev.RunEnded:
    """The end of a run that walked a flow: a rejected one has failed, and says that it was rejected."""
    state = "failed" if ended.status == "rejected" else ended.status
    reason = ended.reason or ("rejected" if ended.status == "rejected" else "")
    return ev.RunEnded(state=state, reason=reason)


def block_run(blocked: Mapping[Key, str]) -> ev.RunEnded:
    """The end of a run whose walk is not over, but whose due visits this machine cannot do."""
    key, reason = next(iter(blocked.items()))
    more = f" (and {len(blocked) - 1:,} more)" if len(blocked) > 1 else ""
    return ev.RunEnded(state="blocked", reason=f"{call_scope(*key)}: {reason}{more}")


def is_over(run: RunState, stack: Stack, resumed: Sequence[ev.Event]) -> bool:
    """Whether nothing is left to drive. A cancelled or blocked run continues its walk once it is resumed."""
    if run.ended is not None and stack.is_open:
        fold_run(run, resumed)
    return run.ended is not None


def hear_cancel(run: RunState, unread: Sequence[tuple[int, Message]]) -> tuple[list[ev.Event], list[int]]:
    """What ends the run if somebody has cancelled it, and the message that is settled by it.

    The walk itself is not over: it goes on if the run is resumed.
    """
    if run.cancel is not None:
        return [ev.RunEnded(state="cancelled", reason=run.cancel.reason)], []
    for number, message in unread:
        if message.kind == "cancel":
            asked = ev.CancelRequested(by=message.by, reason=message.comment)
            return [asked, ev.RunEnded(state="cancelled", reason=message.comment)], [number]
    return [], []


def find_sole(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The one error in a group, so that callers can tell conflicts from bugs; the group itself if there are more."""
    inner = group.exceptions[0]
    if len(group.exceptions) > 1:
        return group
    return find_sole(inner) if isinstance(inner, BaseExceptionGroup) else inner
