"""Conditions of routes: what they can say, and that they can do nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from drumline.core.flow.model import Json
from drumline.errors import InvalidInput
from drumline.expressions.evaluation import SafeExpressions
from drumline.expressions.grammar import LONGEST
from drumline.ports.expressions import Expressions

VALUES: dict[str, Json] = {
    "attempts": 1,
    "limit": 2,
    "ok": False,
    "verdict": "APPROVED",
    "review": {"score": 0.8, "items": ["a", "b"], "get": "a key like any other"},
    "nothing": None,
    "typed": "3",
}


@pytest.fixture
def expressions() -> Expressions:
    return SafeExpressions()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("attempts < limit", True),
        ("attempts + 1 >= limit and not ok", True),
        ("ok or attempts == 1", True),
        ("ok == false", True),
        ("ok == False", True),
        ("nothing == null", True),
        ("nothing == None", True),
        ("review.score > 0.5", True),
        ('review["score"] <= 0.8', True),
        ('review.items[1] == "b"', True),
        ('"a" in review.items', True),
        ('"REJECTED" not in verdict', True),
        ('lower(verdict) == "approved"', True),
        ("len(review.items) == 2", True),
        ("int(typed) == 3", True),
        ('verdict in ["APPROVED", "OK"]', True),
        ("0 < attempts <= limit", True),
        ('get("review.depth", 7) == 7', True),
        ('get("review.score") == 0.8', True),
        ('review.get == "a key like any other"', True),
        ("(attempts * 4 - 2) / 2 % 3", 1.0),
        ("-attempts", -1),
        ('"yes" if ok else "no"', "no"),
        ('verdict + "!"', "APPROVED!"),
    ],
)
def test_an_expression_reads_values_and_compares_them(expressions: Expressions, text: str, expected: Json) -> None:
    assert expressions.check(text) == ""
    assert expressions.evaluate(text, VALUES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__.__bases__[0].__subclasses__()",
        "verdict.__class__",
        "review['x'].__dict__",
        "open('/etc/passwd')",
        "eval('1')",
        "getattr(ok, 'x')",
        "verdict.upper()",
        "'{0.__class__}'.format(ok)",
        "f'{ok.__class__}'",
        "lambda: 1",
        "[x for x in review.items]",
        "{x: 1 for x in review.items}",
        "(ok := true)",
        "ok = true",
        "import os",
        "ok; ok",
        "9 ** 9 ** 9",
        "1 << 10000000",
        "len(*[1])",
        "len(obj=1)",
        "b'x' == b'x'",
        "1j",
        "...",
        "await ok",
        "",
        "ok ok",
        "(" * 300 + "ok" + ")" * 300,
        "not " * 200 + "ok",
        "ok" + " or ok" * LONGEST,
        "\0",
    ],
)
def test_everything_else_is_refused_before_it_is_evaluated(expressions: Expressions, text: str) -> None:
    assert expressions.check(text) != ""
    with pytest.raises(InvalidInput):
        expressions.evaluate(text, VALUES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("missing > 1", "'missing'"),
        ("review.depth > 1", "no 'depth'"),
        ("typed < 4", "not supported"),
        ("1 / 0", "division by zero"),
        ("review.items[9]", "no "),
        ("verdict * 1000000000", "is not a number"),
        ("'%1000000000d' % 1", "is not a number"),
        ("[0] * 1000000000", "is not a number"),
        ("ok + 1", "is not a number"),
        ("int(verdict)", "invalid literal"),
        ("lower(1)", "is for text"),
        ("get(review, 'score', 1)", 'write get("path", default)'),
        ("get(review)", 'write get("path", default)'),
        ("len", "is a function"),
        ("dict", "is a function"),
    ],
)
def test_what_makes_no_sense_is_an_error_that_says_so(expressions: Expressions, text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        expressions.evaluate(text, VALUES)

    assert said in str(caught.value)
    assert text in str(caught.value)


def test_a_key_of_the_values_hides_the_words_of_the_language(expressions: Expressions) -> None:
    assert expressions.evaluate("true", {"true": "mine"}) == "mine"


def test_an_expression_sees_nothing_of_the_one_before(expressions: Expressions) -> None:
    assert expressions.evaluate('get("score", 0) + only', {"score": 3, "only": 1}) == 4

    with pytest.raises(InvalidInput, match="only"):
        expressions.evaluate("only", {"score": 3})
    assert expressions.evaluate('get("score", 0)', {}) == 0


def test_a_chain_is_as_deep_as_it_is_long(expressions: Expressions) -> None:
    assert expressions.evaluate("1 + " * 30 + "1", VALUES) == 31
    assert "nested" in expressions.check("1 * " * 60 + "1")


def test_odd_text_causes_no_warning(expressions: Expressions) -> None:
    assert expressions.evaluate(r'"\d" == verdict', VALUES) is False


def test_the_library_is_imported_only_when_something_is_evaluated() -> None:
    code = "import sys, drumline.expressions.evaluation as e; e.SafeExpressions().check('a'); "
    code += "print('simpleeval' in sys.modules)"

    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert found.stdout.strip() == "False"
