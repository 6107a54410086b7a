"""What was found in a repository becomes its configuration, on a person's yes.

The rule: a key that the file has already stays as it is, and only commands whose program is installed are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from drumline.app.detection import JUDGES, SETUP, Detected, Found
from drumline.record import Record


class Adoption(Record):
    """The commands that could be written, and those that could not because their program is not installed."""

    setup: tuple[Found, ...] = ()
    checks: tuple[Found, ...] = ()
    provide: tuple[Found, ...] = ()
    missing: tuple[Found, ...] = ()

    @property
    def found(self) -> tuple[Found, ...]:
        """All that could be written."""
        return (*self.setup, *self.provide, *self.checks)

    def write(self, path: Path) -> None:
        """Put the commands before everything that the file has."""
        lines = []
        if self.setup:
            lines.append(f"setup = {_quote(' && '.join(each.command for each in self.setup))}")
        for key, each in (("provide", self.provide), ("checks", self.checks)):
            if each:
                lines.append(f"{key} = [{', '.join(_quote(one.command) for one in each)}]")
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join([*lines, "", before]), encoding="utf-8")


def choose_adopted(
    detected: Detected, config: Mapping[str, object], *, is_installed: Callable[[str], bool]
) -> Adoption:
    """What of the detected commands the configuration does not say yet."""
    wanted = [*(() if "setup" in config else detected.of(SETUP)), *(() if "checks" in config else detected.of(*JUDGES))]
    here = [each for each in wanted if not each.program or is_installed(each.program)]
    return Adoption(
        setup=tuple(each for each in here if each.kind == SETUP),
        checks=tuple(each for each in here if each.kind != SETUP),
        missing=tuple(each for each in wanted if each not in here),
    )


def _quote(text: str) -> str:
    """A text as TOML writes it: JSON's escapes are legal there."""
    return json.dumps(text, ensure_ascii=False)
