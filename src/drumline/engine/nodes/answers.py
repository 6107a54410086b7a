"""What models and agents answer, judged: a value that has a schema is never taken unvalidated.

Asking again has bounds: an answer that does not fit its schema costs one of two repairs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import anyio

from drumline.core.flow.extraction import extract_json, write_extraction_prompt
from drumline.core.flow.model import Json
from drumline.core.flow.outcome import Outcome
from drumline.core.taxonomy import Failure
from drumline.errors import InvalidInput
from drumline.ports.models import Answer
from drumline.ports.schemas import Schemas

REPAIRS = 2
EXTRACTION = "structured-extraction"
MOST_REPAIRED = 100_000
"""Characters of an answer that are shown again when it does not fit."""

Ask = Callable[[str], Awaitable[Answer]]


async def settle(answer: Answer, schema: Mapping[str, Json] | None, *, schemas: Schemas, repair: Ask) -> Outcome:
    """What an answer comes to: text as it is, or a value that fits, if need be after repairs."""
    if answer.failure:
        return Outcome(failure=answer.message or answer.failure, failure_class=answer.failure)
    if schema is None:
        return Outcome(output=answer.text)
    said, problem = answer.text, ""
    for repaired in range(REPAIRS + 1):
        value, problem = _judge(said, schema, schemas)
        if not problem:
            return Outcome(output=value)
        if repaired < REPAIRS:
            again = await repair(write_extraction_prompt(schema, answer.text[:MOST_REPAIRED], problem=problem))
            if again.failure:
                return Outcome(failure=again.message or again.failure, failure_class=again.failure, stage=EXTRACTION)
            said = again.text
    why = f"no answer fitted the schema, {REPAIRS} repairs included; the last: {problem}"
    return Outcome(failure=why, failure_class=Failure.VALIDATION.value, stage=EXTRACTION)


def add_usage(total: dict[str, float], usage: Mapping[str, float]) -> None:
    """Add what was used to a total."""
    for name, count in usage.items():
        total[name] = total.get(name, 0.0) + count


def _judge(said: str, schema: Mapping[str, Json], schemas: Schemas) -> tuple[Json, str]:
    try:
        value = extract_json(said)
    except InvalidInput as error:
        return None, str(error)
    return value, "; ".join(schemas.find_faults(value, schema))


async def keep_within(limit: float | None, work: Callable[[], Awaitable[Outcome]], *, failure: Failure) -> Outcome:
    """What the work comes to, or a failure of this class if it takes longer."""
    if limit is None:
        return await work()
    with anyio.move_on_after(limit):
        return await work()
    return Outcome(failure=f"timed out after {limit:g} s", failure_class=failure.value)


def shorten(*limits: float | None) -> float | None:
    """The shortest limit; None if there is none."""
    return min((limit for limit in limits if limit is not None), default=None)
