"""The JSON Schema of plans in waves for editors, draft 2020-12, made from the tables that the reader reads by."""

from __future__ import annotations

import json

from drumline.core.routing import MODELS
from drumline.planfiles.waves_fields import CHUNK_FIELDS, PLAN_FIELDS, FieldRule, Kind


def render_schema() -> str:
    """The JSON Schema of a plan in waves, as it is shipped in `drumline/schemas/waves.schema.json`."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Plan in waves",
        "description": "Chunks of work in waves, as read by Drumline. Unknown keys are allowed and ignored.",
        **_object(PLAN_FIELDS),
        "$defs": {"chunk": {"description": "One chunk of work.", **_object(CHUNK_FIELDS)}},
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _object(fields: tuple[FieldRule, ...]) -> dict[str, object]:
    return {
        "type": "object",
        "required": [rule.name for rule in fields if rule.required],
        "properties": {rule.name: {"description": rule.about, **_type(rule)} for rule in fields},
        "additionalProperties": True,
    }


def _type(rule: FieldRule) -> dict[str, object]:
    if rule.name == "model":
        return {"type": "string", "examples": sorted(MODELS)}
    if rule.kind is Kind.WAVES:
        chunks = {"type": "array", "items": {"$ref": "#/$defs/chunk"}}
        return {"type": "array", "minItems": 1, "items": chunks}
    if rule.kind is Kind.TEXTS:
        return {"type": "array", "items": {"type": "string", "minLength": 1}}
    if rule.kind is Kind.FLAG:
        return {"type": "boolean"}
    return {"type": "string", "minLength": 1} if rule.required else {"type": "string"}
