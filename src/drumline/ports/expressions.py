"""Conditions of routes, in a small language that can read values and compare them and do nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from drumline.core.flow.model import Json


class Expressions(Protocol):
    """Judges expressions. An expression cannot change anything, reach anything but the values, or run for long."""

    def check(self, text: str) -> str:
        """What is wrong with the expression, as a sentence; empty if it can be evaluated."""
        ...

    def evaluate(self, text: str, values: Mapping[str, Json]) -> Json:
        """The expression's value; InvalidInput if it is not legal, names something unknown or mixes up types."""
        ...
