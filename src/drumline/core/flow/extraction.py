"""JSON out of what a model said or a script printed: the whole of it is JSON, or there is none.

No searching for an object inside prose: what is guessed out of a sentence is not what was answered.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from drumline.core.flow.model import Json
from drumline.core.flow.values import name_type
from drumline.errors import InvalidInput

_OPEN, _CLOSE = "<think>", "</think>"
_FENCE = "```"
_HALVES = re.compile(r"\\u[dD][89a-fA-F]")


def extract_json(answer: str) -> Json:
    """The JSON value that the answer is, after thoughts and one code fence are taken off; InvalidInput if none."""
    return _parse(_strip_fence(_strip_thoughts(answer.strip())), "the answer")


def read_object(printed: str) -> Mapping[str, Json]:
    """The one JSON object that a script printed; InvalidInput saying what it printed instead."""
    if not printed.strip():
        raise InvalidInput("the script produced no output; it must print one JSON object", hint=_TRY)
    value = _parse(printed, "the script's output")
    if not isinstance(value, Mapping):
        raise InvalidInput(f"the script's output must be a JSON object, got {name_type(value)}", hint=_TRY)
    return value


def write_schema_hint(schema: Mapping[str, Json]) -> str:
    """What is added to a model's instructions when its answer has to follow a schema."""
    rule = "Respond with ONLY the JSON object that fits this schema, without prose and without a code fence."
    return f"{rule}\nSchema:\n{json.dumps(schema, indent=2, ensure_ascii=False)}"


def write_extraction_prompt(schema: Mapping[str, Json], answer: str, *, problem: str = "") -> str:
    """What a model is asked when an answer does not fit its schema; `problem` is why the previous try did not."""
    parts = [write_schema_hint(schema), "Invent nothing: leave out what the input does not say."]
    if problem:
        parts.append(f"The previous response was not accepted: {problem}")
    return "\n\n".join([*parts, f"Input:\n{answer}"])


_TRY = "run the script by hand with GRAPH_STATE set, and look at its standard output"


def _parse(text: str, what: str) -> Json:
    try:
        value: Json = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_float)
        if _HALVES.search(text):
            json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be kept as text
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} is not valid JSON: {error}", hint=_TRY) from error
    return value


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not a JSON number")


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _strip_thoughts(text: str) -> str:
    while text.startswith(_OPEN):
        _, closed, rest = text.partition(_CLOSE)
        if not closed:
            raise InvalidInput(f"the answer has a {_OPEN} without {_CLOSE}", hint=_TRY)
        text = rest.lstrip()
    return text


def _strip_fence(text: str) -> str:
    if text.startswith(_FENCE):
        text = text.removeprefix(_FENCE).removeprefix("json")
    return text.rstrip().removesuffix(_FENCE).strip()
