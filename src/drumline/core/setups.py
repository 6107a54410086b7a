"""Whether what a setup command installed still fits a tree.

The rule: a setup is known by its command and by the files that say what is to be installed. Where both are the same,
what is there stays; where one differs, the command runs again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from drumline.patterns import compile_late
from drumline.record import Record

COMMAND = "$ "
CHECKOUT = "DRUMLINE_CHECKOUT"
"""The variable that tells a command where the person's checkout is."""
_NAMES = frozenset(
    {
        *("pyproject.toml", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "setup.py", "setup.cfg"),
        *("package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml"),
        *("yarn.lock", ".yarnrc.yml", "bun.lock", "bun.lockb", "deno.lock", ".npmrc", ".nvmrc", ".node-version"),
        *("Cargo.toml", "Cargo.lock", "rust-toolchain", "rust-toolchain.toml", "go.mod", "go.sum", "go.work"),
        *("Gemfile", "Gemfile.lock", ".ruby-version", "mix.exs", "mix.lock", "composer.json", "composer.lock"),
        *("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradle.lockfile"),
        *("libs.versions.toml", "packages.lock.json", "Directory.Packages.props", "global.json"),
        *(".python-version", ".tool-versions", "mise.toml", "environment.yml", "flake.lock", "Podfile", "Podfile.lock"),
    }
)
_PATTERN = compile_late(
    r"(?:.*/)?(?:[\w.-]*requirements[\w.-]*\.(?:txt|in)|requirements/[\w.-]+\.txt|[\w.-]+\.gemspec)"
)


def is_manifest(path: str) -> bool:
    """Whether a file says which dependencies a project has: a manifest or a lock file, by its name."""
    return path.rpartition("/")[2] in _NAMES or _PATTERN.fullmatch(path) is not None


class Setup(Record):
    """How dependencies come into a place: by a command, and from `paths` of the person's checkout that git ignores."""

    command: str = ""
    paths: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.command or self.paths)

    def name(self, files: Mapping[str, str]) -> str:
        """What it is known by on a tree with these files, each with the digest of its content."""
        manifests = sorted((path, digest) for path, digest in files.items() if is_manifest(path))
        told = [self.command, self.paths, manifests]
        return hashlib.sha256(json.dumps(told).encode("ascii")).hexdigest()


def read_setup(setup: str, provide: Sequence[str]) -> Setup:
    """What the settings `setup` and `provide` say; a line of the latter that begins with `$ ` is a command."""
    commands = [entry.removeprefix(COMMAND).strip() for entry in provide if entry.startswith(COMMAND)]
    paths = tuple(entry for entry in provide if not entry.startswith(COMMAND))
    every = [command for command in (*commands, setup) if command]
    return Setup(command=every[0] if len(every) == 1 else " && ".join(f"{{ {one}\n}}" for one in every), paths=paths)
