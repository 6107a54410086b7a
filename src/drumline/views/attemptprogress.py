"""How an attempt begins and ends, as a line: whether it is a fix, or goes on for another reason.

The rule: a line counts a fix exactly where the step's budget does.
"""

from __future__ import annotations

from collections.abc import Mapping

from drumline.core import events as ev
from drumline.core.ids import StepId
from drumline.core.plaintext import name_some
from drumline.core.routing import spell_agent
from drumline.core.state import RunState
from drumline.core.taxonomy import RULES, Failure, consumes_fix, goes_on
from drumline.views.cells import flatten
from drumline.views.clashes import tell_clash
from drumline.views.duration import duration
from drumline.views.told import MOST_NOTICES, Told, Track, tell_notices

LONGEST_REASON = 200


def tell_start(track: Track, step: StepId, run: RunState, event: ev.AttemptStarted) -> Told | None:
    """Why an attempt begins; nothing about the first one."""
    track.reading = event.node if event.reads else ""
    if event.reads:
        about = {"step": step, "node": event.node}
        return Told(event="reading", text=f"{step}: {event.node} started; it only reads", data=about)
    failing, failure, message = track.failing, track.failure, flatten(track.message, LONGEST_REASON)
    clashes = not failure and (track.conflicts or bool(failing and (track.joined or track.clashes)))
    track.failing, track.failure, track.message = [], "", ""
    track.joined, track.conflicts, track.clashes = False, False, clashes
    data: dict[str, object] = {"step": step, "attempt": event.attempt}
    before, track.agent = track.agent, event.agent
    if event.revises:
        track.fixes = 0
        return None
    if failure and event.agent != before:
        return _hand_over(step, run, event, {**data, "failure": failure, "message": message})
    if event.delay > 0:
        means = RULES[Failure(failure)].means if failure else "the last try failed"
        text = f"{step}: {means}; attempt {event.attempt} in {duration(event.delay)}"
        return Told(event="retry_wait", text=text, data={**data, "seconds": event.delay, "message": message})
    if failure and goes_on(Failure(failure)):
        why = f"{RULES[Failure(failure)].means} ({message})"
        text = f"{step}: {why}; attempt {event.attempt} gets what is left, no fix used"
        return Told(event="gone_on", text=text, data={**data, "failure": failure, "message": message})
    told = "" if event.doubts else flatten(event.complaint, LONGEST_REASON).removeprefix("- ")
    if clashes:
        told = tell_clash(track.since, track.files, failing)
        track.files = ()  # the next attempt has no conflict markers before it, but may still fail together
    if told and (clashes or event.oversteps or event.reviewed or event.supersedes):
        after = " after its review" if event.reviewed else ""
        return Told(event="sent_back", text=f"{step}: goes back to its agent{after}, no fix used ({told})", data=data)
    if not failing and not told and not (failure and consumes_fix(Failure(failure))):
        return None
    track.fixes += 1
    because = f"failing: {name_some(failing)}" if failing else (told or message or "the agent said it failed")
    data |= {"fix": track.fixes, "of": run.begun.retries, "checks": failing}
    return Told(event="fix", text=f"{step}: fix {track.fixes} of {data['of']} ({because})", data=data)


def _hand_over(step: StepId, run: RunState, event: ev.AttemptStarted, data: Mapping[str, object]) -> Told:
    name = flatten(spell_agent(run, event.agent))
    text = f"{step}: {RULES[Failure(str(data['failure']))].means}; {name} takes over with attempt {event.attempt}"
    return Told(event="handed_over", text=text, data={**data, "agent": name})


def tell_end(track: Track, step: StepId, event: ev.AttemptEnded) -> Told | None:
    """What was remarkable about an attempt that is over."""
    if track.reading and event.failure:
        why = flatten(event.message, LONGEST_REASON)
        about = {"step": step, "node": track.reading, "failure": event.failure, "message": event.message}
        return Told(event="unread", text=f"{step}: {track.reading} gave no usable answer ({why})", data=about)
    if not track.reading:
        track.failure, track.message = event.failure, event.message
    new = [notice for notice in event.told if notice not in track.said]  # what was told of an attempt before is known
    track.said.update(new)
    if not new:
        return None
    more = len(new) - MOST_NOTICES
    others = f"; and {more} more → drumline logs {step}" if more > 0 else ""
    text = f"{step}: {tell_notices(new)}{others}"
    data = {"step": step, "attempt": event.attempt, "notices": new}
    return Told(event="notice", text=text, data=data)
