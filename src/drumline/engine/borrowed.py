"""Programs that a check executes out of a folder of dependencies in the workspace, such as `.venv/bin/pytest`.

Where no setup command makes that folder, an agent did. The rule: such a program is believed
if it tells about its tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from posixpath import basename, normpath

from drumline.core.products import DEPENDENCIES
from drumline.core.recipes import list_executed, name_sources
from drumline.core.shellwords import drop_assignments, find_scripts, split_command
from drumline.isolation.contained import read_start

MOST_BYTES = 1_000_000
"""How much of a file that defines targets is read."""
_BINARIES = ("node_modules/.bin", ".venv/bin", "venv/bin")
_PACKAGED = ("npm", "pnpm", "yarn", "bun")
_STARTERS = ("npx", "bunx", "pnpm exec", "npm exec", "yarn exec", "uv run", "poetry run", "pdm run", "bundle exec")


def find_borrowed(command: str, workspace: Path) -> str:
    """The first program of this kind that the command executes; empty if there is none."""
    texts = {name: text for name in name_sources([command]) if (text := _read(workspace / name))}
    scripts = any(word in _PACKAGED for part in split_command(command) for word in part.words)
    lines = [command, *list_executed([command], texts)]
    for words in (drop_assignments(part.words) for line in lines for part in split_command(line)):
        found = [*find_scripts(words), *words[:1], *(_list_started(words, bare=scripts))]
        paths = (normpath(path) for path in found)
        borrowed = [path for path in paths if path.split("/")[0] in DEPENDENCIES and (workspace / path).exists()]
        if borrowed:
            return borrowed[0]
    return ""


def _list_started(words: Sequence[str], *, bare: bool) -> Iterator[str]:
    """Where a program may lie that a package manager starts by its name; `bare` says that scripts of one do so."""
    joined = " ".join(words)
    starter = next((one for one in _STARTERS if joined.startswith(f"{one} ")), "")
    named = [word for word in words[len(starter.split()) :] if not word.startswith("-")][:1] if starter or bare else []
    yield from (f"{folder}/{basename(name)}" for name in named for folder in _BINARIES)


def _read(file: Path) -> str:
    with suppress(OSError):
        return read_start(file, MOST_BYTES).decode("utf-8", "replace")
    return ""
