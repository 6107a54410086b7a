"""How a repository is tested, found from the files at its top. The rule: what cannot be read is not there.

A task runner's `test` stands for all others: it is what the repository itself calls testing. What git ignores is not in
a fresh workspace, so installing it is found, too. Every command has a fixed form; no text of a file becomes part of one
but names of plain letters.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence

from drumline.record import Record

Read = Callable[[str], str | None]
"""The text of a file of the repository by its path; None if it cannot be read as text."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PYTEST = re.compile(r"\bpytest\b")
_UNTESTED = "no test specified"
_MAKE = re.compile(r"^(?:[^\s:#=]+[ \t]+)*test(?:[ \t]+[^\s:#=]+)*[ \t]*::?(?![:=])", re.MULTILINE)
_JUST = re.compile(r"^@?test(?:[ \t]+[^:\n]*)?:(?!=)", re.MULTILINE)
_PROJECTS = (".sln", ".slnx", ".csproj", ".fsproj", ".vbproj")


class Found(Record):
    """A command, the file that tells of it, and the program it needs; none for one that the repository has itself."""

    command: str
    place: str
    program: str = ""


class Detected(Record):
    """What was found: `checks` that must succeed, `setup` for each fresh workspace."""

    checks: tuple[Found, ...] = ()
    setup: tuple[Found, ...] = ()


class _Tree(Record):
    """The files of a repository."""

    paths: frozenset[str]
    read: Read

    def first(self, *names: str) -> str:
        """The first of these names that is there; empty if none is."""
        return next((name for name in names if name in self.paths), "")

    def any(self, pattern: str) -> bool:
        """Whether a path matches as a whole."""
        matches = re.compile(pattern).fullmatch
        return any(matches(path) for path in self.paths)

    def text(self, name: str) -> str:
        """The text of a file; empty if it is not there."""
        return (self.read(name) or "") if name in self.paths else ""

    def ignores(self, folder: str) -> bool:
        """Whether git ignores a folder at the top: if not, what is installed there would land with the work."""
        lines = {line.strip().strip("/") for line in self.text(".gitignore").splitlines()}
        return bool(lines & {folder, f"**/{folder}"})


def detect(paths: Sequence[str], read: Read) -> Detected:
    """What the files say; `paths` are relative to the top of the repository, with slashes."""
    tree = _Tree(paths=frozenset(paths), read=read)
    ways = [way for find in _ECOSYSTEMS for way in find(tree)]
    runner = next(_runners(tree), None)
    checks = [runner] if runner else [way.checks[0] for way in ways]
    return Detected(checks=tuple(checks), setup=tuple(found for way in ways for found in way.setup))


def _way(check: Found, *setup: Found) -> Detected:
    return Detected(checks=(check,), setup=setup)


