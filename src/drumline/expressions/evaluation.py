"""The adapter: legal trees go to simpleeval with our own operators and functions; its defaults are not used."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from drumline.core.flow.model import Json
from drumline.core.flow.values import MISSING, look_up, overlay, render
from drumline.errors import InvalidInput
from drumline.expressions.grammar import Illegal, parse

WORDS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_HINT = "drumline flow validate FILE"


class SafeExpressions:
    """The port's promise, kept by a table of what is legal and an evaluator that only reads.

    The evaluator is made once, since that costs more than a condition; for one thread.
    """

    def check(self, text: str) -> str:
        """What is wrong with the expression; empty if nothing."""
        try:
            parse(text)
        except Illegal as error:
            return str(error)
        return ""

    def evaluate(self, text: str, values: Mapping[str, Json]) -> Json:
        """The expression's value, or InvalidInput."""
        # Late, because most commands never evaluate one.
        from simpleeval import InvalidExpression  # type: ignore[import-untyped]  # it ships no types

        try:
            tree = parse(text)
            evaluator = self._evaluator
            evaluator.functions["get"] = lambda *given: _get(values, *given)
            evaluator.names = overlay(values, WORDS)
            found: Json = evaluator.eval(text, previously_parsed=tree)
        except (Illegal, InvalidExpression) as error:
            raise InvalidInput(f"expression {text!r}: {error}", hint=_HINT) from error
        except (KeyError, IndexError) as error:
            raise InvalidInput(f"expression {text!r}: there is no {error.args[0]!r}", hint=_HINT) from error
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise InvalidInput(f"expression {text!r}: {error}", hint=_HINT) from error
        if callable(found):
            raise InvalidInput(f"expression {text!r} is a function, not a value", hint=_HINT)
        return found

    @cached_property
    def _evaluator(self) -> Any:
        from simpleeval import EvalWithCompoundTypes

        return EvalWithCompoundTypes(operators=_OPERATORS, functions={**_FUNCTIONS})


def _get(values: Mapping[str, Json], *given: Json) -> Json:
    if not given or len(given) > 2 or not isinstance(given[0], str):
        raise TypeError('write get("path", default), for example get("review.score", 0)')
    path, default = given[0], given[1] if len(given) > 1 else None
    found = look_up(values, path)
    return default if found is MISSING else found


def _on_numbers(function: Callable[[Any, Any], Any]) -> Callable[[object, object], object]:
    """Arithmetic is for numbers: `%` on text formats, `*` on text or lists grows."""

    def calculate(left: object, right: object) -> object:
        for value in (left, right):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{value!r} is not a number")
        return function(left, right)

    return calculate


def _add(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return _on_numbers(operator.add)(left, right)


def _negate(value: object) -> object:
    return _on_numbers(operator.sub)(0, value)


def _lower(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"lower() is for text, got {value!r}")
    return value.lower()


_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "len": len,
    "lower": _lower,
    "int": int,
    "float": float,
    "str": render,
}
_OPERATORS: Mapping[type[ast.AST], Callable[..., object]] = {
    ast.Add: _add,
    ast.Sub: _on_numbers(operator.sub),
    ast.Mult: _on_numbers(operator.mul),
    ast.Div: _on_numbers(operator.truediv),
    ast.Mod: _on_numbers(operator.mod),
    ast.USub: _negate,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
