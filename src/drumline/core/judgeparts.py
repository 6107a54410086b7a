"""The parts that judge of files that are work otherwise. The rule: what cannot be read is one part, as a whole."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from posixpath import basename
from typing import TYPE_CHECKING, Any

from drumline.late import import_late
from drumline.patterns import compile_late

if TYPE_CHECKING:
    import tomllib
else:
    tomllib = import_late("tomllib")

_KEYS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "pyproject.toml": (("tool", "pytest"), ("tool", "coverage"), ("tool", "tox"), ("tool", "hatch", "envs")),
    "Cargo.toml": (("test",), ("lib", "test"), ("lib", "harness"), ("package", "autotests")),
    "package.json": (("scripts",), ("jest",), ("vitest",), ("mocha",), ("ava",), ("nyc",)),
    "composer.json": (("scripts",),),
    "deno.json": (("tasks",), ("test",), ("exclude",)),
}
"""What judges in files of data."""
_MAVEN = compile_late(
    r"<(maven\.test\.[\w.]+|skip(?:Tests?|ITs)?|testFailureIgnore|failIfNoTests|(?:test)?[iI]ncludes?|excludes?|excludedGroups"
    r"|groups|testSourceDirectory|surefire\.[\w.]+)>(.*?)</\1>",
    re.DOTALL,
)
_GRADLE = compile_late(
    r"^.*(?:\bignoreFailures\b|\bonlyIf\b|\bexclude\b|excludeTestsMatching|\bfilter\b|\benabled\b|failOnNo\w*Tests|useJUnit\w*"
    r"|excludedTaskNames).*$",
    re.MULTILINE,
)
_MIX = compile_late(
    r"^.*(?:\btest_(?:paths|pattern|ignore_filters|load_filters)\b|\balias(?:es)?\b|\"?test\"?:).*$", re.MULTILINE
)
_VITE = compile_late(r"\btest\s*:\s*\{")


def has_parts(path: str) -> bool:
    """Whether a file is work but for some parts of it."""
    name = basename(path)
    return name in _KEYS or any(pattern.fullmatch(name) for pattern in _CUTTERS)


def list_parts(path: str, text: str | None) -> list[object]:
    """The parts that judge, None for each that is not there; ValueError if the text cannot be read."""
    name = basename(path)
    if name in _KEYS:
        data = _read(name, text)
        return [_pick(data, part) for part in _KEYS[name]]
    cut = next(cut for pattern, cut in _CUTTERS.items() if pattern.fullmatch(name))
    return [(cut(text) or None) if text is not None else None]


def _read(name: str, text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    read = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    return read if isinstance(read, dict) else {}


def _pick(data: object, part: tuple[str, ...]) -> object:
    for key in part:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _cut_maven(text: str) -> list[str]:
    """What says which tests are executed; the order of dependencies and plugins is work."""
    return sorted(f"{found[1]}={' '.join(found[2].split())}" for found in _MAVEN.finditer(text))


def _cut_lines(pattern: re.Pattern[str]) -> Callable[[str], list[str]]:
    return lambda text: [found[0].strip() for found in pattern.finditer(text)]


def _cut_vite(text: str) -> list[str]:
    """The blocks `test: {…}`, up to the brace that closes them."""
    blocks = []
    for found in _VITE.finditer(text):
        depth, end = 1, found.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        blocks.append(" ".join(text[found.start() : end].split()))
    return blocks


_CUTTERS: Mapping[re.Pattern[str], Callable[[str], list[str]]] = {
    compile_late(r"pom\.xml"): _cut_maven,
    compile_late(r"build\.gradle(?:\.kts)?"): _cut_lines(_GRADLE),
    compile_late(r"mix\.exs"): _cut_lines(_MIX),
    compile_late(r"vite\.config\.[cm]?[jt]s"): _cut_vite,
}
"""How parts are cut from the text of other files."""
