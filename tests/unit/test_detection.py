"""Which commands set up, format, build and test a repository, found from its files."""

from __future__ import annotations

import json

import pytest

from drumline.app.detection import FORMAT, JUDGES, SETUP, TEST, Found, detect

UV = '[project]\nname = "a"\n[dependency-groups]\ndev = ["pytest>=8"]\n'
VENV = "python3 -m venv .venv && .venv/bin/python -m pip install"
PLACEHOLDER = 'echo "Error: no test specified" && exit 1'


def package(**fields: object) -> str:
    return json.dumps({"scripts": {"test": "node --test"}, **fields})


@pytest.mark.parametrize(
    ("files", "checks"),
    [
        ({"pyproject.toml": UV, "uv.lock": ""}, ["uv run pytest"]),
        ({"pyproject.toml": UV + "[tool.uv]\n"}, ["uv run pytest"]),
        (
            {"pyproject.toml": '[project.optional-dependencies]\ntest = ["pytest"]\n', "uv.lock": ""},
            ["uv run --extra test pytest"],
        ),
        ({"pyproject.toml": '[dependency-groups]\nci = ["pytest"]\n', "uv.lock": ""}, ["uv run --group ci pytest"]),
        ({"pyproject.toml": '[dependency-groups]\n"a b" = ["pytest"]\n', "uv.lock": ""}, ["uv run pytest"]),
        ({"uv.lock": "", "tests/test_a.py": ""}, ["uv run python -m unittest discover -s tests"]),
        ({"pyproject.toml": "[tool.poetry.group.dev.dependencies]\npytest = '*'\n"}, ["poetry run pytest"]),
        ({"pyproject.toml": "[tool.poetry]\n", "test_a.py": ""}, ["poetry run python -m unittest discover"]),
        ({"pyproject.toml": UV}, ["python3 -m pytest"]),
        ({"requirements-dev.txt": "pytest\n"}, ["python3 -m pytest"]),
        ({"setup.py": "", "tests/conftest.py": ""}, ["python3 -m pytest"]),
        ({"requirements.txt": "pytest\n", "src/a/__init__.py": ""}, ["PYTHONPATH=src python3 -m pytest"]),
        ({"test_a.py": "", "a.py": ""}, ["python3 -m unittest discover"]),
        ({"tests/test_a.py": ""}, ["python3 -m unittest discover -s tests"]),
        ({"setup.py": "", "test_a.py": "import a\nimport pytest\n"}, ["python3 -m pytest"]),
        ({"tests/test_a.py": "from pytest import raises\n"}, ["python3 -m pytest"]),
        ({"test_a.py": "import unittest  # no import pytest\n"}, ["python3 -m unittest discover"]),
        ({"pyproject.toml": "[project]\n", "a.py": ""}, []),
        ({"package.json": package()}, ["npm test"]),
        ({"package.json": package(), "pnpm-lock.yaml": ""}, ["pnpm test"]),
        ({"package.json": package(), "yarn.lock": ""}, ["yarn test"]),
        ({"package.json": package(), "bun.lock": ""}, ["bun run test"]),
        ({"package.json": package(packageManager="pnpm@9.1.0")}, ["pnpm test"]),
        ({"package.json": package(packageManager="rm -rf@1")}, ["npm test"]),
        ({"package.json": package(scripts={"test": PLACEHOLDER})}, []),
        ({"package.json": package(scripts={"build": "tsc"})}, []),
        ({"package.json": "[1, 2"}, []),
        ({"package.json": "[]"}, []),
        ({"Cargo.toml": "[package]\n"}, ["cargo test"]),
        ({"go.mod": "module a\n"}, ["go test ./..."]),
        ({"Gemfile": "gem 'rspec'\n", "spec/a_spec.rb": ""}, ["bundle exec rspec"]),
        ({"Gemfile": "", "Rakefile": "", "test/a_test.rb": ""}, ["bundle exec rake test"]),
        ({"Gemfile": "", "bin/rails": "", "test/a_test.rb": ""}, ["bundle exec rails test"]),
        ({"Gemfile": ""}, []),
        ({"mix.exs": ""}, ["mix test"]),
        ({"deno.json": '{"tasks": {"test": "deno test -A"}}'}, ["deno task test"]),
        ({"deno.jsonc": "// ours\n{}", "src/a_test.ts": ""}, ["deno test"]),
        ({"deno.json": "{}", "src/a.ts": "", "latest.ts": ""}, []),
        ({"composer.json": '{"scripts": {"test": "phpunit"}}', "phpunit.xml": ""}, ["composer run-script test"]),
        ({"composer.json": "{}", "phpunit.xml.dist": ""}, ["php vendor/bin/phpunit"]),
        ({"composer.json": "{}"}, []),
        ({"Package.swift": ""}, ["swift test"]),
        ({"build.zig": 'const test_step = b.step("test", "Run tests");\n'}, ["zig build test"]),
        ({"build.zig": 'b.step("run", "Run");\n'}, []),
        ({"pom.xml": ""}, ["mvn --batch-mode test"]),
        ({"pom.xml": "", "mvnw": ""}, ["./mvnw --batch-mode test"]),
        ({"build.gradle.kts": ""}, ["gradle test"]),
        ({"build.gradle": "", "gradlew": ""}, ["./gradlew test"]),
        ({"App.sln": ""}, ["dotnet test"]),
        ({"app.csproj": ""}, ["dotnet test"]),
        ({"Makefile": "all:\n\ttrue\n\ntest: all\n\ttrue\n"}, ["make test"]),
        ({"GNUmakefile": "lint test: x\n\ttrue\n"}, ["make test"]),
        ({"Makefile": "test := 1\nall:\n\ttest: x\n"}, []),
        ({"Makefile": "latest: x\ncontests: y\n"}, []),
        ({"Makefile": "check: x\ntests: y\n"}, ["make tests"]),
        ({"Makefile": "check: x\n\ty\n"}, ["make check"]),
        ({"Makefile": f"a{' ' * 50_000}\n"}, []),
        ({"justfile": "test *args:\n  true\n"}, ["just test"]),
        ({".justfile": "@test: build\n  true\n"}, ["just test"]),
        ({"justfile": "test := '1'\n"}, []),
        ({"Taskfile.yml": "version: '3'\ntasks:\n  test:\n    cmds: [x]\n"}, ["task test"]),
        ({"Taskfile.yaml": "tasks: {build: {env: {test: 1}}}\n"}, []),
        ({"Taskfile.yaml": "tasks: [\n"}, []),
        ({"Makefile": "test:\n\tnpm test\n", "package.json": package()}, ["make test"]),
        ({"package.json": package(), "go.mod": ""}, ["npm test", "go test ./..."]),
        ({"web/package.json": package(), "README.md": ""}, []),
        ({}, []),
    ],
)
def test_the_files_of_a_repository_say_how_it_is_tested(files: dict[str, str], checks: list[str]) -> None:
    assert [found.command for found in detect(list(files), files.get).of(TEST)] == checks


