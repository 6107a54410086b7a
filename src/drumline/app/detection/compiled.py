"""Languages whose own tool builds and tests: Rust, Go, Ruby, Elixir, Java, .NET, PHP, Swift, Zig, and Deno."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from drumline.app.detection.found import BUILD, FORMAT, LINT, SETUP, TEST, Found, Tree, as_table

_PROJECTS = (".sln", ".slnx", ".csproj", ".fsproj", ".vbproj")
_ZIG_TEST = re.compile(r'\.step\(\s*"test"')
_SPOTLESS = re.compile(r"\bspotless\b|diffplug")


def find_rust(tree: Tree) -> Iterator[Found]:
    """Cargo; clippy only where the repository configures it."""
    if "Cargo.toml" not in tree.paths:
        return
    manifest = tree.toml("Cargo.toml")
    lints = [as_table(manifest.get("lints")), as_table(as_table(manifest.get("workspace")).get("lints"))]
    said = "Cargo.toml" if any("clippy" in each for each in lints) else ""
    clippy = tree.first("clippy.toml", ".clippy.toml") or said
    yield _of("cargo", FORMAT, "cargo fmt", tree.first("rustfmt.toml", ".rustfmt.toml", "Cargo.toml"))
    if clippy:
        yield _of("cargo", LINT, "cargo clippy --all-targets", clippy)
    yield _of("cargo", BUILD, "cargo build", "Cargo.toml")
    yield _of("cargo", TEST, "cargo test", "Cargo.toml")


def find_go(tree: Tree) -> Iterator[Found]:
    """The go command; golangci-lint only where the repository configures it."""
    if "go.mod" not in tree.paths:
        return
    yield _of("gofmt", FORMAT, "gofmt -w .", "go.mod")
    if place := tree.first(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"):
        yield _of("golangci-lint", LINT, "golangci-lint run", place)
    else:
        yield _of("go", LINT, "go vet ./...", "go.mod")
    yield _of("go", BUILD, "go build ./...", "go.mod")
    yield _of("go", TEST, "go test ./...", "go.mod")


def find_ruby(tree: Tree) -> Iterator[Found]:
    """Bundler, with RSpec, Rails or Rake."""
    if "Gemfile" not in tree.paths:
        return
    yield _of("bundle", SETUP, "bundle install", "Gemfile")
    if ".rubocop.yml" in tree.paths:
        yield _of("bundle", FORMAT, "bundle exec rubocop --fix-layout", ".rubocop.yml")
        yield _of("bundle", LINT, "bundle exec rubocop", ".rubocop.yml")
    command = ""
    if tree.any(r"spec/.*_spec\.rb"):
        command = "rspec"
    elif tree.any(r"test/.*\.rb"):
        command = "rails test" if "bin/rails" in tree.paths else "rake test" if "Rakefile" in tree.paths else ""
    if command:
        yield _of("bundle", TEST, f"bundle exec {command}", "Gemfile")


def find_elixir(tree: Tree) -> Iterator[Found]:
    """Mix."""
    if "mix.exs" not in tree.paths:
        return
    if "mix.lock" in tree.paths and tree.ignores("deps"):
        yield _of("mix", SETUP, "mix deps.get", "mix.lock")
    if ".formatter.exs" in tree.paths:
        yield _of("mix", FORMAT, "mix format", ".formatter.exs")
    if ".credo.exs" in tree.paths:
        yield _of("mix", LINT, "mix credo", ".credo.exs")
    yield _of("mix", BUILD, "mix compile", "mix.exs")
    yield _of("mix", TEST, "mix test", "mix.exs")


def find_deno(tree: Tree) -> Iterator[Found]:
    """Deno; what it is configured for, and its tasks of the same names."""
    place = tree.first("deno.json", "deno.jsonc")
    if not place:
        return
    said = tree.json(place)
    tasks = as_table(said.get("tasks"))
    named: Mapping[str, tuple[str, tuple[str, ...], bool]] = {
        FORMAT: ("deno fmt", ("fmt", "format"), "fmt" in said),
        LINT: ("deno lint", ("lint",), "lint" in said),
        BUILD: ("", ("build", "check"), False),
        TEST: ("deno test", ("test",), tree.any(r"(.*/)?[^/]*[._]test\.[mc]?[jt]sx?")),
    }
    for kind, (own, names, wanted) in named.items():
        task = next((name for name in names if name in tasks), "")
        if command := f"deno task {task}" if task else own if wanted else "":
            yield _of("deno", kind, command, place)


def find_php(tree: Tree) -> Iterator[Found]:
    """Composer: its scripts, else PHPUnit where the repository configures it."""
    if "composer.json" not in tree.paths:
        return
    scripts = as_table(tree.json("composer.json").get("scripts"))
    if "composer.lock" in tree.paths and tree.ignores("vendor"):
        yield _of("composer", SETUP, "composer install --no-interaction", "composer.lock")
    for kind, name in ((FORMAT, "format"), (LINT, "lint"), (BUILD, "build"), (TEST, "test")):
        if name in scripts:
            yield _of("composer", kind, f"composer run-script {name}", "composer.json")
    if "test" not in scripts and (place := tree.first("phpunit.xml", "phpunit.xml.dist")):
        yield _of("php", TEST, "php vendor/bin/phpunit", place)


def find_swift(tree: Tree) -> Iterator[Found]:
    """The swift command."""
    if "Package.swift" in tree.paths:
        yield _of("swift", BUILD, "swift build", "Package.swift")
        yield _of("swift", TEST, "swift test", "Package.swift")


def find_zig(tree: Tree) -> Iterator[Found]:
    """The zig command, with the test step of the build file if there is one."""
    if "build.zig" not in tree.paths:
        return
    yield _of("zig", BUILD, "zig build", "build.zig")
    if _ZIG_TEST.search(tree.text("build.zig")):
        yield _of("zig", TEST, "zig build test", "build.zig")


def find_maven(tree: Tree) -> Iterator[Found]:
    """Maven, by the wrapper that the repository has or the one that is installed."""
    if "pom.xml" not in tree.paths:
        return
    own = "mvnw" in tree.paths
    program, start = ("", "./mvnw") if own else ("mvn", "mvn")
    if "spotless-maven-plugin" in tree.text("pom.xml"):
        yield _of(program, FORMAT, f"{start} --batch-mode spotless:apply", "pom.xml")
        yield _of(program, LINT, f"{start} --batch-mode spotless:check", "pom.xml")
    yield _of(program, BUILD, f"{start} --batch-mode test-compile", "pom.xml")
    yield _of(program, TEST, f"{start} --batch-mode test", "pom.xml")


def find_gradle(tree: Tree) -> Iterator[Found]:
    """Gradle, by the wrapper that the repository has or the one that is installed."""
    place = tree.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    if not place:
        return
    own = "gradlew" in tree.paths
    program, start = ("", "./gradlew") if own else ("gradle", "gradle")
    if _SPOTLESS.search(tree.text(place)):
        yield _of(program, FORMAT, f"{start} spotlessApply", place)
        yield _of(program, LINT, f"{start} spotlessCheck", place)
    yield _of(program, BUILD, f"{start} assemble", place)
    yield _of(program, TEST, f"{start} test", place)


def find_dotnet(tree: Tree) -> Iterator[Found]:
    """The dotnet command."""
    projects = sorted(path for path in tree.paths if "/" not in path and path.endswith(_PROJECTS))
    if projects:
        yield _of("dotnet", FORMAT, "dotnet format", projects[0])
        yield _of("dotnet", BUILD, "dotnet build", projects[0])
        yield _of("dotnet", TEST, "dotnet test", projects[0])


def _of(program: str, kind: str, command: str, place: str) -> Found:
    return Found(kind=kind, command=command, place=place, program=program)
