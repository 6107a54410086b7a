"""Plain English: phrases that no help, message or page has any more. The list only grows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.sources import parse_module

import drumline

SOURCE = Path(drumline.__file__).parent
TOP = SOURCE.parents[1]
PHRASES = (
    r"whoever",
    r"nobody is called",
    r"is there again",
    r"without a word",
    r"mend(?:s|ed|ing)?",
    r"go(?:es|ing)? on with",
    r"legal are",
    r"(?<!there )is no (?:number|node|option|step|text|id|file|folder|recording|variable|provider|JSON \w+)",
)
WORST = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b", re.IGNORECASE)
SEAM = re.compile(r"""["']\s+[A-Za-z]{0,2}["']""")
"""Between two pieces of one text."""
PAGES = [TOP / "README.md", *(page for page in (TOP / "docs").rglob("*.md") if "adr" not in page.parts)]
"""Decisions stay as they were written; help is in the pages, because it is generated into one."""


def list_messages(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The texts of a module that are neither docstrings nor explanations of constants."""
    told = {id(node.value) for node in ast.walk(module) if isinstance(node, ast.Expr)}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.lineno, node.value


def may_have_one(source: str) -> bool:
    """Whether a phrase is anywhere in a file, also where a text is written in pieces: most need not be parsed."""
    return WORST.search(SEAM.sub("", source)) is not None or WORST.search(source) is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(TOP).as_posix())
def test_a_page_has_none_of_the_worst_phrases(page: Path) -> None:
    lines = page.read_text(encoding="utf-8").splitlines()

    assert [f"{number}: {line}" for number, line in enumerate(lines, 1) if WORST.search(line)] == []


def test_messages_have_none_of_the_worst_phrases() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path in sorted(SOURCE.rglob("*.py"))
        if may_have_one(path.read_text(encoding="utf-8"))
        for line, text in list_messages(parse_module(path))
        if WORST.search(text)
    ]

    assert found == []


def test_a_phrase_is_found_in_a_message_and_not_in_a_docstring() -> None:
    module = ast.parse('"""Whoever."""\nx = f"to whoever {1}"\n"""Whoever."""\n')

    assert [text for _, text in list_messages(module) if WORST.search(text)] == ["to whoever "]


def test_a_phrase_is_found_in_a_text_of_several_pieces() -> None:
    assert may_have_one('print(\n    "there is "\n    f"no such text; it is "\n    f"no number {n}"\n)\n')
    assert not may_have_one('print("there is " "no number")\n')
