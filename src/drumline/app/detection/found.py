"""What detection finds, and the files it looks at. The rule: what cannot be read is not there."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping

from drumline.core.trust import SETUP
from drumline.record import Record

__all__ = [
    "BUILD",
    "FORMAT",
    "JUDGES",
    "KINDS",
    "LINT",
    "PLAIN",
    "SETUP",
    "TEST",
    "Detected",
    "Found",
    "Read",
    "Tree",
    "as_table",
]

FORMAT, LINT, BUILD, TEST = "format", "lint", "build", "test"
KINDS = (SETUP, FORMAT, LINT, BUILD, TEST)
"""What commands are for, in the order in which they run."""
JUDGES = (LINT, BUILD, TEST)
"""Kinds of commands that say whether work is good; `format` changes it, and `setup` comes before it."""

Read = Callable[[str], str | None]
"""The text of a file of the repository by its path; None if it cannot be read as text."""
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of the repository that may become part of a command."""


class Found(Record):
    """A command, the file that tells of it, and the program it needs; none for one that the repository has itself."""

    kind: str
    command: str
    place: str
    program: str = ""


class Detected(Record):
    """Commands by kind, in the order in which they run."""

    found: tuple[Found, ...] = ()

    def of(self, *kinds: str) -> tuple[Found, ...]:
        """Those of these kinds."""
        return tuple(each for each in self.found if each.kind in kinds)


class Tree(Record):
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

    def toml(self, name: str) -> Mapping[str, object]:
        """The table in a TOML file; empty if it is broken."""
        try:
            return as_table(tomllib.loads(self.text(name)))
        except (ValueError, RecursionError):
            return {}

    def json(self, name: str) -> Mapping[str, object]:
        """The object in a JSON file; empty if it is broken."""
        try:
            return as_table(json.loads(self.text(name) or "{}"))
        except (ValueError, RecursionError):
            return {}

    def yaml(self, name: str) -> Mapping[str, object]:
        """The mapping in a YAML file; empty if it is broken."""
        text = self.text(name)
        if not text:
            return {}
        import yaml

        try:
            return as_table(yaml.safe_load(text))
        except (yaml.YAMLError, ValueError, RecursionError):
            return {}


def as_table(value: object) -> Mapping[str, object]:
    """A value that should be a table; empty if it is something else."""
    return value if isinstance(value, Mapping) else {}
