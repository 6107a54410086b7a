"""Long text for people, through their pager. The rule: only on a terminal, and never where that was refused."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import click

from drumline.late import import_late

if TYPE_CHECKING:
    import subprocess
else:
    subprocess = import_late("subprocess")

OFF = "drumline.no_pager"
USUAL = "less"
LESS = "FRX"
"""Leave at once what fits the screen, show colours, and let the text stay."""

AT_ONCE = 256
"""Lines that are written together."""


def _turn_off(ctx: click.Context, _: click.Parameter, refused: bool) -> None:
    if refused:
        ctx.find_root().meta[OFF] = True


pager_option = click.option(
    "--no-pager",
    is_flag=True,
    expose_value=False,
    callback=_turn_off,
    help="Print everything at once, also on a terminal.",
)


def page_lines(lines: Iterable[str]) -> None:
    """Print lines, through a pager where somebody reads them at a terminal."""
    pager = find_pager()
    if not pager:
        _print(lines)
        return
    try:
        started = subprocess.Popen(pager, stdin=subprocess.PIPE, env={"LESS": LESS, **os.environ})
    except OSError:  # there is no such program
        _print(lines)
        return
    if started.stdin is not None:
        with suppress(BrokenPipeError), started.stdin as reader:  # who has read enough leaves early
            for line in lines:
                reader.write(f"{line}\n".encode("utf-8", "replace"))
    _wait(started)


def _print(lines: Iterable[str]) -> None:
    """Print lines, many with one write: asking the system what stdout is costs more than a line."""
    rest = iter(lines)
    while batch := list(islice(rest, AT_ONCE)):
        click.echo("\n".join(batch))


def find_pager() -> list[str]:
    """The pager's command line; empty where there is none to be used."""
    context = click.get_current_context(silent=True)
    refused = context is not None and context.find_root().meta.get(OFF, False)
    if refused or not (sys.stdout.isatty() and sys.stdin.isatty()) or os.environ.get("TERM", "dumb") == "dumb":
        return []
    wanted = os.environ.get("DRUMLINE_PAGER", os.environ.get("PAGER", USUAL)).strip()
    with suppress(ValueError):
        found = shlex.split(wanted)
        return [] if found == ["cat"] else found
    return []


def _wait(pager: subprocess.Popen[bytes]) -> None:
    """Wait until the person leaves it; Ctrl-C is for the pager."""
    while True:
        with suppress(KeyboardInterrupt):
            pager.wait()
            return
