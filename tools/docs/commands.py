"""The reference of the command line: every command's own help, as a terminal shows it."""

from __future__ import annotations

import click
from tools.docs.tables import join

from drumline.cli.main import cli

WIDTH = 100


def commands_page() -> str:
    """The help of `drumline` and of each of its commands."""
    parent = _context(cli, "drumline")
    parts = [
        "# Command line",
        "stdout is data, stderr is for people. `--json` prints JSON on stdout; see [JSON](json.md). The codes a "
        "command ends with are in [exit codes](exit-codes.md). `NO_COLOR` turns colours off; with `CI` set, or without "
        "a terminal, nothing asks and no board is drawn.",
        _fence(cli.get_help(parent)),
    ]
    return join(*parts, *_inner(cli, parent))


def _command(command: click.Command, context: click.Context) -> list[str]:
    """A command's help, and behind it that of the commands in it if it is a group."""
    parts = [f"## {context.command_path}", _fence(command.get_help(context))]
    return parts + _inner(command, context) if isinstance(command, click.Group) else parts


def _inner(group: click.Group, context: click.Context) -> list[str]:
    """The commands of a group, which may know them without having imported them."""
    named = ((name, group.get_command(context, name)) for name in group.list_commands(context))
    found = ((command, _context(command, name, context)) for name, command in named if command is not None)
    return [part for command, inner in found for part in _command(command, inner)]


def _context(command: click.Command, name: str, parent: click.Context | None = None) -> click.Context:
    """A context that asks for nothing and is as wide on every machine."""
    return command.make_context(name, [], parent=parent, resilient_parsing=True, terminal_width=WIDTH)


def _fence(text: str) -> str:
    return "```text\n" + "\n".join(line.rstrip() for line in text.splitlines()) + "\n```"
