"""Whether a value fits a JSON Schema (draft 2020-12). Nothing is fetched: a reference leads to the schema itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from drumline.core.flow.model import Json


class Schemas(Protocol):
    """Judges schemas and values."""

    def check(self, schema: Mapping[str, Json]) -> str:
        """What is wrong with the schema itself, as a sentence; empty if values can be judged by it."""
        ...

    def find_faults(self, value: Json, schema: Mapping[str, Json]) -> Sequence[str]:
        """Where the value does not fit, one sentence with its path each; empty if it fits."""
        ...
