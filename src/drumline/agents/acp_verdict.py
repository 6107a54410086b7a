"""What the end of a prompt means, in the Agent Client Protocol. The rule: an error dressed as an answer is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping

from acp.exceptions import RequestError
from acp.schema import PromptResponse

from drumline.agents.acp_client import Desk
from drumline.agents.cli import IDLED
from drumline.agents.reading import read_map, read_number, read_text, read_value
from drumline.agents.verdicts import explain_failure
from drumline.core.flow.model import Json
from drumline.core.plaintext import strip_controls
from drumline.core.taxonomy import Failure
from drumline.ports.agents import Assignment, Outcome
from drumline.record import replace

AUTH_REQUIRED = -32000
STOPS: Mapping[str, tuple[Failure, str]] = {
    "max_tokens": (Failure.VALIDATION, "its answer was longer than it may be"),
    "max_turn_requests": (Failure.TURNS, "it took more turns than it may"),
    "refusal": (Failure.PERMANENT, "the model refused to go on"),
    "cancelled": (Failure.CRASH, "it cancelled its own work"),
}
# Words of agents that end a turn as if all were well when the API has failed.
ERRORS = re.compile(
    r"ran into this error|api error|unexpected status|stream disconnected|exceeded retry limit|request failed"
    r"|(?:status|error|code)[\s:\"'_(]{1,4}[45]\d\d\b",
    re.IGNORECASE,
)
# Those of goose, which tells the tokens of the turns before: its own words say that a person has to go on.
DRESSED = re.compile(
    r"(?:ran into this error:|network error:|the model returned an empty response).{0,4000}"
    r"please (?:retry if you think this is a transient|resend your message to (?:try again|continue))",
    re.IGNORECASE | re.DOTALL,
)
EMPTY = "it ended without a last word; what it did before is all there is"


def conclude(response: PromptResponse, desk: Desk, assignment: Assignment) -> Outcome:
    """The outcome of a prompt that was answered."""
    text = strip_controls(desk.updates.answer)
    usage = count_usage(response)
    if desk.updates.cost is not None and not assignment.session:
        # The cost is that of the whole session: of one that was resumed nobody knows what came before.
        usage |= {"cost_usd": desk.updates.cost}
    outcome = replace(_judge(response.stop_reason, text, desk, counted=bool(usage)), usage=usage)
    if assignment.output_schema is not None and not outcome.failure:
        outcome = replace(outcome, structured=read_value(text))
    if desk.questions:
        return replace(outcome, failure="", question="\n".join(desk.questions), permissions=tuple(desk.questions))
    return outcome


def _judge(stop: str, text: str, desk: Desk, *, counted: bool) -> Outcome:
    if stop == "cancelled" and desk.notices:
        return Outcome(failure=Failure.VALIDATION.value, message=f"it stopped when {desk.notices[-1]}")
    if known := STOPS.get(stop):
        failure, why = known
        return Outcome(failure=failure.value, message=f"{why}: {text}" if text else why)
    if DRESSED.match(text) or (not counted and ERRORS.search(text)):
        return explain_failure(text)
    if not text and not desk.last:
        return Outcome(failure=Failure.VALIDATION.value, message=IDLED)
    return Outcome(message=text, notices=(EMPTY,) if desk.updates.speechless else ())


def count_usage(response: PromptResponse) -> dict[str, float]:
    """The tokens of the prompt, those from a cache among the input; nothing where the agent does not tell."""
    told = response.usage
    if told is None:
        return _count_meta(read_map(read_map(response.field_meta).get("quota")))
    cached = float(told.cached_read_tokens or 0)
    fresh = cached + float(told.cached_write_tokens or 0)
    plain = told.input_tokens + told.output_tokens + float(told.thought_tokens or 0)
    # Some count what was cached within the input, some beside it; the total gives it away.
    beside = fresh if told.total_tokens >= plain + fresh else 0.0
    return {"input": told.input_tokens + beside, "output": float(told.output_tokens), "cached": cached}


def _count_meta(quota: Mapping[str, Json]) -> dict[str, float]:
    """Gemini CLI tells its tokens in a place of its own."""
    tokens = read_map(quota.get("token_count"))
    if not tokens:
        return {}
    return {"input": read_number(tokens.get("input_tokens")), "output": read_number(tokens.get("output_tokens"))}


def explain_error(error: RequestError, *, doing: str) -> Outcome:
    """The outcome of a request that the agent answered with an error."""
    message = f"{error}: {_describe_data(error.data)}".removesuffix(": ")
    status = next((code for code in (error.code, _find_status(error.data)) if 400 <= code < 600), None)
    outcome = explain_failure(f"{doing} failed: {message}", status=status)
    if error.code == AUTH_REQUIRED and outcome.failure == Failure.CRASH.value:
        return replace(outcome, failure=Failure.AUTH.value)
    return outcome


def _describe_data(data: Json) -> str:
    told = read_map(data)
    words = (read_text(told.get(name)) for name in ("details", "message", "reason"))
    return read_text(data) or next((word for word in words if word), "")


def _find_status(data: Json) -> int:
    told = read_map(data)
    return next((int(code) for name in ("status", "statusCode") if (code := read_number(told.get(name)))), 0)
