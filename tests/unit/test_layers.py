"""Imports go down only, names on one line do not know each other, and the core stays pure."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.unit.sources import list_imports, parse_module

import drumline

ROOT = Path(drumline.__file__).parent

# Lowest first. `demo` stands above the faces because it shows them.
LAYERS = (
    {"errors", "late", "patterns", "record"},
    {"core", "extras"},
    {"configfiles", "datatext", "garbage", "walltimes"},
    {"protection", "settingvalues"},
    {"settingrows"},
    {"ports", "views", "settings", "profiles"},
    {"isolation"},
    {
        "engine",
        "store",
        "agents",
        "workspace",
        "planfiles",
        "flowfiles",
        "flows",
        "expressions",
        "processes",
        "testing",
        "schemas",
        "skills",
        "models",
    },
    {"app"},
    {"wiring"},
    {"health"},
    {"cli", "web", "mcp"},
    {"demo", "__main__"},
)
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}

IMPURE = frozenset(
    {
        "asyncio",
        "anyio",
        "logging",
        "os",
        "pathlib",
        "random",
        "sqlite3",
        "subprocess",
        "time",
        "datetime",
        "uuid",
        "secrets",
        "threading",
    }
)
FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"


def find_violations(root: Path) -> list[str]:
    """Every import below the package at `root` that the layers forbid, as sentences."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        place = path.relative_to(root).as_posix()
        importer = path.relative_to(root).with_suffix("").parts[0]
        for line, target in read_imports(path, root):
            if reason := refuse(importer, target):
                found.append(f"{place}:{line}: {reason}")
    return found


def find_knots(root: Path) -> list[list[str]]:
    """Modules of the package at `root` that import each other, directly or through others, also for types only."""
    modules = {name_module(path, root): path for path in sorted(root.rglob("*.py"))}
    graph = {name: list_targets(path, root, set(modules) - {name}) for name, path in modules.items()}
    knots: list[list[str]] = []
    while graph:
        free = {name for name, targets in graph.items() if not targets & graph.keys()}
        wanted = set().union(*graph.values())
        free |= graph.keys() - wanted
        if not free:
            knots.append(sorted(graph))
            break
        graph = {name: targets for name, targets in graph.items() if name not in free}
    return knots