@pytest.mark.parametrize(
    ("files", "setup"),
    [
        ({"package.json": package(devDependencies={"a": "1"}), "package-lock.json": ""}, ["npm ci"]),
        ({"package.json": package(dependencies={"a": "1"})}, ["npm install --no-package-lock"]),
        ({"package.json": package()}, []),
        ({"package.json": package(dependencies={"a": "1"}), "pnpm-lock.yaml": ""}, ["pnpm install --frozen-lockfile"]),
        (
            {"package.json": package(dependencies={"a": "1"}), "yarn.lock": "# yarn lockfile v1\n"},
            ["yarn install --frozen-lockfile"],
        ),
        (
            {"package.json": package(dependencies={"a": "1"}), "yarn.lock": "__metadata:\n"},
            ["yarn install --immutable"],
        ),
        ({"package.json": package(dependencies={"a": "1"}), "bun.lockb": ""}, ["bun install --frozen-lockfile"]),
        ({"pyproject.toml": "[tool.poetry]\n", "test_a.py": ""}, ["poetry install"]),
        ({"Gemfile": "gem 'rspec'", "spec/a_spec.rb": ""}, ["bundle install"]),
        ({"mix.exs": "", "mix.lock": ""}, ["mix deps.get"]),
        (
            {"composer.json": "{}", "composer.lock": "", "phpunit.xml": ""},
            ["composer install --no-interaction"],
        ),
        ({"pyproject.toml": UV, "uv.lock": ""}, ["uv sync --frozen"]),
        (
            {"pyproject.toml": '[dependency-groups]\nci = ["pytest"]\n', "uv.lock": ""},
            ["uv sync --frozen --group ci"],
        ),
        ({"pyproject.toml": UV + "[tool.uv]\n"}, []),
        ({"requirements.txt": "pytest\n"}, [f"{VENV} -r requirements.txt"]),
        (
            {"requirements.txt": "flask\n", "requirements/dev.txt": "pytest\n", "requirements/docs.txt": "x\n"},
            [f"{VENV} -r requirements.txt -r requirements/dev.txt"],
        ),
        ({"requirements.txt": "flask\n", "conftest.py": ""}, [f"{VENV} -r requirements.txt pytest"]),
        ({"pyproject.toml": '[project]\ndependencies = ["pytest"]\n'}, [f"{VENV} -e ."]),
        ({"pyproject.toml": '[project.optional-dependencies]\ntest = ["pytest"]\n'}, [f"{VENV} -e '.[test]'"]),
        ({"pyproject.toml": UV}, [f"{VENV} -e . pytest"]),
        ({"tests/test_a.py": ""}, []),
        ({"Makefile": "test:\n", "requirements.txt": "pytest\n"}, []),
        ({"Makefile": "test:\n", "package.json": package(dependencies={"a": "1"})}, ["npm install --no-package-lock"]),
        ({"package.json": package(scripts={}, dependencies={"a": "1"})}, []),
        ({"go.mod": ""}, []),
    ],
)
def test_what_is_not_in_the_repository_is_installed_first(files: dict[str, str], setup: list[str]) -> None:
    ignoring = {**files, ".gitignore": "/node_modules/\ndeps\n.venv/\n/vendor\n"}

    assert [found.command for found in detect(list(ignoring), ignoring.get).of(SETUP)] == setup


