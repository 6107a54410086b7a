"""Python projects: uv, Poetry, or pip, and the tools that their files configure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from drumline.app.detection.found import FORMAT, LINT, PLAIN, SETUP, TEST, Found, Tree, as_table
from drumline.record import Record

VENV = ".venv"
_PYTEST = re.compile(r"\bpytest\b")
_TESTS = re.compile(r"(?:tests/)?test_\w*\.py")
_IMPORT = re.compile(r"^(?:import|from) pytest\b", re.MULTILINE)
MOST_TESTS = 20
"""How many test files are read at most to find out whether they import pytest."""
_REQUIREMENTS = re.compile(r"(requirements/)?[\w.-]*requirements[\w.-]*\.txt|requirements/[\w.-]+\.txt")
_FOR_TESTS = re.compile(r"(?:.*[/._-])?(?:dev|test|tests|develop|development)(?:[._-].*)?")


class _Way(Record):
    """How programs of the project are started, which file says so, and what a fresh workspace needs first."""

    prefix: str
    place: str
    program: str
    setup: str = ""
    module: bool = False

    def run(self, kind: str, command: str, place: str = "") -> Found:
        """A program of the project's environment; `python -m …` where the environment is not entered otherwise."""
        return Found(kind=kind, command=self.prefix + command, place=place or self.place, program=self.program)


def find_uv(tree: Tree) -> Iterator[Found]:
    """Projects of uv, which installs what it needs when it runs something."""
    if _is_uv(tree):
        place = tree.first("uv.lock", "pyproject.toml")
        group = _find_group(tree.toml("pyproject.toml"))
        setup = f"uv sync --frozen{group}" if "uv.lock" in tree.paths else ""
        yield from _find(tree, _Way(prefix=f"uv run{group} ", place=place, program="uv", setup=setup))


def find_poetry(tree: Tree) -> Iterator[Found]:
    """Projects of Poetry."""
    if _is_poetry(tree) and not _is_uv(tree):
        place = tree.first("poetry.lock", "pyproject.toml")
        yield from _find(tree, _Way(prefix="poetry run ", place=place, program="poetry", setup="poetry install"))


def find_pip(tree: Tree) -> Iterator[Found]:
    """Other projects: an environment in the workspace where git ignores one, else the `python3` of the user."""
    if _is_uv(tree) or _is_poetry(tree):
        return
    requirements = sorted(filter(_is_requirements, tree.paths), key=lambda path: (not _is_wanted(path), path))
    place = tree.first("pyproject.toml", "setup.cfg", "setup.py", *requirements)
    install = _list_installed(tree) if tree.ignores(VENV) else ""
    # A package that is installed from the user's own checkout must not stand in for that of the workspace.
    source = "PYTHONPATH=src " if tree.any(r"src/.*\.py") else ""
    tests = "tests" if tree.any(r"tests/test_\w*\.py") else "test_*.py"
    if install:
        setup = f"python3 -m venv {VENV} && {VENV}/bin/python -m pip install {install}"
        way = _Way(prefix=f"{VENV}/bin/python -m ", place=place, program="python3", setup=setup, module=True)
    else:
        way = _Way(prefix=f"{source}python3 -m ", place=place or tests, program="python3", module=True)
    yield from _find(tree, way)


def _find(tree: Tree, way: _Way) -> Iterator[Found]:
    if way.setup:
        yield Found(kind=SETUP, command=way.setup, place=way.place, program=way.program)
    yield from _find_tools(tree, way)
    yield from _find_tests(tree, way)


def _find_tests(tree: Tree, way: _Way) -> Iterator[Found]:
    folder = "tests" if tree.any(r"tests/test_\w*\.py") else "" if tree.any(r"test_\w*\.py") else None
    if _uses_pytest(tree):
        yield way.run(TEST, "pytest")
    elif folder is not None:
        discover = f"unittest discover -s {folder}" if folder else "unittest discover"
        yield way.run(TEST, discover if way.module else f"python -m {discover}")


def _find_tools(tree: Tree, way: _Way) -> Iterator[Found]:
    """Formatters and linters that the repository's files configure."""
    tool = as_table(tree.toml("pyproject.toml").get("tool"))
    ruff = tree.first("ruff.toml", ".ruff.toml") or ("pyproject.toml" if "ruff" in tool else "")
    settings = tree.toml(ruff) if ruff and ruff != "pyproject.toml" else as_table(tool.get("ruff"))
    if ruff and "format" in settings:
        yield way.run(FORMAT, "ruff format .", ruff)
    elif "black" in tool:
        yield way.run(FORMAT, "black .", "pyproject.toml")
    if ruff:
        yield way.run(LINT, "ruff check .", ruff)
    elif place := tree.first(".flake8"):
        yield way.run(LINT, "flake8", place)
    if {"files", "packages", "modules"} & as_table(tool.get("mypy")).keys():
        yield way.run(LINT, "mypy", "pyproject.toml")


def _is_uv(tree: Tree) -> bool:
    return "uv.lock" in tree.paths or "uv" in as_table(tree.toml("pyproject.toml").get("tool"))


def _is_poetry(tree: Tree) -> bool:
    return "poetry.lock" in tree.paths or "poetry" in as_table(tree.toml("pyproject.toml").get("tool"))


def _is_requirements(path: str) -> bool:
    return _REQUIREMENTS.fullmatch(path) is not None


def _uses_pytest(tree: Tree) -> bool:
    if tree.first("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py"):
        return True
    telling = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", *filter(_is_requirements, tree.paths))
    if any(_PYTEST.search(tree.text(name)) for name in telling):
        return True
    tests = sorted(path for path in tree.paths if _TESTS.fullmatch(path))
    return any(_IMPORT.search(tree.text(path)) for path in tests[:MOST_TESTS])


def _find_group(project: Mapping[str, object]) -> str:
    """The option that brings pytest where it is not installed by default."""
    places = (
        ("--group", as_table(project.get("dependency-groups"))),
        ("--extra", as_table(as_table(project.get("project")).get("optional-dependencies"))),
    )
    for option, groups in places:
        for name, needs in groups.items():
            if _PYTEST.search(str(needs)) and PLAIN.fullmatch(name):
                return "" if (option, name) == ("--group", "dev") else f" {option} {name}"
    return ""


def _list_installed(tree: Tree) -> str:
    """What pip installs into a fresh environment; empty if the files name nothing."""
    files = [path for path in sorted(filter(_is_requirements, tree.paths)) if _is_wanted(path)]
    named = [f"-r {path}" for path in files]
    telling = [tree.text(path) for path in files]
    project = tree.toml("pyproject.toml")
    if {"project", "build-system"} & project.keys() or tree.first("setup.py", "setup.cfg"):
        option, _, extra = _find_group(project).strip().partition(" ")
        chosen = extra if option == "--extra" else ""
        named.append(f"-e '.[{chosen}]'" if chosen else "-e .")
        telling.append("pytest" if chosen else str(as_table(project.get("project")).get("dependencies", "")))
    if named and _uses_pytest(tree) and not any(_PYTEST.search(text) for text in telling):
        named.append("pytest")
    return " ".join(named)


def _is_wanted(path: str) -> bool:
    """Whether a file of requirements is for running or testing the project, not for its docs or a deployment."""
    name = path.removeprefix("requirements/").removesuffix(".txt")
    return name in ("requirements", "base", "main") or _FOR_TESTS.fullmatch(name) is not None
