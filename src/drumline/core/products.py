"""Whether a step landed anything of its own, and what of its work did not land.

Checks judge the workspace with its ignored files, which do not land: if nothing else did, or if one of them is what the
plan asks for, passing proves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain

from drumline.core.ids import Tree
from drumline.core.leftovers import find_droppings
from drumline.core.ownership import names, take_apart
from drumline.core.plaintext import name_some

MOST_IGNORED = 50
"""How many ignored files of one attempt the journal keeps."""
MOST_WALKED = 300
"""How many files of an ignored folder are looked at, and how many ignored files that `setup` made are remembered."""
_TOOL_FOLDERS = frozenset(
    {
        ".bundle",
        ".cache",
        ".dart_tool",
        ".drumline",
        ".eggs",
        ".git",
        ".gradle",
        ".hypothesis",
        ".idea",
        ".next",
        ".nox",
        ".nuxt",
        ".parcel-cache",
        ".pnpm-store",
        ".svelte-kit",
        ".terraform",
        ".tox",
        ".turbo",
        ".venv",
        ".vite",
        ".vs",
        ".vscode",
        ".yarn",
        "Pods",
        "__pypackages__",
        "bower_components",
        "coverage",
        "htmlcov",
        "node_modules",
        "obj",
        "target",
        "venv",
    }
)
_PACKAGES = frozenset({"dist-packages", "site-packages"})
DEPENDENCIES = ("node_modules", ".venv", "venv", ".tox", ".nox", "__pypackages__", ".bundle")
"""Folders with packages of others, of which a check may execute a program."""
_TOOL_ENDINGS = (".egg-info", ".dist-info")
_TOOL_FILES = (".log", ".o", ".pid", ".pyo", ".swp", ".tmp", ".tsbuildinfo", ".DS_Store", ".eslintcache")


TOOL_PATTERNS = (*sorted(_TOOL_FOLDERS), *(f"*{ending}" for ending in _TOOL_ENDINGS))
"""Names of folders with dependencies and caches, as git's patterns."""


def is_productless(changed: Iterable[str], *, tree: Tree, ready: Tree | None) -> bool:
    """Whether nothing landed but ignore files, or what was in the workspace before an agent began (`setup` made it)."""
    return tree == ready or all(path.rpartition("/")[2] == ".gitignore" for path in changed)


def is_tool_folder(path: str) -> bool:
    """Whether a folder, or one above it, holds dependencies or a cache of a tool, as everybody knows by its name."""
    parts = path.rstrip("/").split("/")
    return not _TOOL_FOLDERS.isdisjoint(parts) or any(part.endswith(_TOOL_ENDINGS) for part in parts)


def is_installed(path: str) -> bool:
    """Whether a file of a repository is code of others that was installed there."""
    return is_tool_folder(path.rpartition("/")[0]) or not _PACKAGES.isdisjoint(path.split("/"))


def stays(ignored: Iterable[str]) -> bool:
    """Whether everything that a setup command made stays in a worktree: of ignored files, what is in tools' folders."""
    listed = [path for path in ignored if not is_tool_folder(path)]
    return len(find_droppings(listed)) == len(listed)


def choose_products(
    ignored: Iterable[str], *, before: Collection[str] = (), wanted: Sequence[str] = (), most: int = MOST_IGNORED
) -> tuple[str, ...]:
    """Those of the ignored files that may be work: not what tools leave, and not what was there `before`.

    What the plan's entries in `wanted` ask for comes first, whatever tools leave; a file that one of them is, also if
    it was there before.
    """
    listed = list(ignored)
    exact = {take_apart(entry).text for entry in wanted}
    old = frozenset(before)
    asked = [
        [path for path in listed if (path not in old or path in exact) and asks_for(entry, path)] for entry in wanted
    ]
    found = [path for path in listed if path not in old and not path.endswith(_TOOL_FILES)]
    found = [path for path in found if not is_tool_folder(path)]
    dropped = {*find_droppings(found)}
    usual = (path for path in found if path not in dropped)
    # Each entry has its say before the list is cut.
    first = [paths[0] for paths in asked if paths]
    return tuple([*dict.fromkeys((*first, *chain.from_iterable(asked), *usual))][:most])


def asks_for(entry: str, path: str) -> bool:
    """Whether an entry of the plan asks for this file, even if tools leave such files: then it has to say so itself.

    `target/*.json` and `**/target/x.json` ask for files in a tool's folder, `*.log` and `out.*` for a tool's files;
    `**/*.json` and `src/` do not.
    """
    if take_apart(entry).text == path:
        return True
    if not names(entry, path):
        return False
    name = path.rpartition("/")[2]
    last = entry.rpartition("/")[2]
    is_tools = name.endswith(_TOOL_FILES) or bool(find_droppings([name]))
    return names_tools(entry, path) and (not is_tools or (_is_literal(last) and fnmatchcase(name, last)))


def names_tools(entry: str, path: str) -> bool:
    """Whether an entry names every folder of a tool that this file is in, or that this is if it ends with a slash."""
    parts = [part for part in entry.split("/") if _is_literal(part)]
    tools = [part for part in path.split("/")[:-1] if is_tool_folder(part) or find_droppings([f"{part}/x"])]
    return all(any(fnmatchcase(tool, part) for part in parts) for tool in tools)


def _is_literal(part: str) -> bool:
    """Whether a part of a pattern says more than that something is there."""
    return bool(part.strip("*?"))


def find_start(entry: str) -> str:
    """The folder in which everything lies that an entry of the plan names, with a slash; empty for the top."""
    pattern = take_apart(entry)
    if not pattern.glob:
        return f"{pattern.text}/"
    folder, slash, _ = pattern.begins.rpartition("/")
    return folder + slash


def find_unmet(files: Sequence[str], changed: Mapping[str, str]) -> tuple[str, ...]:
    """The entries of the step's `files` that name nothing of what landed; a file that it deleted has not."""
    landed = [path for path, kind in changed.items() if kind != "deleted"]
    return tuple(entry for entry in files if not any(names(entry, path) for path in landed))


def find_hidden(unmet: Sequence[str], ignored: Sequence[str]) -> tuple[str, ...]:
    """The ignored files that entries ask for which name nothing that landed."""
    return tuple(path for path in ignored if any(names(entry, path) for entry in unmet))


def find_unwritten(present: Iterable[str], fingerprints: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """Those of the files that were `present` that nobody has written since, as far as their fingerprints tell."""
    return frozenset(path for path in present if path not in fingerprints or fingerprints[path] == now.get(path))


def sort_present(earlier: Mapping[str, str], now: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The ignored files that the setup command made, each with its fingerprint; `earlier` is what was there before it.

    What an attempt left in the same worktree is not the command's; what that made when it ran before (`known`) is.
    """
    made = {path: fingerprint for path, fingerprint in now.items() if earlier.get(path) != fingerprint}
    return {path: made.get(path, known.get(path, "")) for path in now if path in made or path in known}


def tell_ignored(names: Iterable[str]) -> str:
    """What to say of files that an attempt made and that do not land."""
    return f"not landed because git ignores it: {name_some(names)}"
