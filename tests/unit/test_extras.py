"""What is not installed is named with the command that installs it."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.unit.sources import list_imports

import drumline
from drumline import extras
from drumline.errors import InvalidInput
from drumline.extras import MODULES, find_missing, find_source, name_install, require_provider, require_servers

ROOT = Path(drumline.__file__).parent
PYTHON = "/home/kim/.venv/bin/python"
SDKS = ("pydantic_ai", "anthropic", "openai", "google.genai", "mcp", "fastmcp")
BLOCKED = f"""
import pkgutil, sys
from importlib import import_module

for name in {SDKS!r}:
    sys.modules[name] = None
import drumline
skipped = ("drumline.models.", "drumline.__main__", "drumline.demo.__main__", "drumline.flows")
names = [found.name for found in pkgutil.walk_packages(drumline.__path__, "drumline.", onerror=print)]
for name in names:
    if not name.startswith(skipped):
        import_module(name)
for name in ("prices", "builtin", "choice", "agency", "tiers", "toolbox", "guard"):
    import_module(f"drumline.models.{{name}}")
from drumline.models.prices import find_price
assert find_price("gpt-4o", {{"input": 1.0}})
"""


def lack(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    """Some modules are not installed."""

    def find(name: str) -> ModuleSpec | None:
        return None if name in missing else ModuleSpec(name, None)

    monkeypatch.setattr(extras, "find_spec", find)


@pytest.mark.parametrize(
    ("prefix", "has_pip", "command"),
    [
        ("/home/kim/.venv", True, f"{PYTHON} -m pip install 'drumline[models]'"),
        ("/home/kim/.venv", False, f"uv pip install --python {PYTHON} 'drumline[models]'"),
        ("/home/kim/.local/share/uv/tools/drumline", False, "uv tool install --force 'drumline[models]'"),
        ("/home/kim/.cache/uv/archive-v0/x1", False, "uvx --from 'drumline[models]' drumline"),
        ("/home/kim/.local/share/pipx/venvs/drumline", True, "pipx install --force 'drumline[models]'"),
    ],
)
def test_the_command_is_in_the_words_of_what_installed_drumline(prefix: str, has_pip: bool, command: str) -> None:
    assert name_install("models", prefix=prefix, python=PYTHON, has_pip=has_pip) == command


@pytest.mark.parametrize(
    ("prefix", "command"),
    [
        ("/home/kim/.local/share/uv/tools/drumline", "uv tool install --force 'drumline[mcp] @ file:///src/drumline'"),
        ("/home/kim/.local/share/pipx/venvs/drumline", "pipx install --force 'drumline[mcp] @ file:///src/drumline'"),
        ("/home/kim/.venv", f"{PYTHON} -m pip install 'drumline[mcp]'"),
    ],
)
def test_a_drumline_from_a_clone_gets_its_extra_from_there(prefix: str, command: str) -> None:
    assert name_install("mcp", prefix=prefix, python=PYTHON, source="file:///src/drumline") == command


@pytest.mark.parametrize(
    ("record", "source"),
    [
        ('{"url": "file:///src/drumline", "dir_info": {}}', "file:///src/drumline"),
        ('{"url": "https://example.org/d.git", "vcs_info": {"vcs": "git"}}', "git+https://example.org/d.git"),
        ("", ""),
    ],
)
def test_where_drumline_came_from_is_read_from_what_its_installer_wrote(
    record: str, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "drumline-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: drumline\nVersion: 0.1.0\n")
    if record:
        (folder / "direct_url.json").write_text(record)
    monkeypatch.syspath_prepend(str(tmp_path))

    assert find_source() == source


@pytest.mark.parametrize(
    ("provider", "missing", "package", "extra"),
    [
        ("anthropic", "anthropic", "anthropic", "anthropic"),
        ("anthropic", "pydantic_ai", "pydantic-ai", "anthropic"),
        ("google", "google.genai", "google.genai", "google"),
        ("groq", "pydantic_ai", "pydantic-ai", "models"),
        ("", "pydantic_ai", "pydantic-ai", "models"),
    ],
)
def test_a_provider_without_its_library_is_refused_with_the_command(
    provider: str, missing: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lack(monkeypatch, missing)

    with pytest.raises(InvalidInput) as refused:
        require_provider(provider)

    assert f"the package {package!r}, which is not installed" in str(refused.value)
    assert refused.value.hint == f"{sys.executable} -m pip install 'drumline[{extra}]'"


def test_an_mcp_server_without_its_client_is_refused_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    lack(monkeypatch, "fastmcp")

    with pytest.raises(InvalidInput) as refused:
        require_servers("tracker")

    assert str(refused.value) == "the MCP server 'tracker' needs the package 'fastmcp', which is not installed"
    assert refused.value.hint.endswith("'drumline[mcp]'")


def test_every_package_that_is_imported_is_declared_where_it_belongs() -> None:
    declared = {name: read_names(texts) for name, texts in read_declarations().items()}
    owners = packages_distributions()

    for path in sorted(ROOT.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        allowed = declared["core"] | (declared["models"] if place.startswith("models/") else set())
        for module in read_packages(path):
            names = {canonicalize_name(name) for name in owners.get(module, ())}
            assert names & allowed, f"{place} imports {module}, which pyproject.toml does not declare for it"


def read_declarations() -> dict[str, list[str]]:
    """What pyproject.toml requires: of `core` always, of the others by their extra."""
    project = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {"core": project["dependencies"], **project["optional-dependencies"]}


def read_names(texts: Iterable[str]) -> set[str]:
    """The names of the packages in a list of requirements."""
    return {canonicalize_name(Requirement(text).name) for text in texts}


def read_packages(path: Path) -> set[str]:
    """The packages of others that a file imports, also those it imports when needed."""
    found: set[str] = set()
    for node in list_imports(path):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"drumline", "__future__"}


def test_here_everything_is_installed() -> None:
    assert [find_missing(extra) for extra in MODULES] == [()] * len(MODULES)


def test_who_looks_at_a_run_does_not_import_the_readers_of_plans() -> None:
    code = "import sys, drumline.cli.watching; sys.exit('markdown_it' in sys.modules or 'yaml' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_everything_but_the_models_of_providers_is_imported_without_their_libraries() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)

    assert (done.stderr, done.returncode) == ("", 0)