def name_module(path: Path, root: Path) -> str:
    """The dotted name by which a file of the package is imported."""
    parts = ("drumline", *path.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def list_targets(path: Path, root: Path, modules: set[str]) -> set[str]:
    """The modules of the package that a file imports, wherever in the file."""
    targets: set[str] = set()
    for node in list_imports(path):
        if isinstance(node, ast.Import):
            targets.update(alias.name for alias in node.names)
        else:
            module = absolute(node, path, root)
            names = (f"{module}.{alias.name}" for alias in node.names)
            targets.update(name if name in modules else module for name in names)
    return targets & modules


def refuse(importer: str, target: str) -> str:
    """Why `importer` may not import `target`, or nothing."""
    package, _, rest = target.partition(".")
    if package != "drumline":
        return refuse_foreign(package) if importer == "core" else ""
    imported = rest.partition(".")[0]
    if imported in ("", importer):
        return ""
    if importer == "__init__":
        return f"the package itself imports {imported}"
    for name in (importer, imported):
        if name not in LEVELS:
            return f"{name} has no place in the layers"
    return "" if LEVELS[imported] < LEVELS[importer] else f"{importer} imports {imported}"


def refuse_foreign(package: str) -> str:
    """Why the core may not import a package that is not ours, or nothing."""
    if package in IMPURE:
        return f"core imports {package}, which is not pure"
    return "" if package in sys.stdlib_module_names else f"core imports {package}, which is not in the standard library"


def read_imports(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each import of a module, wherever in the module it stands."""
    skipped = for_types_only(path) if path == root / "errors.py" else set()
    for node in list_imports(path):
        lineno = node.lineno
        if lineno in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((lineno, alias.name) for alias in node.names)
        else:
            module = absolute(node, path, root)
            names = (alias.name for alias in node.names)
            # `from drumline import x` may name a module as well as a value such as the version.
            yield from ((lineno, f"{module}.{n}" if exists(root, module, n) else module) for n in names)


def absolute(node: ast.ImportFrom, path: Path, root: Path) -> str:
    """The dotted name of the module an import statement takes from."""
    if not node.level:
        return node.module or ""
    package = ("drumline", *path.relative_to(root).parts[:-1])
    parts = package[: len(package) - node.level + 1]
    return ".".join((*parts, node.module) if node.module else parts)


def exists(root: Path, module: str, name: str) -> bool:
    """Whether `name` is a module directly below our package."""
    return module == "drumline" and ((root / name).is_dir() or (root / f"{name}.py").is_file())


def for_types_only(path: Path) -> set[int]:
    """Lines below `if TYPE_CHECKING:`."""
    lines: set[int] = set()
    for node in ast.walk(parse_module(path)):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def write_package(root: Path, files: dict[str, str]) -> Path:
    """A made-up package on disk."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_imports_go_down_only() -> None:
    assert find_violations(ROOT) == []


def test_no_module_imports_itself_through_others() -> None:
    assert find_knots(ROOT) == []


def test_modules_that_import_each_other_are_found(tmp_path: Path) -> None:
    root = write_package(
        tmp_path / "drumline",
        {
            "models/builtin.py": "def late():\n    from drumline.models.builtin_session import BuiltinSession\n",
            "models/builtin_session.py": FOR_TYPES + "    from drumline.models.builtin import Agent\n",
            "models/tiers.py": "import json\n",
            "wiring.py": "from drumline.models import builtin, tiers\n",
        },
    )

    assert find_knots(root) == [["drumline.models.builtin", "drumline.models.builtin_session"]]


def test_every_module_has_a_place_in_the_layers() -> None:
    names = {path.relative_to(ROOT).with_suffix("").parts[0] for path in ROOT.rglob("*.py")}

    assert names - set(LEVELS) - {"__init__", "__main__"} == set()


def test_an_import_that_goes_up_or_sideways_is_found(tmp_path: Path) -> None:
    root = write_package(
        tmp_path / "drumline",
        {
            "core/plan.py": "def late():\n    from drumline.store import journal\n",
            "agents/one.py": "import drumline.processes.children\n",
            "views/board.py": "from ..ports import clock\n",
            "engine/driver.py": "from drumline import wiring\n",
            "models/one.py": "from drumline.engine.driver import Driver\n",
            "wiring.py": "from drumline.odd import x\n",
            "settings.py": FOR_TYPES + "    from drumline.ports import agents\n",
            "__init__.py": "from drumline.errors import DrumlineError\n",
        },
    )

    found = find_violations(root)

    assert found == [
        "__init__.py:1: the package itself imports errors",
        "agents/one.py:1: agents imports processes",
        "core/plan.py:2: core imports store",
        "engine/driver.py:1: engine imports wiring",
        "models/one.py:1: models imports engine",
        "settings.py:3: settings imports ports",
        "views/board.py:1: views imports ports",
        "wiring.py:1: odd has no place in the layers",
    ]


def test_an_impure_or_foreign_import_of_the_core_is_found(tmp_path: Path) -> None:
    root = write_package(
        tmp_path / "drumline",
        {"core/a.py": "import os.path\nimport json\nfrom datetime import datetime\nimport yaml\n"},
    )

    found = find_violations(root)

    assert found == [
        "core/a.py:1: core imports os, which is not pure",
        "core/a.py:3: core imports datetime, which is not pure",
        "core/a.py:4: core imports yaml, which is not in the standard library",
    ]


def test_imports_that_go_down_are_left_alone(tmp_path: Path) -> None:
    root = write_package(
        tmp_path / "drumline",
        {
            "errors.py": FOR_TYPES + "    from drumline.core.plan import Plan\n",
            "core/plan.py": "from drumline.errors import InvalidInput\nfrom drumline.core import ids\nimport json\n",
            "agents/one.py": "from drumline.ports.agents import Agent\nfrom . import two\nimport yaml\n",
            "cli/main.py": "from drumline import __version__, wiring\nfrom drumline.app import start\n",
            "wiring.py": "import drumline.agents\n",
            "demo.py": "from drumline.cli import main\n",
        },
    )

    assert find_violations(root) == []
