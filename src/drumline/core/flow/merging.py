"""The writes of a round become values: key by key, in the order of the writers' ids, through the key's reducer.

Nothing is written unless everything can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from drumline.core.flow.model import Json, NodeId
from drumline.core.flow.reducers import reduce_value
from drumline.core.flow.values import MISSING, Missing
from drumline.errors import InvalidInput


class Result(NamedTuple):
    """What a node of the round left: its writes and where it leads."""

    node: NodeId
    writes: Mapping[str, Json]
    next: tuple[NodeId, ...]


def merge_results(values: dict[str, Json], results: Sequence[Result], reducers: Mapping[str, str]) -> None:
    """Put all writes into `values`; InvalidInput if two branches wrote a key without reducer, or one cannot join."""
    if len(results) == 1 and not reducers:
        values.update(results[0].writes)
        return
    merged: dict[str, Json] = {}
    for key, written in sorted(_group(results).items()):
        reducer = reducers.get(key)
        if reducer is None:
            merged[key] = _take_only(key, written)
        else:
            merged[key] = _reduce(key, reducer, values, written=written)
    values.update(merged)


def _group(results: Sequence[Result]) -> dict[str, list[tuple[NodeId, Json]]]:
    found: dict[str, list[tuple[NodeId, Json]]] = {}
    for result in sorted(results, key=_by_node):
        for key, value in result.writes.items():
            found.setdefault(key, []).append((result.node, value))
    return found


def _by_node(result: Result) -> str:
    return result.node


def _take_only(key: str, written: Sequence[tuple[NodeId, Json]]) -> Json:
    if len(written) == 1:
        return written[0][1]
    names = ", ".join(node for node, _ in written)
    raise InvalidInput(
        f"Key '{key}' was written by {len(written)} parallel branches but has no reducer declared ({names})",
        hint=f"declare how they join: reducers: {{{key}: append}}",
    )


def _reduce(key: str, reducer: str, values: Mapping[str, Json], *, written: Sequence[tuple[NodeId, Json]]) -> Json:
    current: Json | Missing = values.get(key, MISSING)
    reduced: Json = None
    for node, value in written:
        try:
            reduced = current = reduce_value(reducer, current, value)
        except InvalidInput as error:
            raise InvalidInput(f"Key '{key}', written by '{node}': {error}", hint=error.hint) from error
    return reduced
