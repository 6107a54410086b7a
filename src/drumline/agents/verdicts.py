"""What an agent program's last words mean: a class of failure, from the status of the API if it is told, else by words.

The rule: what is not recognised is a breakdown of the program, never a success.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from types import MappingProxyType

from drumline.agents.kills import describe_kill, was_killed
from drumline.agents.reading import unwrap_error
from drumline.agents.resets import find_reset
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Outcome
from drumline.ports.processes import Ended
from drumline.record import replace

LONGEST = 4000
MOST_LINES = 20
STATUSES: Mapping[int, Failure] = MappingProxyType(
    {
        401: Failure.AUTH,
        402: Failure.BILLING,
        403: Failure.AUTH,
        408: Failure.TRANSIENT,
        409: Failure.TRANSIENT,
        425: Failure.TRANSIENT,
        429: Failure.QUOTA,
    }
)
# The order matters: people at their usage limit are told that they could buy credits, too.
WORDS: tuple[tuple[Failure, re.Pattern[str]], ...] = tuple(
    (failure, re.compile(words, re.IGNORECASE))
    for failure, words in (
        (Failure.QUOTA, r"usage (?:limit|exceeded)|hit your .{0,20}limit|limit reached|weekly limit|5-hour limit"),
        (
            Failure.BILLING,
            r"credit balance|insufficient_quota|payment required|billing|out of credits|more credits"
            r"|credits.?exhausted",
        ),
        (
            Failure.AUTH,
            r"not logged in|log ?in again|please run /login|unauthori[sz]ed|authenticat|invalid.{0,10}api key"
            r"|api key not|missing .{0,20}(api key|credential)|oauth token|permission_error"
            r"|(?:set an|no|invalid) auth (?:method|type)|no provider configured",
        ),
        (Failure.QUOTA, r"rate.?limit|too many requests|quota|resource.?exhausted"),
        (
            Failure.TRANSIENT,
            r"overloaded|high demand|try again in a moment|server.?error|bad gateway|unavailable|timed? ?out"
            r"|disconnected|connection|network|econn|socket|fetch failed|stream .{0,30}(closed|ended)"
            r"|(?:cannot|could not|unable to|failed to) connect|enotfound|eai_again|failed to lookup",
        ),
        (
            Failure.PERMANENT,
            r"(?:invalid|bad).?request|not.?found|does not exist|unknown (model|option|argument)|not supported"
            r"|unexpected argument|too long|context (window|length)",
        ),
    )
)
TOO_LONG = re.compile(
    r"(?:prompt|input|context|conversation) (?:is |was )?too (?:long|large)|context.?(?:length|window|limit|overflow)"
    r"|input token count|maximum number of (?:input )?tokens|session token limit|range of input length",
    re.IGNORECASE,
)
"""How services say that all that was said before does not fit into the model any more."""
STATUS = re.compile(r"(?:status|code|error|rejected|request)[\s:\"'_(]{1,4}([45]\d\d)\b", re.IGNORECASE)


def classify(message: str, *, status: int | None = None) -> Failure:
    """The class of a failure. `status` is what the API answered; without it, one in the message counts."""
    if status is None and (told := STATUS.search(message)):
        status = int(told[1])
    if TOO_LONG.search(message) and status not in STATUSES and (status or 0) < 500:
        return Failure.PERMANENT
    worded = next((failure for failure, words in WORDS if words.search(message)), Failure.CRASH)
    if worded is Failure.BILLING or status is None:
        return worded
    if status in STATUSES:
        return STATUSES[status]
    return Failure.TRANSIENT if status >= 500 else Failure.PERMANENT


def explain_failure(message: str, *, status: int | None = None, wait: float | None = None) -> Outcome:
    """The outcome of work that an error ended; `wait` is how many seconds the API had asked for."""
    failure = classify(message, status=status)
    now = time.time()
    resets_at = find_reset(message, now=now)
    if failure is Failure.BILLING and resets_at is not None and status in (None, 429):
        # Who is told when to come back has no bill to pay: some speak of bills whenever a quota is used up.
        failure = Failure.QUOTA
    if resets_at is None and wait is not None:
        resets_at = now + wait
    if failure is not Failure.QUOTA:
        resets_at = None
    return Outcome(failure=failure.value, message=unwrap_error(message)[:LONGEST], resets_at=resets_at)


def discard_overlong(outcome: Outcome, *, session: str) -> Outcome:
    """The outcome; where the `session` gone on with has become too long, as if the program had broken down.

    Then the next attempt begins a new session. Without one it is the prompt that is too long, which nothing can help.
    """
    if not session or outcome.failure != Failure.PERMANENT.value or not TOO_LONG.search(outcome.message):
        return outcome
    message = f"its session has become too long to continue with: {outcome.message}"
    return replace(outcome, failure=Failure.CRASH.value, message=message[:LONGEST], session="")


def explain_end(ended: Ended, missing: str) -> Outcome:
    """The outcome of a program that ended without its final event, which is called `missing`."""
    said = "\n".join(part for part in (_find_plain(ended), ended.errors.strip()) if part)[-LONGEST:]
    words = f"ended with exit code {ended.exit_code} and without {missing}" + (f": {said}" if said else "")
    if was_killed(ended):
        return Outcome(failure=Failure.KILLED.value, message=f"{describe_kill(ended)}; it {words}")
    known = classify(said) if said else Failure.CRASH
    # Only what a person has to settle is believed from such words; all else may well pass.
    failure = known if known in (Failure.AUTH, Failure.BILLING, Failure.QUOTA) else Failure.CRASH
    resets_at = find_reset(said, now=time.time()) if failure is Failure.QUOTA else None
    return Outcome(failure=failure.value, message=words, resets_at=resets_at)


def _find_plain(ended: Ended) -> str:
    """What it had printed last for people: some say on stdout, between their events, why they do not begin."""
    lines = (line.strip() for line in ended.output.splitlines()[-MOST_LINES:])
    # The first of these may be the end of an event, as the log is cut; stderr is in the log, too.
    plain = (line for line in lines if line and not line.startswith("{") and not line.endswith("}"))
    return "\n".join(line for line in plain if line not in ended.errors)
