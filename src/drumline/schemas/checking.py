"""JSON Schema, draft 2020-12. Nothing is ever fetched: a reference leads into the schema itself or is a fault.

A schema comes from a flow's author and is trusted not to be slow; a value comes from a model and is not trusted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from drumline.core.flow.model import Json

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from referencing import Resource

MOST_FAULTS = 10
MOST_LOOKED_AT = 200
LONGEST_FAULT = 300
KEPT = 64

_LEGAL_AIM = "only what is in the schema itself can be referred to"
_TOO_DEEP = "nested too deeply, or a reference that leads to itself"


class JsonSchemas:
    """Judges schemas and values with the jsonschema library, which is imported at the first question."""

    def check(self, schema: Mapping[str, Json]) -> str:
        """What is wrong with the schema itself, as a sentence; empty if values can be judged by it."""
        try:
            return _find_fault_in(json.dumps(_copy(schema)))
        except RecursionError:
            return f"at $: {_TOO_DEEP}"
        except ValueError as error:
            return f"at $: {error}"

    def find_faults(self, value: Json, schema: Mapping[str, Json]) -> Sequence[str]:
        """Where the value does not fit, one sentence with its path each, the best ten; empty if it fits."""
        if fault := self.check(schema):
            return [f"the schema itself cannot be used: {fault}"]
        try:
            found = list(islice(_open_judge(_copy(schema)).iter_errors(_copy(value)), MOST_LOOKED_AT))
        except RecursionError:
            return [f"at $: {_TOO_DEEP}"]
        best = sorted(found, key=lambda error: len(error.absolute_path))
        return list(dict.fromkeys(_tell(error) for error in best))[:MOST_FAULTS]


@lru_cache(maxsize=KEPT)
def _find_fault_in(text: str) -> str:
    """What is wrong with a schema; kept, since every answer of a node is judged by the same one."""
    return _find_schema_fault(json.loads(text))


def _open_judge(schema: object) -> Draft202012Validator:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # The library's own default registry fetches from the network; an empty one has no way to.
    return Draft202012Validator(schema, registry=Registry())  # type: ignore[arg-type]


def _find_schema_fault(schema: object) -> str:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from referencing.jsonschema import DRAFT202012

    meta = Draft202012Validator(Draft202012Validator.META_SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
    wrong = best_match(meta.iter_errors(schema))
    if wrong is not None:
        return _tell(wrong)
    return next(_find_dead_references(DRAFT202012.create_resource(schema)), "")


def _find_dead_references(whole: Resource[object]) -> Iterator[str]:
    """References that lead nowhere, wherever a schema may stand inside the schema."""
    from referencing import Registry

    base = whole.id() or ""
    waiting = [(whole, Registry().with_resource(base, whole).resolver(base))]
    while waiting:
        part, resolver = waiting.pop()
        dead = [aim for aim in _references(part.contents) if not _leads_somewhere(resolver.lookup, aim)]
        yield from (f"at $: the reference {aim!r} leads nowhere; {_LEGAL_AIM}" for aim in dead)
        waiting.extend((inner, resolver.in_subresource(inner)) for inner in part.subresources())


def _references(schema: object) -> list[str]:
    found = [schema.get(word) for word in ("$ref", "$dynamicRef")] if isinstance(schema, Mapping) else []
    return [aim for aim in found if isinstance(aim, str)]


def _leads_somewhere(look_up: Callable[[str], object], aim: str) -> bool:
    from referencing.exceptions import Unresolvable

    try:
        look_up(aim)
    except Unresolvable:
        return False
    return True


def _tell(error: ValidationError) -> str:
    """The fault as a sentence; of several alternatives that all fail, the one that came closest."""
    from jsonschema.exceptions import best_match

    closest = best_match(iter([error])) or error
    path, why = closest.json_path, closest.message
    shown = why if len(why) <= LONGEST_FAULT else f"{why[: LONGEST_FAULT // 2]} … {why[-LONGEST_FAULT // 2 :]}"
    return f"at {path}: {shown}"


def _copy(value: Json) -> object:
    """The value in the only containers the library takes for objects and arrays."""
    if isinstance(value, Mapping):
        return {str(key): _copy(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(inner) for inner in value]
    return value