def test_packages_are_not_installed_where_git_would_take_them_for_work() -> None:
    files = {"package.json": package(dependencies={"a": "1"})}

    assert detect(list(files), files.get).of(SETUP) == ()


def test_every_command_says_where_it_was_found_and_what_it_needs() -> None:
    files = {"package.json": package(), "uv.lock": "", "tests/test_a.py": "", "gradlew": "", "build.gradle": ""}

    found = detect(list(files), files.get).of(TEST)

    assert [(f.place, f.program) for f in found] == [("uv.lock", "uv"), ("package.json", "npm"), ("build.gradle", "")]
    assert found[1] == Found(kind=TEST, command="npm test", place="package.json", program="npm")


def test_a_command_of_pip_names_the_requirements_that_it_installs() -> None:
    files = {"requirements-cloud.txt": "", "requirements.txt": "pytest\n", ".gitignore": ".venv\n"}

    found = detect(list(files), files.get).of(SETUP, TEST)

    assert {each.place for each in found} == {"requirements.txt"}


NODE = {
    "lint": "eslint .",
    "typecheck": "tsc --noEmit",
    "build": "vite build",
    "test": "vitest",
    "format": "prettier -w .",
}


@pytest.mark.parametrize(
    ("files", "judges", "formats"),
    [
        (
            {"pyproject.toml": UV + "[tool.ruff.format]\n[tool.mypy]\nfiles = ['a']\n", "uv.lock": ""},
            ["uv run ruff check .", "uv run mypy", "uv run pytest"],
            ["uv run ruff format ."],
        ),
        ({"ruff.toml": "", "pyproject.toml": "[tool.black]\n"}, ["python3 -m ruff check ."], ["python3 -m black ."]),
        ({".flake8": "", "conftest.py": ""}, ["python3 -m flake8", "python3 -m pytest"], []),
        ({"pyproject.toml": "[tool.poetry]\n[tool.ruff]\n"}, ["poetry run ruff check ."], []),
        ({"pyproject.toml": "[tool.mypy]\nstrict = true\n"}, [], []),
        (
            {"package.json": package(scripts=NODE), "pnpm-lock.yaml": ""},
            ["pnpm run lint", "pnpm run typecheck", "pnpm run build", "pnpm test"],
            ["pnpm run format"],
        ),
        ({"package.json": package(scripts={"format": "prettier --check ."})}, ["npm run format"], []),
        ({"package.json": package(scripts={"lint": " "})}, [], []),
        ({"Cargo.toml": ""}, ["cargo build", "cargo test"], ["cargo fmt"]),
        (
            {"Cargo.toml": "[workspace.lints.clippy]\nall = 'warn'\n"},
            ["cargo clippy --all-targets", "cargo build", "cargo test"],
            ["cargo fmt"],
        ),
        ({"go.mod": ""}, ["go vet ./...", "go build ./...", "go test ./..."], ["gofmt -w ."]),
        (
            {"go.mod": "", ".golangci.yml": ""},
            ["golangci-lint run", "go build ./...", "go test ./..."],
            ["gofmt -w ."],
        ),
        ({"Gemfile": "", ".rubocop.yml": ""}, ["bundle exec rubocop"], ["bundle exec rubocop --fix-layout"]),
        (
            {"mix.exs": "", ".formatter.exs": "", ".credo.exs": ""},
            ["mix credo", "mix compile", "mix test"],
            ["mix format"],
        ),
        (
            {"pom.xml": "<artifactId>spotless-maven-plugin</artifactId>", "mvnw": ""},
            [
                "./mvnw --batch-mode spotless:check",
                "./mvnw --batch-mode test-compile",
                "./mvnw --batch-mode test",
            ],
            ["./mvnw --batch-mode spotless:apply"],
        ),
        (
            {"build.gradle.kts": 'id("com.diffplug.spotless")'},
            ["gradle spotlessCheck", "gradle assemble", "gradle test"],
            ["gradle spotlessApply"],
        ),
        ({"app.csproj": ""}, ["dotnet build", "dotnet test"], ["dotnet format"]),
        (
            {"deno.json": '{"fmt": {}, "tasks": {"lint": "x", "check": "y"}}', "a.test.tsx": ""},
            ["deno task lint", "deno task check", "deno test"],
            ["deno fmt"],
        ),
        (
            {"composer.json": '{"scripts": {"format": "x", "lint": "y"}}'},
            ["composer run-script lint"],
            ["composer run-script format"],
        ),
        ({"Package.swift": ""}, ["swift build", "swift test"], []),
        (
            {"Makefile": "lint fmt:\n\ntest:\n", "package.json": package(scripts=NODE)},
            ["make lint", "npm run build", "make test"],
            ["make fmt"],
        ),
        ({"justfile": "build:\n  x\n"}, ["just build"], []),
        ({"Taskfile.yml": "tasks: {lint: x, fmt: y}\n"}, ["task lint"], ["task fmt"]),
    ],
)
def test_linters_builds_and_formatters_are_found_where_files_configure_them(
    files: dict[str, str], judges: list[str], formats: list[str]
) -> None:
    found = detect(list(files), files.get)

    assert [each.command for each in found.of(*JUDGES)] == judges
    assert [each.command for each in found.of(FORMAT)] == formats


def test_where_tests_are_named_only_what_they_can_use_is_set_up() -> None:
    ignored = {".gitignore": "node_modules\n.venv\n", "requirements.txt": "pytest\n"}
    files = {**ignored, "package.json": package(dependencies={"a": "1"})}

    found = detect(list(files), files.get, kinds=(TEST,), named=(TEST,))

    assert [(each.kind, each.command) for each in found.found] == [(SETUP, "npm install --no-package-lock")]


def test_every_file_is_read_once() -> None:
    files = {"pyproject.toml": UV + "[tool.ruff]\n", "package.json": package(), "Makefile": "", ".gitignore": ""}
    looked: list[str] = []

    def read(path: str) -> str:
        looked.append(path)
        return files[path]

    detect(list(files), read)

    assert sorted(looked) == sorted(set(looked))
