"""What the model of flows takes where a key is missing, for the pages and the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from drumline.core.flow.fields import FieldRule
from drumline.core.flow.model import Case, Flow, FlowSettings, Json, Node, Variable
from drumline.record import NODEFAULT, fields

Made = type[Node] | type[Flow] | type[FlowSettings] | type[Variable] | type[Case]


def default_of(make: Made, rule: FieldRule) -> Json:
    """What the model takes when the key is missing; None if there is nothing to take."""
    for field in fields(make):
        if field.name != rule.key:
            continue
        if field.default_factory is not NODEFAULT:
            return _plain(field.default_factory())
        return None if field.default is NODEFAULT else _plain(field.default)
    return None


def _plain(value: object) -> Json:
    if isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Sequence):
        return [_plain(item) for item in value]
    return {} if isinstance(value, Mapping) else None
