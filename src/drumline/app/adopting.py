"""What was found in a repository becomes its configuration, on a person's yes.

The rule: a key that the file has already stays as it is, and only commands whose program is installed are written.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from drumline.app.detection import FORMAT, JUDGES, KINDS, SETUP, Detected, Found
from drumline.patterns import compile_late
from drumline.record import Record
from drumline.views.cells import flatten

_TABLE = compile_late(r"^\[commands\][ \t]*(?:#.*)?$", re.MULTILINE)


class Adoption(Record):
    """The commands that could be written, and those that could not because their program is not installed.

    `kinds` are those for formatting, linting, building and testing.
    """

    setup: tuple[Found, ...] = ()
    kinds: tuple[Found, ...] = ()
    provide: tuple[Found, ...] = ()
    missing: tuple[Found, ...] = ()

    @property
    def found(self) -> tuple[Found, ...]:
        """All that could be written."""
        return (*self.setup, *self.provide, *self.kinds)

    def write(self, path: Path) -> None:
        """Put the commands before everything that the file has, and those with a kind into its table of commands."""
        lines = []
        if self.setup:
            lines.append(f"setup = {_quote(_join(self.setup))}")
        if self.provide:
            lines.append(f"provide = [{', '.join(_quote(one.command) for one in self.provide)}]")
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.parent.mkdir(exist_ok=True)
        told = "\n".join([*lines, "", before]) if lines else before
        path.write_text(_add_commands(told, self.kinds), encoding="utf-8")


def _add_commands(text: str, found: Sequence[Found]) -> str:
    """The text of a configuration with a command for each kind, in the table that it has or in a new one at its end."""
    kinds = {kind: [each for each in found if each.kind == kind] for kind in KINDS}
    lines = [f"{kind} = {_quote(_join(each))}" for kind, each in kinds.items() if each]
    if not lines:
        return text
    if _TABLE.search(text):
        return _TABLE.sub(lambda head: "\n".join([head[0], *lines]), text, count=1)
    return "\n".join([text.rstrip("\n"), "", "[commands]", *lines, ""]).lstrip("\n")


def _join(found: Sequence[Found]) -> str:
    """One command for several."""
    return " && ".join(each.command for each in found)


def is_installed(program: str) -> bool:
    """Whether a program is on this machine."""
    return shutil.which(program) is not None


def is_usable(found: Found) -> bool:
    """Whether a command could be run here."""
    return not found.program or is_installed(found.program)


def tell_found(found: Found) -> str:
    """A command that was found, and whether it could be run here."""
    lacks = "" if is_usable(found) else f", but {found.program} is not installed"
    return f"found for {found.kind}: {flatten(found.command)} (from {found.place}){lacks}"


def choose_adopted(
    detected: Detected, config: Mapping[str, object], *, is_installed: Callable[[str], bool] = is_installed
) -> Adoption:
    """What of the detected commands the configuration does not say yet. Where it has checks, it says what judges."""
    named = config.get("commands")
    known = {*named} if isinstance(named, Mapping) else set()
    kinds = [FORMAT, *(() if "checks" in config else JUDGES)]
    wanted = [
        *(() if "setup" in config else detected.of(SETUP)),
        *detected.of(*(kind for kind in kinds if kind not in known)),
    ]
    here = [each for each in wanted if not each.program or is_installed(each.program)]
    return Adoption(
        setup=tuple(each for each in here if each.kind == SETUP),
        kinds=tuple(each for each in here if each.kind != SETUP),
        missing=tuple(each for each in wanted if each not in here),
    )


def _quote(text: str) -> str:
    """A text as TOML writes it: JSON's escapes are legal there."""
    return json.dumps(text, ensure_ascii=False)
