"""Task runners: targets of `make`, `just` and `task` by the names that repositories commonly give them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from drumline.app.detection.found import BUILD, FORMAT, LINT, TEST, Found, Tree, as_table

NAMES: Mapping[str, tuple[str, ...]] = {
    FORMAT: ("format", "fmt"),
    LINT: ("lint",),
    BUILD: ("build",),
    TEST: ("test", "tests", "check"),
}
"""The targets that are looked for, by kind; the first that is there counts."""
_MAKE = re.compile(r"^([^\s:#=][^:#=\n]*)::?(?![:=])", re.MULTILINE)
_JUST = re.compile(r"^@?([A-Za-z_][\w-]*)(?:[ \t]+[^:\n]*)?:(?!=)", re.MULTILINE)
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_JUSTFILES = ("justfile", "Justfile", ".justfile")
_TASKFILES = ("Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml", "Taskfile.dist.yml")


def find_targets(tree: Tree) -> Iterator[Found]:
    """At most one command of each kind: of the first runner that has a target for it."""
    runners = [(program, place, targets) for program, place, targets in _list_targets(tree) if targets]
    for kind, names in NAMES.items():
        commands = (
            Found(kind=kind, command=f"{program} {name}", place=place, program=program)
            for program, place, targets in runners
            for name in names
            if name in targets
        )
        if found := next(commands, None):
            yield found


def _list_targets(tree: Tree) -> Iterator[tuple[str, str, frozenset[str]]]:
    if name := tree.first(*_MAKEFILES):
        yield "make", name, frozenset(word for match in _MAKE.finditer(tree.text(name)) for word in match[1].split())
    if name := tree.first(*_JUSTFILES):
        yield "just", name, frozenset(match[1] for match in _JUST.finditer(tree.text(name)))
    if name := tree.first(*_TASKFILES):
        yield "task", name, frozenset(str(key) for key in as_table(tree.yaml(name).get("tasks")))
