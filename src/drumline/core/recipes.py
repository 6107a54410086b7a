"""What commands execute through a target of a makefile or a script of a package.

The rule: only what is surely read is unfolded; where a command goes to another folder or file, nothing is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from posixpath import basename

from drumline.core.judge import CREATED
from drumline.core.shellwords import drop_assignments, list_goals, split_command
from drumline.core.targets import cut_targets
from drumline.patterns import compile_late

MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
"""Where `make` looks for targets, in this order."""
PACKAGE = "package.json"
_MAKES = compile_late(r"\bg?make\b")
_ITSELF = compile_late(r"\$\(MAKE\)|\$\{MAKE\}")
_TARGETS = compile_late(r"^([\w./ -]+?)\s*::?(?!=)", re.MULTILINE)
_SOURCES = compile_late(
    r"(?:^|[;&|]|\bthen\b|\bdo\b)[ \t]*(?:\.|source)[ \t]+([^\n;&|]+)|^[ \t]*[-s]?include[ \t]+([^\n#]+)", re.MULTILINE
)
_WORD = compile_late(r"[\w.-]+")
_PACKAGERS = compile_late(r"\b(?:npm|pnpm|yarn|bun)\b")
_PACKAGER = compile_late(r"npm|pnpm|yarn|bun")
_LEAVES = compile_late(r"(?:^|[;&|(\s])(?:cd|pushd)\s")
_RUN = frozenset({"run", "run-script"})
_SHORT = {"t": "test", "tst": "test"}
_ELSEWHERE = compile_late(r"--(?:prefix|dir|cwd|workspaces?|filter)\b|-[CwF]\b")


def name_sources(commands: Sequence[str]) -> tuple[str, ...]:
    """The files at the top of a repository in which some of the commands look up what they execute."""
    text = "\n".join(commands)
    makes, packages = _MAKES.search(text), _PACKAGERS.search(text)
    return (*(MAKEFILES if makes else ()), *((PACKAGE,) if makes or packages else ()))


def list_standing_in(changed: Mapping[str, str], commands: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """New files that keep `make` from what it did before: with the name of a target, or makefiles that it prefers.

    `texts` are those of the makefiles that were there.
    """
    makefiles = [name for name in MAKEFILES if name in texts]
    if not makefiles or not _MAKES.search("\n".join(commands)):
        return []
    targets = {name for text in texts.values() for line in _TARGETS.findall(text) for name in line.split()}
    preferred = MAKEFILES[: MAKEFILES.index(makefiles[0])]
    return [path for path, change in changed.items() if change == CREATED and (path in preferred or path in targets)]


def list_sourced(text: str, paths: Iterable[str]) -> list[str]:
    """Those of the paths that a shell script or a makefile reads as a part of itself, as far as their names tell."""
    names = {word for found in _SOURCES.findall(text) for line in found for word in _WORD.findall(line)}
    return [path for path in paths if basename(path) in names]


def list_executed(commands: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """The lines that the commands execute, as these files have them, and what those lines execute in turn."""
    makefile = next((texts[name] for name in MAKEFILES if name in texts), "")
    scripts = _read_scripts(texts.get(PACKAGE, ""))
    found: dict[str, None] = {}
    waiting = list(commands)
    while waiting:
        command = waiting.pop()
        if _LEAVES.search(command):
            continue
        lines = (*_list_recipe(command, makefile), *_list_scripts(command, scripts))
        fresh = dict.fromkeys(line for line in lines if line not in found)
        found |= fresh
        waiting += fresh
    return list(found)


def _list_recipe(command: str, makefile: str) -> Iterator[str]:
    for goals in list_goals("Makefile", [command]) if makefile else ():
        lines = [line for line in cut_targets(makefile, goals) or () if line.startswith("\t")]
        yield from (_ITSELF.sub("make", line.lstrip("\t @+-")) for line in lines)


def _list_scripts(command: str, scripts: Mapping[str, str]) -> Iterator[str]:
    for part in split_command(command) if scripts else ():
        words = drop_assignments(part.words)
        if not words or not _PACKAGER.fullmatch(basename(words[0])) or any(map(_ELSEWHERE.match, words)):
            continue
        named = [word for word in words[1:] if not word.startswith("-") and word not in _RUN]
        name = _SHORT.get(named[0], named[0]) if named else ""
        yield from (scripts[key] for key in (f"pre{name}", name, f"post{name}") if name and key in scripts)


def _read_scripts(text: str) -> dict[str, str]:
    try:
        data = json.loads(text)
    except ValueError:
        return {}
    scripts = data.get("scripts") if isinstance(data, dict) else None
    return {name: line for name, line in scripts.items() if isinstance(line, str)} if isinstance(scripts, dict) else {}
