"""The JSON Schema of flow files for editors, draft 2020-12, made from the tables that the reader reads by.

What the schema cannot say (cycles, targets that exist, parallel writes) is the validator's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from tools.docs.flowdefaults import Made, default_of

from drumline.core.flow.fields import (
    CASE_FIELDS,
    FLOW_FIELDS,
    NODE_FIELDS,
    SETTINGS_FIELDS,
    VARIABLE_FIELDS,
    FieldRule,
    KindRule,
    Shape,
)
from drumline.core.flow.kinds import KINDS
from drumline.core.flow.model import REDUCERS, VERSION, Case, Flow, FlowSettings, Json, Variable

Schema = dict[str, Json]

_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_NODE: Schema = {"type": "string", "minLength": 1}
_TYPES: dict[Shape, Schema] = {
    Shape.TEXT: _TEXT,
    Shape.TEXTS: _TEXTS,
    Shape.FLAG: {"type": "boolean"},
    Shape.COUNT: {"type": "integer", "minimum": 1},
    Shape.NUMBER: {"type": "number"},
    Shape.SECONDS: {"type": "number", "exclusiveMinimum": 0},
    Shape.NODE: _NODE,
    Shape.NODES: {"type": ["string", "array"], "items": _NODE},
    Shape.TARGETS: {"type": "object", "additionalProperties": _NODE},
    Shape.TEMPLATES: {"type": "object", "additionalProperties": _TEXT},
    Shape.VALUES: {"type": "object"},
    Shape.ANY: {},
    Shape.CASES: {"type": "array", "items": {"$ref": "#/$defs/case"}},
    Shape.VARIABLES: {"type": "array", "items": {"$ref": "#/$defs/variable"}},
    Shape.REDUCERS: {"type": "object", "additionalProperties": {"enum": list(REDUCERS)}},
    Shape.SETTINGS: {"$ref": "#/$defs/settings"},
    Shape.NODE_MAP: {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/node"}},
}


def render_schema() -> str:
    """The schema as it is shipped in `drumline/schemas/flow.schema.json`."""
    return json.dumps(flow_schema(), indent=2, ensure_ascii=False) + "\n"


def flow_schema() -> Schema:
    """The schema of a whole flow file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Flow",
        "description": "A graph of nodes, as read by Drumline. Unknown keys are allowed and ignored.",
        **_object(FLOW_FIELDS, Flow),
        "$defs": {
            "settings": {"description": "Budgets and habits of the flow.", **_object(SETTINGS_FIELDS, FlowSettings)},
            "variable": {"description": "A value that the caller may give.", **_object(VARIABLE_FIELDS, Variable)},
            "case": {"description": "One condition of a route.", **_object(CASE_FIELDS, Case)},
            "node": _node(),
            **{kind.name: {"description": kind.about, **_object(kind.fields, kind.make)} for kind in KINDS.values()},
        },
    }


def _node() -> Schema:
    shared = {rule.name: _property(rule, default=None) for rule in NODE_FIELDS}
    kind: Schema = {"description": "What kind of node it is.", "enum": list(KINDS)}
    return {
        "description": "One node; which keys it has depends on its type.",
        "type": "object",
        "required": ["type"],
        "properties": {"type": kind, **shared},
        "allOf": [_choice(kind) for kind in KINDS.values()],
        "additionalProperties": True,
    }


def _choice(kind: KindRule) -> Schema:
    return {
        "if": {"required": ["type"], "properties": {"type": {"const": kind.name}}},
        "then": {"$ref": f"#/$defs/{kind.name}"},
    }


def _object(fields: Sequence[FieldRule], make: Made) -> Schema:
    return {
        "type": "object",
        "required": [rule.name for rule in fields if rule.required],
        "properties": {rule.name: _property(rule, default=default_of(make, rule)) for rule in fields},
        "additionalProperties": True,
    }


def _property(rule: FieldRule, *, default: Json) -> Schema:
    found: Schema = {"description": rule.about, **_value(rule)}
    return found if default is None or rule.required else {**found, "default": default}


def _value(rule: FieldRule) -> Schema:
    if rule.name == "version":
        return {"enum": [VERSION, None]}
    if rule.choices:
        return {"enum": [*rule.choices, None]}
    found = _TYPES[rule.shape]
    kind = found.get("type")
    if rule.name == "name":
        return {**found, "minLength": 1}
    if rule.required or kind is None:
        return dict(found)
    # A key without a value is read like a missing one.
    kinds = [kind] if isinstance(kind, str) else list(kind) if isinstance(kind, Sequence) else []
    return {**found, "type": [*kinds, "null"]}