def _runners(tree: _Tree) -> Iterator[Found]:
    """Task runners that have a target called `test`."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if _MAKE.search(tree.text(name)):
            yield Found(command="make test", place=name, program="make")
    for name in ("justfile", "Justfile", ".justfile"):
        if _JUST.search(tree.text(name)):
            yield Found(command="just test", place=name, program="just")
    for name in ("Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml"):
        if "test" in _read_tasks(tree.text(name)):
            yield Found(command="task test", place=name, program="task")


def _read_tasks(text: str) -> Mapping[str, object]:
    if not text:
        return {}
    import yaml

    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    tasks = data.get("tasks") if isinstance(data, Mapping) else None
    return tasks if isinstance(tasks, Mapping) else {}


def _python(tree: _Tree) -> Iterator[Detected]:
    project = _table(_read_toml(tree.text("pyproject.toml")))
    tool = _table(project.get("tool"))
    metadata = tree.first("pyproject.toml", "setup.cfg", "setup.py", *sorted(filter(_is_requirements, tree.paths)))
    uses_pytest = _uses_pytest(tree)
    tests = "tests" if tree.any(r"tests/test_\w*\.py") else "" if tree.any(r"test_\w*\.py") else None
    if not uses_pytest and tests is None:
        return
    discover = f"unittest discover -s {tests}" if tests else "unittest discover"
    if "uv.lock" in tree.paths or "uv" in tool:
        run = f"uv run{_find_group(project)} pytest" if uses_pytest else f"uv run python -m {discover}"
        yield _way(Found(command=run, place=tree.first("uv.lock", "pyproject.toml"), program="uv"))
    elif "poetry.lock" in tree.paths or "poetry" in tool:
        run = "poetry run pytest" if uses_pytest else f"poetry run python -m {discover}"
        place = tree.first("poetry.lock", "pyproject.toml")
        setup = Found(command="poetry install", place=place, program="poetry")
        yield _way(Found(command=run, place=place, program="poetry"), setup)
    else:
        # A package that is installed from the user's own checkout must not stand in for that of the workspace.
        prefix = "PYTHONPATH=src " if tree.any(r"src/.*\.py") else ""
        run = f"{prefix}python3 -m {'pytest' if uses_pytest else discover}"
        place = metadata or ("tests" if tests else "test_*.py")
        yield _way(Found(command=run, place=place, program="python3"))


def _is_requirements(path: str) -> bool:
    return re.fullmatch(r"(requirements/)?[\w.-]*requirements[\w.-]*\.txt|requirements/[\w.-]+\.txt", path) is not None


def _uses_pytest(tree: _Tree) -> bool:
    if tree.first("pytest.ini", ".pytest.ini", "conftest.py", "tests/conftest.py"):
        return True
    telling = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", *filter(_is_requirements, tree.paths))
    return any(_PYTEST.search(tree.text(name)) for name in telling)


def _find_group(project: Mapping[str, object]) -> str:
    """The option that brings pytest where it is not installed by default."""
    places = (
        ("--group", _table(project.get("dependency-groups"))),
        ("--extra", _table(_table(project.get("project")).get("optional-dependencies"))),
    )
    for option, groups in places:
        for name, needs in groups.items():
            if _PYTEST.search(str(needs)) and _PLAIN.fullmatch(name):
                return "" if (option, name) == ("--group", "dev") else f" {option} {name}"
    return ""


def _node(tree: _Tree) -> Iterator[Detected]:
    package = _table(_read_json(tree.text("package.json")))
    script = _table(package.get("scripts")).get("test")
    if not isinstance(script, str) or not script.strip() or _UNTESTED in script:
        return
    manager = _find_manager(tree, str(package.get("packageManager", "")))
    test = "bun run test" if manager == "bun" else f"{manager} test"
    needed = any(package.get(key) for key in ("dependencies", "devDependencies", "workspaces"))
    check = Found(command=test, place="package.json", program=manager)
    if not needed or not tree.ignores("node_modules"):
        yield _way(check)
        return
    lock = tree.first("package-lock.json", "npm-shrinkwrap.json", *_LOCKS)
    yield _way(check, Found(command=_install(tree, manager), place=lock or "package.json", program=manager))


_LOCKS: Mapping[str, str] = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun"}


def _find_manager(tree: _Tree, named: str) -> str:
    said = named.partition("@")[0]
    if said in ("npm", *_LOCKS.values()):
        return said
    return _LOCKS.get(tree.first(*_LOCKS), "npm")


def _install(tree: _Tree, manager: str) -> str:
    if manager == "npm":
        locked = tree.first("package-lock.json", "npm-shrinkwrap.json")
        return "npm ci" if locked else "npm install --no-package-lock"
    if manager == "yarn" and "# yarn lockfile v1" not in tree.text("yarn.lock"):
        return "yarn install --immutable"
    return f"{manager} install --frozen-lockfile"


def _compiled(tree: _Tree) -> Iterator[Detected]:
    """Tools that fetch what they need when they test."""
    if "Cargo.toml" in tree.paths:
        yield _way(Found(command="cargo test", place="Cargo.toml", program="cargo"))
    if "go.mod" in tree.paths:
        yield _way(Found(command="go test ./...", place="go.mod", program="go"))
    if "pom.xml" in tree.paths:
        own = "mvnw" in tree.paths
        command = f"{'./mvnw' if own else 'mvn'} --batch-mode test"
        yield _way(Found(command=command, place="pom.xml", program="" if own else "mvn"))
    if place := tree.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"):
        own = "gradlew" in tree.paths
        yield _way(
            Found(command=f"{'./gradlew' if own else 'gradle'} test", place=place, program="" if own else "gradle")
        )
    projects = sorted(path for path in tree.paths if "/" not in path and path.endswith(_PROJECTS))
    if projects:
        yield _way(Found(command="dotnet test", place=projects[0], program="dotnet"))


def _ruby(tree: _Tree) -> Iterator[Detected]:
    if "Gemfile" not in tree.paths:
        return
    command = ""
    if tree.any(r"spec/.*_spec\.rb"):
        command = "rspec"
    elif tree.any(r"test/.*\.rb"):
        command = "rails test" if "bin/rails" in tree.paths else "rake test" if "Rakefile" in tree.paths else ""
    if command:
        setup = Found(command="bundle install", place="Gemfile", program="bundle")
        yield _way(Found(command=f"bundle exec {command}", place="Gemfile", program="bundle"), setup)


def _elixir(tree: _Tree) -> Iterator[Detected]:
    if "mix.exs" in tree.paths:
        needed = "mix.lock" in tree.paths and tree.ignores("deps")
        setup = [Found(command="mix deps.get", place="mix.lock", program="mix")] if needed else []
        yield _way(Found(command="mix test", place="mix.exs", program="mix"), *setup)


_ECOSYSTEMS = (_python, _node, _compiled, _ruby, _elixir)


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _read_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _read_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}
