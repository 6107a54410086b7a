"""Logs as people see them. The rule: what a program printed is shown, and commands no terminal."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from drumline.core.plaintext import strip_controls


def print_log(file: Path, notes: Iterable[str] = ()) -> None:
    """A log under its name, after some notes about it; the file itself keeps every byte."""
    click.echo(click.style(f"==> {file.name} <==", bold=True))
    for note in notes:
        click.echo(click.style(f"  {note}", dim=True))
    text = file.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    # Line by line: a code without an end must not take the rest of the log with it.
    click.echo("\n".join(strip_controls(line) for line in text.split("\n")))
    click.echo("")
