"""Whether a step landed anything of its own, and what of its work did not land.

Checks judge the workspace with its ignored files, which do not land: if nothing else did, or if one of them is what the
plan asks for, passing proves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from drumline.core.ids import Tree
from drumline.core.leftovers import find_droppings, name_some
from drumline.core.ownership import owns, take_apart

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
_TOOL_ENDINGS = (".egg-info", ".dist-info")
_TOOL_FILES = (".log", ".o", ".pid", ".pyo", ".swp", ".tmp", ".tsbuildinfo", ".DS_Store", ".eslintcache")


def is_productless(changed: Iterable[str], *, tree: Tree, ready: Tree | None) -> bool:
    """Whether nothing landed but ignore files, or what was in the workspace before an agent began (`setup` made it)."""
    return tree == ready or all(path.rpartition("/")[2] == ".gitignore" for path in changed)


def is_tool_folder(path: str) -> bool:
    """Whether a folder, or one above it, holds dependencies or a cache of a tool, as everybody knows by its name."""
    parts = path.rstrip("/").split("/")
    return not _TOOL_FOLDERS.isdisjoint(parts) or any(part.endswith(_TOOL_ENDINGS) for part in parts)


def choose_products(
    ignored: Iterable[str], *, before: Collection[str] = (), wanted: Sequence[str] = (), most: int = MOST_IGNORED
) -> tuple[str, ...]:
    """Those of the ignored files that may be work: not what tools leave, and not what was there `before`.

    What the plan's entries in `wanted` ask for comes first, whatever tools leave; a file that one of them is, also if
    it was there before.
    """
    listed = list(ignored)
    named = [path for path in listed if any(asks_for(entry, path) for entry in wanted)]
    exact = {take_apart(entry).text for entry in wanted}
    named = [path for path in named if path not in before or path in exact]
    found = [path for path in listed if path not in before and not path.endswith(_TOOL_FILES)]
    found = [path for path in found if not is_tool_folder(path)]
    dropped = {*find_droppings(found)}
    usual = (path for path in found if path not in dropped)
    return tuple([*dict.fromkeys((*named, *usual))][:most])


def asks_for(entry: str, path: str) -> bool:
    """Whether an entry of the plan asks for this file, even if tools leave such files: then it has to say so itself.

    `target/*.json` asks for files in a tool's folder, and `*.log` for a tool's files; `**/*.json` and `src/` do not.
    """
    pattern = take_apart(entry)
    if pattern.text == path:
        return True
    if not owns(entry, path):
        return False
    below = path.removeprefix(find_start(entry))
    is_tools = path.endswith(_TOOL_FILES) and not pattern.ends.endswith(_TOOL_FILES)
    return not is_tools and not is_tool_folder(below) and not find_droppings([path])


def find_start(entry: str) -> str:
    """The folder in which everything lies that an entry of the plan names, with a slash; empty for the top."""
    pattern = take_apart(entry)
    if not pattern.glob:
        return f"{pattern.text}/"
    folder, slash, _ = pattern.begins.rpartition("/")
    return folder + slash


def find_hidden(files: Sequence[str], ignored: Sequence[str], changed: Collection[str]) -> tuple[str, ...]:
    """The ignored files that the plan asks for: an entry of the step's `files` names them, and nothing that landed."""
    wanted = [entry for entry in files if not any(owns(entry, path) for path in changed)]
    return tuple(path for path in ignored if any(owns(entry, path) for entry in wanted))


def tell_ignored(names: Iterable[str]) -> str:
    """What to say of files that an attempt made and that do not land."""
    return f"not landed because git ignores it: {name_some(names)}"
