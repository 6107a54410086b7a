"""A program that git ignores and that a check executes is found, by its path or by the name that a tool finds it by."""

from __future__ import annotations

from pathlib import Path

import pytest

from drumline.engine.borrowed import find_borrowed

MADE = "test:\n\t.venv/bin/pytest -q\n"
PACKAGED = '{"scripts": {"test": "mocha -R dot", "lint": "eslint ."}}'


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (".venv/bin/pytest -q", ".venv/bin/pytest"),
        ("A=1 ./.venv/bin/python -m pytest", ".venv/bin/python"),
        ("sh node_modules/.bin/mocha", "node_modules/.bin/mocha"),
        ("make test", ".venv/bin/pytest"),
        ("npm test", "node_modules/.bin/mocha"),
        ("npx mocha --yes", "node_modules/.bin/mocha"),
        ("uv run pytest -q", ".venv/bin/pytest"),
        ("npm run lint", ""),
        ("pytest -q", ""),
        ("mocha", ""),
        ("npx other", ""),
        ("python3 -m pytest", ""),
        ("cargo test", ""),
    ],
)
def test_a_program_of_a_folder_of_dependencies_is_found(tmp_path: Path, command: str, program: str) -> None:
    for path in (".venv/bin/pytest", ".venv/bin/python", "node_modules/.bin/mocha"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("", encoding="utf-8")
    (tmp_path / "Makefile").write_text(MADE, encoding="utf-8")
    (tmp_path / "package.json").write_text(PACKAGED, encoding="utf-8")

    assert find_borrowed(command, tmp_path) == program
