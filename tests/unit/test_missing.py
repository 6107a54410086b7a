"""Packages that a check did not find: which are to be installed here, and which are the work's to bring."""

from __future__ import annotations

import pytest

from drumline.core.missing import Missing, find_missing, is_declared, is_foreign, leave_own_name

PYTHON = "ModuleNotFoundError: No module named 'requests.adapters'\n"


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (PYTHON, ["requests"]),
        ("/usr/bin/python3: No module named pytest\n", ["pytest"]),
        ("ImportError: No module named yaml\n", ["yaml"]),
        ("Error: Cannot find module 'left-pad'\nRequire stack:\n- /w/a.js\n", ["left-pad"]),
        ("Error [ERR_MODULE_NOT_FOUND]: Cannot find package '@scope/a' imported from /w/a.mjs\n", ["@scope/a"]),
        ("Error: Cannot find module './own'\n", []),
        ("Error: Cannot find module '/w/own.js'\n", []),
        ("LoadError: cannot load such file -- nokogiri/html\n", ["nokogiri"]),
        ("Could not find rake-13.0 in locally installed gems\n", [""]),
        (PYTHON + PYTHON + "ModuleNotFoundError: No module named 'app'\n", ["requests", "app"]),
        ("1 failed\n", []),
    ],
)
def test_a_missing_package_is_found_by_the_words_of_its_tool(output: str, names: list[str]) -> None:
    assert [one.name for one in find_missing(output)] == names


@pytest.mark.parametrize(
    ("name", "manifest", "declared"),
    [
        ("requests", 'dependencies = ["requests>=2"]', True),
        ("typing_extensions", "typing-extensions==4.1", True),
        ("yaml", "PyYAML", True),
        ("PIL", "pillow>=10", True),
        ("request", 'dependencies = ["requests>=2"]', False),
        ("left-pad", '"left-pad": "^1"', True),
        ("pad", '"left-pad": "^1"', False),
        ("@scope/a", '"@scope/a": "1"', True),
    ],
)
def test_a_package_is_declared_however_it_is_spelled(name: str, manifest: str, declared: bool) -> None:
    assert is_declared(name, manifest) is declared


@pytest.mark.parametrize(
    ("command", "declared", "own", "foreign"),
    [
        ("pytest", "requests", [], True),
        ("pytest", "", [], False),
        ("python3 -m app test", "", [], True),
        ("pytest", "app", ["app"], False),
        ("pytest", "", ["src/app"], True),
        ("pytest", "", ["app.py", "src/app"], False),
    ],
)
def test_what_is_declared_or_named_by_the_check_is_foreign_and_what_the_tree_has_is_not(
    command: str, declared: str, own: list[str], foreign: bool
) -> None:
    name = "app" if own or "app" in command else "requests"

    assert is_foreign(Missing(line="x", name=name), command=command, declared=declared, own=own) is foreign


def test_a_tool_that_asks_for_an_installation_is_believed() -> None:
    assert is_foreign(Missing(line="run bundle install"), command="rspec", declared="", own=[])


@pytest.mark.parametrize(
    ("manifest", "text", "declared"),
    [
        ("pyproject.toml", '[project]\nname = "calc"\n', False),
        ("pyproject.toml", '[project]\nname = "calc"\ndependencies = ["calc"]\n', True),
        ("package.json", '{\n  "name": "calc"\n}', False),
        ("mix.exs", "[app: :calc, version: 1]", False),
        ("uv.lock", '[[package]]\nname = "calc"\n', True),
    ],
)
def test_a_project_does_not_declare_itself(manifest: str, text: str, declared: bool) -> None:
    assert is_declared("calc", leave_own_name(manifest, text)) is declared
