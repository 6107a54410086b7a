"""The one rule an input may be held to: `len(input) OP N`, counted in bytes of UTF-8."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from drumline.errors import InvalidInput
from drumline.record import Record

OPERATORS: Mapping[str, Callable[[int, int], bool]] = MappingProxyType(
    {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq}
)
_RULE = re.compile(r"\s*len\(input\)\s*(>=|<=|==|>|<)\s*([0-9]+)\s*")


class LengthRule(Record):
    """A comparison with the length of what was typed."""

    operator: str
    bound: int

    def holds(self, text: str) -> bool:
        """Whether the text keeps the rule."""
        return OPERATORS[self.operator](len(text.encode("utf-8", "surrogatepass")), self.bound)


def parse_length_rule(text: str) -> LengthRule:
    """The rule in the text, or InvalidInput saying what one looks like."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise InvalidInput(
            f"unsupported validation {text!r}: legal is `len(input) OP N` with one of {' '.join(OPERATORS)}",
            hint="drumline flow validate FILE",
        )
    return LengthRule(operator=found[1], bound=int(found[2]))
