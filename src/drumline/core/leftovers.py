"""What a check leaves behind in the tree it judges, in words. A verdict says something about the tree that was checked
only if the check left it alone: files that it created are removed, files that it changed are restored and void it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drumline.core.plaintext import name_some
from drumline.record import Record

MOST_KEPT = 50
"""How many names of one check the journal keeps."""
_FOLDERS = frozenset({"__pycache__", "node_modules", "htmlcov", "coverage", "target", "build", "dist"})

_DROPPED_FOLDERS = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".nyc_output", ".eggs"})
PACKAGING = ".egg-info"
"""How a folder's name ends that an installation of the project in place leaves beside its sources."""


class Leftovers(Record):
    """The names that a check created, and those that it changed or deleted."""

    created: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


def sort_changes(changes: Iterable[tuple[str, str]]) -> Leftovers:
    """Sort changed paths, each with `created`, `modified` or `deleted`; what one tool drops in a folder is one name."""
    created: dict[str, None] = {}
    altered: list[str] = []
    for path, kind in changes:
        if kind == "created":
            created[_shorten(path)] = None
        else:
            altered.append(path)
    return Leftovers(created=tuple(created)[:MOST_KEPT], altered=tuple(altered[:MOST_KEPT]))


def find_droppings(paths: Iterable[str]) -> list[str]:
    """Those of the untracked paths that tools drop, no matter who runs them: they belong to no commit."""
    return [path for path in paths if _is_dropping(path.split("/"))]


def _is_dropping(parts: list[str]) -> bool:
    name = parts[-1]
    if name == ".coverage" or name.startswith(".coverage.") or name.endswith(".pyc"):
        return True
    return not _DROPPED_FOLDERS.isdisjoint(parts[:-1]) or any(part.endswith(PACKAGING) for part in parts)


def name_created(names: Iterable[str]) -> str:
    """The names in a few words, with what keeps them from being named again."""
    return f"{name_some(names)}; add what belongs to no commit to .gitignore"


def tell_created(command: str, names: Iterable[str]) -> str:
    """What to say of the files that a check created in a workspace of ours."""
    return f"the check `{command}` left files that git does not ignore, which were removed: {name_created(names)}"


def tell_altered(command: str, names: Iterable[str]) -> str:
    """What to say of the files that a check changed in a workspace of ours."""
    hint = "if it formats, name it as format_cmd in the plan or as format in [commands]"
    return f"the check `{command}` changes the tree, so it proves nothing; files restored: {name_some(names)}; {hint}"


def tell_restored(command: str, names: Iterable[str]) -> str:
    """What to say of the files that a formatter changed and the work does not."""
    return f"`{command}` would format files that the step does not change; they were restored: {name_some(names)}"


def tell_outside(command: str, names: Iterable[str]) -> str:
    """What to say of code that a check loaded from the checkout."""
    return (
        f"the check `{command}` was not run on the work: it loaded code of your checkout ({name_some(names)}); "
        "configure a setup command, so that it finds the code of the tree that it judges"
    )


def tell_flaky(command: str) -> str:
    """What to say of a check that came to another verdict on the same tree."""
    return f"the check `{command}` is flaky: it failed and passed on the same tree"


def tell_left(named: str) -> str:
    """What to say of processes that could not be ended."""
    return f"what it started could not be ended and may still be at work: {named}"


def tell_check(
    command: str,
    *,
    created: Sequence[str],
    altered: Sequence[str],
    left: str,
    restored: Sequence[str] = (),
    outside: Sequence[str] = (),
) -> list[str]:
    """What to say of a check that left or changed something, or judged something else."""
    told = [tell_outside(command, outside)] if outside else []
    told += [tell_created(command, created)] if created else []
    told += [tell_altered(command, altered)] if altered else []
    told += [tell_restored(command, restored)] if restored else []
    return told + ([tell_left(left)] if left else [])


def _shorten(path: str) -> str:
    """The folder of a tool that a path lies in, else the path."""
    parts = path.split("/")
    for number, part in enumerate(parts[:-1]):
        if part in _FOLDERS or part.startswith("."):
            return "/".join(parts[: number + 1]) + "/"
    return path
