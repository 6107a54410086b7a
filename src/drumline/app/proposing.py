"""Checks for plans that name none: commands found in the repository, and those that the steps' own words name.

Nothing is run and nothing is written here; a person looks at the proposals first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drumline.core.ids import StepId
from drumline.core.outlook import unproved
from drumline.core.plan import Reading, Step
from drumline.planfiles.criterion import read_criterion
from drumline.planfiles.sidecar import EVERY
from drumline.record import Record

MOST_BYTES = 256 * 1024
_VERB = re.compile(r"\b(?:run|runs|execute|verify|validate|ensure|confirm|check|returns?|passes)\b", re.IGNORECASE)
_TARGET = re.compile(r"^(?P<name>test|tests|check|lint)\s*:(?!=)", re.MULTILINE)
_UNSET = "no test specified"
_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lockb": "bun run", "bun.lock": "bun run"}
_PLAIN = {
    "Cargo.toml": "cargo test",
    "go.mod": "go test ./...",
    "mix.exs": "mix test",
    "gradlew": "./gradlew test",
    "pom.xml": "mvn -q test",
}


class Proposal(Record):
    """A command that could be a check: of one step, or of every step without one if `step` is empty."""

    command: str
    step: StepId
    why: str


def propose(reading: Reading, top: Path) -> list[Proposal]:
    """What could prove the steps that are still to do and have no check; nothing if each has one."""
    bare = [step for step in unproved(reading) if not step.checks]
    if not bare:
        return []
    own = [proposal for step in bare for proposal in _named_by(step)]
    return [*(Proposal(command=c, step=StepId(""), why=why) for c, why in detect_commands(top)), *own]


def as_checks(proposals: Sequence[Proposal]) -> Mapping[StepId, tuple[str, ...]]:
    """The proposals as a sidecar keeps them."""
    found: dict[StepId, tuple[str, ...]] = {}
    for one in proposals:
        place = one.step or EVERY
        found[place] = tuple(dict.fromkeys([*found.get(place, ()), one.command]))
    return found


def detect_commands(top: Path) -> list[tuple[str, str]]:
    """Commands that test the repository, each with the file that says so. Only the top folder is looked at."""
    found = [*_from_make(top), *_from_node(top), *_from_python(top)]
    found += [(command, name) for name, command in _PLAIN.items() if (top / name).is_file()]
    return list({command: (command, why) for command, why in reversed(found)}.values())[::-1]


def _named_by(step: Step) -> Iterator[Proposal]:
    """Commands that the step's title, or what a person should verify, tells to run."""
    for words, why in [(step.title, "its title"), *((item, "what is to be verified") for item in step.manual)]:
        command = read_criterion(words).command if "`" in words and _VERB.search(words) else ""
        if command:
            yield Proposal(command=command, step=step.id, why=why)


def _from_make(top: Path) -> Iterator[tuple[str, str]]:
    for name, tool in (("Makefile", "make"), ("makefile", "make"), ("justfile", "just")):
        for target in dict.fromkeys(match["name"] for match in _TARGET.finditer(_read(top / name))):
            yield f"{tool} {target}", name


def _from_node(top: Path) -> Iterator[tuple[str, str]]:
    try:
        value = json.loads(_read(top / "package.json") or "{}")
    except (ValueError, RecursionError):
        return
    scripts = value.get("scripts") if isinstance(value, dict) else None
    tool = next((command for lock, command in _LOCKS.items() if (top / lock).is_file()), "npm")
    for name in ("test", "lint", "typecheck"):
        script = scripts.get(name) if isinstance(scripts, dict) else None
        if isinstance(script, str) and _UNSET not in script:
            runs = f"{tool} {name}" if tool != "npm" or name == "test" else f"npm run {name}"
            yield runs, "package.json"


def _from_python(top: Path) -> Iterator[tuple[str, str]]:
    project = _read(top / "pyproject.toml")
    said = "pytest" in project or (top / "pytest.ini").is_file() or (top / "conftest.py").is_file()
    if not said and not any((top / "tests").glob("test_*.py")):
        return
    why = "pyproject.toml" if project else "tests"
    if (top / "uv.lock").is_file():
        yield "uv run pytest -q", "uv.lock"
    elif (top / "poetry.lock").is_file():
        yield "poetry run pytest -q", "poetry.lock"
    else:
        yield "python -m pytest -q", why


def _read(file: Path) -> str:
    """The beginning of a regular file of the repository, "" if there is none."""
    if file.is_symlink() or not file.is_file():
        return ""
    try:
        with file.open("rb") as source:
            return source.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
